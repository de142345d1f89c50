//! `warmset record`: look on, and keep what was seen.

use crate::Context;
use anyhow::{Context as _, Result};
use host::SystemReader;
use host::recordings::RecordingWriter;
use pressure::config::Mode;
use pressure::{Config, History, Sample, decide};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use units::Span;

/// Record this machine's memory, without changing anything
///
/// The recording has a sample and a decision for each moment: what Warmset would have done, had it
/// been allowed to. Ctrl-C ends it and loses one second at most.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to: a new file, compressed if its name ends in .gz; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "warmset.rec.gz")]
    output: PathBuf,
    /// End after this long, such as "30 s"; without, at Ctrl-C
    #[arg(long = "for", value_name = "SPAN")]
    duration: Option<Span>,
    /// Time between two samples
    #[arg(long, value_name = "SPAN", default_value = "100 ms")]
    every: Span,
    /// Decide by this configuration instead of the default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Records, and says on `out` what was written, unless the recording itself goes there.
pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let mut config = args
        .config
        .as_deref()
        .map(load)
        .transpose()?
        .unwrap_or_default();
    config.mode = Mode::Observe;
    let mut reader = SystemReader::open(&context.root)?;
    let history = History::new(reader.facts(), &config);
    let mut recorder = RecordingWriter::single(&args.output, reader.facts(), &config, &history)?;
    let samples = watch(args, (&mut reader, &config, history), &mut recorder)?;
    recorder.flush()?;
    if args.output != Path::new("-") {
        writeln!(out, "{samples} samples in {}", args.output.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A configuration file.
pub(crate) fn load(path: &Path) -> Result<Config> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{}: cannot read", path.display()))?;
    Ok(Config::parse(&path.display().to_string(), &text)?)
}

/// Samples until the time is over; gives their number.
fn watch(
    args: &Args,
    (reader, config, mut history): (&mut SystemReader, &Config, History),
    recorder: &mut RecordingWriter,
) -> Result<u64> {
    let (start, every) = (
        Instant::now(),
        args.every.get().max(Duration::from_millis(1)),
    );
    let mut sample = Sample::default();
    let mut samples = 0;
    loop {
        reader.read(&mut sample);
        sample.knobs.found = sample.knobs.now;
        history.push(&sample);
        recorder.push(&sample, Some(&decide(config, &history)))?;
        samples += 1;
        // Moments are counted from the start, so that the time to look does not add up.
        let now = start.elapsed();
        let ticks = u32::try_from(now.as_nanos() / every.as_nanos()).unwrap_or(u32::MAX - 1);
        let next = every.saturating_mul(ticks + 1);
        if args.duration.is_some_and(|duration| next > duration.get()) {
            return Ok(samples);
        }
        std::thread::sleep(next.saturating_sub(now));
    }
}
