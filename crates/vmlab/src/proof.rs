//! A proof to share: one page, one picture, the numbers behind it inside.
//!
//! The picture is drawn as SVG by hand: two lines over time in each of three frames. The page needs no network, follows
//! the reader's light or dark setting, and carries the results as JSON.

use crate::comparison;
use crate::line::Line;
use crate::plan::Live;
use crate::screen::Pane;
use anyhow::Result;
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 150.0;
/// Room for words at the left and below.
const LEFT: f64 = 64.0;
const BELOW: f64 = 24.0;
/// What the verdict is given of.
const TOLD: &[&str] = &[
    "allocstall",
    "compact_stall",
    "psi_memory_some_ms",
    "gap_mib_s",
    "refaults_per_read_mib",
];

/// A frame of the picture: a name, and what it shows of a moment.
type Chart = (&'static str, fn(&Live) -> f64);

const CHARTS: &[Chart] = &[
    ("Allocations that stalled, so far", |live| {
        live.allocstall + live.compact_stall
    }),
    (
        "Time in which tasks waited for memory, so far (s)",
        |live| live.stalled_ms / 1e3,
    ),
    ("Memory held free in advance: the gap (MiB)", |live| {
        live.gap_mib
    }),
];

/// The page.
pub fn page(panes: &[Pane; 2], lines: &[Line]) -> Result<String> {
    let machine = lines.first().map(|line| &line.machine);
    let on = machine.map_or(String::new(), |machine| {
        format!(
            "Kernel {} ({}), {} MiB, {} in QEMU {}.",
            machine.setting.kernel,
            machine.origin,
            machine.setting.memory_mib,
            machine.accel,
            machine.qemu
        )
    });
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

const STYLE: &str = ":root{color-scheme:light dark;--ink:#222;--paper:#fff;--a:#b3402a;--b:#1f6f8b;--rule:#bbb}\
@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#161616;--a:#ff8a70;--b:#6ec6e6;--rule:#555}}\
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:44rem;margin:2rem auto;padding:0 1rem}\
.a{color:var(--a)}.b{color:var(--b)}svg{width:100%;height:auto}svg text{fill:var(--ink);font:11px system-ui,sans-serif}\
.line{fill:none;stroke-width:2}.line.a{stroke:var(--a)}.line.b{stroke:var(--b);stroke-dasharray:7 3}.rule{stroke:var(--rule)}pre{white-space:pre-wrap}";

fn svg((name, of): &Chart, panes: &[Pane; 2]) -> String {
    let counted: Vec<Vec<(f64, f64)>> = panes
        .iter()
        .map(|pane| series(&pane.told, *of, name.contains("so far")))
        .collect();
    let all = || counted.iter().flatten();
    let (most, end) = (
        all().map(|point| point.1).fold(1.0, f64::max),
        all().map(|point| point.0).fold(1.0, f64::max),
    );
    let place = |(at, value): &(f64, f64)| {
        format!(
            "{:.1},{:.1}",
            LEFT + at / end * (WIDTH - LEFT - 8.0),
            (HEIGHT - BELOW) - value / most * (HEIGHT - BELOW - 20.0)
        )
    };
    let mut text = format!(
        "<figure><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{name}\">"
    );
    let floor = HEIGHT - BELOW;
    let _ = write!(
        text,
        "<text x=\"{LEFT}\" y=\"12\">{name}</text><path class=\"rule\" d=\"M{LEFT} {floor}H{WIDTH}\"/>"
    );
    let _ = write!(
        text,
        "<text x=\"{}\" y=\"26\" text-anchor=\"end\">{most:.0}</text>",
        LEFT - 6.0
    );
    let _ = write!(
        text,
        "<text x=\"{}\" y=\"{floor}\" text-anchor=\"end\">0</text>",
        LEFT - 6.0
    );
    let _ = write!(
        text,
        "<text x=\"{WIDTH}\" y=\"{}\" text-anchor=\"end\">{end:.0} s</text>",
        HEIGHT - 8.0
    );
    for (points, class) in counted.iter().zip(["a", "b"]) {
        let path: Vec<String> = points.iter().map(place).collect();
        let _ = write!(
            text,
            "<polyline class=\"line {class}\" points=\"{}\"/>",
            path.join(" ")
        );
    }
    text + "</svg></figure>\n"
}

/// Points from the beginning of the load on; a count begins there at zero.
fn series(told: &[Live], of: fn(&Live) -> f64, counts: bool) -> Vec<(f64, f64)> {
    let mut load = told.iter().filter(|live| live.at_s >= 0.0).peekable();
    let base = load
        .peek()
        .map_or(0.0, |first| if counts { of(first) } else { 0.0 });
    load.map(|live| (live.at_s, of(live) - base)).collect()
}

/// Before and after in a few lines of text.
pub fn summary(lines: &[Line]) -> String {
    let of = |arm: &str| lines.iter().find(|line| line.arm == arm);
    let mut text = format!("{:<26}{:>12}{:>12}\n", "", "without", "with");
    for measure in TOLD.iter().filter_map(|name| comparison::measure(name)) {
        let value = |line: Option<&Line>| {
            line.and_then(measure.of)
                .map_or("–".to_owned(), |value| format!("{value:.0}"))
        };
        let _ = writeln!(
            text,
            "{:<26}{:>12}{:>12}  {}",
            measure.name,
            value(of("none")),
            value(of("warmset")),
            measure.about
        );
    }
    text
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
            let told = (0..4).map(|at| Live {
                at_s: f64::from(at),
                allocstall: 10.0 + step * f64::from(at),
                ..Live::default()
            });
            Pane {
                title: arm.to_owned(),
                told: told.collect(),
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
