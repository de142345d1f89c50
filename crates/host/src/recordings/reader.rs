//! Recording files, read back.

use super::notes::Notes;
use flate2::bufread::MultiGzDecoder;
use pressure::recording::{Decoder, Entry, Malformed};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Longest line in bytes; a header of the largest machine has less than half. What is read from a longer one could take
/// more memory than a reader should.
const LONGEST: u64 = 4 << 20;
/// Lines in a row that cannot be read, until no more are tried: that is no recording, or none from there on.
const MOST_UNREADABLE: u32 = 1000;

/// A recording, or a line of it, that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file.
    #[error("{}: cannot read: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// One line. What comes after it can be read.
    #[error("{}: {error}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Where and why.
        error: Malformed,
    },
    /// A file without an entry.
    #[error("{}: no recording in it{why}", path.display())]
    Nothing {
        /// The file.
        path: PathBuf,
        /// `: ` and what is known, or nothing.
        why: String,
    },
}

/// Hands all entries of recordings to `take`, oldest first, in constant memory. Returns what should be known of the files.
///
/// A line that cannot be read is a note; a file that cannot be, or has no entry, is an error.
pub fn read<E: From<ReadError>>(
    readers: impl IntoIterator<Item = Result<Reader, ReadError>>,
    mut take: impl FnMut(Entry) -> Result<(), E>,
) -> Result<Notes, E> {
    let mut notes = Notes::default();
    for reader in readers {
        let mut reader = reader?;
        let mut is_empty = true;
        for entry in &mut reader {
            match entry {
                Ok(entry) => {
                    is_empty = false;
                    take(entry)?;
                }
                Err(error @ ReadError::Line { .. }) => notes.add(error.to_string()),
                Err(error) => return Err(error.into()),
            }
        }
        notes.append(reader.notes());
        if is_empty {
            // The error names the file itself.
            let name = format!("{}: ", reader.path.display());
            let why = match notes.last() {
                Some(note) => format!(": {}", note.strip_prefix(&name).unwrap_or(note)),
                None => String::new(),
            };
            let nothing = ReadError::Nothing {
                path: reader.path,
                why,
            };
            return Err(nothing.into());
        }
    }
    Ok(notes)
}

/// Entries of one file, one by one: gzip or plain text, whichever it is.
///
/// A file that was cut, as by a kill or a full disk, ends early and says so in [`Reader::notes`].
pub struct Reader {
    path: PathBuf,
    input: Box<dyn BufRead>,
    decoder: Decoder,
    line: Vec<u8>,
    lines: u64,
    /// Lines before this one, in a row, that could not be read.
    unreadable: u32,
    notes: Notes,
    done: bool,
}

impl Reader {
    /// Opens `path`; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        if path == Path::new("-") {
            return Self::of(path, Box::new(io::stdin().lock()));
        }
        match File::open(path) {
            Ok(file) => Self::of(path, Box::new(BufReader::new(file))),
            Err(error) => Err(ReadError::Io {
                path: path.to_owned(),
                error,
            }),
        }
    }

    /// Reads `input`, which errors and notes call `path`.
    pub fn of(path: &Path, mut input: Box<dyn BufRead>) -> Result<Self, ReadError> {
        let is_gzip = match input.fill_buf() {
            Ok(first) => first.starts_with(&[0x1f, 0x8b]),
            Err(error) => {
                return Err(ReadError::Io {
                    path: path.to_owned(),
                    error,
                });
            }
        };
        if is_gzip {
            input = Box::new(BufReader::new(MultiGzDecoder::new(input)));
        }
        Ok(Self {
            path: path.to_owned(),
            input,
            decoder: Decoder::new(),
            line: Vec::new(),
            lines: 0,
            unreadable: 0,
            notes: Notes::default(),
            done: false,
        })
    }

    /// What should be known of the file: complete after the last entry.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Reads a line into `self.line`; false at the end.
    fn next_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let read = self
            .input
            .by_ref()
            .take(LONGEST)
            .read_until(b'\n', &mut self.line);
        let cut = match read {
            Ok(0) => return Ok(false),
            Ok(_) if self.line.ends_with(b"\n") => {
                self.line.pop();
                self.lines += 1;
                return Ok(true);
            }
            Ok(_) if self.line.len() as u64 >= LONGEST => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a line longer than 4 MiB",
                ));
            }
            Ok(_) => "cut in the middle of a line",
            // The decoder's words for a member that ends early, and for one that is garbled.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                "cut in the middle of a member"
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
                ) =>
            {
                "damaged: not gzip"
            }
            Err(error) => return Err(error),
        };
        let path = self.path.display();
        let lines = self.lines;
        self.notes.add(format!(
            "{path}: {cut}, after line {lines}; what comes before it is read"
        ));
        Ok(false)
    }
}

impl Iterator for Reader {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            match self.next_line() {
                Ok(true) => {}
                Ok(false) => self.done = true,
                Err(error) => {
                    self.done = true;
                    return Some(Err(ReadError::Io {
                        path: self.path.clone(),
                        error,
                    }));
                }
            }
            if self.done {
                return None;
            }
            match self.decoder.line(&self.line) {
                Ok(None) => self.unreadable = 0,
                Ok(Some(entry)) => {
                    self.unreadable = 0;
                    self.note_header(&entry);
                    return Some(Ok(entry));
                }
                Err(error) => {
                    self.count_unreadable();
                    return Some(Err(ReadError::Line {
                        path: self.path.clone(),
                        error,
                    }));
                }
            }
        }
        None
    }
}

impl Reader {
    /// Takes the notes of a header.
    fn note_header(&mut self, entry: &Entry) {
        let Entry::Header(header) = entry else {
            return;
        };
        for note in &header.notes {
            let path = self.path.display();
            let line = self.lines;
            self.notes.add(format!("{path}: line {line}: {note}"));
        }
    }

    fn count_unreadable(&mut self) {
        self.unreadable += 1;
        if self.unreadable < MOST_UNREADABLE {
            return;
        }
        self.done = true;
        let path = self.path.display();
        let line = self.lines;
        self.notes.add(format!(
            "{path}: {MOST_UNREADABLE} lines in a row, up to line {line}, cannot be read; what comes after them is not read"
        ));
    }
}
