//! `warmset top`: what memory does, who holds it and who grows, live.

mod accesses;
mod frame;
mod holdings;
mod picture;

use crate::page::{Paint, Screen};
use crate::socket::{Guard, ask};
use crate::{Context, Form, json_line};
use accesses::Accesses;
use anyhow::{Context as _, Result};
use frame::{Frame, Line};
use holdings::role;
use host::SystemReader;
use host::processes::Processes;
use host::rules::Rules;
use host::settings;
use inspect::survey::{Holding, Survey, growth};
use picture::Picture;
use pressure::config;
use pressure::distress::exemption;
use pressure::scan::{Identity, ProcessScan};
use pressure::status::Status;
use pressure::{Config, History, Sample, decide};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use units::{Bytes, Span};

/// Rows of a terminal that does not tell.
const ROWS: u16 = 24;
/// A signal is heeded so soon.
const NAP: Duration = Duration::from_millis(50);

/// Show what memory does, whose is warm, who holds it and who grows, live
///
/// Whose is warm: units, by the ages of their pages where Multi-Gen LRU tells them to root (debugfs), else by the kernel's
/// active lists and what was read again; where control groups do not count memory, process groups, by accessed bits. What a
/// unit is for is told by its name and its slice, and whom a guard would spare by the configuration and what persons asked
/// for. From 90 columns on, and in JSON, the twelve warmest tell, too, what was
/// evicted of late of the files that they have open or mapped (cachestat, since Linux 6.5). Fits 80 by 24, and a phone of 40
/// columns, and needs no colour. Works without a guard, and says less then; as anyone, though only root sees the guard and
/// every program. It only looks; but with --damon the kernel's monitor runs as long as it does. q ends it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Time between two pictures
    #[arg(short, long, value_name = "SPAN", default_value = "1s")]
    every: Span,
    /// Print one picture, without a terminal's controls, and end; with --json each picture is one object on a line
    #[arg(long)]
    once: bool,
    /// Have the kernel's DAMON tell every 5 s what the warmest use of what they have mapped: files that are only read are left
    /// out. For root
    #[arg(long)]
    damon: bool,
}

impl Args {
    fn every(&self) -> Duration {
        self.every.get().max(Duration::from_millis(100))
    }
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let mut reader = Top::open(context, args.damon)?;
    let end = Arc::new(AtomicBool::new(false));
    for number in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(number, Arc::clone(&end))?;
    }
    if args.once || context.form == Form::Json || !io::stdout().is_terminal() {
        return print(&mut reader, args, &end, context, out);
    }
    let keys = Keys::begin()?;
    loop {
        let size = tcgetwinsize(io::stdout()).map_or((80, ROWS), |size| {
            (size.ws_col.max(40), size.ws_row.max(10))
        });
        let text = reader.frame(context, size)?.text(Paint::of_environment());
        // Home, each line cleared to its end, then everything below: no flicker, and nothing scrolls.
        write!(
            out,
            "\x1b[H{}\x1b[J",
            text.trim_end().replace('\n', "\x1b[K\r\n")
        )?;
        out.flush()?;
        if keys.end_within(args.every(), &end)? {
            break;
        }
    }
    drop(keys);
    writeln!(out)?;
    Ok(ExitCode::SUCCESS)
}

/// Pictures for who is no terminal: text once, or JSON, once or for ever.
fn print(
    reader: &mut Top,
    args: &Args,
    end: &AtomicBool,
    context: &Context,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let size = (Screen::of_environment().columns as u16, ROWS);
    // Growth needs two looks, and DAMON its time.
    reader.frame(context, size)?;
    let mut wait = if args.damon {
        args.every().max(accesses::EVERY + accesses::EVERY / 4)
    } else {
        args.every()
    };
    while !naps(wait, end) {
        wait = args.every();
        let frame = reader.frame(context, size)?;
        if context.form == Form::Text {
            out.write_all(frame.text(Paint::of_environment()).as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        json_line(out, &Picture::of(&frame))?;
        out.flush()?;
        if args.once {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits; whether a signal has come.
fn naps(time: Duration, end: &AtomicBool) -> bool {
    let until = Instant::now() + time;
    while !end.load(Ordering::Relaxed) && Instant::now() < until {
        std::thread::sleep(NAP.min(until.saturating_duration_since(Instant::now())));
    }
    end.load(Ordering::Relaxed)
}

/// The terminal, read key by key; as it was when this is dropped.
struct Keys {
    before: Option<Termios>,
}

impl Keys {
    fn begin() -> Result<Self> {
        let before = tcgetattr(io::stdin()).ok();
        if let Some(before) = &before {
            let mut now = before.clone();
            now.local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO);
            tcsetattr(io::stdin(), OptionalActions::Now, &now)
                .context("the terminal cannot be set")?;
        }
        io::stdout().write_all(b"\x1b[2J\x1b[?25l")?;
        Ok(Self { before })
    }

    /// Waits; whether someone wants to end.
    fn end_within(&self, time: Duration, end: &AtomicBool) -> Result<bool> {
        if self.before.is_none() {
            return Ok(naps(time, end));
        }
        let timeout = Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: time.subsec_nanos().into(),
        };
        let stdin = io::stdin();
        let mut ends = [PollFd::new(&stdin, PollFlags::IN)];
        // A signal ends the wait, too.
        if poll(&mut ends, Some(&timeout)).unwrap_or(0) == 0 {
            return Ok(end.load(Ordering::Relaxed));
        }
        let mut keys = [0; 16];
        let count = rustix::io::read(stdin.as_fd(), &mut keys)?;
        Ok(count == 0
            || keys[..count]
                .iter()
                .any(|key| matches!(key, b'q' | b'Q' | 3 | 4)))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = io::stdout().write_all(b"\x1b[?25h");
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// What the guard goes by, as far as it can be read: whom it spares, and whose memory it keeps.
fn configuration(context: &Context) -> Config {
    let mut config = settings::of_machine(&context.root)
        .map(|settings| settings.config)
        .unwrap_or_default();
    Rules::read(&context.run)
        .unwrap_or_default()
        .add_to(&mut config);
    config
}

/// Eyes of our own, beside those of the guard.
struct Top {
    reader: SystemReader,
    processes: Processes,
    survey: Survey,
    history: History,
    config: Config,
    sample: Sample,
    scan: ProcessScan,
    sizes: HashMap<Identity, (Span, Bytes)>,
    /// What DAMON says, if it is asked.
    accesses: Option<Accesses>,
}

impl Top {
    fn open(context: &Context, with_damon: bool) -> Result<Self> {
        let reader = SystemReader::open(&context.root)?;
        let page = reader.facts().page_size;
        let processes = Processes::open(&context.root, page).context("/proc cannot be read")?;
        let survey = Survey::of(&context.root, page);
        let config = Config {
            mode: config::Mode::Observe,
            ..configuration(context)
        };
        let history = History::new(reader.facts(), &config);
        let (sample, scan, sizes) = (Sample::default(), ProcessScan::default(), HashMap::new());
        let accesses = with_damon.then(|| Accesses::of(&context.root));
        Ok(Self {
            reader,
            processes,
            survey,
            history,
            config,
            sample,
            scan,
            sizes,
            accesses,
        })
    }

    fn frame(&mut self, context: &Context, size: (u16, u16)) -> Result<Frame> {
        self.reader.read(&mut self.sample);
        self.processes.look(self.sample.at, &mut self.scan);
        self.history.push(&self.sample);
        let (guard, note) = match ask(&context.run)? {
            Guard::Running(status) => (Some(status), None),
            Guard::Absent => (None, Some("no guard is running".to_owned())),
            Guard::Closed(_) => (None, Some("the guard answers to root only".to_owned())),
        };
        let forecast = match &guard {
            Some(status) => status.decision.forecast,
            None => decide(&self.config, &self.history).forecast,
        };
        let last = guard.as_deref().and_then(last_word);
        let state = guard
            .as_ref()
            .map(|status| format!("{} · {}", status.mode, status.decision.phase));
        Ok(Frame {
            size,
            state: state.or(note).unwrap_or_default(),
            forecast,
            holdings: self.holdings(context.form == Form::Json || size.0 >= frame::WIDE)?,
            lines: self.lines(),
            last,
            groups: guard.map(|status| status.sample.groups).unwrap_or_default(),
            sample: self.sample.clone(),
        })
    }

    /// Everyone who has memory, and what for; what was evicted of their files only if it will be shown.
    fn holdings(&mut self, with_evicted: bool) -> Result<Vec<(Holding, &'static str)>> {
        let mut all = self.survey.look(self.sample.at)?;
        if with_evicted {
            self.survey.ask_files(&mut all);
        }
        if let Some(accesses) = &mut self.accesses {
            accesses.look(&self.survey, &mut all)?;
            all.sort_by_key(|one| Reverse(one.warm));
        }
        let protected = &self.config.protect.units;
        let with_role = |one: Holding| {
            let role = role(&one, protected);
            (one, role)
        };
        Ok(all.into_iter().map(with_role).collect())
    }

    fn lines(&mut self) -> Vec<Line> {
        let now = self.scan.at;
        let lines = self.scan.candidates.iter().map(|candidate| Line {
            candidate: *candidate,
            growth: self
                .sizes
                .get(&candidate.identity)
                .and_then(|(then, before)| {
                    growth(
                        *before,
                        candidate.size(),
                        now.get().checked_sub(then.get())?,
                    )
                }),
            exemption: exemption(candidate, &self.config.guard),
        });
        let lines = lines.collect();
        self.sizes = self
            .scan
            .candidates
            .iter()
            .map(|candidate| (candidate.identity, (now, candidate.size())))
            .collect();
        lines
    }
}

/// The last thing the guard did or said.
fn last_word(status: &Status) -> Option<String> {
    let past = status.past.last()?;
    let step = past.steps.first().map(ToString::to_string);
    let word = step.or_else(|| past.notices.first().map(ToString::to_string))?;
    Some(format!("{} {word}", &crate::clock::utc(past.wall)[11..19]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_configured_and_asked_for_counts() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let context = Context {
            form: Form::Text,
            root: dir.path().to_owned(),
            run: dir.path().join("run"),
        };
        write(
            "etc/warmset/conf.d/50-x.toml",
            "[guard]\nspare = [\"batch.service\"]\n",
        );
        write(
            "run/rules.toml",
            "[guard]\nspare = [\"pid:4711@90210\"]\n[protect]\nunits = [\"postgresql.service\"]\n",
        );
        let config = configuration(&context);
        assert_eq!(
            config.guard.spare[config.guard.spare.len() - 2..],
            ["batch.service", "pid:4711@90210"]
        );
        assert!(
            config
                .protect
                .units
                .contains(&"postgresql.service".to_owned())
        );
        assert!(
            config.protect.units.contains(&"session.slice".to_owned()),
            "{:?}",
            config.protect.units
        );
        write("etc/warmset/conf.d/50-x.toml", "nonsense");
        assert!(
            !configuration(&context).protect.units.is_empty(),
            "the defaults are better than nothing"
        );
    }
}
