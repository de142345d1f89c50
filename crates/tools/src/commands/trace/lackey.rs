//! `--engine lackey`: records a program that is started under Valgrind.

use super::arguments::Args;
use super::lines::{self, Scope};
use super::output::{default_path, format_of};
use super::recording::{self, Recording};
use crate::ui::hinted::Hinted;
use crate::ui::{Context, Form, json, packed_file, progress};
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;
use traces::{Output, Reading};
use workingset::{About, Clock};

/// A finished recording, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Recorded {
    output: String,
    references: u64,
    pages: usize,
    time: u64,
    tasks: usize,
    seconds: f64,
    references_per_second: f64,
    bytes_per_reference: f64,
    cut: Option<String>,
    ended: String,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    Reading::of_pages(args.page_size)?;
    let path = args.output.clone().unwrap_or_else(|| {
        let program = args.what.first().cloned().unwrap_or_default();
        default_path(&program)
    });
    let output = format_of(&path)?;
    args.replacing.check(&path)?;
    let scope = if args.alone {
        Scope::Alone
    } else {
        Scope::Family
    };
    lines::check(&args.what)?;
    // The file is begun before the program: a directory that cannot be written to costs no run.
    let mut recorded = None;
    packed_file::write(&path, |file| {
        let (child, lines) = lines::start(&args.what, scope)?;
        let mut recording = Recording::new(child, lines, scope, args.skip, about(args))?;
        recording.limits = args.limits();
        recording.bar = progress::spinner(recording::RECORDS);
        recorded = Some(record(&mut recording, output, file)?);
        Ok(())
    })?;
    let recorded = recorded.context("nothing was recorded")?;
    let size = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
    let recorded = Recorded {
        output: path.display().to_string(),
        bytes_per_reference: size as f64 / recorded.references as f64,
        ..recorded
    };
    match context.form {
        Form::Json => json(out, &recorded)?,
        Form::Text => print_text(out, &recorded)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The head of the trace, before its first reference.
fn about(args: &Args) -> About {
    let words: Vec<_> = args
        .what
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let clock = if args.as_published {
        Clock::InstructionBytes
    } else {
        Clock::Instructions
    };
    let mut about = recording::about(words.join(" "), args.page_size, clock);
    if args.skip > 0 {
        let skipped = format!("the first {} references", args.skip);
        about.parameters.push(("left out".to_owned(), skipped));
    }
    about
}

fn record(
    recording: &mut Recording,
    output: Output,
    file: &mut (dyn Write + Send),
) -> Result<Recorded> {
    let written = traces::write(recording, output, file);
    let seconds = recording.elapsed().as_secs_f64();
    let status = recording.end()?;
    recording.bar.finish_and_clear();
    let ended = recording::ended(status);
    if recording.decoder.references() == 0 {
        return Err(nothing_recorded(recording, &ended).into());
    }
    let references = written?;
    Ok(Recorded {
        output: String::new(),
        references,
        pages: recording.decoder.pages(),
        time: recording.decoder.time(),
        tasks: recording.decoder.tasks().len(),
        seconds,
        references_per_second: references as f64 / seconds,
        bytes_per_reference: 0.0,
        cut: recording.cut().map(str::to_owned),
        ended,
    })
}

fn nothing_recorded(recording: &Recording, ended: &str) -> Hinted {
    let what = format!("nothing was recorded: the program ended {ended}");
    let to_skip = recording.decoder.to_skip();
    let hint = if to_skip > 0 {
        format!("the program made {to_skip} references fewer than --skip leaves out; skip less")
    } else {
        let notes = recording.decoder.notes().join("\n  ");
        format!("Valgrind said:\n  {notes}")
    };
    Hinted::new(what, hint)
}

fn print_text(out: &mut impl Write, recorded: &Recorded) -> Result<()> {
    writeln!(
        out,
        "{}: {} references to {} pages in {} instructions, {} tasks; {:.1} s, {:.2} M references/s, {:.3} bytes each",
        recorded.output,
        recorded.references,
        recorded.pages,
        recorded.time,
        recorded.tasks,
        recorded.seconds,
        recorded.references_per_second / 1e6,
        recorded.bytes_per_reference
    )?;
    if let Some(why) = &recorded.cut {
        writeln!(out, "cut {why}: the trace does not show the whole run")?;
    }
    writeln!(out, "the program ended {}", recorded.ended)?;
    Ok(())
}
