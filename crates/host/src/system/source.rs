//! One file of the kernel, kept open and read again and again.

use crate::error::{Error, ErrorKind, Malformed};
use crate::parse::numbers;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The longest text taken. `/proc/zoneinfo` prints about 120 bytes for each CPU and zone:
/// 1024 CPUs with 16 nodes of two zones make 4 MB.
const LIMIT: usize = 8 << 20;

/// How the kernel hands out the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// In one read, if there is room: sysctls, sysfs, and files that are one record. Saves the read
    /// that would only find the end.
    One,
    /// A page or a record at a time; only an empty read is the end.
    Many,
}

/// A file, its descriptor, its last text, and what was wrong with it.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    length: Length,
    file: Option<File>,
    buffer: Vec<u8>,
    error: Option<Error>,
}

/// What became of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    /// The text was read and understood.
    Read,
    /// There is no such file, or none that could be opened.
    Absent,
    /// The file was there, and went away: a node, a control group, a process.
    Vanished,
    /// Read, but wrong; [`Source::error`] says how.
    Wrong,
}

impl Source {
    /// Opens `path`, which may be absent; what else goes wrong is kept as the error.
    ///
    /// `room` is the size of the buffer at first; it grows when the text does not fit.
    pub(crate) fn open(path: PathBuf, length: Length, headroom: usize) -> Self {
        let mut source = Self {
            path,
            length,
            file: None,
            buffer: vec![0; headroom.max(1)],
            error: None,
        };
        source.reopen();
        source
    }

    /// Looks for the file again, if it is not open.
    pub(crate) fn reopen(&mut self) {
        if self.file.is_some() {
            return;
        }
        match File::open(&self.path) {
            Ok(file) => self.file = Some(file),
            Err(error) if is_absence(&error) => self.error = None,
            Err(error) => self.note_unreadable(error),
        }
    }

    pub(crate) fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Why `field`, which is needed, was not had from this file.
    pub(crate) fn take_warning(&mut self, field: &'static str) -> Error {
        let absent = self.file.is_none();
        self.error.take().unwrap_or_else(|| {
            if absent {
                return Error::unreadable(&self.path, io::ErrorKind::NotFound.into());
            }
            Error::malformed(&self.path, &Malformed::new(field, b""))
        })
    }

    /// Whether a look at the path could bring the file back.
    pub(crate) fn is_closed_by_error(&self) -> bool {
        self.file.is_none() && self.error.is_some()
    }

    /// Reads the whole file and hands its text to `parse`.
    ///
    /// Cost: one `pread`, or one per page of text; no allocation unless the text outgrows the buffer
    /// or a new error is met.
    pub(crate) fn read<'s, P>(&'s mut self, parse: P) -> ReadOutcome
    where
        P: FnOnce(&'s [u8]) -> Result<(), Malformed<'s>>,
    {
        let Some(file) = &self.file else {
            return ReadOutcome::Absent;
        };
        let filled = match fill(file, self.length, &mut self.buffer) {
            Ok(filled) => filled,
            Err(error) if is_absence(&error) => {
                self.file = None;
                self.error = None;
                return if is_off(&error) {
                    ReadOutcome::Absent
                } else {
                    ReadOutcome::Vanished
                };
            }
            Err(error) => {
                self.note_unreadable(error);
                return ReadOutcome::Wrong;
            }
        };
        if filled > LIMIT {
            self.note_oversized();
            return ReadOutcome::Wrong;
        }
        let Self {
            path,
            buffer,
            error,
            ..
        } = self;
        match parse(&buffer[..filled]) {
            Ok(()) => {
                *error = None;
                ReadOutcome::Read
            }
            Err(malformed) => {
                // The first text is kept: a file that is wrong at every reading is told once.
                let known = matches!(error, Some(Error { kind: ErrorKind::Malformed { field, .. }, .. })
                    if *field == malformed.field);
                if !known {
                    *error = Some(Error::malformed(path, &malformed));
                }
                ReadOutcome::Wrong
            }
        }
    }

    /// The only number in the file; `None` if there is no such file, or no number in it.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = None;
        self.read(|text| {
            number = numbers::single(text)?;
            Ok(())
        });
        number
    }

    fn note_unreadable(&mut self, error: io::Error) {
        let known = matches!(&self.error, Some(Error { kind: ErrorKind::Unreadable(old), .. })
            if old.raw_os_error() == error.raw_os_error());
        if !known {
            self.error = Some(Error::unreadable(&self.path, error));
        }
    }

    /// Such a file is not read again until it is opened anew, and its buffer is given back.
    fn note_oversized(&mut self) {
        self.buffer = vec![0; 1];
        self.file = None;
        self.error = Some(Error {
            path: self.path.clone(),
            kind: ErrorKind::Oversized(LIMIT),
        });
    }
}

/// The errors that mean "not there": no file, no node or control group behind it (ENODEV), no process
/// (ESRCH), a path through something that is no directory (ENOTDIR), or a feature that is off.
fn is_absence(error: &io::Error) -> bool {
    let absences = [Errno::NOENT, Errno::NODEV, Errno::SRCH, Errno::NOTDIR];
    is_off(error) || Errno::from_io_error(error).is_some_and(|errno| absences.contains(&errno))
}

/// A feature switched off at boot: pressure with `psi=0` opens, and cannot be read.
fn is_off(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::OPNOTSUPP)
}

/// Reads from the start to the end into `buffer`, which grows as needed; the answer is how much.
/// More than [`LIMIT`] means that there was more.
fn fill(file: &File, length: Length, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut filled = 0;
    loop {
        if filled > LIMIT {
            return Ok(filled);
        }
        if filled == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        match file.read_at(&mut buffer[filled..], filled as u64) {
            Ok(0) => return Ok(filled),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if length == Length::One && filled < buffer.len() {
            return Ok(filled);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn length_of(source: &mut Source) -> (ReadOutcome, usize) {
        let mut length = 0;
        let outcome = source.read(|text| {
            length = text.len();
            Ok(())
        });
        (outcome, length)
    }

    #[test]
    fn a_text_longer_than_the_buffer_is_read_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, [b'x'; 1000]).unwrap();
        for length in [Length::One, Length::Many] {
            let mut source = Source::open(path.clone(), length, 16);
            assert_eq!(length_of(&mut source), (ReadOutcome::Read, 1000));
            assert_eq!(length_of(&mut source), (ReadOutcome::Read, 1000));
        }
    }

    #[test]
    fn an_absent_file_is_no_error_and_can_come_later() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mut source = Source::open(path.clone(), Length::One, 16);
        assert_eq!(length_of(&mut source), (ReadOutcome::Absent, 0));
        assert!(source.error().is_none());
        fs::write(&path, "1\n").unwrap();
        source.reopen();
        assert_eq!(length_of(&mut source), (ReadOutcome::Read, 2));
    }

    #[test]
    fn a_directory_in_place_of_a_file_is_an_error_with_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let mut source = Source::open(directory.path().to_owned(), Length::One, 16);
        assert_eq!(length_of(&mut source).0, ReadOutcome::Wrong);
        let error = source.error().unwrap().to_string();
        assert!(
            error.contains(&*directory.path().to_string_lossy()),
            "{error}"
        );
        assert!(error.contains("directory"), "{error}");
    }

    #[test]
    fn what_belonged_to_a_dead_process_has_vanished() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let path = PathBuf::from(format!("/proc/{}/statm", child.id()));
        let mut source = Source::open(path, Length::One, 128);
        assert_eq!(length_of(&mut source).0, ReadOutcome::Read);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(length_of(&mut source).0, ReadOutcome::Vanished);
        assert_eq!(length_of(&mut source).0, ReadOutcome::Absent);
        assert!(source.error().is_none());
    }

    #[test]
    fn ten_mebibytes_are_refused_and_the_buffer_given_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, vec![b'1'; 10 << 20]).unwrap();
        let mut source = Source::open(path, Length::Many, 16);
        assert_eq!(length_of(&mut source).0, ReadOutcome::Wrong);
        assert_eq!(source.buffer.len(), 1);
        assert!(source.is_closed_by_error());
        assert!(
            source
                .error()
                .unwrap()
                .to_string()
                .contains("longer than 8388608 bytes")
        );
    }
}
