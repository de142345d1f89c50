//! Recording files, read back.

use flate2::bufread::MultiGzDecoder;
use pressure::recording::{Decoder, Entry, Malformed};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Longest line; a header of the largest machine has a tenth.
const LONGEST: u64 = 16 << 20;

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

/// All entries of files, oldest first, and what should be known of them; `told` hears how many there are.
///
/// A line that cannot be read is a note; a file that cannot be, or has no entry, is an error.
pub fn read(
    files: &[PathBuf],
    told: &mut dyn FnMut(&Path, usize),
) -> Result<(Vec<Entry>, Vec<String>), ReadError> {
    let mut entries = Vec::new();
    let mut notes = Vec::new();
    for path in files {
        let before = entries.len();
        let mut reader = Reader::open(path)?;
        for entry in &mut reader {
            match entry {
                Ok(entry) => entries.push(entry),
                Err(error @ ReadError::Line { .. }) => notes.push(error.to_string()),
                Err(error) => return Err(error),
            }
            told(path, entries.len());
        }
        notes.extend_from_slice(reader.notes());
        if entries.len() == before {
            // The error names the file itself.
            let name = format!("{}: ", path.display());
            let why = match notes.last() {
                Some(note) => format!(": {}", note.strip_prefix(&name).unwrap_or(note)),
                None => String::new(),
            };
            return Err(ReadError::Nothing {
                path: path.clone(),
                why,
            });
        }
    }
    Ok((entries, notes))
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
    notes: Vec<String>,
    done: bool,
}

impl Reader {
    /// Opens `path`; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let open = || -> io::Result<Box<dyn BufRead>> {
            let mut input: Box<dyn BufRead> = if path == Path::new("-") {
                Box::new(io::stdin().lock())
            } else {
                Box::new(BufReader::new(File::open(path)?))
            };
            let is_gzip = input.fill_buf()?.starts_with(&[0x1f, 0x8b]);
            Ok(if is_gzip {
                Box::new(BufReader::new(MultiGzDecoder::new(input)))
            } else {
                input
            })
        };
        let input = open().map_err(|error| ReadError::Io {
            path: path.to_owned(),
            error,
        })?;
        Ok(Self {
            path: path.to_owned(),
            input,
            decoder: Decoder::new(),
            line: Vec::new(),
            lines: 0,
            notes: Vec::new(),
            done: false,
        })
    }

    /// What should be known of the file: complete after the last entry.
    pub fn notes(&self) -> &[String] {
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
                    "a line longer than 16 MiB",
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
        self.notes.push(format!(
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
                Ok(None) => {}
                Ok(Some(entry)) => {
                    if let Entry::Header(header) = &entry {
                        let at = |note: &String| {
                            format!("{}: line {}: {note}", self.path.display(), self.lines)
                        };
                        self.notes.extend(header.notes.iter().map(at));
                    }
                    return Some(Ok(entry));
                }
                Err(error) => {
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
