//! A map of cells: memory by time.

use crate::chart::{BOTTOM, TOP, WIDTH, opening};
use crate::escaped;
use crate::scale::{Range, Scale, number};
use std::fmt::Write;

/// A cell that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Index of its colour in [`Grid::kinds`].
    pub kind: usize,
    /// Strength of the colour, from 0 to 2.
    pub strength: usize,
}

/// Rows with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Band {
    /// The first row.
    pub from: usize,
    /// One after the last row.
    pub to: usize,
    /// Its name.
    pub name: String,
}

/// A map.
#[derive(Debug, Clone)]
pub struct Grid {
    /// The title.
    pub title: String,
    /// The horizontal axis: its label with the unit, its first and last value.
    pub x: (String, f64, f64),
    /// The label of the vertical axis.
    pub y: String,
    /// Number of columns.
    pub width: usize,
    /// Cells row by row, the lowest row first.
    pub cells: Vec<Option<Cell>>,
    /// Colours and their legend.
    pub kinds: Vec<(&'static str, String)>,
    /// Named rows, the lowest first.
    pub bands: Vec<Band>,
}

/// Height of the frame.
const FRAME: f64 = 340.0;
/// Margins: left for the label of the axis, right for the names of bands.
const LEFT: f64 = 28.0;
const RIGHT: f64 = 144.0;
/// Letters of a name that fit there.
const NAME: usize = 16;
/// Width of a letter, about, and height of a row of the legend.
const LETTER: f64 = 6.6;
const ROW: f64 = 18.0;
const STRENGTHS: [&str; 3] = ["0.35", "0.65", "1"];
/// Least distance between two names: at less they overlap.
const LINE: f64 = 13.0;

impl Grid {
    /// The map as an SVG document. All cells of one colour are one path, which keeps the file small.
    pub fn svg(&self) -> String {
        let entries = self.legend();
        let rows = entries.last().map_or(0.0, |entry| entry.1 + 1.0);
        let mut svg = opening(&self.title, TOP + FRAME + BOTTOM + rows * ROW);
        self.paths(&mut svg);
        self.frame(&mut svg);
        self.names(&mut svg);
        for ((colour, name), (x, row)) in self.kinds.iter().zip(entries) {
            let line = TOP + FRAME + BOTTOM + row * ROW;
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{}\" width=\"10\" height=\"8\" fill=\"{colour}\"/><text class=\"i\" x=\"{}\" y=\"{}\">{}</text>",
                line - 4.0,
                x + 14.0,
                line + 4.0,
                escaped(name)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Where each entry of the legend stands: its left edge, and its row.
    fn legend(&self) -> Vec<(f64, f64)> {
        let mut places = Vec::new();
        let mut x = 8.0;
        let mut row = 0.0;
        for (_, name) in &self.kinds {
            let width = 34.0 + name.chars().count() as f64 * LETTER;
            if x > 8.0 && x + width > WIDTH {
                x = 8.0;
                row += 1.0;
            }
            places.push((x, row));
            x += width;
        }
        places
    }

    fn height(&self) -> usize {
        self.cells.len() / self.width.max(1)
    }

    fn paths(&self, svg: &mut String) {
        let wide = WIDTH - LEFT - RIGHT;
        let high = FRAME;
        let _ = writeln!(
            svg,
            "<g transform=\"translate({LEFT} {:.3}) scale({:.5} {:.5})\" stroke-width=\"1.02\">",
            TOP + FRAME,
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

    /// Neighbours in a row that are alike become one stroke.
    fn path(&self, cell: Cell) -> String {
        let mut path = String::new();
        for (row, cells) in self.cells.chunks(self.width.max(1)).enumerate() {
            let mut from = 0;
            let is_same = |own: &Option<Cell>| *own == Some(cell);
            while let Some(at) = cells[from..].iter().position(is_same) {
                let start = from + at;
                let alike = cells[start..].iter().take_while(|own| is_same(own));
                let length = alike.count();
                let _ = write!(path, "M{start} {row}.5h{length}");
                from = start + length;
            }
        }
        path
    }

    fn frame(&self, svg: &mut String) {
        let right = WIDTH - RIGHT;
        let bottom = TOP + FRAME;
        let _ = writeln!(
            svg,
            "<rect class=\"f\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/>",
            right - LEFT,
            bottom - TOP
        );
        if let Some(x) = Range::between(Scale::Linear, self.x.1, self.x.2) {
            for (value, text) in x.marks() {
                if !(self.x.1..=self.x.2).contains(&value) {
                    continue;
                }
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
             <text class=\"i\" transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (LEFT + right) / 2.0,
            bottom + 40.0,
            escaped(&self.x.0),
            (TOP + bottom) / 2.0,
            escaped(&self.y)
        );
    }

    /// A line under each band, and its name if it does not overlap another.
    fn names(&self, svg: &mut String) {
        let right = WIDTH - RIGHT;
        let bottom = TOP + FRAME;
        let rows = self.height().max(1) as f64;
        let up = |row: usize| bottom - row as f64 / rows * (bottom - TOP);
        let mut free = f64::INFINITY;
        for band in &self.bands {
            let low = up(band.from);
            let middle = (low + up(band.to)) / 2.0;
            let _ = writeln!(
                svg,
                "<line class=\"g\" x1=\"{right}\" x2=\"{}\" y1=\"{low:.1}\" y2=\"{low:.1}\"/>",
                right + 8.0
            );
            if middle > free - LINE {
                continue;
            }
            free = middle;
            let name: String = band.name.chars().take(NAME).collect();
            let _ = writeln!(
                svg,
                "<text class=\"i\" x=\"{}\" y=\"{:.1}\"><title>{}, {} rows</title>{}</text>",
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
    fn neighbours_are_one_stroke_and_names_do_not_overlap() {
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
