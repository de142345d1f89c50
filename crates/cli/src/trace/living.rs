//! Engines that look at what runs already: one recording for all of them, and when it ends.

use super::recording::Limits;
use super::{Args, Engine, damon, default_output, output_of, perf, sample};
use crate::hinted::Hinted;
use crate::{Context, Form, json, reference};
use anyhow::{Context as _, Result};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use traces::{Output, Source};
use workingset::trace::Visibility;
use workingset::{About, Clock};

/// By first page: the last page, and what is there.
pub(super) type Regions = BTreeMap<u64, (u64, String)>;

pub(super) const PAGE: u64 = 4096;
/// Between two looks at whether to stop.
pub(super) const NAP: Duration = Duration::from_millis(50);

/// When a recording ends, if what it looks at does not end first.
#[derive(Debug, Clone)]
pub(super) struct Until {
    limits: Limits,
    signal: Arc<AtomicBool>,
    began: Instant,
}

impl Until {
    fn new(limits: Limits) -> Result<Self> {
        let until = Self::within(limits);
        for number in [SIGINT, SIGTERM] {
            signal_hook::flag::register(number, Arc::clone(&until.signal))?;
        }
        Ok(until)
    }

    /// By these limits alone: no signal is heeded.
    pub(super) fn within(limits: Limits) -> Self {
        Self {
            limits,
            signal: Arc::new(AtomicBool::new(false)),
            began: Instant::now(),
        }
    }

    /// Since the recording began.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Why to stop now, after so many references.
    pub(super) fn reached(&self, references: u64) -> Option<String> {
        if self.signal.load(Ordering::Relaxed) {
            Some("by a signal".to_owned())
        } else if self
            .limits
            .references
            .is_some_and(|most| references >= most)
        {
            Some(format!("after {references} references, as asked"))
        } else if self
            .limits
            .duration
            .is_some_and(|most| self.elapsed() >= most)
        {
            Some(format!(
                "after {:.0} s, as asked",
                self.elapsed().as_secs_f64()
            ))
        } else {
            None
        }
    }
}

/// What an engine tells of a recording at its end.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// How near two uses may be and be told apart.
    pub(super) resolution: String,
    /// Share of a processor that looking took, where it is known.
    pub(super) looking: Option<f64>,
    /// How long it lasted.
    pub(super) lasted: Duration,
    /// What ended it.
    pub(super) end: String,
}

/// A recording of what runs.
pub(super) trait Living {
    /// What it records.
    fn source(&mut self) -> &mut dyn Source;

    /// What there is to say at the end.
    fn said(&mut self) -> Said;
}

/// What was recorded, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Recorded {
    output: String,
    engine: &'static str,
    references: u64,
    seconds: f64,
    resolution: String,
    looking_share: Option<f64>,
    cannot_see: &'static str,
    ended: String,
}

pub(super) fn run(
    args: &Args,
    engine: Engine,
    context: &Context,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let path = args.output.clone().unwrap_or_else(|| named(args, engine));
    let output = output_of(&path)?;
    anyhow::ensure!(
        args.page_size == PAGE,
        "--page-size: what runs is looked at in pages of 4096 bytes"
    );
    let (mut recorded, mut refused) = (None, None);
    // The file is begun before the engine: a folder that cannot be written to leaves none behind.
    let done = reference::whole(&path, |file| {
        let mut living = match start(args, engine, &context.root) {
            Ok(living) => living,
            Err(error) => {
                refused = Some(error);
                anyhow::bail!("nothing was begun");
            }
        };
        recorded = Some(record(&mut *living, output, file)?);
        Ok(())
    });
    // Why an engine does not start has nothing to do with the file.
    if let Some(error) = refused {
        return Err(error);
    }
    done?;
    let (references, said) = recorded.context("nothing was recorded")?;
    let recorded = Recorded {
        output: path.display().to_string(),
        engine: engine.name(),
        references,
        seconds: said.lasted.as_secs_f64(),
        resolution: said.resolution,
        looking_share: said.looking,
        cannot_see: engine.cannot_see(),
        ended: said.end,
    };
    tell(out, context.form, &recorded)?;
    Ok(ExitCode::SUCCESS)
}

/// Looks until it is enough: how many references there were, and what is said of them.
fn record(
    living: &mut dyn Living,
    output: Output,
    file: &mut (dyn Write + Send),
) -> Result<(u64, Said)> {
    let written = traces::write(living.source(), output, file);
    let said = living.said();
    if let Err(traces::Error::Trace(workingset::Error::Empty)) = written {
        let what = format!("nothing was seen to be used; it ended {}", said.end);
        return Err(Hinted::new(what, "look for longer, or at what does something").into());
    }
    Ok((written?, said))
}

/// Begins to look, with what the engine needs for it set up.
fn start(args: &Args, engine: Engine, root: &Path) -> Result<Box<dyn Living>> {
    let until = Until::new(Limits {
        references: args.references,
        duration: args.duration.map(units::Span::get),
    })?;
    match engine {
        Engine::Sample => sample::start(args, root, until),
        Engine::Damon | Engine::DamonPhysical => damon::start(args, engine, root, until),
        Engine::Perf => perf::start(args, until),
        Engine::Lackey => anyhow::bail!("lackey sees programs that it starts, not what runs"),
    }
}

fn named(args: &Args, engine: Engine) -> PathBuf {
    let what = args
        .pid
        .map(|pid| OsString::from(pid.to_string()))
        .or_else(|| args.what.first().cloned());
    default_output(&[what.unwrap_or_else(|| OsString::from(engine.name()))])
}

fn tell(out: &mut impl Write, form: Form, recorded: &Recorded) -> Result<()> {
    if form == Form::Json {
        return json(out, recorded);
    }
    let Recorded {
        output,
        engine,
        references,
        seconds,
        resolution,
        cannot_see,
        ended,
        ..
    } = recorded;
    writeln!(
        out,
        "{output}: {references} uses of pages in {seconds:.1} s by {engine}, resolution {resolution}"
    )?;
    if let Some(share) = recorded.looking_share {
        writeln!(out, "looking took {:.2} % of a processor", 100.0 * share)?;
    }
    writeln!(out, "not seen: {cannot_see}")?;
    Ok(writeln!(out, "it ended {ended}")?)
}

/// The process that is meant: `--pid`, or the only word.
pub(super) fn process(args: &Args, engine: Engine) -> Result<u32> {
    if let Some(pid) = args.pid {
        return Ok(pid);
    }
    let word = args
        .what
        .first()
        .map(|word| word.to_string_lossy().into_owned())
        .unwrap_or_default();
    let number = word.parse().ok().filter(|_| args.what.len() == 1);
    number.ok_or_else(|| {
        let name = engine.name();
        Hinted::new(
            format!("--engine {name} looks at a process that runs: '{word}' is no number of one"),
            format!("such as: warmset trace --engine {name} --pid $(pidof firefox-esr)"),
        )
        .into()
    })
}

/// What is known of such a trace before it begins.
pub(super) fn about(engine: Engine, program: String) -> About {
    About {
        program,
        format: engine.name().to_owned(),
        page_size: PAGE,
        clock: Clock::Nanoseconds,
        visibility: Visibility::Scans,
        parameters: vec![("recorder".to_owned(), engine.name().to_owned())],
        ..About::default()
    }
}

/// What a process is called: its command line; what has none, by its number.
pub(super) fn program(root: &Path, pid: u32) -> String {
    let line = std::fs::read(root.join(format!("proc/{pid}/cmdline"))).unwrap_or_default();
    let words: Vec<_> = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .collect();
    let words: Vec<_> = words.into_iter().map(String::from_utf8_lossy).collect();
    if words.is_empty() {
        format!("process {pid}")
    } else {
        words.join(" ")
    }
}

/// Mappings that were seen at different times may overlap: the later ends the one before.
pub(super) fn apart(regions: &Regions) -> Vec<(u64, u64, String)> {
    let mut apart: Vec<(u64, u64, String)> = Vec::new();
    for (first, (last, name)) in regions {
        if let Some(before) = apart.last_mut() {
            before.1 = before.1.min(first - 1);
        }
        apart.push((*first, *last, name.clone()));
    }
    apart
}

/// What a mapping without a name is called.
pub(super) fn region(name: String) -> String {
    if name.is_empty() {
        "[anonymous]".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_different_times_do_not_overlap() {
        let regions: Regions = [(1, (9, region(String::new()))), (5, (20, "/b".to_owned()))].into();
        assert_eq!(
            apart(&regions),
            [(1, 4, "[anonymous]".to_owned()), (5, 20, "/b".to_owned())]
        );
    }
}
