//! Records a program that is started under Valgrind: by Warmset's own tool, or by lackey.

use super::arguments::Args;
use super::engine::Engine;
use super::feed::{Feed, Scope};
use super::lines::{self, LackeyFeed};
use super::output::{default_path, format_of};
use super::program;
use super::recording::{self, Recording};
use super::tool::{self, Tool};
use super::uses;
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
    program::check(&args.what)?;
    let tool = tool_for(engine)?;
    // The file is begun before the program: a directory that cannot be written to costs no run.
    let mut recorded = None;
    packed_file::write(&path, |file| {
        recorded = Some(match &tool {
            Some(tool) => by_uses(args, scope, tool, output, file)?,
            None => by_lackey(args, scope, output, file)?,
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

/// Warmset's own tool, if it is to record. Says which one records, unless that was asked for.
fn tool_for(engine: Engine) -> Result<Option<Tool>> {
    if engine == Engine::Lackey {
        return Ok(None);
    }
    let found = Tool::find();
    if engine == Engine::Uses {
        return found.map(Some).map_err(|why| {
            let what = format!("Warmset's tool for Valgrind: {why}");
            Hinted::new(what, tool::how_to_build()).into()
        });
    }
    match found {
        Ok(tool) => {
            say("Warmset's own tool for Valgrind records (--engine uses)");
            Ok(Some(tool))
        }
        Err(why) => {
            say(&format!(
                "lackey records, and takes ten times as long as Warmset's own tool for Valgrind: {why}\n{}",
                tool::how_to_build()
            ));
            Ok(None)
        }
    }
}

/// A line to the user, who may have closed the terminal.
fn say(text: &str) {
    let _ = writeln!(commandline::stderr(), "{text}");
}

fn by_uses(
    args: &Args,
    scope: Scope,
    tool: &Tool,
    output: Output,
    file: &mut (dyn Write + Send),
) -> Result<Recorded> {
    let about = about(args, "uses");
    let decoder = blocks::Decoder::new(about.page_size, about.clock).skipping(args.skip);
    let (child, feed) = uses::start(&args.what, scope, tool, args.page_size, decoder)?;
    let mut recording = Recording::new(child, feed, scope, about)?;
    recording.limits = args.limits();
    recording.bar = progress::spinner(recording::RECORDS);
    let written = traces::write_rows(&mut recording, output, file);
    finished(&mut recording, Engine::Uses, written)
}

fn by_lackey(
    args: &Args,
    scope: Scope,
    output: Output,
    file: &mut (dyn Write + Send),
) -> Result<Recorded> {
    let about = about(args, "lackey");
    let decoder = live::Decoder::new(about.page_size, about.clock).skipping(args.skip);
    let (child, lines) = lines::start(&args.what, scope)?;
    let feed = LackeyFeed::new(lines, decoder, about.page_size);
    let mut recording = Recording::new(child, feed, scope, about)?;
    recording.limits = args.limits();
    recording.bar = progress::spinner(recording::RECORDS);
    let written = traces::write(&mut recording, output, file);
    finished(&mut recording, Engine::Lackey, written)
}

/// The head of the trace, before its first reference.
fn about(args: &Args, tool: &str) -> About {
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
    let recorder = format!("valgrind --tool={tool}");
    let mut parameters = vec![("recorder".to_owned(), recorder)];
    if args.skip > 0 {
        let skipped = format!("the first {} references", args.skip);
        parameters.push(("left out".to_owned(), skipped));
    }
    About {
        program: words.join(" "),
        format: tool.to_owned(),
        page_size: args.page_size,
        clock,
        parameters,
        ..About::default()
    }
}

/// Waits for the program's end, and says what was recorded.
fn finished<F: Feed>(
    recording: &mut Recording<F>,
    engine: Engine,
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
        return Err(nothing_recorded(&recording.feed, &ended).into());
    }
    let references = written?;
    Ok(Recorded {
        output: String::new(),
        engine: engine.name(),
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

fn nothing_recorded(feed: &impl Feed, ended: &str) -> Hinted {
    let what = format!("nothing was recorded: the program ended {ended}");
    let to_skip = feed.progress().to_skip;
    let hint = if to_skip > 0 {
        format!("the program made {to_skip} references fewer than --skip leaves out; skip less")
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
