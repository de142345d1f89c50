//! Bytes by the line or by the record, with their place.

use crate::Error;
use std::io::{ErrorKind, Read};

const BLOCK: usize = 1 << 18;
/// The longest line: what is longer is no text trace.
const LONGEST: usize = 1 << 16;

/// Bytes that were read and not yet used.
pub(crate) struct Input<'a> {
    reader: Box<dyn Read + Send + 'a>,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// Bytes before `from`.
    offset: u64,
    line: u64,
    ended: bool,
}

impl<'a> Input<'a> {
    pub(crate) fn new(reader: Box<dyn Read + Send + 'a>) -> Self {
        Self {
            reader,
            buffer: vec![0; BLOCK],
            from: 0,
            to: 0,
            offset: 0,
            line: 0,
            ended: false,
        }
    }

    /// What is there without taking it: at most a block, less only at the end.
    pub(crate) fn peek(&mut self) -> Result<&[u8], Error> {
        self.more(BLOCK)?;
        Ok(&self.buffer[self.from..self.to])
    }

    /// The next line without its end; `None` after the last.
    pub(crate) fn line(&mut self) -> Result<Option<&[u8]>, Error> {
        let mut seen = 0;
        let end = loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.from + seen..self.to]) {
                break seen + at;
            }
            seen = self.to - self.from;
            if self.ended {
                if seen == 0 {
                    return Ok(None);
                }
                break seen;
            }
            if seen > LONGEST {
                return Err(self.wrong_line("longer than 65536 bytes: is this a text trace?"));
            }
            self.more(seen + 1)?;
        };
        let start = self.from;
        let taken = (end + 1).min(self.to - start);
        self.take(taken);
        self.line += 1;
        let line = &self.buffer[start..start + end];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// As many whole records of so many bytes as there are, up to `most`; none at the end. Bytes that are left over are
    /// an error.
    pub(crate) fn records(&mut self, size: usize, most: usize) -> Result<&[u8], Error> {
        self.more((size * most).min(BLOCK))?;
        let whole = ((self.to - self.from) / size).min(most);
        if whole == 0 && self.from < self.to {
            let left = self.to - self.from;
            return Err(
                self.wrong_byte(0, &format!("the last {left} bytes are no record of {size}"))
            );
        }
        let start = self.from;
        self.take(whole * size);
        Ok(&self.buffer[start..start + whole * size])
    }

    /// An error about the line that was given last.
    pub(crate) fn wrong_line(&self, what: &str) -> Error {
        Error::Malformed {
            place: format!("line {}", self.line.max(1)),
            what: what.to_owned(),
        }
    }

    /// An error about a byte, counted from those not yet taken, backwards.
    pub(crate) fn wrong_byte(&self, before: usize, what: &str) -> Error {
        Error::Malformed {
            place: format!("byte {}", self.offset - before as u64),
            what: what.to_owned(),
        }
    }

    fn take(&mut self, bytes: usize) {
        self.from += bytes;
        self.offset += bytes as u64;
    }

    /// Reads until so many bytes are there, or none come.
    fn more(&mut self, wanted: usize) -> Result<(), Error> {
        if self.to - self.from >= wanted || self.ended {
            return Ok(());
        }
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        if self.buffer.len() < wanted.max(BLOCK) {
            self.buffer.resize(wanted.max(BLOCK), 0);
        }
        while self.to < wanted {
            match self.reader.read(&mut self.buffer[self.to..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(read) => self.to += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broken(error)),
            }
        }
        Ok(())
    }

    fn broken(&self, error: std::io::Error) -> Error {
        let at = self.offset + (self.to - self.from) as u64;
        Error::Io(std::io::Error::new(
            error.kind(),
            format!("after byte {at} of the plain content: {error}"),
        ))
    }
}

impl Read for Input<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.more(1).map_err(std::io::Error::other)?;
        let size = out.len().min(self.to - self.from);
        out[..size].copy_from_slice(&self.buffer[self.from..self.from + size]);
        self.take(size);
        Ok(size)
    }
}
