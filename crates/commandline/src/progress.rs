//! Progress on a terminal. Where standard error is not a terminal, nothing is shown.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// Redraw often enough that the spinner moves, and seldom enough that it costs nothing.
const REDRAW: Duration = Duration::from_millis(200);

/// A spinner with the number of references so far, and how many a second.
pub fn spinner(what: &str) -> ProgressBar {
    let template = format!("{{spinner}} {what}: {{human_pos}} references, {{per_sec}}");
    on_terminal(ProgressBar::new_spinner(), &template)
}

/// A spinner with the number of files so far, and how many a second.
pub fn files() -> ProgressBar {
    let template = "{spinner} looking: {human_pos} files, {per_sec}";
    on_terminal(ProgressBar::new_spinner(), template)
}

/// A bar of `count` steps, with the time that is left.
pub fn steps(what: &str, count: usize) -> ProgressBar {
    let template = format!("{what} {{bar:30}} {{pos}}/{{len}}, {{eta}} to go");
    on_terminal(ProgressBar::new(count as u64), &template)
}

/// A bar over a span of time, with the message of the moment.
pub fn seconds(what: &str, span: Duration) -> ProgressBar {
    let template = format!("{what} {{bar:30}} {{pos}}/{{len}} s, {{msg}}");
    on_terminal(ProgressBar::new(span.as_secs()), &template)
}

fn on_terminal(bar: ProgressBar, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(REDRAW);
    bar
}
