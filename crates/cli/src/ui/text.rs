//! Text for a terminal: labelled paragraphs and tables, at most 80 columns wide, in colour if that is wanted.

use rustix::termios::tcgetwinsize;
use std::fmt::{Display, Write as _};
use std::io::IsTerminal;

/// The widest paragraph: longer lines are hard to read. A word longer than this stands out.
const COLUMNS: usize = 80;
/// The narrowest screen that text is made for: with less a label leaves no place for its text.
const LEAST: usize = 32;
/// A terminal with fewer columns is a phone's: tables become lists, and long words are broken.
const NARROW: usize = 64;
/// Width of a label with the blank behind it.
pub(crate) const LABEL: usize = 11;

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Colour,
}

/// What a text means; it decides the colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A heading or a label.
    Strong,
    /// In order.
    Good,
    /// Worth a look.
    Notable,
    /// Wrong.
    Bad,
}

impl Paint {
    /// Colour on a terminal, unless the environment says no (<https://no-color.org>).
    pub(crate) fn of_environment() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if std::io::stdout().is_terminal() && !refused && !dumb {
            Self::Colour
        } else {
            Self::Plain
        }
    }

    /// Puts the colour of `style` around `text`.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Strong => "1",
            Style::Good => "32",
            Style::Notable => "33",
            Style::Bad => "1;31",
        };
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// The terminal that text is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) paint: Paint,
    pub(crate) columns: usize,
}

impl Screen {
    /// As wide as the variable `COLUMNS` says, or else as the terminal is; at most 80 columns.
    pub(crate) fn of_environment() -> Self {
        let columns = columns_variable()
            .or_else(terminal_columns)
            .unwrap_or(COLUMNS);
        Self {
            paint: Paint::of_environment(),
            columns: columns.clamp(LEAST, COLUMNS),
        }
    }

    /// Returns true if tables do not fit.
    pub(crate) const fn is_narrow(self) -> bool {
        self.columns < NARROW
    }
}

fn columns_variable() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

fn terminal_columns() -> Option<usize> {
    let size = tcgetwinsize(std::io::stdout()).ok()?;
    let columns = usize::from(size.ws_col);
    (columns > 0).then_some(columns)
}

/// 80 columns.
impl From<Paint> for Screen {
    fn from(paint: Paint) -> Self {
        Self {
            paint,
            columns: COLUMNS,
        }
    }
}

/// `value`, or `unknown`.
pub(crate) fn or_unknown<T: ToString>(value: Option<T>) -> String {
    match value {
        Some(value) => value.to_string(),
        None => "unknown".to_owned(),
    }
}

/// `1 page`, `2 pages`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{count} {noun}")
}

/// A text that is being written.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) text: String,
    pub(crate) screen: Screen,
}

impl Page {
    pub(crate) fn new(screen: impl Into<Screen>) -> Self {
        Self {
            text: String::new(),
            screen: screen.into(),
        }
    }

    /// A heading, after an empty line unless it is the first.
    pub(crate) fn heading(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        // A heading that fits keeps its blanks as they are.
        let lines = if text.chars().count() <= self.screen.columns {
            vec![text.to_owned()]
        } else {
            wrapped(text, self.screen.columns)
        };
        for line in lines {
            let painted = self.screen.paint.paint(Style::Strong, &line);
            let _ = writeln!(self.text, "{painted}");
        }
    }

    /// A paragraph, all of its lines indented.
    pub(crate) fn paragraph(&mut self, indent: usize, text: &str) {
        let blank = " ".repeat(indent);
        for line in wrapped(text, self.screen.columns - indent) {
            let _ = writeln!(self.text, "{blank}{line}");
        }
    }

    /// A label, and a paragraph beside it.
    pub(crate) fn entry(&mut self, label: &str, text: impl Display) {
        let lines = wrapped(&text.to_string(), self.screen.columns - LABEL);
        for (index, line) in lines.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let blank = " ".repeat(LABEL.saturating_sub(label.chars().count()));
            let painted = if label.is_empty() {
                String::new()
            } else {
                self.screen.paint.paint(Style::Strong, label)
            };
            let _ = writeln!(self.text, "{painted}{blank}{line}");
        }
    }
}

/// The words of `text` in lines of at most `width` characters. A longer word is broken on a narrow screen; elsewhere it stands
/// out, so that it can be copied whole.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace().flat_map(|word| pieces(word, width)) {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
        }
        used += length;
    }
    lines
}

/// A word in pieces of `width` characters, if the screen is narrow.
fn pieces(word: &str, width: usize) -> Vec<&str> {
    if !(LEAST - LABEL..NARROW).contains(&width) {
        return vec![word];
    }
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some((at, _)) = rest.char_indices().nth(width) {
        let (piece, more) = rest.split_at(at);
        pieces.push(piece);
        rest = more;
    }
    pieces.push(rest);
    pieces
}

/// The side that a column is flush with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Rows with columns as wide as their widest cell, two blanks apart.
pub(crate) fn table<const N: usize>(sides: [Side; N], rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut cells = Vec::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            cells.push(match sides[column] {
                Side::Left => format!("{cell:<width$}"),
                Side::Right => format!("{cell:>width$}"),
            });
        }
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_hangs_beside_its_label_within_80_columns() {
        let mut page = Page::new(Paint::Plain);
        page.entry("held", "word ".repeat(40));
        assert!(
            page.text.lines().all(|line| line.chars().count() <= 80),
            "{}",
            page.text
        );
        assert!(
            page.text.starts_with("held       word word"),
            "{}",
            page.text
        );
        assert!(
            page.text
                .lines()
                .nth(1)
                .unwrap()
                .starts_with("           word"),
            "{}",
            page.text
        );
    }

    #[test]
    fn colour_goes_around_the_label_and_moves_nothing() {
        let mut page = Page::new(Paint::Colour);
        page.entry("gap", "24 MiB");
        assert_eq!(page.text, "\x1b[1mgap\x1b[0m        24 MiB\n");
    }

    #[test]
    fn a_word_too_long_stands_alone() {
        assert_eq!(wrapped("a bbbbbbbbbb c", 4), ["a", "bbbbbbbbbb", "c"]);
    }

    #[test]
    fn on_a_narrow_screen_a_long_word_is_broken() {
        let mut page = Page::new(Screen {
            paint: Paint::Plain,
            columns: 40,
        });
        page.entry(
            "program",
            "/usr/lib/x86_64-linux-gnu/a-name-that-does-not-end",
        );
        page.paragraph(2, "µ".repeat(60).as_str());
        page.heading(&"word ".repeat(12));
        assert!(
            page.text.lines().all(|line| line.chars().count() <= 40),
            "{}",
            page.text
        );
        assert_eq!(page.text.matches('µ').count(), 60);
    }

    #[test]
    fn columns_are_counted_in_characters() {
        let cells = |row: [&str; 2]| row.map(str::to_owned);
        let rows = [cells(["µ", "1"]), cells(["long", "100"])];
        assert_eq!(
            table([Side::Left, Side::Right], &rows),
            "µ       1\nlong  100\n"
        );
    }
}
