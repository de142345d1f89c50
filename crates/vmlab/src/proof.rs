//! A proof to share: one page with one picture and the numbers behind it.
//!
//! The picture is drawn as SVG by hand: two lines over time in each of three frames. The page needs no network, follows
//! the reader's light or dark setting, and carries the results as JSON.

use crate::comparison::{self, Measure};
use crate::line::{Line, Machine};
use crate::plan::Live;
use crate::screen::Pane;
use anyhow::Result;
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 150.0;
/// Space for words at the left and below.
const LEFT: f64 = 64.0;
const BELOW: f64 = 24.0;
/// The measures of the summary.
const SUMMARIZED: &[&str] = &[
    "allocstall",
    "compact_stall",
    "psi_memory_some_ms",
    "gap_mib_s",
    "refaults_per_read_mib",
];

/// A frame of the picture.
struct Chart {
    name: &'static str,
    value: fn(&Live) -> f64,
    /// Whether the value only grows: it is drawn from zero at the start of the load.
    is_count: bool,
}

const CHARTS: &[Chart] = &[
    Chart {
        name: "Allocations that stalled, so far",
        value: |live| live.allocstall + live.compact_stall,
        is_count: true,
    },
    Chart {
        name: "Time in which tasks waited for memory, so far (s)",
        value: |live| live.stalled_ms / 1e3,
        is_count: true,
    },
    Chart {
        name: "Memory held free in advance: the gap (MiB)",
        value: |live| live.gap_mib,
        is_count: false,
    },
];

/// The page.
pub fn page(panes: &[Pane; 2], lines: &[Line]) -> Result<String> {
    let machine = lines.first().map(|line| &line.machine);
    let on = machine.map(described).unwrap_or_default();
    let charts: String = CHARTS.iter().map(|chart| svg(chart, panes)).collect();
    let json = serde_json::to_string(lines)?.replace("</", "<\\/");
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Warmset: without and with</title><style>{STYLE}</style></head><body>\n\
         <h1>The same storm, <span class=\"a\">without</span> and <span class=\"b\">with</span> Warmset</h1>\n\
         <p>{} One run each: it shows what happens, not how sure it is; <code>warmset-lab run storm --reps 5</code> does that.</p>\n{charts}\n\
         <pre>{}</pre>\n<script type=\"application/json\" id=\"results\">{json}</script>\n</body></html>\n",
        escape(&on),
        escape(&summary(lines))
    ))
}

fn described(machine: &Machine) -> String {
    format!(
        "Kernel {} ({}), {} MiB, {} in QEMU {}.",
        machine.setting.kernel,
        machine.origin,
        machine.setting.memory_mib,
        machine.accel,
        machine.qemu
    )
}

const STYLE: &str = ":root{color-scheme:light dark;--ink:#222;--paper:#fff;--a:#b3402a;--b:#1f6f8b;--rule:#bbb}\
@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#161616;--a:#ff8a70;--b:#6ec6e6;--rule:#555}}\
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:44rem;margin:2rem auto;padding:0 1rem}\
.a{color:var(--a)}.b{color:var(--b)}svg{width:100%;height:auto}svg text{fill:var(--ink);font:11px system-ui,sans-serif}\
.line{fill:none;stroke-width:2}.line.a{stroke:var(--a)}.line.b{stroke:var(--b);stroke-dasharray:7 3}.rule{stroke:var(--rule)}pre{white-space:pre-wrap}";

fn svg(chart: &Chart, panes: &[Pane; 2]) -> String {
    let lines: Vec<Vec<(f64, f64)>> = panes.iter().map(|pane| points(pane, chart)).collect();
    // Never zero, since coordinates are divided by these.
    let mut most = 1.0_f64;
    let mut end = 1.0_f64;
    for (at, value) in lines.iter().flatten() {
        end = end.max(*at);
        most = most.max(*value);
    }
    let name = chart.name;
    let floor = HEIGHT - BELOW;
    let scale = LEFT - 6.0;
    let below = HEIGHT - 8.0;
    let mut text = format!(
        "<figure><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{name}\">\
         <text x=\"{LEFT}\" y=\"12\">{name}</text>\
         <path class=\"rule\" d=\"M{LEFT} {floor}H{WIDTH}\"/>\
         <text x=\"{scale}\" y=\"26\" text-anchor=\"end\">{most:.0}</text>\
         <text x=\"{scale}\" y=\"{floor}\" text-anchor=\"end\">0</text>\
         <text x=\"{WIDTH}\" y=\"{below}\" text-anchor=\"end\">{end:.0} s</text>"
    );
    for (line, class) in lines.iter().zip(["a", "b"]) {
        let mut path: Vec<String> = Vec::with_capacity(line.len());
        for (at, value) in line {
            let x = LEFT + at / end * (WIDTH - LEFT - 8.0);
            let y = floor - value / most * (floor - 20.0);
            path.push(format!("{x:.1},{y:.1}"));
        }
        let path = path.join(" ");
        let _ = write!(text, "<polyline class=\"line {class}\" points=\"{path}\"/>");
    }
    text + "</svg></figure>\n"
}

/// Seconds and value of each moment from the start of the load on.
fn points(pane: &Pane, chart: &Chart) -> Vec<(f64, f64)> {
    let load = pane.states.iter().filter(|live| live.at_s >= 0.0);
    let mut base = 0.0;
    if let (true, Some(first)) = (chart.is_count, load.clone().next()) {
        base = (chart.value)(first);
    }
    load.map(|live| (live.at_s, (chart.value)(live) - base))
        .collect()
}

/// A table in text: each measure without and with Warmset.
pub fn summary(lines: &[Line]) -> String {
    let without = lines.iter().find(|line| line.arm == "none");
    let with = lines.iter().find(|line| line.arm == "warmset");
    let mut text = format!("{:<26}{:>12}{:>12}\n", "", "without", "with");
    for measure in SUMMARIZED
        .iter()
        .filter_map(|name| comparison::measure(name))
    {
        let name = measure.name;
        let without = rounded(measure, without);
        let with = rounded(measure, with);
        let _ = writeln!(text, "{name:<26}{without:>12}{with:>12}  {}", measure.about);
    }
    text
}

fn rounded(measure: &Measure, line: Option<&Line>) -> String {
    match line.and_then(measure.of) {
        Some(value) => format!("{value:.0}"),
        None => "–".to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_holds_its_numbers() {
        let pane = |arm: &str, step: f64| {
            let states = (0..4).map(|at| Live {
                at_s: f64::from(at),
                allocstall: 10.0 + step * f64::from(at),
                ..Live::default()
            });
            Pane {
                title: arm.to_owned(),
                states: states.collect(),
            }
        };
        let lines = [
            crate::line::tests::line("none", 0),
            crate::line::tests::line("warmset", 0),
        ];
        let text = page(&[pane("none", 100.0), pane("warmset", 1.0)], &lines).unwrap();
        let json = text
            .split("id=\"results\">")
            .nth(1)
            .unwrap()
            .split("</script>")
            .next()
            .unwrap();
        let back: Vec<Line> = serde_json::from_str(json).unwrap();
        assert_eq!(back, lines);
        assert_eq!(text.matches("<polyline").count(), 6);
        assert!(text.contains(">300</text>"), "a count begins at zero");
    }
}
