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

/// Width of every picture, in units of the SVG: on a phone of 390 pixels text of 13 units is still 9 pixels high.
pub(crate) const WIDTH: f64 = 480.0;
/// Height of the frame.
const FRAME: f64 = 300.0;
/// Margins around the frame: left for numbers, right for the numbers of curves, above for the title, below for the axis.
const LEFT: f64 = 68.0;
const RIGHT: f64 = 24.0;
pub(crate) const TOP: f64 = 44.0;
pub(crate) const BOTTOM: f64 = 56.0;
/// Height of a row of text.
const ROW: f64 = 18.0;
/// Letters of a title that fit beside each other; a longer one has two rows.
const TITLE: usize = 62;
/// Letters of a name in half of the legend; with a longer one the legend has a row for each.
const NAME: usize = 26;

/// Colours that people with any colour vision can tell apart (Okabe, Ito). Dashes and marks help in print without colour,
/// and where curves cover each other.
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f7f7f",
];
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];
/// Marks on a curve: enough to tell it apart, and few enough to see it.
const MARKS: usize = 4;

/// The colours of background and text, on a light and on a dark screen.
const STYLE: &str = "<style>.p{fill:#fff}.i{fill:#222;font:13px system-ui,sans-serif}.g{stroke:#ddd}.f{stroke:#666;fill:none}\
@media(prefers-color-scheme:dark){.p{fill:#16181c}.i{fill:#ddd}.g{stroke:#333}.f{stroke:#999}}</style>";

/// How one series is drawn.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// Its place among the series, without bands.
    at: usize,
}

impl Look {
    fn colour(self) -> &'static str {
        COLOURS[self.at % COLOURS.len()]
    }

    fn dash(self) -> &'static str {
        DASHES[self.at % DASHES.len()]
    }

    /// A mark of its shape around a place.
    fn mark(self, x: f64, y: f64, title: &str) -> String {
        let colour = self.colour();
        let path = match self.at % 6 {
            0 => format!(
                "M{:.1} {y:.1}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
                x - 3.5
            ),
            1 => format!("M{:.1} {:.1}h6v6h-6z", x - 3.0, y - 3.0),
            2 => format!("M{x:.1} {:.1}l4 7h-8z", y - 4.0),
            3 => format!("M{x:.1} {:.1}l4 4l-4 4l-4 -4z", y - 4.0),
            4 => format!("M{:.1} {:.1}l7 7m0 -7l-7 7", x - 3.5, y - 3.5),
            _ => format!("M{:.1} {y:.1}h8m-4 -4v8", x - 4.0),
        };
        // The last two shapes are strokes.
        let paint = if self.at % 6 < 4 {
            format!("fill=\"{colour}\"")
        } else {
            format!("stroke=\"{colour}\" stroke-width=\"2\"")
        };
        format!("<path class=\"m\" d=\"{path}\" {paint}>{title}</path>")
    }
}

impl Chart {
    /// The chart as an SVG document.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| series.points.iter());
        let x = Range::around(self.x.scale, points().map(|point| point.0));
        let y = Range::around(self.y.scale, points().map(|point| point.1));
        let height = TOP + FRAME + BOTTOM + self.legend_rows() as f64 * ROW;
        let mut svg = opening(&self.title, height);
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
        let bottom = TOP + FRAME;
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
                LEFT - 6.0,
                at + 4.0
            );
        }
        let _ = writeln!(
            svg,
            "<rect class=\"f\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{FRAME}\"/>\
             <text class=\"i\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text class=\"i\" transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            right - LEFT,
            (LEFT + right) / 2.0,
            bottom + 40.0,
            escaped(&self.x.label),
            (TOP + bottom) / 2.0,
            escaped(&self.y.label)
        );
    }

    /// The series that have an entry in the legend: a band has the colour of the line after it.
    fn named(&self) -> impl Iterator<Item = &Series> {
        self.series
            .iter()
            .filter(|series| series.mark != Mark::Band)
    }

    fn legend_columns(&self) -> usize {
        let is_short = |series: &Series| series.name.chars().count() <= NAME;
        if self.named().all(is_short) { 2 } else { 1 }
    }

    fn legend_rows(&self) -> usize {
        self.named().count().div_ceil(self.legend_columns())
    }

    fn curves(&self, svg: &mut String, x: &Range, y: &Range) {
        let is_alone = self.named().count() < 2;
        let mut at = 0;
        let mut ends = Vec::new();
        for series in &self.series {
            let look = Look { at };
            let placed = series
                .points
                .iter()
                .filter_map(|(a, b)| Some((across(x.place(*a)?), up(y.place(*b)?), *a, *b)));
            let placed: Vec<_> = placed.collect();
            draw(svg, series, look, &placed);
            if series.mark == Mark::Band {
                continue;
            }
            if series.mark == Mark::Line && !is_alone {
                for point in marked(&placed, at) {
                    let _ = writeln!(svg, "{}", look.mark(point.0, point.1, ""));
                }
            }
            self.legend(svg, series, look);
            if let Some(last) = placed.last() {
                ends.push((last.0, last.1, at));
            }
            at += 1;
        }
        if !is_alone {
            labels(svg, ends);
        }
    }

    /// The entry of a series in the legend: its number, its sign and its name.
    fn legend(&self, svg: &mut String, series: &Series, look: Look) {
        let columns = self.legend_columns();
        let column = (look.at % columns) as f64;
        let row = (look.at / columns) as f64;
        let left = 8.0 + column * WIDTH / 2.0;
        let line = TOP + FRAME + BOTTOM + row * ROW;
        if series.mark != Mark::Points {
            let _ = write!(
                svg,
                "<line x1=\"{}\" x2=\"{}\" y1=\"{line}\" y2=\"{line}\" stroke=\"{}\" stroke-width=\"2\" \
                 stroke-dasharray=\"{}\"/>",
                left + 14.0,
                left + 42.0,
                look.colour(),
                look.dash()
            );
        }
        let name = escaped(&series.name);
        let _ = writeln!(
            svg,
            "{}<text class=\"i\" x=\"{left}\" y=\"{}\">{}</text><text class=\"i\" x=\"{}\" y=\"{}\">{name}</text>",
            look.mark(left + 28.0, line, ""),
            line + 4.0,
            look.at + 1,
            left + 48.0,
            line + 4.0
        );
    }
}

/// The beginning of every picture: its size, its style and its title.
pub(crate) fn opening(title: &str, height: f64) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\
         {STYLE}<rect class=\"p\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
        escaped(title)
    );
    for (row, text) in in_rows(title, TITLE).iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text class=\"i\" x=\"8\" y=\"{}\" font-weight=\"bold\">{}</text>",
            17.0 + row as f64 * 16.0,
            escaped(text)
        );
    }
    svg
}

/// A text in one row, or in two.
fn in_rows(text: &str, most: usize) -> Vec<&str> {
    if text.chars().count() <= most {
        return vec![text];
    }
    let fits = text
        .char_indices()
        .nth(most)
        .map_or(text.len(), |(at, _)| at);
    match text[..fits].rfind(' ') {
        Some(blank) => vec![&text[..blank], &text[blank + 1..]],
        None => vec![text],
    }
}

/// A point where it is drawn, and its values.
type Placed = (f64, f64, f64, f64);

/// Draws the curve, the area or the points of a series.
fn draw(svg: &mut String, series: &Series, look: Look, placed: &[Placed]) {
    let colour = look.colour();
    let dash = look.dash();
    let name = escaped(&series.name);
    let path: Vec<String> = thinned(placed)
        .iter()
        .map(|point| format!("{:.1},{:.1}", point.0, point.1))
        .collect();
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
    if !matches!(series.mark, Mark::Dots | Mark::Points) {
        return;
    }
    for (across, up, a, b) in placed {
        let title = format!("<title>{name}: {}, {}</title>", number(*a), number(*b));
        let _ = writeln!(svg, "{}", look.mark(*across, *up, &title));
    }
}

/// Points of a curve that get a mark: evenly spread, and elsewhere than those of the curve before.
fn marked(placed: &[Placed], at: usize) -> Vec<Placed> {
    let mut found = Vec::new();
    let first = placed.first().map_or(0.0, |point| point.0);
    let last = placed.last().map_or(0.0, |point| point.0);
    for mark in 0..MARKS {
        let share = (mark as f64 + (at % 3 + 1) as f64 / 4.0) / MARKS as f64;
        let from = first + share * (last - first);
        found.extend(placed.iter().find(|point| point.0 >= from).copied());
    }
    found
}

/// The number of each curve beside its end; numbers that would overlap move apart.
fn labels(svg: &mut String, mut ends: Vec<(f64, f64, usize)>) {
    ends.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut free = TOP;
    for (x, y, at) in ends {
        let line = (y + 4.0).max(free);
        free = line + 12.0;
        let _ = writeln!(
            svg,
            "<text class=\"i\" x=\"{:.1}\" y=\"{line:.1}\" style=\"fill:{}\">{}</text>",
            x + 6.0,
            Look { at }.colour(),
            at + 1
        );
    }
}

fn across(share: f64) -> f64 {
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

fn up(share: f64) -> f64 {
    TOP + FRAME - share * FRAME
}

/// Leaves out points nearer than half a unit to the one before: they could not be seen.
fn thinned(points: &[Placed]) -> Vec<Placed> {
    let mut kept: Vec<Placed> = Vec::new();
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
        assert_eq!(
            svg.matches("class=\"m\"").count(),
            3,
            "two points, and the legend"
        );
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn an_empty_chart_says_so() {
        assert!(chart(vec![(0.0, 1.0)]).svg().contains("nothing to draw"));
    }

    #[test]
    fn series_are_told_apart_by_colour_and_dash_and_mark_and_number() {
        let mut chart = chart(vec![(1.0, 100.0), (10.0, 1.0)]);
        let one = chart.series[0].clone();
        chart.series = (0..6)
            .map(|at| Series {
                name: format!("host {at}"),
                mark: Mark::Line,
                ..one.clone()
            })
            .collect();
        let svg = chart.svg();
        let shape = |at| {
            let mark = Look { at }.mark(0.0, 0.0, "");
            mark.split('"').nth(3).unwrap().to_owned()
        };
        for at in 0..6 {
            for other in 0..at {
                assert_ne!(Look { at }.colour(), Look { at: other }.colour());
                assert_ne!(shape(at), shape(other), "{at}");
            }
            let end = format!("style=\"fill:{}\">{}</text>", Look { at }.colour(), at + 1);
            assert!(svg.contains(&end), "{at}");
        }
        let lone = Chart {
            series: vec![one],
            ..chart
        };
        assert!(
            !lone.svg().contains("style=\"fill"),
            "one curve needs no label"
        );
    }

    #[test]
    fn a_long_title_has_two_rows() {
        assert_eq!(in_rows("a b", 3), ["a b"]);
        assert_eq!(in_rows("aa bb cc", 6), ["aa bb", "cc"]);
    }
}
