//! A map of cells: time by memory.

use crate::chart::{BOTTOM, LEFT, TOP, frame_style};
use crate::escaped;
use crate::scale::{Range, Scale, number};
use std::fmt::Write;

/// What a cell shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Its colour, by place in [`Grid::kinds`].
    pub kind: usize,
    /// 0 to 2: how strong the colour is.
    pub strength: usize,
}

/// Rows with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Band {
    /// The first row.
    pub from: usize,
    /// One behind the last.
    pub to: usize,
    /// What is there.
    pub name: String,
}

/// A map.
#[derive(Debug, Clone)]
pub struct Grid {
    /// What is to be seen.
    pub title: String,
    /// What it counts across, with its unit, and from where to where.
    pub x: (String, f64, f64),
    /// What it counts up.
    pub y: String,
    /// Columns.
    pub width: usize,
    /// Row by row, the lowest first.
    pub cells: Vec<Option<Cell>>,
    /// Colours and what they mean.
    pub kinds: Vec<(&'static str, String)>,
    /// Named rows, the lowest first.
    pub bands: Vec<Band>,
}

const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 520.0;
const RIGHT: f64 = 170.0;
const STRENGTHS: [&str; 3] = ["0.35", "0.65", "1"];
/// Names nearer to each other than this cannot be read.
const LINE: f64 = 13.0;

impl Grid {
    /// As an SVG document: cells of a colour are one path.
    pub fn svg(&self) -> String {
        let title = escaped(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\
             {}<rect class=\"p\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n<text class=\"i\" x=\"{LEFT}\" y=\"24\" \
             font-weight=\"bold\">{title}</text>\n",
            frame_style()
        );
        self.paths(&mut svg);
        self.frame(&mut svg);
        self.names(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn height(&self) -> usize {
        self.cells.len() / self.width.max(1)
    }

    fn paths(&self, svg: &mut String) {
        let (wide, high) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
        let _ = writeln!(
            svg,
            "<g transform=\"translate({LEFT} {:.3}) scale({:.5} {:.5})\" stroke-width=\"1.02\">",
            HEIGHT - BOTTOM,
            wide / self.width.max(1) as f64,
            -high / self.height().max(1) as f64
        );
        for (kind, (colour, _)) in self.kinds.iter().enumerate() {
            for (strength, opacity) in STRENGTHS.iter().enumerate() {
                let path = self.path(Cell { kind, strength });
                if !path.is_empty() {
                    let _ = writeln!(
                        svg,
                        "<path stroke=\"{colour}\" stroke-opacity=\"{opacity}\" d=\"{path}\"/>"
                    );
                }
            }
        }
        svg.push_str("</g>\n");
    }

    /// Rows of neighbours that show the same, as strokes one row wide.
    fn path(&self, cell: Cell) -> String {
        let mut path = String::new();
        for (row, cells) in self.cells.chunks(self.width.max(1)).enumerate() {
            let mut from = 0;
            while let Some(start) = cells[from..]
                .iter()
                .position(|own| *own == Some(cell))
                .map(|at| at + from)
            {
                let length = cells[start..]
                    .iter()
                    .take_while(|own| **own == Some(cell))
                    .count();
                let _ = write!(path, "M{start} {row}.5h{length}");
                from = start + length;
            }
        }
        path
    }

    fn frame(&self, svg: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let _ = writeln!(
            svg,
            "<rect class=\"f\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/>",
            right - LEFT,
            bottom - TOP
        );
        if let Some(x) = Range::between(Scale::Linear, self.x.1, self.x.2) {
            for (value, text) in x
                .marks()
                .into_iter()
                .filter(|(value, _)| (self.x.1..=self.x.2).contains(value))
            {
                let at = LEFT + x.place(value).unwrap_or(0.0) * (right - LEFT);
                let _ = writeln!(
                    svg,
                    "<text class=\"i\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                    bottom + 18.0
                );
            }
        }
        let _ = writeln!(
            svg,
            "<text class=\"i\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text class=\"i\" transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (LEFT + right) / 2.0,
            HEIGHT - 12.0,
            escaped(&self.x.0),
            (TOP + bottom) / 2.0,
            escaped(&self.y)
        );
        for (at, (colour, name)) in self.kinds.iter().enumerate() {
            let x = LEFT + 150.0 * at as f64;
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"29\" width=\"10\" height=\"8\" fill=\"{colour}\"/><text class=\"i\" x=\"{}\" y=\"37\">{}</text>",
                x + 14.0,
                escaped(name)
            );
        }
    }

    /// A line under each band, and its name where there is room.
    fn names(&self, svg: &mut String) {
        let (right, bottom, rows) = (WIDTH - RIGHT, HEIGHT - BOTTOM, self.height().max(1) as f64);
        let up = |row: usize| bottom - row as f64 / rows * (bottom - TOP);
        let mut free = f64::INFINITY;
        for band in &self.bands {
            let (low, high) = (up(band.from), up(band.to));
            let middle = (low + high) / 2.0;
            let _ = writeln!(
                svg,
                "<line class=\"g\" x1=\"{right}\" x2=\"{}\" y1=\"{low:.1}\" y2=\"{low:.1}\"/>",
                right + 8.0
            );
            if middle > free - LINE {
                continue;
            }
            free = middle;
            let name: String = band.name.chars().take(22).collect();
            let _ = writeln!(
                svg,
                "<text class=\"i\" x=\"{}\" y=\"{:.1}\" font-size=\"11\"><title>{}, {} rows</title>{}</text>",
                right + 10.0,
                middle + 4.0,
                escaped(&band.name),
                number((band.to - band.from) as f64),
                escaped(&name)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_stroke_and_names_have_room() {
        let cell = |kind| Some(Cell { kind, strength: 2 });
        let grid = Grid {
            title: "a<b".to_owned(),
            x: ("time".to_owned(), 0.0, 100.0),
            y: "pages".to_owned(),
            width: 4,
            cells: vec![
                cell(0),
                cell(0),
                None,
                cell(0),
                None,
                cell(1),
                cell(1),
                None,
            ],
            kinds: vec![("red", "code".to_owned()), ("blue", "load".to_owned())],
            bands: vec![
                Band {
                    from: 0,
                    to: 1,
                    name: "heap".to_owned(),
                },
                Band {
                    from: 1,
                    to: 1,
                    name: "hidden".to_owned(),
                },
                Band {
                    from: 1,
                    to: 2,
                    name: "stack".to_owned(),
                },
            ],
        };
        let svg = grid.svg();
        assert!(
            svg.contains("d=\"M0 0.5h2M3 0.5h1\"") && svg.contains("d=\"M1 1.5h2\""),
            "{svg}"
        );
        assert!(svg.contains("a&lt;b") && svg.contains(">heap<") && svg.contains(">stack<"));
    }
}
