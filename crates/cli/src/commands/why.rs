//! `warmset why`: the last decisions, in plain words.

use crate::last_decisions::{self, Recorded};
use crate::ui::hinted::Hinted;
use crate::ui::socket::{Guard, ask};
use crate::ui::text::{Page, Screen};
use crate::ui::{Context, Form, NO_GUARD, clock, json};
use anyhow::Result;
use host::recordings::newest;
use pressure::config::Mode;
use pressure::status::{Past, Status};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Say what was decided lately, and why
///
/// Asks the running guard; where there is none, reads the newest recording.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many decisions
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    number: usize,
    /// Read this recording instead
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
    /// Where the guard keeps its recordings
    #[arg(long, value_name = "DIR", default_value = "/var/lib/warmset")]
    state: PathBuf,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let past = match &args.recording {
        Some(path) => recorded(last_decisions::of_recording(path, args.number)?),
        None => match ask(&context.run)? {
            Guard::Running(status) => remembered(*status, args.number),
            Guard::Absent => recorded(last_decisions::of_recording(
                &newest_recording(args)?,
                args.number,
            )?),
            Guard::Closed(why) => {
                return Err(
                    Hinted::new(why, "the guard answers to root only: sudo warmset why").into(),
                );
            }
        },
    };
    match context.form {
        Form::Json => json(out, &past)?,
        Form::Text => out.write_all(text(&past, Screen::of_environment()).as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What a running guard remembers, the last of it.
fn remembered(status: Status, number: usize) -> Vec<Past> {
    if let Some(why) = status
        .only_observes
        .filter(|_| status.mode != Mode::Observe)
    {
        note(&format!("the guard only observes: {why}"));
    }
    let mut past = status.past;
    let surplus = past.len().saturating_sub(number);
    past.drain(..surplus);
    past
}

/// What a recording tells, after what should be known of it.
fn recorded(recorded: Recorded) -> Vec<Past> {
    note(&format!("this is from {}", recorded.file.display()));
    recorded.notes.iter().for_each(|text| note(text));
    recorded.past
}

fn newest_recording(args: &Args) -> Result<PathBuf> {
    let directory = args.state.join("recordings");
    match newest(&directory) {
        Ok(Some(file)) => Ok(file),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let what = format!(
                "no guard is running, and {} cannot be read: {error}",
                directory.display()
            );
            Err(Hinted::new(what, "recordings are root's: sudo warmset why")
                .with_code(NO_GUARD)
                .into())
        }
        _ => {
            let what = format!(
                "no guard is running, and there is no recording in {}",
                directory.display()
            );
            Err(
                Hinted::new(what, "systemctl start warmsetd, or --recording FILE")
                    .with_code(NO_GUARD)
                    .into(),
            )
        }
    }
}

fn note(text: &str) {
    // Where there is nowhere to write it, the answer itself still counts.
    let _ = writeln!(io::stderr(), "note: {text}");
}

fn text(past: &[Past], screen: impl Into<Screen>) -> String {
    let mut page = Page::new(screen);
    if past.is_empty() {
        page.paragraph(0, "Nothing was done, and nothing had to be said.");
    }
    for one in past {
        tell(&mut page, one);
    }
    page.text
}
fn tell(page: &mut Page, past: &Past) {
    let would = if past.done || past.steps.is_empty() {
        ""
    } else {
        ", not carried out"
    };
    page.heading(&format!("{}  {}{would}", clock::utc(past.wall), past.phase));
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
            "Nothing was done, and nothing had to be said.\n"
        );
    }
}
