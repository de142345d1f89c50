//! `warmset take-over`: puts warmsetd in the place of another guard, so that at every moment one of them guards.
//!
//! ```text
//!   find the unit ─► translate ─► check ─► write the drop-in ─► start warmsetd ─► ask it ─► stop the other ─► ask again
//!                                              │                     │               │             │
//!                                              └──────── a step fails: undo in the opposite order ─┘
//! ```
//!
//! While both run, warmsetd leaves each kill to the other. So no process is killed twice, and none is left alone.

mod undo;
mod unit_files;

use crate::drop_in;
use crate::importable::{Translate, called};
use crate::predecessor::Predecessor;
use crate::systemctl::{WARMSETD, is_active, systemctl};
use crate::ui::hinted::Hinted;
use crate::ui::socket::{Guard, ask};
use crate::ui::{Context, Form, json};
use anyhow::{Context as _, Result, bail};
use host::{Rival, RivalKind, rivals, settings};
use pressure::config::Mode;
use pressure::status::Status;
use serde::Serialize;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use undo::Undo;
use unit_files::{Source, source};

/// A guard answers within a second of its start; a slow machine is allowed ten times that.
const UNTIL_IT_ANSWERS: Duration = Duration::from_secs(10);
/// warmsetd looks every second whether a rival still runs, and its status is renewed with the next tick. Where others run,
/// too, this is for how long we wait in vain.
const UNTIL_IT_SEES: Duration = Duration::from_secs(10);
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(200);

/// Put warmsetd in the place of another guard
///
/// Finds the unit that runs and what it reads, translates that into a drop-in of the configuration, checks the whole of
/// it, starts warmsetd, asks it whether it guards, and only then stops and disables the other unit. It stops at the
/// first step that fails, undoes the steps before it, and says what guards then.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The guard that runs now
    name: Predecessor,
    /// Say what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Go on although settings of the other guard are left out
    #[arg(long)]
    lenient: bool,
}

/// What is to be done.
#[derive(Debug)]
struct Plan {
    predecessor: Predecessor,
    rival: Rival,
    /// The units to stop; the first is the one that runs.
    units: Vec<String>,
    source: Source,
    drop_in: PathBuf,
    /// The text of the drop-in.
    toml: String,
    notes: Vec<String>,
    /// The mode in which warmsetd will run.
    mode: Mode,
}

/// What was done, for programs.
#[derive(Debug, Serialize)]
struct Report<'p> {
    unit: &'p str,
    drop_in: &'p Path,
    mode: Mode,
    done: bool,
    toml: &'p str,
    notes: &'p [String],
}

pub(crate) fn run(
    args: &Args,
    context: &Context,
    translate: Translate,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let is_live = context.root == Path::new("/");
    if is_live && !args.dry_run && !rustix::process::geteuid().is_root() {
        let hint = format!("sudo warmset take-over {}", args.name.name());
        return Err(Hinted::new("only root may start and stop units", hint).into());
    }
    let plan = Plan::make(args, context, translate)?;
    let mut teller = Teller {
        is_text: context.form == Form::Text,
        out,
    };
    if args.dry_run {
        plan.tell(&mut teller)?;
    } else {
        plan.carry_out(context, &mut teller)?;
    }
    if context.form == Form::Json {
        json(
            out,
            &Report {
                unit: plan.unit(),
                drop_in: &plan.drop_in,
                mode: plan.mode,
                done: !args.dry_run,
                toml: &plan.toml,
                notes: &plan.notes,
            },
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The error that settings would be lost.
fn left_out(losses: &[String], unit: &str) -> anyhow::Error {
    let what = format!("left out: {}", losses.join("; left out: "));
    let hint = format!("{unit} still guards; add --lenient to go on without what is left out");
    Hinted::new(what, hint).into()
}

/// Tells people what is done, as it is done.
struct Teller<'o, W> {
    is_text: bool,
    out: &'o mut W,
}

impl<W: Write> Teller<'_, W> {
    fn say(&mut self, text: impl Display) -> Result<()> {
        if self.is_text {
            writeln!(self.out, "{text}")?;
            self.out.flush()?;
        }
        Ok(())
    }
}

impl Plan {
    /// Does all that changes nothing: finds, translates, checks.
    fn make(args: &Args, context: &Context, translate: Translate) -> Result<Self> {
        let predecessor = args.name;
        let is_lenient = args.lenient;
        let root = &context.root;
        let rival = running(predecessor, root)?;
        let units = units_of(&rival, root)?;
        let source = source(predecessor, &rival, root)?;
        let drop_in = root.join(format!("etc/warmset/conf.d/50-{}.toml", predecessor.name()));
        if drop_in.exists() {
            let what = format!("{}: this file is there already", drop_in.display());
            let hint = "it may be of an earlier import: move it away, and take over again";
            return Err(Hinted::new(what, hint).into());
        }
        let imported = match called(predecessor.program()) {
            Some(program) => {
                let translated = translate(program, &source.paths(), root);
                translated.map_err(|error| unchanged(&error, &units[0]))?
            }
            // It has nothing that could be carried over.
            None if predecessor == Predecessor::Bustd => pressure::import::Imported {
                toml: "mode = \"guard\"\n".to_owned(),
                notes: Vec::new(),
                left_out: Vec::new(),
            },
            None => bail!(
                "the configuration of {} cannot be translated: write {} by hand, with mode = \"guard\", and stop {} once \
                 warmset status says that warmsetd guards",
                predecessor.name(),
                drop_in.display(),
                units[0]
            ),
        };
        let losses = imported.losses();
        if !losses.is_empty() && !is_lenient {
            return Err(left_out(&losses, &units[0]));
        }
        let mut notes: Vec<String> = losses
            .into_iter()
            .map(|loss| format!("left out: {loss}"))
            .collect();
        notes.extend(imported.notes);
        // This command does that itself.
        notes.retain(|note| !note.starts_with("stop "));
        let toml = keeping_higher_mode(imported.toml, root);
        let mode = checked(predecessor, root, &drop_in, &toml)
            .map_err(|error| unchanged(&error, &units[0]))?;
        Ok(Self {
            predecessor,
            rival,
            units,
            source,
            drop_in,
            toml,
            notes,
            mode,
        })
    }

    /// The unit that runs.
    fn unit(&self) -> &str {
        &self.units[0]
    }

    fn tell<W: Write>(&self, teller: &mut Teller<'_, W>) -> Result<()> {
        let unit = self.unit();
        let units = self.units.join(" ");
        let drop_in = self.drop_in.display();
        teller.say(format_args!(
            "{unit} runs ({}) and reads {}; nothing is changed now",
            self.rival.evidence, self.source
        ))?;
        teller.say("The steps, of which each has to succeed before the next:")?;
        teller.say(format_args!("  1. write {drop_in}:"))?;
        for line in self.toml.lines() {
            teller.say(format_args!("       {line}").to_string().trim_end())?;
        }
        teller.say(format_args!("  2. systemctl enable {WARMSETD}"))?;
        teller.say(format_args!("  3. systemctl restart {WARMSETD}"))?;
        teller.say(format_args!(
            "  4. ask warmsetd whether it runs in mode {}",
            self.mode
        ))?;
        teller.say(format_args!("  5. systemctl disable --now {units}"))?;
        teller.say(format_args!("  6. ask whether {unit} has stopped"))?;
        self.tell_notes(teller)
    }

    fn tell_notes<W: Write>(&self, teller: &mut Teller<'_, W>) -> Result<()> {
        for note in &self.notes {
            teller.say(format_args!("note: {note}"))?;
        }
        Ok(())
    }

    /// Does it. What was done is undone if a step fails.
    fn carry_out<W: Write>(&self, context: &Context, teller: &mut Teller<'_, W>) -> Result<()> {
        let mut undo = Undo::new(self.unit());
        if let Err(error) = self.steps(context, teller, &mut undo) {
            let left = undo.run();
            return Err(Hinted::new(format!("{error:#}"), left).into());
        }
        Ok(())
    }

    fn steps<W: Write>(
        &self,
        context: &Context,
        teller: &mut Teller<'_, W>,
        undo: &mut Undo,
    ) -> Result<()> {
        let unit = self.unit();
        teller.say(format_args!(
            "{unit} runs ({}) and reads {}",
            self.rival.evidence, self.source
        ))?;
        self.tell_notes(teller)?;
        drop_in::write(&self.drop_in, &self.toml)?;
        undo.wrote(&self.drop_in);
        teller.say(format_args!(
            "wrote {}; the whole configuration is right",
            self.drop_in.display()
        ))?;
        undo.starts_warmsetd();
        systemctl(&["enable", WARMSETD])?;
        systemctl(&["restart", WARMSETD])?;
        let status = self.wait_until_it_guards(&context.run)?;
        teller.say(format_args!(
            "warmsetd runs in mode {} (process {})",
            status.mode, status.pid
        ))?;
        undo.stops_other(&self.units);
        let mut arguments = vec!["disable", "--now"];
        arguments.extend(self.units.iter().map(String::as_str));
        systemctl(&arguments)?;
        if is_active(unit)? {
            bail!("{unit} still runs after systemctl disable --now");
        }
        // Starting and stopping units may have consequences, such as a conflict between them.
        self.wait_until_it_guards(&context.run)?;
        teller.say(format_args!("{unit} is stopped and disabled"))?;
        self.tell_end(context, teller)
    }

    /// Asks warmsetd until it answers; an error if it does not, or does not guard.
    fn wait_until_it_guards(&self, run: &Path) -> Result<Box<Status>> {
        let begun = Instant::now();
        loop {
            match ask(run)? {
                Guard::Running(status) => {
                    self.judge(&status)?;
                    return Ok(status);
                }
                Guard::Closed(why) => bail!("warmsetd cannot be asked: {why}"),
                Guard::Absent if begun.elapsed() >= UNTIL_IT_ANSWERS => {
                    bail!("warmsetd does not answer; journalctl -u {WARMSETD} may tell why")
                }
                Guard::Absent => std::thread::sleep(PAUSE),
            }
        }
    }

    /// An error if warmsetd does not do what its configuration says.
    fn judge(&self, status: &Status) -> Result<()> {
        if let Some(why) = &status.only_observes {
            bail!("warmsetd does not guard, it only observes: {why}");
        }
        if status.mode != self.mode {
            bail!(
                "warmsetd runs in mode {} and not in mode {}",
                status.mode,
                self.mode
            );
        }
        Ok(())
    }

    /// Waits until warmsetd knows that it is alone, and says so.
    fn tell_end<W: Write>(&self, context: &Context, teller: &mut Teller<'_, W>) -> Result<()> {
        let begun = Instant::now();
        let mut is_alone = !self.predecessor.kills();
        while !is_alone && begun.elapsed() < UNTIL_IT_SEES {
            if let Ok(Guard::Running(status)) = ask(&context.run) {
                is_alone = status.sample.circumstances.rival_guard != Some(1);
            }
            if !is_alone {
                std::thread::sleep(PAUSE);
            }
        }
        if !self.predecessor.kills() {
            teller.say("warmsetd drives what it drove")?;
        } else if is_alone {
            teller.say("warmsetd guards this machine now")?;
        } else {
            teller.say(
                "note: another guard still runs, and warmsetd leaves each kill to it; warmset doctor names it",
            )?;
        }
        teller.say(format_args!(
            "To go back: sudo systemctl enable --now {} && sudo rm {} && sudo systemctl restart {WARMSETD}",
            self.units.join(" "),
            self.drop_in.display()
        ))
    }
}

/// An error of a step that comes before any change.
fn unchanged(error: &anyhow::Error, unit: &str) -> Hinted {
    Hinted::new(
        format!("{error:#}"),
        format!("nothing was changed; {unit} still guards"),
    )
}

/// The program that runs here and whose place is to be taken.
fn running(predecessor: Predecessor, root: &Path) -> Result<Rival> {
    let rivals = rivals(root);
    let is_asked = |rival: &&Rival| {
        matches!(rival.kind, RivalKind::Guard | RivalKind::Tuner)
            && rival.name == predecessor.program()
    };
    let mut found: Vec<&Rival> = rivals.iter().filter(is_asked).collect();
    // The variant that was named comes first: nohang.service or nohang-desktop.service.
    found.sort_by_key(|rival| Predecessor::of(rival) != Some(predecessor));
    match found.first() {
        Some(rival) => Ok((*rival).clone()),
        None => {
            let name = predecessor.name();
            let hint = format!(
                "warmset doctor names what runs; to guard without another guard before: mode = \"guard\" in \
                 {}, and systemctl restart warmsetd",
                root.join(settings::MAIN).display()
            );
            Err(Hinted::new(
                format!("{name} does not run here, so there is nothing to take over"),
                hint,
            )
            .into())
        }
    }
}

/// The units to stop.
fn units_of(rival: &Rival, root: &Path) -> Result<Vec<String>> {
    let Some(unit) = rival.unit.clone().filter(|unit| unit.ends_with(".service")) else {
        let what = format!(
            "{} ({}) runs in no service of the system, so systemctl cannot stop it",
            rival.name, rival.evidence
        );
        return Err(Hinted::new(
            what,
            "run it as its service first, or stop it by hand once warmsetd guards",
        )
        .into());
    };
    let mut units = vec![unit];
    // Its socket would start it again.
    let socket = units[0].replace(".service", ".socket");
    if unit_files::is_there(root, &socket) {
        units.push(socket);
    }
    Ok(units)
}

/// The mode that warmsetd will have with the drop-in, if the whole configuration is right and lets it guard.
fn checked(predecessor: Predecessor, root: &Path, file: &Path, toml: &str) -> Result<Mode> {
    let settings =
        drop_in::settings_with(root, file, toml).context("the configuration would not be right")?;
    let mode = settings.config.mode;
    let is_enough = if predecessor.kills() {
        mode.ends_processes()
    } else {
        mode != Mode::Observe
    };
    if !is_enough {
        bail!(
            "with this configuration warmsetd would run in mode {mode}, and not do the work of {}: see which file sets the mode \
             after {}",
            predecessor.name(),
            file.display()
        );
    }
    Ok(mode)
}

/// Leaves the mode out of the drop-in where the machine guards already and the drop-in would lower that.
fn keeping_higher_mode(toml: String, root: &Path) -> String {
    let Ok(settings) = settings::of_machine(root) else {
        return toml;
    };
    if settings.config.mode != Mode::Protect {
        return toml;
    }
    let mut kept = String::new();
    for line in toml.lines() {
        if line.trim() != "mode = \"guard\"" {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}
