//! What went wrong with a file, in one line that names it.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Quoted text is cut after so many bytes: enough to recognise the line, and still one line of a log.
const QUOTED: usize = 120;

/// A file that could not be read or understood.
///
/// An absent file is no error: it is a kernel without that feature.
#[derive(Debug)]
pub struct Error {
    /// Which file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub kind: ErrorKind,
}

/// What is wrong with a file.
#[derive(Debug)]
pub enum ErrorKind {
    /// The kernel refused to open or read it.
    Unreadable(io::Error),
    /// It holds more than any kernel prints; the number is the limit in bytes.
    Oversized(usize),
    /// It was read, but `text` in it is not a valid `field`.
    Malformed {
        /// What should have been there, by the kernel's name.
        field: &'static str,
        /// What was there, cut to a readable length.
        text: String,
    },
}

impl Error {
    /// A file that could not be opened, read or written.
    pub fn unreadable(path: &Path, error: io::Error) -> Self {
        Self {
            path: path.to_owned(),
            kind: ErrorKind::Unreadable(error),
        }
    }

    /// A file that we refuse ourselves; `why` says all that there is to say.
    pub fn refused(path: &Path, why: impl Into<String>) -> Self {
        Self::unreadable(path, io::Error::other(why.into()))
    }

    /// A text that is not what the kernel prints.
    pub fn malformed(path: &Path, malformed: &Malformed<'_>) -> Self {
        let text = &malformed.text[..malformed.text.len().min(QUOTED)];
        let text = String::from_utf8_lossy(text).into_owned();
        Self {
            path: path.to_owned(),
            kind: ErrorKind::Malformed {
                field: malformed.field,
                text,
            },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            // The text of our own refusals says all.
            ErrorKind::Unreadable(error) if error.kind() == io::ErrorKind::Other => {
                write!(f, "{path}: {error}")
            }
            ErrorKind::Unreadable(error) if error.kind() == io::ErrorKind::NotFound => {
                write!(f, "{path}: there is no such file")
            }
            ErrorKind::Unreadable(error) => write!(f, "{path}: cannot read: {error}"),
            ErrorKind::Oversized(limit) => write!(f, "{path}: longer than {limit} bytes"),
            ErrorKind::Malformed { field, text } => {
                write!(f, "{path}: no valid `{field}` in {text:?}")
            }
        }
    }
}

/// Its text has the cause in it. So it names no source, which would be printed a second time.
impl std::error::Error for Error {}

/// Text that is not what the kernel prints. It borrows the text: a file that stays malformed costs
/// no allocation per reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed<'t> {
    /// What should have been there.
    pub field: &'static str,
    /// What was there.
    pub text: &'t [u8],
}

impl<'t> Malformed<'t> {
    /// `field` should have been in `text`.
    pub fn new(field: &'static str, text: &'t [u8]) -> Self {
        Self { field, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_the_path_and_the_escaped_text() {
        let malformed = Malformed::new("nr_free_pages", b"nr_free_pages \x1b[2J\nx");
        let shown = Error::malformed(Path::new("/proc/vmstat"), &malformed).to_string();
        assert_eq!(
            shown,
            r#"/proc/vmstat: no valid `nr_free_pages` in "nr_free_pages \u{1b}[2J\nx""#
        );
    }

    #[test]
    fn a_cause_is_said_once() {
        let error = Error::unreadable(Path::new("/proc/vmstat"), io::ErrorKind::NotFound.into());
        assert_eq!(error.to_string(), "/proc/vmstat: there is no such file");
        assert!(std::error::Error::source(&error).is_none());
        let denied = io::Error::from_raw_os_error(rustix::io::Errno::ACCESS.raw_os_error());
        let error = Error::unreadable(Path::new("x"), denied);
        assert_eq!(
            error.to_string(),
            "x: cannot read: Permission denied (os error 13)"
        );
    }

    #[test]
    fn long_text_is_cut() {
        let shown =
            Error::malformed(Path::new("x"), &Malformed::new("f", &[b'a'; 10_000])).to_string();
        assert!(shown.len() < 200, "{shown}");
    }
}
