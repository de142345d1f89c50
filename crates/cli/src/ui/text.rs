//! Text for people: labelled paragraphs and tables, in 80 columns or what a small terminal has, with colour where that is wanted.

use rustix::termios::tcgetwinsize;
use std::fmt::{Display, Write as _};
use std::io::IsTerminal;

/// Paragraphs are wrapped here at the latest; a word longer than this stands out.
const COLUMNS: usize = 80;
/// Nothing is made for less than this.
const LEAST: usize = 32;
/// A terminal with fewer columns than this is a phone's: tables become lists, and long words are broken.
const NARROW: usize = 64;
/// Width of a label, the blank behind it included.
pub(crate) const LABEL: usize = 11;

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Colour,
}

/// What is painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A heading or a label.
    Strong,
    /// Something in order.
    Good,
    /// Something to look at.
    Notable,
    /// Something wrong.
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

/// What text is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) paint: Paint,
    pub(crate) columns: usize,
}

impl Screen {
    /// As wide as the terminal, or as `COLUMNS` says; 80 columns where neither does, and at most.
    pub(crate) fn of_environment() -> Self {
        let said = std::env::var("COLUMNS")
            .ok()
            .and_then(|columns| columns.parse().ok());
        let own = || {
            tcgetwinsize(std::io::stdout())
                .ok()
                .map(|size| usize::from(size.ws_col))
                .filter(|&size| size > 0)
        };
        let columns = said.or_else(own).unwrap_or(COLUMNS).clamp(LEAST, COLUMNS);
        Self {
            paint: Paint::of_environment(),
            columns,
        }
    }

    /// Whether tables do not fit.
    pub(crate) const fn is_narrow(self) -> bool {
        self.columns < NARROW
    }
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
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Text being written.
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

    pub(crate) fn heading(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let fits = text.chars().count() <= self.screen.columns;
        let lines = if fits {
            vec![text.to_owned()]
        } else {
            wrapped(text, self.screen.columns)
        };
        for line in lines {
            let painted = self.screen.paint.paint(Style::Strong, &line);
            let _ = writeln!(self.text, "{painted}");
        }
    }

    /// A paragraph, indented, its further lines by as much.
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

/// The words of `text` in lines of at most `width` characters, where no word is longer. On a narrow screen longer ones are broken;
/// elsewhere they stand out, to be copied whole.
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

/// A word in parts that fit, where the screen is narrow.
fn pieces(word: &str, width: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some((at, _)) = rest
        .char_indices()
        .nth(width)
        .filter(|_| (LEAST - LABEL..NARROW).contains(&width))
    {
        let (piece, more) = rest.split_at(at);
        pieces.push(piece);
        rest = more;
    }
    pieces.push(rest);
    pieces
}

/// Which side a column is flush with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Rows whose columns are as wide as their widest cell, two blanks apart.
pub(crate) fn table<const N: usize>(sides: [Side; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(widths)
            .zip(sides)
            .map(|((cell, width), side)| match side {
                Side::Left => format!("{cell:<width$}"),
                Side::Right => format!("{cell:>width$}"),
            });
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
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
