//! Draws data as SVG, and as HTML pages that need no network. Pure: the output is text.

mod chart;
mod document;
mod grid;
mod page;
mod scale;

pub use chart::{Axis, Chart, Mark, Series};
pub use document::{Figure, Section, document};
pub use grid::{Band, Cell, Grid};
pub use page::{Part, page};
pub use scale::{Scale, number};

/// Escapes text for SVG and HTML.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter => out.push(letter),
        }
    }
    out
}
