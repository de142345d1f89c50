//! Characters that could control the terminal that shows them.
//!
//! Names of processes, files and units are in what is printed, and others choose those names. So such characters are
//! written as escapes: in the guard's log, and in all text that the commands print.

use std::fmt;

/// C0 and C1 control characters, line and paragraph separators, and characters that change the direction of text.
///
/// ```
/// assert!(units::terminal::is_dangerous('\u{1b}'));
/// assert!(!units::terminal::is_dangerous('ü'));
/// ```
pub fn is_dangerous(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A character as an escape: `\x1b` below 0x20, where JSON has escapes of its own, and `\u009b` above, as in JSON.
///
/// ```
/// use units::terminal::Escape;
/// assert_eq!(format!("{}{}", Escape('\u{1b}'), Escape('\u{9b}')), "\\x1b\\u009b");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Escape(pub char);

impl fmt::Display for Escape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = u32::from(self.0);
        if code < 0x20 {
            write!(f, "\\x{code:02x}")
        } else {
            write!(f, "\\u{code:04x}")
        }
    }
}
