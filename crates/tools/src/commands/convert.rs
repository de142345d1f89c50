//! `warmset convert`: writes a trace in another format.

use crate::trace_input::{Counted, Input};
use crate::ui::atomic_file::Replacing;
use crate::ui::{Context, Form, json, packed_file, progress};
use anyhow::{Context as _, Result};
use commandline::stderr;
use indicatif::ProgressBar;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use traces::{Known, Output, Source};
use workingset::{About, Batch, Clock};

/// Convert a reference trace to another format
///
/// Reads every format that `simulate` reads. Writes parquet (the page trace), arrow (the same, for pipes),
/// oracleGeneral, plain, csv, u32 and u64. Files named *.gz and *.zst are compressed. The file appears when it is whole.
/// Times, sizes, operations and tasks are kept where the format has a place for them; what it drops is said.
#[derive(Debug, clap::Args)]
#[command(after_long_help = formats())]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,
    /// The trace to write; `-` is standard output
    output: PathBuf,
    #[command(flatten)]
    replacing: Replacing,
    /// Format to write [default: by the name of the file; on standard output arrow]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let name = args.output.display().to_string();
    let output = match &args.to {
        Some(to) => Output::named(to)?,
        None if name == "-" => Output::Arrow,
        None => Output::by_name(&name)
            .with_context(|| format!("{name}: no format has this ending; name one with --to"))?,
    };
    args.replacing.check(&args.output)?;
    let mut source = CountingSource {
        source: args.input.clone().counting(Counted::Trace).sized().open()?,
        bar: progress::spinner("converting"),
        references: 0,
        known: Known::default(),
    };
    packed_file::write(&args.output, |file| {
        traces::write(&mut source, output, file)?;
        Ok(())
    })?;
    source.bar.finish_and_clear();
    let clock = source.about().clock;
    let dropped = output.drops(source.known, clock);
    let unit = unit_dropped(output, source.known, clock);
    match (name.as_str(), context.form) {
        ("-", _) => {}
        (_, Form::Json) => json(
            out,
            &serde_json::json!({
                "references": source.references,
                "output": name,
                "dropped": dropped,
                "unit_dropped": unit,
            }),
        )?,
        (_, Form::Text) => writeln!(out, "{} references in {name}", source.references)?,
    }
    // With --json to a file it is in the result.
    if !args.input.is_quiet() && (name == "-" || context.form == Form::Text) {
        say_dropped(&name, &dropped, unit);
    }
    Ok(ExitCode::SUCCESS)
}

/// The unit of times that a CSV does not tell: what reads it takes them for nanoseconds.
fn unit_dropped(output: Output, known: Known, clock: Clock) -> Option<&'static str> {
    if output != Output::Csv || !known.time {
        return None;
    }
    match clock {
        Clock::Instructions => Some("instructions"),
        Clock::InstructionBytes => Some("bytes of instructions"),
        Clock::References => Some("references"),
        Clock::Nanoseconds | Clock::Seconds => None,
    }
}

fn say_dropped(name: &str, dropped: &[&str], unit: Option<&str>) {
    // A standard error that nobody reads is no fault of the trace's.
    if !dropped.is_empty() {
        let dropped = dropped.join(", ");
        let _ = writeln!(
            stderr(),
            "{name}: dropped, as its format has no place for it: {dropped}"
        );
    }
    if let Some(unit) = unit {
        let _ = writeln!(
            stderr(),
            "{name}: its times are {unit}, and a table's times are read as nanoseconds"
        );
    }
}

/// The formats that can be read, for the help.
fn formats() -> String {
    let lines = traces::FORMATS
        .iter()
        .map(|(_, name, about)| format!("  {name:<14} {about}"));
    format!(
        "Formats that are read, found by name, content or --format:\n{}",
        lines.collect::<Vec<_>>().join("\n")
    )
}

/// A source that shows its progress.
struct CountingSource {
    source: Box<dyn Source>,
    bar: ProgressBar,
    references: u64,
    known: Known,
}

impl Source for CountingSource {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, traces::Error> {
        let more = self.source.fill(batch)?;
        self.references += batch.len() as u64;
        self.known.take(batch);
        self.bar.set_position(self.references);
        Ok(more)
    }

    fn about(&self) -> About {
        self.source.about()
    }
}
