//! Text that cannot control the terminal that shows it.

use std::io::{self, Stderr, Write};
use units::terminal::{Escape, is_dangerous};

/// The colours that text may have, as `SGR` sequences: plain, bold, green, yellow, bold and red. Whoever chooses a name can
/// do no more with them than colour it.
const COLOURS: [&str; 5] = ["\x1b[0m", "\x1b[1m", "\x1b[32m", "\x1b[33m", "\x1b[1;31m"];

/// A writer of text. Characters that could control a terminal are written as escapes; line breaks, tabs and our own colours
/// pass. Bytes that are not UTF-8 are written as escapes, too.
#[derive(Debug)]
pub struct Harmless<W: Write> {
    inner: W,
    colours: &'static [&'static str],
}

impl<W: Write> Harmless<W> {
    /// Writes to `inner`, with our own colours.
    pub const fn new(inner: W) -> Self {
        let colours = &COLOURS;
        Self { inner, colours }
    }

    /// Writes to `inner`, without any colour.
    const fn plain(inner: W) -> Self {
        let colours = &[];
        Self { inner, colours }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(is_refused) {
            let (plain, tail) = rest.split_at(at);
            self.inner.write_all(plain.as_bytes())?;
            let colour = self
                .colours
                .iter()
                .find(|colour| tail.starts_with(**colour));
            if let Some(colour) = colour {
                self.inner.write_all(colour.as_bytes())?;
                rest = &tail[colour.len()..];
                continue;
            }
            let mut characters = tail.chars();
            if let Some(character) = characters.next() {
                write!(self.inner, "{}", Escape(character))?;
            }
            rest = characters.as_str();
        }
        self.inner.write_all(rest.as_bytes())
    }
}

fn is_refused(character: char) -> bool {
    is_dangerous(character) && !matches!(character, '\n' | '\t')
}

impl<W: Write> Write for Harmless<W> {
    /// Takes all of `bytes`. A character must not be cut in two by the end of it.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for chunk in bytes.utf8_chunks() {
            self.text(chunk.valid())?;
            for byte in chunk.invalid() {
                write!(self.inner, "\\x{byte:02x}")?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Standard error for text, which has no colours.
pub fn stderr() -> Harmless<Stderr> {
    Harmless::plain(io::stderr())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(mut out: Harmless<Vec<u8>>, bytes: &[u8]) -> String {
        out.write_all(bytes).unwrap();
        String::from_utf8(out.inner).unwrap()
    }

    fn written(bytes: &[u8]) -> String {
        by(Harmless::new(Vec::new()), bytes)
    }

    #[test]
    fn what_controls_a_terminal_is_escaped() {
        let evil = "a\x1b]0;title\x07b\rc\u{9b}2Jd\u{202e}e\x7f";
        let escaped = "a\\x1b]0;title\\x07b\\x0dc\\u009b2Jd\\u202ee\\u007f";
        assert_eq!(written(evil.as_bytes()), escaped);
        let plain = Harmless::plain(Vec::new());
        assert_eq!(by(plain, evil.as_bytes()), escaped);
        assert_eq!(written(b"a\xff\xfeb"), "a\\xff\\xfeb");
    }

    #[test]
    fn lines_tabs_and_colours_pass() {
        let text = "\x1b[1mgap\x1b[0m\t24 MiB\nü → \x1b[1;31mfull\x1b[0m\n";
        assert_eq!(written(text.as_bytes()), text);
        assert_eq!(written(b"\x1b[2J\x1b[31m"), "\\x1b[2J\\x1b[31m");
        let plain = Harmless::plain(Vec::new());
        assert_eq!(by(plain, b"\x1b[32m"), "\\x1b[32m");
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({ "name": "\u{1b}\u{9b}\u{202e}\u{7f}" });
        let text = written(value.to_string().as_bytes());
        assert!(!text.contains(is_refused), "{text}");
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read, value);
    }
}
