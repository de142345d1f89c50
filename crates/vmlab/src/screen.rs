//! Two machines side by side, drawn in text as they run, and recorded so that it can be shown again.
//!
//! The recording is an asciicast, version 2: a line of JSON for the head, one for each piece of output. Players for it
//! are in every distribution and on the web.

use crate::plan::Live;
use std::fmt::Write;

/// Columns of a pane: two and the line between them fit on a terminal of 80 columns.
const PANE: usize = 38;
/// Lines of the drawing.
pub const LINES: usize = 16;
/// Columns of the drawing.
pub const COLUMNS: usize = 2 * PANE + 3;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What is known of one machine.
#[derive(Debug, Clone, Default)]
pub struct Pane {
    /// Its title.
    pub title: String,
    /// All states that it sent, oldest first.
    pub states: Vec<Live>,
}

/// The drawing, [`LINES`] lines of [`COLUMNS`] columns.
pub fn draw(heading: &str, left: &Pane, right: &Pane) -> String {
    let mut text = format!("{heading:<COLUMNS$}\n\n");
    for (a, b) in lines(left).iter().zip(lines(right)) {
        let _ = writeln!(text, "{} │ {}", fit(a), fit(&b));
    }
    text
}

fn lines(pane: &Pane) -> Vec<String> {
    let now = pane.states.last().copied().unwrap_or_default();
    // Counting begins with the load.
    let counted = pane.states.iter().find(|live| live.at_s >= 0.0);
    let first = counted.copied().unwrap_or(now);
    let allocstall = now.allocstall - first.allocstall;
    let compact_stall = now.compact_stall - first.compact_stall;
    let stalled_s = (now.stalled_ms - first.stalled_ms) / 1e3;
    let refaults = now.refaults - first.refaults;
    let kills = now.kills - first.kills;
    let exec = milliseconds(now.exec_ms);
    let read = milliseconds(now.read_ms);
    let Live {
        free_mib, gap_mib, ..
    } = now;
    vec![
        format!("{} ({})", pane.title, phase(pane)),
        String::new(),
        format!("allocation stalls  {allocstall:>8.0}"),
        format!("compaction stalls  {compact_stall:>8.0}"),
        stall_bars(&pane.states),
        format!("waited for memory  {stalled_s:>8.1} s"),
        format!("refaults           {refaults:>8.0}"),
        format!("killed             {kills:>8.0}"),
        format!("a command starts in {exec:>10}"),
        format!("the hot file read in {read:>9}"),
        format!("free {free_mib:>6.0} MiB, gap {gap_mib:>4.0} MiB"),
        free_memory_bars(&pane.states),
        String::new(),
    ]
}

fn phase(pane: &Pane) -> String {
    match pane.states.last() {
        None => "booting".to_owned(),
        Some(live) if live.at_s < 0.0 => format!("warming up, {:.0} s to go", -live.at_s),
        Some(live) => format!("{:.0} s", live.at_s),
    }
}

fn milliseconds(value: Option<f64>) -> String {
    match value {
        Some(ms) => format!("{ms:.0} ms"),
        None => "–".to_owned(),
    }
}

/// A bar for each of the last moments: how many allocations stalled in it.
fn stall_bars(states: &[Live]) -> String {
    let counts: Vec<f64> = states
        .iter()
        .map(|live| live.allocstall + live.compact_stall)
        .collect();
    let steps: Vec<f64> = counts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    bars(&steps)
}

fn free_memory_bars(states: &[Live]) -> String {
    let free: Vec<f64> = states.iter().map(|live| live.free_mib).collect();
    bars(&free)
}

/// The last values that fit, each as a bar; the largest of them has the full height.
fn bars(values: &[f64]) -> String {
    let first = values.len().saturating_sub(PANE);
    let last = values.get(first..).unwrap_or_default();
    let most = last.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    last.iter().map(|value| bar(value / most)).collect()
}

/// A bar of this share of the full height.
fn bar(share: f64) -> char {
    if share <= 0.0 {
        return ' ';
    }
    let highest = BARS.len() - 1;
    let height = (share * highest as f64).round() as usize;
    BARS[height.min(highest)]
}

/// Exactly as wide as a pane.
fn fit(text: &str) -> String {
    let cut: String = text.chars().take(PANE).collect();
    format!("{cut:<PANE$}")
}

/// An asciicast being made.
#[derive(Debug)]
pub struct Cast {
    text: String,
}

impl Cast {
    /// With its head; `at` is seconds since 1970.
    pub fn new(title: &str, at: u64) -> Self {
        let head = serde_json::json!({
            "version": 2,
            "width": COLUMNS,
            "height": LINES,
            "timestamp": at,
            "title": title,
        });
        Self {
            text: format!("{head}\n"),
        }
    }

    /// A drawing at so many seconds.
    pub fn show(&mut self, at_s: f64, drawing: &str) {
        let output = format!("\x1b[H{}", drawing.replace('\n', "\r\n"));
        let to_the_ms = (at_s * 1e3).round() / 1e3;
        let event = serde_json::json!([to_the_ms, "o", output]);
        let _ = writeln!(self.text, "{event}");
    }

    /// The file's text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pane(stalls: &[f64]) -> Pane {
        let states = stalls.iter().enumerate().map(|(at, count)| Live {
            at_s: at as f64,
            allocstall: *count,
            ..Live::default()
        });
        Pane {
            title: "none".to_owned(),
            states: states.collect(),
        }
    }

    #[test]
    fn a_drawing_keeps_its_size_whatever_is_in_it() {
        for (left, right) in [
            (Pane::default(), Pane::default()),
            (pane(&[1.0, 5.0, 1e12]), pane(&[0.0; 500])),
        ] {
            let text = draw("storm", &left, &right);
            assert!(text.lines().count() <= LINES);
            assert!(
                text.lines().all(|line| line.chars().count() <= COLUMNS),
                "{text}"
            );
        }
    }

    #[test]
    fn counts_begin_with_the_load() {
        let text = draw("storm", &pane(&[100.0, 100.0, 142.0]), &Pane::default());
        assert!(text.contains("allocation stalls        42"), "{text}");
        assert!(text.contains("(booting)"), "{text}");
    }

    #[test]
    fn a_cast_is_lines_of_json() {
        let mut cast = Cast::new("storm", 7);
        cast.show(0.5, "a\nb\n");
        let lines: Vec<serde_json::Value> = cast
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["version"], 2);
        assert_eq!(lines[1][2], "\u{1b}[Ha\r\nb\r\n");
    }
}
