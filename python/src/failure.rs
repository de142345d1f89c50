//! Exceptions, with the messages of the command line.

use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyValueError};
use std::fmt::Display;
use std::io;
use std::path::Path;

pyo3::create_exception!(
    warmset,
    Error,
    PyValueError,
    "What was asked for cannot be done: the words are those that the command ``warmset`` prints after ``error:``."
);

/// An exception of this package.
pub(crate) fn failed(error: impl Display) -> PyErr {
    Error::new_err(error.to_string())
}

/// The exception for a file that cannot be read or written. For a file that does not exist it is Python's own.
pub(crate) fn of_file(path: &Path, error: traces::Error) -> PyErr {
    let path = path.display();
    match error {
        traces::Error::Io(error) => of_io(&error, format!("{path}: {error}")),
        error => failed(format!("{path}: {error}")),
    }
}

/// Python's exception for an error of the operating system; this package's for an error in the content.
pub(crate) fn of_io(error: &io::Error, words: String) -> PyErr {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
            failed(words)
        }
        kind if error.raw_os_error().is_some() => io::Error::new(kind, words).into(),
        _ => PyOSError::new_err(words),
    }
}
