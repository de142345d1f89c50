//! A message of bounded length without characters that control a terminal.

use super::Topic;
use arrayvec::ArrayString;
use std::fmt;
use std::fmt::Write as _;
use units::terminal::{Escape, is_dangerous};

/// Longest text of a message, in bytes. The longest reasons have about 300.
const TEXT: usize = 512;

/// Text of at most `N` bytes. Longer text is cut and marked. Control characters, and characters that reorder or break a
/// line, are written as escapes: names of processes are in messages, and a process chooses its name.
#[derive(Debug, Default, Clone)]
struct Bounded<const N: usize> {
    text: ArrayString<N>,
    cut: bool,
}

impl<const N: usize> Bounded<N> {
    fn as_str(&self) -> &str {
        &self.text
    }

    /// Appends harmless text; cuts it if it does not fit.
    fn put(&mut self, piece: &str) {
        if self.cut || self.text.try_push_str(piece).is_ok() {
            return;
        }
        self.cut = true;
        let end = boundary(piece, self.text.remaining_capacity());
        self.text.push_str(&piece[..end]);
        self.text
            .truncate(boundary(&self.text, N.saturating_sub(MARK.len())));
        // A buffer smaller than the mark stays without it.
        let _ = self.text.try_push_str(MARK);
    }
}

/// Stands for text that was cut.
const MARK: &str = "…";

/// The last index up to `end` at which a character of `text` begins.
fn boundary(text: &str, end: usize) -> usize {
    let end = end.min(text.len());
    let mut places = (0..=end).rev();
    places.find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Never fails: text that does not fit is cut.
impl<const N: usize> fmt::Write for Bounded<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(is_dangerous) {
            let (plain, tail) = rest.split_at(at);
            self.put(plain);
            let mut characters = tail.chars();
            if let Some(character) = characters.next() {
                self.put(&escape(character));
            }
            rest = characters.as_str();
        }
        self.put(rest);
        Ok(())
    }
}

fn escape(character: char) -> ArrayString<12> {
    let mut escaped = ArrayString::new();
    // The longest escape, \u2069, has six bytes.
    let _ = write!(escaped, "{}", Escape(character));
    escaped
}

/// A message on its way to the logger's thread.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) topic: Topic,
    text: Bounded<TEXT>,
}

impl Line {
    pub(super) fn new(topic: Topic, text: fmt::Arguments<'_>) -> Self {
        let mut line = Self {
            topic,
            text: Bounded::default(),
        };
        // Writing to bounded text cannot fail. If a Display fails, what it has written stays.
        let _ = line.text.write_fmt(text);
        line
    }

    pub(super) fn text(&self) -> &str {
        self.text.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_characters_are_escaped() {
        let line = Line::new(
            Topic::Action,
            format_args!("a\x1b[2Jb\nc\u{9b}d\u{202e}e\tü"),
        );
        assert_eq!(line.text(), "a\\x1b[2Jb\\x0ac\\u009bd\\u202ee\\x09ü");
    }

    #[test]
    fn a_long_text_is_cut_with_a_mark() {
        let line = Line::new(Topic::Action, format_args!("{}", "ä".repeat(400)));
        assert!(
            line.text().ends_with("ä…") && line.text().len() <= TEXT,
            "{}",
            line.text()
        );
    }

    proptest! {
        #[test]
        fn any_text_fits_in_one_harmless_line(text in any::<String>(), tail in "\\PC{0,600}") {
            let line = Line::new(Topic::Tick, format_args!("{text}{tail}"));
            prop_assert!(line.text().len() <= TEXT);
            prop_assert!(!line.text().chars().any(is_dangerous));
            let mut short = Bounded::<2>::default();
            let _ = write!(short, "{text}");
            prop_assert!(short.as_str().len() <= 2);
        }
    }
}
