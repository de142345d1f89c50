//! A proof to share: one page with one picture and the numbers behind it.
//!
//! The picture is drawn as SVG by hand: a line over time for each run in each of three frames. The page needs no network, follows
//! the reader's light or dark setting, and carries the results as JSON.

use crate::comparison::statistics::median;
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

/// The arm that is proved: the guard as it is packaged.
pub const WITH: &str = "protect";
/// The control: the same machine and load, with the kernel alone.
const WITHOUT: &str = "none";
/// Fewer stalls by this share are what the gap is for.
const CLAIM: f64 = 0.9;

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
pub fn page(runs: &[Vec<Pane>; 2], lines: &[Line]) -> Result<String> {
    let machine = lines.first().map(|line| &line.machine);
    let on = machine.map(described).unwrap_or_default();
    let charts: String = CHARTS.iter().map(|chart| svg(chart, runs)).collect();
    let json = serde_json::to_string(lines)?.replace("</", "<\\/");
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Warmset: without and with</title><style>{STYLE}</style></head><body>\n\
         <h1>The same storm, <span class=\"a\">without</span> and <span class=\"b\">with</span> Warmset</h1>\n\
         <p>{} {}</p>\n{charts}\n<p><strong>{}</strong></p>\n\
         <pre>{}</pre>\n<script type=\"application/json\" id=\"results\">{json}</script>\n</body></html>\n",
        escape(&on),
        escape(&design(lines)),
        escape(&verdict(lines)),
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

fn svg(chart: &Chart, runs: &[Vec<Pane>; 2]) -> String {
    let mut lines: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
    for (side, class) in runs.iter().zip(["a", "b"]) {
        lines.extend(side.iter().map(|pane| (class, points(pane, chart))));
    }
    // Never zero, since coordinates are divided by these.
    let mut most = 1.0_f64;
    let mut end = 1.0_f64;
    for (at, value) in lines.iter().flat_map(|(_, line)| line) {
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
    for (class, line) in &lines {
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

/// How it was measured, in a sentence.
fn design(lines: &[Line]) -> String {
    let runs = lines.iter().filter(|line| line.arm == WITH).count();
    let load: Vec<String> = lines
        .iter()
        .filter_map(|line| line.machine.host_load)
        .map(|load| format!("{load:.1}"))
        .collect();
    format!(
        "{runs} runs each, in turns: the control is the same load with the kernel alone. Each line is one run. Load of the \
         host at their starts: {}.",
        load.join(", ")
    )
}

/// Whether the claim holds: how many fewer allocations stalled, or that there was nothing to prevent.
pub fn verdict(lines: &[Line]) -> String {
    let stalls = |arm: &str| {
        let of_arm = lines.iter().filter(|line| line.arm == arm);
        let counts: Option<Vec<f64>> = of_arm.map(stalls).collect();
        counts.and_then(|counts| median(&counts))
    };
    let (Some(without), Some(with)) = (stalls(WITHOUT), stalls(WITH)) else {
        return "No verdict: a run has no counters.".to_owned();
    };
    if without <= 0.0 {
        return "No verdict: without Warmset nothing stalled here.".to_owned();
    }
    let fewer = 1.0 - with / without;
    let holds = if fewer >= CLAIM {
        "shown"
    } else {
        "not shown here"
    };
    format!(
        "Stalls in reclaim and compaction, medians: {without:.0} without, {with:.0} with: {:.0} % fewer. At least {:.0} % fewer is {holds}.",
        fewer * 100.0,
        CLAIM * 100.0
    )
}

/// Allocations that stalled in a run, in reclaim or in compaction.
fn stalls(line: &Line) -> Option<f64> {
    let count = |name: &str| comparison::measure(name).and_then(|measure| (measure.of)(line));
    Some(count("allocstall")? + count("compact_stall")?)
}

/// A table in text: each measure without and with Warmset, medians with the least and the most; then the verdict.
pub fn summary(lines: &[Line]) -> String {
    let mut text = format!("{:<24}{:>22}{:>22}\n", "", "without", "with");
    for measure in SUMMARIZED
        .iter()
        .filter_map(|name| comparison::measure(name))
    {
        let name = measure.name;
        let without = spread(measure, lines, WITHOUT);
        let with = spread(measure, lines, WITH);
        let _ = writeln!(text, "{name:<24}{without:>22}{with:>22}  {}", measure.about);
    }
    let _ = writeln!(text, "\n{}", verdict(lines));
    text
}

/// The median of an arm's runs with the least and the most.
fn spread(measure: &Measure, lines: &[Line], arm: &str) -> String {
    let of_arm = lines.iter().filter(|line| line.arm == arm);
    let values: Option<Vec<f64>> = of_arm.map(|line| (measure.of)(line)).collect();
    let values = values.unwrap_or_default();
    let Some(middle) = median(&values) else {
        return "–".to_owned();
    };
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{middle:.0} [{least:.0}, {most:.0}]")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs with these counts of stalls, without and with.
    fn stalled(without: &[i64], with: &[i64]) -> Vec<Line> {
        let mut lines = Vec::new();
        for (arm, counts) in [(WITHOUT, without), (WITH, with)] {
            for (rep, count) in counts.iter().enumerate() {
                let mut line = crate::line::tests::line(arm, rep as u32);
                let counters = [("allocstall_normal", *count), ("compact_stall", 0)];
                let counters = counters.map(|(name, count)| (name.to_owned(), count));
                line.report
                    .counters
                    .insert("load".to_owned(), counters.into());
                lines.push(line);
            }
        }
        lines
    }

    #[test]
    fn the_verdict_is_on_the_medians_and_can_be_no() {
        let shown = verdict(&stalled(&[300, 317, 250], &[2, 0, 40]));
        assert!(
            shown.contains("99 % fewer. At least 90 % fewer is shown."),
            "{shown}"
        );
        let not = verdict(&stalled(&[160, 243, 200], &[132, 154, 150]));
        assert!(not.contains("is not shown here"), "{not}");
        let nothing = verdict(&stalled(&[0, 0, 0], &[0, 0, 0]));
        assert!(nothing.starts_with("No verdict"), "{nothing}");
        let lost = verdict(&[crate::line::tests::line(WITHOUT, 0)]);
        assert!(lost.starts_with("No verdict"), "{lost}");
        let table = summary(&stalled(&[300, 317, 250], &[2, 0, 40]));
        assert!(table.contains("300 [250, 317]"), "{table}");
    }

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
        let mut lines = Vec::new();
        let mut runs = [Vec::new(), Vec::new()];
        for rep in 0..3 {
            lines.push(crate::line::tests::line(WITHOUT, rep));
            lines.push(crate::line::tests::line(WITH, rep));
            runs[0].push(pane(WITHOUT, 100.0));
            runs[1].push(pane(WITH, 1.0));
        }
        let text = page(&runs, &lines).unwrap();
        let json = text
            .split("id=\"results\">")
            .nth(1)
            .unwrap()
            .split("</script>")
            .next()
            .unwrap();
        let back: Vec<Line> = serde_json::from_str(json).unwrap();
        assert_eq!(back, lines);
        assert_eq!(text.matches("<polyline").count(), 18);
        assert!(text.contains(">300</text>"), "a count begins at zero");
    }
}
