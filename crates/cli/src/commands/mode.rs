//! `warmset mode`: what Warmset may do on this machine, and another choice.
//!
//! ```text
//!   check ─► write conf.d/99-mode.toml ─► reload or restart warmsetd ─► ask it
//!                      │                              │
//!                      └── it does not run in that mode: undo in the opposite order
//! ```

use crate::drop_in;
use crate::means;
use crate::systemctl::{WARMSETD, is_active, systemctl};
use crate::ui::hinted::Hinted;
use crate::ui::socket::{ANSWERS_TO, Guard, ask};
use crate::ui::text::{Page, Screen};
use crate::ui::{Context, Form, json};
use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use host::settings::{self, Settings};
use pressure::config::Mode;
use pressure::means::Means;
use pressure::status::Status;
use serde::Serialize;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The file that this command writes. It comes after those that a person numbers.
const DROP_IN: &str = "etc/warmset/conf.d/99-mode.toml";
/// The guard has tried its means within a second of its start.
const UNTIL_TRIED: Duration = Duration::from_secs(3);
/// A guard answers within a second of its start, and reads its configuration again at its next tick, 6 s later at most.
const UNTIL_IT_RUNS: Duration = Duration::from_secs(15);
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(200);

/// Show or set what Warmset may do on this machine
///
/// Without a mode: the one that the configuration sets, in which file, and what the guard that runs does. With one: it is
/// written to /etc/warmset/conf.d/99-mode.toml, once the whole configuration was checked with it. warmsetd then takes it over, and
/// is asked. If it does not run in that mode, all is put back.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What it may do from now on
    mode: Option<Choice>,
    /// Say what would be done, and change nothing
    #[arg(long, requires = "mode")]
    dry_run: bool,
}

/// A mode, with what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// Sample, forecast, explain; write nothing
    Observe,
    /// Also set watermarks, compaction and per-node reclaim
    Tune,
    /// Also throttle, then signal what makes memory run out
    Guard,
    /// Also keep hot files and critical units in memory
    Protect,
}

impl Choice {
    const fn mode(self) -> Mode {
        match self {
            Self::Observe => Mode::Observe,
            Self::Tune => Mode::Tune,
            Self::Guard => Mode::Guard,
            Self::Protect => Mode::Protect,
        }
    }
}

/// What is set, and what runs, for programs.
#[derive(Debug, Serialize)]
struct Report {
    /// The mode of the configuration files.
    mode: Mode,
    /// The file that sets it; none for the default.
    set_by: Option<PathBuf>,
    /// The mode that the guard runs in; none if no guard runs, or we may not ask it.
    runs_in: Option<Mode>,
    /// Why it writes nothing although the mode allows it.
    only_observes: Option<String>,
    /// The means by which it acts, as it found them by trying.
    means: Vec<Means>,
    warnings: Vec<String>,
    /// The file was written by this call.
    written: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let Some(choice) = args.mode else {
        show(context, false, out)?;
        return Ok(ExitCode::SUCCESS);
    };
    let change = Change::make(choice.mode(), context)?;
    if args.dry_run {
        if context.form == Form::Json {
            json(out, &change.plan())?;
        } else {
            change.tell(out)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let is_live = context.root == Path::new("/");
    if is_live && !rustix::process::geteuid().is_root() {
        let hint = format!("sudo warmset mode {}", change.mode);
        return Err(Hinted::new("only root may set the mode", hint).into());
    }
    change.carry_out(context)?;
    show(context, true, out)?;
    Ok(ExitCode::SUCCESS)
}

/// What a dry run would do, for programs.
#[derive(Debug, Serialize)]
struct Plan<'a> {
    mode: Mode,
    /// The file that would be written.
    file: &'a Path,
    /// Its new text.
    text: &'a str,
    /// Nothing was written.
    written: bool,
}

/// A mode that is to be set.
#[derive(Debug)]
struct Change {
    mode: Mode,
    file: PathBuf,
    toml: String,
    /// What the file was before; `None` if it was not there.
    before: Option<String>,
}

impl Change {
    /// Does all that changes nothing.
    fn make(mode: Mode, context: &Context) -> Result<Self> {
        let file = context.root.join(DROP_IN);
        let toml = format!("# Written by `warmset mode`.\nmode = \"{mode}\"\n");
        let before = read(&file)?;
        let settings = drop_in::settings_with(&context.root, &file, &toml)
            .context("nothing was changed: the configuration is not right")?;
        if settings.config.mode != mode {
            return Err(overruled(mode, &settings, &file).into());
        }
        Ok(Self {
            mode,
            file,
            toml,
            before,
        })
    }

    fn plan(&self) -> Plan<'_> {
        Plan {
            mode: self.mode,
            file: &self.file,
            text: &self.toml,
            written: false,
        }
    }

    fn tell(&self, out: &mut impl Write) -> Result<()> {
        writeln!(out, "would write {}:", self.file.display())?;
        for line in self.toml.lines() {
            writeln!(out, "  {line}")?;
        }
        writeln!(
            out,
            "and have {WARMSETD} take it over; nothing is changed now"
        )?;
        Ok(())
    }

    /// Does it. What was done is undone if warmsetd does not run in the mode.
    fn carry_out(&self, context: &Context) -> Result<()> {
        drop_in::write(&self.file, &self.toml)?;
        // Where systemd does not run, whoever started warmsetd has to start it again.
        if !is_active(WARMSETD).unwrap_or(false) {
            return Ok(());
        }
        if let Err(error) = self.take_effect(&context.run) {
            let undone = self.undo();
            return Err(Hinted::new(format!("{error:#}"), undone).into());
        }
        Ok(())
    }

    /// Has warmsetd take the mode over, and waits until it runs in it.
    fn take_effect(&self, run: &Path) -> Result<()> {
        let verb = if takes_a_reload(run)? {
            "reload"
        } else {
            "restart"
        };
        systemctl(&[verb, WARMSETD])?;
        let begun = Instant::now();
        loop {
            let why = match ask(run)? {
                Guard::Running(status) if self.is_of(&status) => break,
                Guard::Running(status) => not_yet(&status),
                Guard::Closed(why) => bail!("warmsetd cannot be asked: {why}"),
                Guard::Absent => format!("warmsetd does not answer: journalctl -u {WARMSETD}"),
            };
            if begun.elapsed() >= UNTIL_IT_RUNS {
                bail!("{why}");
            }
            std::thread::sleep(PAUSE);
        }
        self.wait_for_means(run, begun);
        Ok(())
    }

    /// Waits until the guard has tried its means, so that they can be shown. One of an earlier version never says.
    fn wait_for_means(&self, run: &Path, begun: Instant) {
        while self.mode.ends_processes() && begun.elapsed() < UNTIL_TRIED {
            let is_tried =
                matches!(ask(run), Ok(Guard::Running(status)) if !status.means.is_empty());
            if is_tried {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether a guard does what this mode says.
    fn is_of(&self, status: &Status) -> bool {
        let acts = status.only_observes.is_none();
        status.mode == self.mode && (acts || self.mode == Mode::Observe)
    }

    /// Puts the file back, and says what is in force then.
    fn undo(&self) -> String {
        let back = match &self.before {
            Some(text) => drop_in::write(&self.file, text),
            None => fs::remove_file(&self.file).map_err(anyhow::Error::from),
        };
        match back.and_then(|()| systemctl(&["restart", WARMSETD])) {
            Ok(()) => "the mode is as it was before".to_owned(),
            Err(error) => format!(
                "the mode could not be put back ({error:#}): see {}",
                self.file.display()
            ),
        }
    }
}

/// A guard that acts may be told to do more or less. One that observes takes the lock and reads the undo log first, which it
/// does at its start only.
fn takes_a_reload(run: &Path) -> Result<bool> {
    let acts = match ask(run)? {
        Guard::Running(status) => status.only_observes.is_none(),
        Guard::Absent | Guard::Closed(_) => false,
    };
    Ok(acts)
}

fn not_yet(status: &Status) -> String {
    match &status.only_observes {
        Some(why) => format!("warmsetd only observes: {why}"),
        None => format!("warmsetd runs in mode {}", status.mode),
    }
}

/// The error that another file has the last word.
fn overruled(mode: Mode, settings: &Settings, ours: &Path) -> Hinted {
    let from_ours = settings.files.iter().skip_while(|file| *file != ours);
    let after = from_ours.skip(1).filter(|file| sets_mode(file));
    let (what, hint) = match after.last() {
        Some(file) => (
            format!(
                "{} sets the mode {} and is read last",
                file.display(),
                settings.config.mode
            ),
            "remove the line `mode = …` there".to_owned(),
        ),
        None => (
            format!(
                "with this configuration the mode {mode} is {}",
                settings.config.mode
            ),
            "remove the line `enabled = false` below [protect]: warmset check names the file"
                .to_owned(),
        ),
    };
    Hinted::new(format!("nothing was changed: {what}"), hint)
}

/// Prints what is set, and what runs.
fn show(context: &Context, written: bool, out: &mut impl Write) -> Result<()> {
    let settings = settings::of_machine(&context.root)?;
    let set_by = settings.files.iter().rev().find(|file| sets_mode(file));
    let guard = ask(&context.run)?;
    let mut report = Report {
        mode: settings.config.mode,
        set_by: set_by.cloned(),
        runs_in: None,
        only_observes: None,
        means: Vec::new(),
        warnings: Vec::new(),
        written,
    };
    if let Guard::Running(status) = &guard {
        report.runs_in = Some(status.mode);
        report.only_observes.clone_from(&status.only_observes);
        report.means.clone_from(&status.means);
        report.warnings.clone_from(&status.warnings);
    }
    if context.form == Form::Json {
        return json(out, &report);
    }
    let mut page = Page::new(Screen::of_environment());
    let by = match &report.set_by {
        Some(file) => format!("set in {}", file.display()),
        None => "the default: no file sets one".to_owned(),
    };
    page.entry("mode", format!("{}, {by}", report.mode));
    page.entry("it may", may(report.mode));
    page.entry("warmsetd", runs(&guard, &report));
    means::show(&mut page, &report.means);
    for warning in &report.warnings {
        page.entry("warning", warning);
    }
    out.write_all(page.text.as_bytes())?;
    Ok(())
}

/// What the guard does, as a sentence.
fn runs(guard: &Guard, report: &Report) -> String {
    match guard {
        Guard::Running(status) => {
            let acts = match &status.only_observes {
                Some(why) => format!(", but only observes: {why}"),
                None => String::new(),
            };
            let other = if status.mode == report.mode {
                String::new()
            } else {
                format!("; it has not read the files since: sudo systemctl restart {WARMSETD}")
            };
            format!(
                "runs in mode {}{acts} (process {}){other}",
                status.mode, status.pid
            )
        }
        Guard::Absent => {
            format!("does not run: sudo systemctl enable --now {WARMSETD}")
        }
        Guard::Closed(_) => {
            format!("{ANSWERS_TO} only: sudo warmset mode")
        }
    }
}

const fn may(mode: Mode) -> &'static str {
    match mode {
        Mode::Observe => "sample, forecast and explain; it writes nothing",
        Mode::Tune => "set watermarks, compaction and per-node reclaim; it signals no process",
        Mode::Guard => {
            "do what tune may; throttle what makes memory run out, ask its user, and send SIGTERM, then SIGKILL"
        }
        Mode::Protect => {
            "do what guard may; hold hot files and keep critical units in memory, while memory is short"
        }
    }
}

/// Whether a file sets the mode.
fn sets_mode(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.parse::<toml::Table>()
        .is_ok_and(|table| table.contains_key("mode"))
}

/// The text of a file; `None` if it is not there.
fn read(file: &Path) -> Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{}: cannot read", file.display())),
    }
}
