//! A picture as lines of text: for a pipe, a file, and `--once`.

use super::draw::{Shown, draw};
use super::frame::Frame;
use super::view::{Keys, View};
use crate::ui::text::Paint;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Rect, Size};
use ratatui::style::{Color, Modifier};

/// One picture of so many columns, and at most so many rows.
pub(super) fn text(frame: &Frame, size: Size, paint: Paint) -> String {
    let area = Rect::new(0, 0, size.width, size.height);
    let mut buffer = Buffer::empty(area);
    let mut view = View::new(paint, Keys::Absent);
    draw(Shown::Now(frame), &mut view, area, &mut buffer);
    lines(&buffer)
}

/// The lines of a screen without the blanks at their ends, and without empty ones at the end.
pub(super) fn lines(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let mut text = String::new();
    for row in buffer.content.chunks(width) {
        text.push_str(line(row).trim_end());
        text.push('\n');
    }
    let end = text.trim_end().len();
    text.truncate(end);
    text.push('\n');
    text
}

/// One line, with the escape sequences of its colours.
fn line(row: &[Cell]) -> String {
    let end = row.iter().rposition(|cell| cell.symbol() != " ");
    let mut text = String::new();
    let mut code = "";
    for cell in &row[..end.map_or(0, |end| end + 1)] {
        let next = code_of(cell);
        if next != code {
            if !code.is_empty() {
                text.push_str("\x1b[0m");
            }
            text.push_str(next);
            code = next;
        }
        text.push_str(cell.symbol());
    }
    if !code.is_empty() {
        text.push_str("\x1b[0m");
    }
    text
}

/// The escape sequence of a cell's style: one of those of `Paints`.
fn code_of(cell: &Cell) -> &'static str {
    match cell.fg {
        Color::Green => "\x1b[32m",
        Color::Yellow => "\x1b[33m",
        Color::Red => "\x1b[1;31m",
        _ if cell.modifier.contains(Modifier::BOLD) => "\x1b[1m",
        _ => "",
    }
}
