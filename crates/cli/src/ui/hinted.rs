//! An error with what to do about it.

use std::fmt;

/// Printed as `error: …` and, on the next line, `hint: …`.
#[derive(Debug)]
pub(crate) struct Hinted {
    what: String,
    /// What to do.
    pub(crate) hint: String,
    /// The exit code.
    pub(crate) code: u8,
}

impl Hinted {
    pub(crate) fn new(what: impl fmt::Display, hint: impl Into<String>) -> Self {
        Self {
            what: what.to_string(),
            hint: hint.into(),
            code: 1,
        }
    }

    pub(crate) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Hinted {}
