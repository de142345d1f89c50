//! `warmset top`: memory, the working set of each unit, and the largest processes, live.

mod accesses;
mod frame;
mod holdings;
mod picture;

use crate::ui::socket::{Guard, ask};
use crate::ui::text::{Paint, Screen};
use crate::ui::{Context, Form, clock, json_line};
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
use pressure::scan::{Candidate, Identity, ProcessScan};
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
use units::{Bytes, Rate, Span};

/// Rows of a terminal that does not say how many it has: those of a VT100.
const ROWS: u16 = 24;
/// Columns of such a terminal.
const COLUMNS: u16 = 80;
/// The smallest picture, columns and rows: less than a phone has is cut off.
const LEAST: (u16, u16) = (40, 10);
/// Shortest time between two pictures: a person reads no faster, and each look costs CPU time.
const SHORTEST: Duration = Duration::from_millis(100);
/// Time between two checks for a signal: a person does not notice the delay.
const NAP: Duration = Duration::from_millis(50);

/// Show memory, the working set of each unit and the largest processes, live
///
/// The working set of a unit is known by the ages of its pages, where Multi-Gen LRU tells them to root (debugfs); elsewhere
/// by the kernel's active lists and by refaults. Where control groups do not count memory, process groups are shown, by
/// accessed bits. A unit's role follows from its name and its slice. Exemptions follow from the configuration and from
/// warmset spare. From 90 columns on, and in JSON, the twelve units with the largest working sets also show what was
/// recently evicted of the files that they have open or mapped (cachestat, since Linux 6.5). Fits 80 by 24 characters, and
/// a phone of 40 columns. Works without a guard and without root, but then shows less. Changes nothing; with --damon the
/// kernel's monitor runs as long as top does. q quits.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Time between two pictures
    #[arg(short, long, value_name = "SPAN", default_value = "1s")]
    every: Span,
    /// Print one picture as plain text and exit; with --json each picture is one object on a line
    #[arg(long)]
    once: bool,
    /// Use the kernel's DAMON, for root: every 5 s, what the units with the largest working sets use of what they have
    /// mapped. Files that are only read are left out
    #[arg(long)]
    damon: bool,
}

impl Args {
    fn every(&self) -> Duration {
        self.every.get().max(SHORTEST)
    }
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let mut top = Top::open(context, args.damon)?;
    let end = Arc::new(AtomicBool::new(false));
    for number in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(number, Arc::clone(&end))?;
    }
    if args.once || context.form == Form::Json || !io::stdout().is_terminal() {
        return print(&mut top, args, &end, context, out);
    }
    let keys = Keys::begin()?;
    loop {
        let text = top
            .frame(context, terminal_size())?
            .text(Paint::of_environment());
        // Home, clear each line to its end, then clear below: the picture neither flickers nor scrolls.
        write!(
            out,
            "\x1b[H{}\x1b[J",
            text.trim_end().replace('\n', "\x1b[K\r\n")
        )?;
        out.flush()?;
        if keys.quits_within(args.every(), &end)? {
            break;
        }
    }
    drop(keys);
    writeln!(out)?;
    Ok(ExitCode::SUCCESS)
}

/// Columns and rows.
fn terminal_size() -> (u16, u16) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) => (size.ws_col.max(LEAST.0), size.ws_row.max(LEAST.1)),
        Err(_) => (COLUMNS, ROWS),
    }
}

/// Prints where there is no terminal: text once; JSON once, or until a signal.
fn print(
    top: &mut Top,
    args: &Args,
    end: &AtomicBool,
    context: &Context,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let size = (Screen::of_environment().columns as u16, ROWS);
    // Growth needs two looks, and DAMON's first snapshot takes its interval.
    top.frame(context, size)?;
    let mut wait = if args.damon {
        args.every().max(accesses::EVERY + accesses::EVERY / 4)
    } else {
        args.every()
    };
    while !wait_or_signal(wait, end) {
        wait = args.every();
        let frame = top.frame(context, size)?;
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

/// Waits; returns true if a signal has come.
fn wait_or_signal(time: Duration, end: &AtomicBool) -> bool {
    let until = Instant::now() + time;
    while !end.load(Ordering::Relaxed) && Instant::now() < until {
        std::thread::sleep(NAP.min(until.saturating_duration_since(Instant::now())));
    }
    end.load(Ordering::Relaxed)
}

/// Keys that quit: q, and the control characters of Ctrl-C and Ctrl-D.
const QUITS: [u8; 4] = [b'q', b'Q', 3, 4];

/// The terminal in a mode in which each key is read at once; restored when this is dropped.
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
                .context("cannot set the terminal to read single keys")?;
        }
        io::stdout().write_all(b"\x1b[2J\x1b[?25l")?;
        Ok(Self { before })
    }

    /// Waits; returns true if a key or a signal asks to quit.
    fn quits_within(&self, time: Duration, end: &AtomicBool) -> Result<bool> {
        if self.before.is_none() {
            return Ok(wait_or_signal(time, end));
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
        if count == 0 {
            return Ok(true);
        }
        Ok(keys[..count].iter().any(|key| QUITS.contains(key)))
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

/// The guard's configuration with the rules set by hand, as far as it can be read; the defaults otherwise.
fn configuration(context: &Context) -> Config {
    let mut config = settings::of_machine(&context.root)
        .map(|settings| settings.config)
        .unwrap_or_default();
    Rules::read(&context.run)
        .unwrap_or_default()
        .add_to(&mut config);
    config
}

/// A system reader of our own: the guard's status does not tell of every process.
struct Top {
    reader: SystemReader,
    processes: Processes,
    survey: Survey,
    history: History,
    config: Config,
    sample: Sample,
    scan: ProcessScan,
    /// When each process was last seen, and its size then.
    sizes: HashMap<Identity, (Span, Bytes)>,
    /// DAMON's snapshots, with `--damon`.
    accesses: Option<Accesses>,
    /// Since when each look has found that memory runs out.
    runs_out_since: Option<Span>,
}

impl Top {
    fn open(context: &Context, with_damon: bool) -> Result<Self> {
        let reader = SystemReader::open(&context.root)?;
        let page = reader.facts().page_size;
        let processes = Processes::open(&context.root, page).context("cannot read /proc")?;
        let survey = Survey::of(&context.root, page);
        let config = Config {
            mode: config::Mode::Observe,
            ..configuration(context)
        };
        let history = History::new(reader.facts(), &config);
        let accesses = if with_damon {
            Some(Accesses::of(&context.root))
        } else {
            None
        };
        Ok(Self {
            reader,
            processes,
            survey,
            history,
            config,
            sample: Sample::default(),
            scan: ProcessScan::default(),
            sizes: HashMap::new(),
            accesses,
            runs_out_since: None,
        })
    }

    fn frame(&mut self, context: &Context, size: (u16, u16)) -> Result<Frame> {
        self.reader.read(&mut self.sample);
        self.processes.look(self.sample.at, &mut self.scan);
        self.history.push(&self.sample);
        let mut guard = None;
        let state = match ask(&context.run)? {
            Guard::Running(status) => {
                let state = format!("{} · {}", status.mode, status.decision.phase);
                guard = Some(status);
                state
            }
            Guard::Absent => "no guard is running".to_owned(),
            Guard::Closed(_) => {
                "the guard answers to root and to the group warmset only".to_owned()
            }
        };
        let forecast = match &guard {
            Some(status) => status.decision.forecast,
            None => decide(&self.config, &self.history).forecast,
        };
        let now = self.sample.at;
        self.runs_out_since = if frame::runs_out(&forecast) {
            self.runs_out_since.or(Some(now))
        } else {
            None
        };
        let runs_out_for = self.runs_out_since.map_or(Duration::ZERO, |since| {
            now.get().saturating_sub(since.get())
        });
        let last = guard.as_deref().and_then(last_act);
        let with_evicted = context.form == Form::Json || size.0 >= frame::WIDE;
        Ok(Frame {
            size,
            state,
            forecast,
            holdings: self.holdings(with_evicted)?,
            lines: self.lines(),
            last,
            runs_out_for,
            groups: guard.map(|status| status.sample.groups).unwrap_or_default(),
            sample: self.sample.clone(),
        })
    }

    /// All units with their roles. What was evicted of their files is read only if it will be shown: it takes a system call
    /// for each file.
    fn holdings(&mut self, with_evicted: bool) -> Result<Vec<(Holding, &'static str)>> {
        let mut all = self.survey.look(self.sample.at)?;
        if with_evicted {
            self.survey.ask_files(&mut all);
        }
        if let Some(accesses) = &mut self.accesses {
            accesses.look(&self.survey, &mut all)?;
            all.sort_by_key(|one| Reverse(one.warm));
        }
        let mut with_roles = Vec::new();
        for one in all {
            let role = role(&one, &self.config.protect.units);
            with_roles.push((one, role));
        }
        Ok(with_roles)
    }

    fn lines(&mut self) -> Vec<Line> {
        let now = self.scan.at;
        let mut lines = Vec::new();
        let mut sizes = HashMap::new();
        for candidate in &self.scan.candidates {
            lines.push(Line {
                candidate: *candidate,
                growth: self.growth_of(candidate),
                exemption: exemption(candidate, &self.config.guard),
            });
            sizes.insert(candidate.identity, (now, candidate.size()));
        }
        self.sizes = sizes;
        lines
    }

    /// Growth since the picture before; `None` for a process that is new.
    fn growth_of(&self, candidate: &Candidate) -> Option<(Rate, bool)> {
        let (then, before) = self.sizes.get(&candidate.identity)?;
        let elapsed = self.scan.at.get().checked_sub(then.get())?;
        growth(*before, candidate.size(), elapsed)
    }
}

/// The last step or notice of the guard, with its time of day.
fn last_act(status: &Status) -> Option<String> {
    let past = status.past.last()?;
    let text = match past.steps.first() {
        Some(step) => step.to_string(),
        None => past.notices.first()?.to_string(),
    };
    Some(format!("{} {text}", clock::time_of_day(past.wall)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_and_rules_by_hand_both_count() {
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
            config.guard.spare,
            ["batch.service", "pid:4711@90210"].map(|rule| rule.parse().unwrap())
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
