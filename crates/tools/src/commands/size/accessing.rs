//! Measuring by accessed bits.

use super::finding::{Beside, Finding};
use super::pace::Pace;
use super::{Args, is_denied};
use crate::ui::Context;
use crate::ui::hinted::Hinted;
use anyhow::Result;
use host::Error;
use inspect::files::charged_to;
use inspect::size::{Accessed, End, Target, Window};
use units::Span;

/// Windows one after the other, until it is over.
pub(super) fn measured(
    args: &Args,
    context: &Context,
    found: &Target,
    why: String,
) -> Result<Finding> {
    let accessed = Accessed::of(&context.root, found);
    let mut pace = Pace::new(args.window, args.duration.get())?;
    let bar = pace.bar("accessed bits");
    let mut windows: Vec<Window> = Vec::new();
    let end = loop {
        if !accessed.begin().map_err(explained)? {
            break End::Vanished;
        }
        if let Some(end) = pace.wait() {
            break end;
        }
        match accessed.end().map_err(explained)? {
            Some(window) => {
                bar.set_message(format!("{} of {} used", window.used, window.resident));
                bar.set_position(pace.elapsed().as_secs());
                windows.push(window);
            }
            None => break End::Vanished,
        }
    };
    bar.finish_and_clear();
    let charged = found
        .group
        .as_ref()
        .and_then(|path| charged_to(&context.root, path));
    let elapsed = Span::new(pace.elapsed());
    let mut finding = Finding::of_windows(found, "accessed", &windows, charged, end, elapsed);
    if let Some(last) = windows.last() {
        finding.notes.push(format!(
            "a page counts if it was used within {}, of {} of mapped memory that is resident; page cache that is only read and written is not seen",
            args.window, last.resident
        ));
    }
    finding.why = Some(why);
    Ok(finding)
}

/// What is used within one window; `None` if it is gone, or a signal came.
pub(super) fn one_window(
    accessed: &Accessed,
    window: Span,
    pace: &mut Pace,
) -> Result<Option<Beside>> {
    let is_there = accessed.begin()?;
    if !is_there || pace.sleep(window.get()).is_some() {
        return Ok(None);
    }
    let found = accessed.end()?;
    Ok(found.map(|found| Beside {
        used: found.used,
        resident: found.resident,
        window_seconds: window.get().as_secs_f64(),
    }))
}

/// A refusal, with what to do about it.
pub(super) fn explained(error: Error) -> anyhow::Error {
    if is_denied(&error) {
        return Hinted::new(error, "only root may measure what others own: try sudo").into();
    }
    error.into()
}
