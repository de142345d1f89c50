//! `warmset why`: the last decisions and their reasons.

use crate::last_decisions;
use crate::ui::hinted::Hinted;
use crate::ui::socket::{ANSWERS_TO, Guard, JOIN, ask};
use crate::ui::text::{Page, Screen};
use crate::ui::{Context, Form, NO_GUARD, clock, json};
use anyhow::Result;
use host::recordings::newest;
use pressure::config::Mode;
use pressure::status::{Past, Status};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// List the last decisions with their reasons
///
/// Asks the running guard. Without one, reads the newest recording.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of decisions
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    number: usize,
    /// Read this recording instead of asking the guard
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
    /// State directory of the guard, which has its recordings
    #[arg(long, value_name = "DIR", default_value = "/var/lib/warmset")]
    state: PathBuf,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let past = match &args.recording {
        Some(path) => of_recording(path, args.number)?,
        None => of_guard(args, context)?,
    };
    match context.form {
        Form::Json => json(out, &past)?,
        Form::Text => out.write_all(text(&past, Screen::of_environment()).as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The decisions of the running guard, or of its newest recording.
fn of_guard(args: &Args, context: &Context) -> Result<Vec<Past>> {
    match ask(&context.run)? {
        Guard::Running(status) => Ok(of_status(*status, args.number)),
        Guard::Absent => of_recording(&newest_recording(args)?, args.number),
        Guard::Closed(why) => {
            let hint = format!("the guard {ANSWERS_TO}: sudo warmset why, or {JOIN}");
            Err(Hinted::new(why, hint).into())
        }
    }
}

/// The last decisions that a running guard remembers.
fn of_status(status: Status, number: usize) -> Vec<Past> {
    if status.mode != Mode::Observe {
        if let Some(why) = &status.only_observes {
            note(&format!("the guard only observes: {why}"));
        }
    }
    let mut past = status.past;
    let surplus = past.len().saturating_sub(number);
    past.drain(..surplus);
    past
}

/// The last decisions in a recording, after the notes on it.
fn of_recording(path: &Path, number: usize) -> Result<Vec<Past>> {
    let recorded = last_decisions::of_recording(path, number)?;
    note(&format!("this is from {}", recorded.file.display()));
    for text in &recorded.notes {
        note(text);
    }
    Ok(recorded.past)
}

fn newest_recording(args: &Args) -> Result<PathBuf> {
    let directory = args.state.join("recordings");
    match newest(&directory) {
        Ok(Some(file)) => Ok(file),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let name = directory.display();
            let what = format!("no guard is running, and {name} cannot be read: {error}");
            let hint = "only root may read recordings: sudo warmset why";
            Err(Hinted::new(what, hint).with_code(NO_GUARD).into())
        }
        _ => {
            let name = directory.display();
            let what = format!("no guard is running, and there is no recording in {name}");
            let hint = "systemctl start warmsetd, or --recording FILE";
            Err(Hinted::new(what, hint).with_code(NO_GUARD).into())
        }
    }
}

fn note(text: &str) {
    // Standard error may be closed; the answer itself still counts.
    let _ = writeln!(commandline::stderr(), "note: {text}");
}

fn text(past: &[Past], screen: impl Into<Screen>) -> String {
    let mut page = Page::new(screen);
    if past.is_empty() {
        page.paragraph(0, "Nothing was done, and nothing was reported.");
    }
    for one in past {
        show(&mut page, one);
    }
    page.text
}

fn show(page: &mut Page, past: &Past) {
    let would = if past.done || past.steps.is_empty() {
        ""
    } else {
        ", not carried out"
    };
    page.heading(&format!(
        "{}  {}{would}",
        clock::local(past.wall),
        past.phase
    ));
    for step in &past.steps {
        page.paragraph(2, &step.to_string());
    }
    for notice in &past.notices {
        page.paragraph(2, &notice.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::ui::text::Paint;

    #[test]
    fn the_past_reads_from_old_to_new_with_its_reasons() {
        expect_test::expect![[r"
            2026-11-21 04:31:54 UTC  watching
              allocations stalled: 3 in reclaim, 0 in compaction

            2026-11-21 04:31:55 UTC  guarding
              vm.watermark_scale_factor 10 → 143: demand reaches 176 MiB within 1 s, kswapd
              frees 20 MiB of it meanwhile, the gap holds 24 MiB
              reclaim 32 MiB from node 0: free 80 MiB is below the new low watermark 180
              MiB, and kswapd would wake only later

            2026-11-21 04:31:56 UTC  guarding, not carried out
              vm.watermark_scale_factor 10 → 143: demand reaches 176 MiB within 1 s, kswapd
              frees 20 MiB of it meanwhile, the gap holds 24 MiB
        "]]
        .assert_eq(&text(&example::guarding().past, Paint::Plain));
    }

    #[test]
    fn the_past_fits_a_phone() {
        let text = text(
            &example::guarding().past,
            Screen {
                paint: Paint::Plain,
                columns: 40,
            },
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
    }

    #[test]
    fn nothing_decided_is_said_as_well() {
        assert_eq!(
            text(&[], Paint::Plain),
            "Nothing was done, and nothing was reported.\n"
        );
    }
}
