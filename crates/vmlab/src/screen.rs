//! Two machines side by side, drawn in text as they run, and recorded so that it can be shown again.
//!
//! The recording is an asciicast, version 2: a line of JSON for the head, one for each piece of output. Players for it
//! are in every distribution and on the web.

use crate::plan::Live;
use std::fmt::Write;

/// Columns of a pane, and of the gap between two.
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
    /// All that it told, oldest first.
    pub told: Vec<Live>,
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
    let now = pane.told.last().copied().unwrap_or_default();
    // Counting begins with the load.
    let first = pane
        .told
        .iter()
        .find(|live| live.at_s >= 0.0)
        .copied()
        .unwrap_or(now);
    let phase = match pane.told.last() {
        None => "booting".to_owned(),
        Some(live) if live.at_s < 0.0 => format!("warming up, {:.0} s to go", -live.at_s),
        Some(live) => format!("{:.0} s", live.at_s),
    };
    let stalls = |live: &Live| live.allocstall + live.compact_stall;
    let answer = |value: Option<f64>| value.map_or("–".to_owned(), |ms| format!("{ms:.0} ms"));
    vec![
        format!("{} ({phase})", pane.title),
        String::new(),
        format!(
            "allocation stalls  {:>8.0}",
            now.allocstall - first.allocstall
        ),
        format!(
            "compaction stalls  {:>8.0}",
            now.compact_stall - first.compact_stall
        ),
        steps(&pane.told, stalls),
        format!(
            "waited for memory  {:>8.1} s",
            (now.stalled_ms - first.stalled_ms) / 1e3
        ),
        format!("refaults           {:>8.0}", now.refaults - first.refaults),
        format!("killed             {:>8.0}", now.kills - first.kills),
        format!("a command starts in {:>10}", answer(now.exec_ms)),
        format!("the hot file read in {:>9}", answer(now.read_ms)),
        format!(
            "free {:>6.0} MiB, gap {:>4.0} MiB",
            now.free_mib, now.gap_mib
        ),
        levels(&pane.told, |live| live.free_mib),
        String::new(),
    ]
}

/// A bar for each of the last moments: how much a count grew, the tallest seen filling the line.
fn steps(told: &[Live], of: fn(&Live) -> f64) -> String {
    let grown: Vec<f64> = told
        .windows(2)
        .map(|pair| of(&pair[1]) - of(&pair[0]))
        .collect();
    bars(&grown)
}

fn levels(told: &[Live], of: fn(&Live) -> f64) -> String {
    bars(&told.iter().map(of).collect::<Vec<f64>>())
}

fn bars(values: &[f64]) -> String {
    let last = values
        .get(values.len().saturating_sub(PANE)..)
        .unwrap_or_default();
    let most = last.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let bar = |value: &f64| {
        if *value <= 0.0 {
            ' '
        } else {
            BARS[((value / most * 7.0).round() as usize).min(7)]
        }
    };
    last.iter().map(bar).collect()
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
        let head = serde_json::json!({"version": 2, "width": COLUMNS, "height": LINES, "timestamp": at, "title": title});
        Self {
            text: format!("{head}\n"),
        }
    }

    /// A drawing at so many seconds.
    pub fn show(&mut self, at_s: f64, drawing: &str) {
        let output = format!("\x1b[H{}", drawing.replace('\n', "\r\n"));
        let _ = writeln!(
            self.text,
            "{}",
            serde_json::json!([(at_s * 1e3).round() / 1e3, "o", output])
        );
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
        let told = stalls.iter().enumerate().map(|(at, count)| Live {
            at_s: at as f64,
            allocstall: *count,
            ..Live::default()
        });
        Pane {
            title: "none".to_owned(),
            told: told.collect(),
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
