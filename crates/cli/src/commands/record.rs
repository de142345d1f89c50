//! `warmset record`: observes the machine and writes a recording.

use crate::config_file;
use crate::ui::Context;
use anyhow::Result;
use host::SystemReader;
use host::recordings::RecordingWriter;
use pressure::config::Mode;
use pressure::{Config, History, Sample, decide};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use units::Span;

/// Sampling faster than this would only measure the reading of the files in /proc itself.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// Record this machine's memory, without changing anything
///
/// Each sample comes with the decision that Warmset would have made. Ctrl-C ends the recording and loses at most one
/// second of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A new file for the recording, compressed if its name ends in .gz; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "warmset.rec.gz")]
    output: PathBuf,
    /// End after this long, such as "30 s" [default: at Ctrl-C]
    #[arg(long = "for", value_name = "SPAN")]
    duration: Option<Span>,
    /// Time between two samples
    #[arg(long, value_name = "SPAN", default_value = "100 ms")]
    every: Span,
    /// Decide by this configuration [default: the built-in one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Records, and prints the number of samples unless the recording itself goes to standard output.
pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let mut config = config_file::load(args.config.as_deref())?.unwrap_or_default();
    config.mode = Mode::Observe;
    let mut reader = SystemReader::open(&context.root)?;
    let history = History::new(reader.facts(), &config);
    let mut recorder = RecordingWriter::single(&args.output, reader.facts(), &config, &history)?;
    let samples = record(args, &mut reader, &config, history, &mut recorder)?;
    recorder.flush()?;
    if args.output != Path::new("-") {
        writeln!(out, "{samples} samples in {}", args.output.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Samples until the time is over; returns the number of samples.
fn record(
    args: &Args,
    reader: &mut SystemReader,
    config: &Config,
    mut history: History,
    recorder: &mut RecordingWriter,
) -> Result<u64> {
    let start = Instant::now();
    let every = args.every.get().max(SHORTEST_INTERVAL);
    let mut sample = Sample::default();
    let mut samples = 0;
    loop {
        reader.read(&mut sample);
        sample.knobs.found = sample.knobs.now;
        history.push(&sample);
        recorder.push(&sample, Some(&decide(config, &history)))?;
        samples += 1;
        // Due times are counted from the start, so that the time a sample takes does not add up.
        let now = start.elapsed();
        let ticks = u32::try_from(now.as_nanos() / every.as_nanos()).unwrap_or(u32::MAX - 1);
        let next = every.saturating_mul(ticks + 1);
        if args.duration.is_some_and(|duration| next > duration.get()) {
            return Ok(samples);
        }
        std::thread::sleep(next.saturating_sub(now));
    }
}
