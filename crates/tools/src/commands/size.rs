//! `warmset size`: how much memory a unit needs.

mod accessing;
mod advice;
mod by_damon;
mod finding;
mod own_scope;
mod pace;
mod size_text;
mod unit_limits;

use crate::ui::hinted::Hinted;
use crate::ui::{Context, Form, json};
use anyhow::Result;
use finding::Finding;
use inspect::size::{
    Accessed, Controller, Group, Means, Options, Record, Sample, Target, cost_of_a_page, means,
    measure, target, unit_names,
};
use own_scope::Started;
use pace::Pace;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use units::{Bytes, Percent, Span};

/// Shortest time between two looks: the kernel counts pressure every 2 s, and refaults as late.
const SHORTEST: Span = Span::millis(100);
/// Looks that a window must have: what comes back is compared over three of them.
const LOOKS: u32 = 4;
/// Most of a budget: beyond, it is no longer a measurement but a limit.
const MOST_BUDGET: Percent = Percent::new(50);
/// Largest step: larger ones have no resolution left.
const MOST_STEP: Percent = Percent::new(10);

/// Find out how much memory a service needs, by taking what it does not use
///
/// Memory of the unit is reclaimed in small steps, the coldest first, until what was taken comes back or its tasks wait for memory.
/// Then it is left alone for a window in which nothing comes back, and tried again. The result is its working set as an interval,
/// its size over time, and what follows for MemoryLow, MemoryHigh and MemoryMax, and for a container.
///
/// A step is so small that all of its tasks wait for at most --budget of a --window if all of it comes back as fast as it is taken.
/// What a page costs that comes back is assumed from what the disks took so far, until it is measured to be more. The output
/// says how long they waited at most. No limit is set: Ctrl-C and SIGKILL leave nothing to be put back, and what the unit misses
/// it reads again.
///
/// That needs root, control groups of version 2 and Linux 5.19. Elsewhere, and for a process that shares its control group, the
/// memory used within each window is measured by accessed bits, or by DAMON if --by asks for it. Both tell nothing of files that
/// are only read and written. The output says which means was used.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A unit, such as postgresql.service, a control group, such as /system.slice, or a process
    #[arg(value_name = "UNIT|PID", value_hint = clap::ValueHint::Other, required_unless_present = "command")]
    what: Option<String>,
    /// How long to measure
    #[arg(long = "for", value_name = "SPAN", default_value = "10min")]
    duration: Span,
    /// Share of any window for which all of its tasks may wait for memory
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    budget: Percent,
    /// Take at most this share of its memory at once
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    step: Percent,
    /// Time between two looks
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    interval: Span,
    /// A page that is not used for so long is not needed
    #[arg(long, value_name = "SPAN", default_value = "10s")]
    window: Span,
    /// Measure by this [default: reclaim where it can be had]
    #[arg(long, value_name = "MEANS")]
    by: Option<By>,
    /// Write what was found as a drop-in of the unit, which --undo takes away
    #[arg(long)]
    apply: bool,
    /// Take the drop-in away that --apply has written, and measure nothing
    #[arg(long, conflicts_with = "apply")]
    undo: bool,
    /// A command that is started and measured until it ends, in a scope of its own where systemd is
    #[arg(last = true, value_name = "COMMAND", value_hint = clap::ValueHint::CommandWithArguments, conflicts_with_all = ["what", "apply", "undo"])]
    command: Vec<OsString>,
}

/// A means that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// Memory is taken from its control group
    Reclaim,
    /// Accessed bits of its processes
    Accessed,
    /// The kernel's DAMON on its processes
    Damon,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let word = args.what.as_deref().unwrap_or_default();
    if args.undo {
        return unit_limits::undo(&context.root, word, out);
    }
    args.check()?;
    if args.command.is_empty() {
        let finding = found(args, context, word, out)?;
        if args.apply {
            unit_limits::apply(&context.root, &finding, out)?;
        }
        return Ok(finding.code());
    }
    let mut started = Started::of(&context.root, &args.command)?;
    let finding = found(args, context, &started.pid().to_string(), out)?;
    if finding.is_of_a_whole_time() {
        started.wait()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures the unit or process that `word` names, and shows what was found.
fn found(args: &Args, context: &Context, word: &str, out: &mut impl Write) -> Result<Finding> {
    let found = target(&context.root, word)?.ok_or_else(|| no_target(word, context))?;
    if args.apply {
        unit_limits::check(&context.root, &found)?;
    }
    let mut finding = measured(args, context, &found)?;
    if let Some(name) = args.command.first() {
        finding.unit = name.to_string_lossy().into_owned();
    }
    match context.form {
        Form::Json => json(out, &finding)?,
        Form::Text => size_text::show(out, &finding)?,
    }
    // What was found is shown before a file is written, or a command waited for.
    out.flush()?;
    Ok(finding)
}

impl Args {
    fn check(&self) -> Result<()> {
        let wrong = |what: String, hint: &str| Err(Hinted::new(what, hint).with_code(2).into());
        let window = self.window.get();
        if self.interval < SHORTEST {
            let what = format!(
                "--interval {}: it must be at least {SHORTEST}",
                self.interval
            );
            return wrong(what, "the kernel counts what comes back up to 2 s late");
        }
        if window < self.interval.get() * LOOKS {
            let what = format!("--window {}: it must have {LOOKS} looks", self.window);
            return wrong(what, "make it longer, or --interval shorter");
        }
        if self.duration.get() < window * 3 {
            let what = format!("--for {}: it must be three windows", self.duration);
            return wrong(
                what,
                "one shows it at rest, one what comes back, one its accessed bits",
            );
        }
        if self.budget == Percent::ZERO || self.budget > MOST_BUDGET {
            let what = format!("--budget {}: it must be above 0 %", self.budget);
            return wrong(
                what,
                "and at most 50 %: beyond, nothing is measured any more",
            );
        }
        if self.step == Percent::ZERO || self.step > MOST_STEP {
            let what = format!("--step {}: it must be above 0 %", self.step);
            return wrong(
                what,
                "and at most 10 %: what a step takes is the resolution",
            );
        }
        Ok(())
    }

    fn options(&self, context: &Context, page: Bytes) -> Options {
        Options {
            budget: self.budget,
            step: self.step,
            interval: self.interval,
            window: self.window,
            page,
            assumed: cost_of_a_page(&context.root, page),
        }
    }
}

/// Measures by the means that was asked for, or by the best that can be had.
fn measured(args: &Args, context: &Context, found: &Target) -> Result<Finding> {
    match args.by {
        Some(By::Damon) => return by_damon::measured(args, context, found),
        Some(By::Accessed) => {
            return accessing::measured(args, context, found, "as asked".to_owned());
        }
        Some(By::Reclaim) | None => {}
    }
    let page = Bytes::new(rustix::param::page_size() as u64);
    match means(&context.root, found, page) {
        Means::Reclaim(group) => by_reclaim(args, context, found, page, group),
        Means::Accessed(why) if args.by.is_none() => accessing::measured(args, context, found, why),
        Means::Accessed(why) => {
            let what = format!("{}: cannot be reclaimed from: {why}", found.name);
            Err(Hinted::new(what, "--by accessed measures by accessed bits").into())
        }
    }
}

fn by_reclaim(
    args: &Args,
    context: &Context,
    found: &Target,
    page: Bytes,
    mut group: Group,
) -> Result<Finding> {
    let options = args.options(context, page);
    let free = group.swap_free(&context.root);
    // The last window is for the accessed bits, which must not be taken back while memory is taken.
    let duration = args.duration.get().saturating_sub(args.window.get());
    let mut pace = Pace::new(args.interval, duration)?;
    let record = reclaimed(&mut group, options, &mut pace)?;
    let mut finding = Finding::of_record(found, options, &record, free);
    if record.end == inspect::size::End::Time {
        let accessed = Accessed::of(&context.root, found);
        // It is for comparison only, so that it cannot be had is no failure.
        finding.accessed = accessing::one_window(&accessed, args.window, &mut pace).unwrap_or(None);
    }
    Ok(finding)
}

fn reclaimed(group: &mut Group, options: Options, pace: &mut Pace) -> Result<Record> {
    let bar = pace.bar("reclaim");
    let mut tell = |sample: &Sample, controller: &Controller| {
        let phase = controller.phase().name();
        bar.set_message(format!("{phase}, it has {}", sample.used));
        bar.set_position(sample.at.get().as_secs());
    };
    let record = measure(group, options, &mut || pace.wait(), &mut tell);
    bar.finish_and_clear();
    record.map_err(accessing::explained)
}

/// There is no such unit or process.
fn no_target(word: &str, context: &Context) -> anyhow::Error {
    let what = format!("{word}: no process runs in such a unit");
    if word.parse::<u32>().is_ok() {
        let hint = "give its number, as ps prints it";
        return Hinted::new(format!("{word}: no such process"), hint).into();
    }
    let names = unit_names(&context.root).unwrap_or_default();
    let alike = |name: &str| {
        let stem = name.strip_suffix(".service").unwrap_or(name);
        strsim::jaro(word, name).max(strsim::jaro(word, stem))
    };
    let near = names
        .iter()
        .max_by(|one, other| alike(one).total_cmp(&alike(other)))
        .filter(|name| alike(name) > ALIKE);
    let hint = match near {
        Some(near) => format!("did you mean {near}?"),
        None => "warmset top shows the units that have processes".to_owned(),
    };
    Hinted::new(what, hint).into()
}

/// How alike two names are that one of them stands for, from 0 to 1. It is also what clap suggests by.
const ALIKE: f64 = 0.7;

/// Returns true if an error says that rights are missing.
fn is_denied(error: &host::Error) -> bool {
    let host::ErrorKind::Unreadable(error) = &error.kind else {
        return false;
    };
    error.kind() == ErrorKind::PermissionDenied
}
