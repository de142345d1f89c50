//! Curves in a frame.

use crate::escaped;
use crate::scale::{Range, Scale, number};
use std::fmt::Write;

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A line through the points.
    Line,
    /// A line with a dot at each point.
    Dots,
    /// Dots without a line.
    Points,
    /// An area with these points around it: the upper edge from left to right, then the lower edge back.
    Band,
}

/// One curve.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Points by rising x.
    pub points: Vec<(f64, f64)>,
    /// How the points are drawn.
    pub mark: Mark,
}

/// An axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// What it shows, with its unit.
    pub label: String,
    /// How values are placed.
    pub scale: Scale,
}

/// Curves in a frame.
#[derive(Debug, Clone)]
pub struct Chart {
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, the most important first.
    pub series: Vec<Series>,
}

/// Size of the picture, in units of the SVG; text of 13 units is then readable at the width of a page.
const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 460.0;
/// Margins around the frame: left for numbers, right for the legend, above for the title, below for the axis.
pub(crate) const LEFT: f64 = 78.0;
const RIGHT: f64 = 170.0;
pub(crate) const TOP: f64 = 40.0;
pub(crate) const BOTTOM: f64 = 56.0;

/// Colours that people with any colour vision can tell apart (Okabe, Ito). Dashes help in print without colour, and where
/// curves cover each other.
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f7f7f",
];
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];

/// The colours of background and text, on a light and on a dark screen.
const STYLE: &str = "<style>.p{fill:#fff}.i{fill:#222;font:13px system-ui,sans-serif}.g{stroke:#ddd}.f{stroke:#666;fill:none}\
@media(prefers-color-scheme:dark){.p{fill:#16181c}.i{fill:#ddd}.g{stroke:#333}.f{stroke:#999}}</style>";

/// The style that every picture has.
pub(crate) fn frame_style() -> &'static str {
    STYLE
}

impl Chart {
    /// The chart as an SVG document.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| series.points.iter());
        let x = Range::around(self.x.scale, points().map(|point| point.0));
        let y = Range::around(self.y.scale, points().map(|point| point.1));
        let title = escaped(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\
             {STYLE}<rect class=\"p\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n<text class=\"i\" x=\"{LEFT}\" y=\"24\" \
             font-weight=\"bold\">{title}</text>\n"
        );
        match (x, y) {
            (Some(x), Some(y)) => {
                self.frame(&mut svg, &x, &y);
                self.curves(&mut svg, &x, &y);
            }
            _ => {
                _ = writeln!(
                    svg,
                    "<text class=\"i\" x=\"{LEFT}\" y=\"80\">nothing to draw</text>"
                );
            }
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn frame(&self, svg: &mut String, x: &Range, y: &Range) {
        let right = WIDTH - RIGHT;
        let bottom = HEIGHT - BOTTOM;
        for (value, text) in x.marks() {
            let at = across(x.place(value).unwrap_or(0.0));
            let _ = writeln!(
                svg,
                "<line class=\"g\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
                 <text class=\"i\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                bottom + 18.0
            );
        }
        for (value, text) in y.marks() {
            let at = up(y.place(value).unwrap_or(0.0));
            let _ = writeln!(
                svg,
                "<line class=\"g\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"i\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                LEFT - 8.0,
                at + 4.0
            );
        }
        let _ = writeln!(
            svg,
            "<rect class=\"f\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/>\
             <text class=\"i\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text class=\"i\" transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            right - LEFT,
            bottom - TOP,
            (LEFT + right) / 2.0,
            HEIGHT - 12.0,
            escaped(&self.x.label),
            (TOP + bottom) / 2.0,
            escaped(&self.y.label)
        );
    }

    fn curves(&self, svg: &mut String, x: &Range, y: &Range) {
        let mut at = 0;
        for series in &self.series {
            let colour = COLOURS[at % COLOURS.len()];
            let dash = DASHES[at % DASHES.len()];
            let placed = series
                .points
                .iter()
                .filter_map(|(a, b)| Some((across(x.place(*a)?), up(y.place(*b)?), *a, *b)));
            let placed: Vec<_> = placed.collect();
            let path: Vec<String> = thinned(&placed)
                .iter()
                .map(|point| format!("{:.1},{:.1}", point.0, point.1))
                .collect();
            let name = escaped(&series.name);
            let (shape, style) = match series.mark {
                Mark::Band => (
                    "polygon",
                    format!("fill=\"{colour}\" fill-opacity=\"0.25\""),
                ),
                Mark::Points => ("polyline", "fill=\"none\"".to_owned()),
                _ => (
                    "polyline",
                    format!(
                        "fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\""
                    ),
                ),
            };
            let _ = writeln!(
                svg,
                "<{shape} points=\"{}\" {style}><title>{name}</title></{shape}>",
                path.join(" ")
            );
            for (across, up, a, b) in placed
                .iter()
                .filter(|_| matches!(series.mark, Mark::Dots | Mark::Points))
            {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{across:.1}\" cy=\"{up:.1}\" r=\"3\" fill=\"{colour}\"><title>{name}: {}, {}</title></circle>",
                    number(*a),
                    number(*b)
                );
            }
            // A band has the colour of the line after it, and no entry of its own in the legend.
            if series.mark == Mark::Band {
                continue;
            }
            let left = WIDTH - RIGHT + 14.0;
            let line = TOP + 12.0 + at as f64 * 19.0;
            let sign = if series.mark == Mark::Points {
                format!(
                    "<circle cx=\"{}\" cy=\"{line}\" r=\"4\" fill=\"{colour}\"/>",
                    left + 12.0
                )
            } else {
                format!(
                    "<line x1=\"{left}\" x2=\"{}\" y1=\"{line}\" y2=\"{line}\" stroke=\"{colour}\" stroke-width=\"3\" \
                     stroke-dasharray=\"{dash}\"/>",
                    left + 24.0
                )
            };
            let _ = writeln!(
                svg,
                "{sign}<text class=\"i\" x=\"{}\" y=\"{}\">{name}</text>",
                left + 30.0,
                line + 4.0
            );
            at += 1;
        }
    }
}

fn across(share: f64) -> f64 {
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

fn up(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
}

/// Leaves out points nearer than half a unit to the one before: they could not be seen.
fn thinned(points: &[(f64, f64, f64, f64)]) -> Vec<(f64, f64, f64, f64)> {
    let mut kept: Vec<(f64, f64, f64, f64)> = Vec::new();
    for (at, point) in points.iter().enumerate() {
        let far = kept
            .last()
            .is_none_or(|last| (last.0 - point.0).abs() + (last.1 - point.1).abs() > 0.5);
        if far || at + 1 == points.len() {
            kept.push(*point);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        let axis = |label: &str| Axis {
            label: label.to_owned(),
            scale: Scale::Log,
        };
        let series = vec![Series {
            name: "a<b".to_owned(),
            points,
            mark: Mark::Dots,
        }];
        Chart {
            title: "Misses & sizes".to_owned(),
            x: axis("pages"),
            y: axis("misses"),
            series,
        }
    }

    #[test]
    fn a_chart_shows_its_points_and_escapes_its_text() {
        let svg = chart(vec![(1.0, 100.0), (10.0, 1.0)]).svg();
        assert!(svg.contains("a&lt;b: 10, 1") && svg.contains("Misses &amp; sizes"));
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn an_empty_chart_says_so() {
        assert!(chart(vec![(0.0, 1.0)]).svg().contains("nothing to draw"));
    }
}
