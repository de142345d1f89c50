//! An error with what to do about it.

use std::fmt;

/// Printed as `error: …` and, on the next line, `hint: …`.
#[derive(Debug)]
pub struct Hinted {
    what: String,
    /// What to do.
    pub hint: String,
    /// The exit code.
    pub code: u8,
}

impl Hinted {
    /// An error with exit code 1.
    pub fn new(what: impl fmt::Display, hint: impl Into<String>) -> Self {
        Self {
            what: what.to_string(),
            hint: hint.into(),
            code: 1,
        }
    }

    /// The same error with this exit code.
    #[must_use]
    pub fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Hinted {}
