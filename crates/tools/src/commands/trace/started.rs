//! Records a program that is started under Valgrind or QEMU: by Warmset's own tools, or by lackey.

use super::arguments::Args;
use super::engine::Engine;
use super::feed::{Feed, Scope};
use super::lines::{self, LackeyFeed};
use super::output::{default_path, format_of};
use super::program;
use super::recorder::Recorder;
use super::recording::{self, Recording};
use crate::ui::hinted::Hinted;
use crate::ui::{Context, Form, json, packed_file, progress};
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;
use traces::{Output, Reading, blocks, live};
use workingset::{About, Clock};

/// A finished recording, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Recorded {
    output: String,
    engine: &'static str,
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

pub(super) fn run(
    args: &Args,
    engine: Engine,
    context: &Context,
    out: &mut impl Write,
) -> Result<ExitCode> {
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
    let program = program::check(&args.what)?;
    let recorder = Recorder::choose(engine, &program)?;
    // The file is begun before the program: a directory that cannot be written to costs no run.
    let mut recorded = None;
    packed_file::write(&path, |file| {
        recorded = Some(match &recorder {
            Recorder::Lackey => by_lackey(args, scope, output, file)?,
            Recorder::Uses(_) | Recorder::Qemu(_) => by_uses(args, scope, &recorder, output, file)?,
        });
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

fn by_uses(
    args: &Args,
    scope: Scope,
    recorder: &Recorder,
    output: Output,
    file: &mut (dyn Write + Send),
) -> Result<Recorded> {
    let about = about(args, recorder);
    let decoder = blocks::Decoder::new(about.page_size, about.clock).skipping(args.skip);
    let (child, feed) = recorder.start(&args.what, scope, args.page_size, decoder)?;
    let mut recording = Recording::new(child, feed, scope, about)?;
    recording.limits = args.limits();
    recording.bar = progress::spinner(recording::RECORDS);
    let written = traces::write_rows(&mut recording, output, file);
    finished(&mut recording, recorder, written)
}

fn by_lackey(
    args: &Args,
    scope: Scope,
    output: Output,
    file: &mut (dyn Write + Send),
) -> Result<Recorded> {
    let about = about(args, &Recorder::Lackey);
    let decoder = live::Decoder::new(about.page_size, about.clock).skipping(args.skip);
    let (child, lines) = lines::start(&args.what, scope)?;
    let feed = LackeyFeed::new(lines, decoder, about.page_size);
    let mut recording = Recording::new(child, feed, scope, about)?;
    recording.limits = args.limits();
    recording.bar = progress::spinner(recording::RECORDS);
    let written = traces::write(&mut recording, output, file);
    finished(&mut recording, &Recorder::Lackey, written)
}

/// The head of the trace, before its first reference.
fn about(args: &Args, recorder: &Recorder) -> About {
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
    let mut parameters = vec![("recorder".to_owned(), recorder.to_string())];
    if args.skip > 0 {
        let skipped = format!("the first {} references", args.skip);
        parameters.push(("left out".to_owned(), skipped));
    }
    About {
        program: words.join(" "),
        format: recorder.format().to_owned(),
        page_size: args.page_size,
        clock,
        parameters,
        ..About::default()
    }
}

/// Waits for the program's end, and says what was recorded.
fn finished<F: Feed>(
    recording: &mut Recording<F>,
    recorder: &Recorder,
    written: Result<u64, traces::Error>,
) -> Result<Recorded> {
    let seconds = recording.elapsed().as_secs_f64();
    let status = recording.end()?;
    recording.bar.finish_and_clear();
    let ended = recording::ended(status);
    let progress = recording.feed.progress();
    if progress.references == 0 {
        if let Err(error @ traces::Error::Format(_)) = written {
            return Err(error.into());
        }
        return Err(nothing_recorded(&recording.feed, &ended, recorder).into());
    }
    let references = written?;
    Ok(Recorded {
        output: String::new(),
        engine: recorder.engine().name(),
        references,
        pages: progress.pages,
        time: progress.time,
        tasks: recording.feed.tasks().len(),
        seconds,
        references_per_second: references as f64 / seconds,
        bytes_per_reference: 0.0,
        cut: recording.cut(),
        ended,
    })
}

fn nothing_recorded(feed: &impl Feed, ended: &str, recorder: &Recorder) -> Hinted {
    let what = format!("nothing was recorded: the program ended {ended}");
    let to_skip = feed.progress().to_skip;
    let hint = if to_skip > 0 {
        format!("the program made {to_skip} references fewer than --skip leaves out; skip less")
    } else if let Recorder::Qemu(emulator) = recorder {
        emulator.why_not()
    } else {
        let messages = feed.messages().join("\n  ");
        format!("Valgrind said:\n  {messages}")
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
