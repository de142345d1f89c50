//! `warmset top`: memory, the working set of each unit, and the largest processes, live.

mod accesses;
mod acting;
mod columns;
mod dialogs;
mod draw;
mod frame;
mod history;
mod holdings;
mod live_view;
mod observer;
mod paper;
mod picture;
mod process_changes;
mod process_rows;
mod view;

use crate::ui::text::{Paint, Screen};
use crate::ui::{Context, Form, json_line};
use anyhow::Result;
use observer::{Evicted, Observer};
use picture::Picture;
use ratatui::layout::Size;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use units::Span;

/// Rows of a picture that is printed: those of a VT100, but for the one of the prompt after it.
const ROWS: u16 = 23;
/// Shortest time between two pictures: a person reads no faster, and each look costs CPU time.
const SHORTEST: Duration = Duration::from_millis(100);
/// Time between two checks for a signal: a person does not notice the delay.
const NAP: Duration = Duration::from_millis(50);

/// Show memory, the working set of each unit and the largest processes, live
///
/// The working set of a unit is known by the ages of its pages, where Multi-Gen LRU tells them to root (debugfs); elsewhere
/// by the kernel's active lists and by refaults. Where control groups do not count memory, process groups are shown, by
/// accessed bits. A unit's role follows from its name and its slice. Exemptions follow from the configuration and from
/// warmset spare. From 90 columns on, and in JSON, the twelve units with the largest working sets also show what was
/// recently evicted of the files that they have open or mapped (cachestat, since Linux 6.5). Fits 80 by 24 characters, and
/// a phone of 40 columns. Works without a guard and without root, but then shows less.
///
/// ? shows the keys. They sort processes, kill the selected one by SIGTERM after a question, spare it, protect its unit, and
/// step through the guard's recording. Nothing is changed but by them; with --damon the kernel's monitor runs as long as top
/// does. q quits.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Time between two pictures
    #[arg(short, long, value_name = "SPAN", default_value = "1s")]
    every: Span,
    /// Print one picture as plain text and exit; with --json each picture is one object on a line
    #[arg(long)]
    once: bool,
    /// Use the kernel's DAMON, for root: every 5 s, what the units with the largest working sets use of what they have
    /// mapped. Files that are only read are left out
    #[arg(long)]
    damon: bool,
    /// Recording that the arrow keys step through [default: the guard's own]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    recording: Option<PathBuf>,
    /// State directory of the guard, which has its recordings
    #[arg(long, value_name = "DIR", default_value = "/var/lib/warmset", value_hint = clap::ValueHint::DirPath)]
    state: PathBuf,
}

impl Args {
    fn every(&self) -> Duration {
        self.every.get().max(SHORTEST)
    }
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let mut observer = Observer::open(context, args.damon)?;
    let end = Arc::new(AtomicBool::new(false));
    for number in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(number, Arc::clone(&end))?;
    }
    if args.once || context.form == Form::Json || !io::stdout().is_terminal() {
        return print(&mut observer, args, &end, context, out);
    }
    live_view::watch(observer, args, &end, context)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints where there is no terminal: text once; JSON once, or until a signal.
fn print(
    observer: &mut Observer,
    args: &Args,
    end: &AtomicBool,
    context: &Context,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let size = Size {
        width: Screen::of_environment().columns as u16,
        height: ROWS,
    };
    let evicted = if context.form == Form::Json || draw::shows_evicted(size.width) {
        Evicted::Asked
    } else {
        Evicted::NotAsked
    };
    // Growth needs two looks, and DAMON's first snapshot takes its interval.
    observer.frame(context, evicted)?;
    let mut wait = if args.damon {
        args.every().max(accesses::EVERY + accesses::EVERY / 4)
    } else {
        args.every()
    };
    while !wait_or_signal(wait, end) {
        wait = args.every();
        let frame = observer.frame(context, evicted)?;
        if context.form == Form::Text {
            let text = paper::text(&frame, size, Paint::of_environment());
            out.write_all(text.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        json_line(out, &Picture::of(&frame))?;
        out.flush()?;
        if args.once {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits; returns true if a signal has come.
fn wait_or_signal(time: Duration, end: &AtomicBool) -> bool {
    let until = Instant::now() + time;
    while !end.load(Ordering::Relaxed) && Instant::now() < until {
        std::thread::sleep(NAP.min(until.saturating_duration_since(Instant::now())));
    }
    end.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests;
