//! Reads bytes by the line or by the record, and knows their place.

use crate::Error;
use std::io::{self, ErrorKind, Read};

/// Bytes that are read at once. Smaller blocks cost more system calls; larger ones no longer fit in
/// a cache.
const BLOCK: usize = 1 << 18;
/// Bytes of lines that are looked for at least: fewer would be asked for too often.
const LEAST_LINES: usize = BLOCK / 2;
/// The longest line in bytes: a file with a longer one is no text trace.
const LONGEST: usize = 1 << 16;

/// An input, and the bytes that were read and not yet used.
pub(crate) struct Input<'a> {
    reader: Box<dyn Read + Send + 'a>,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// Bytes of the input before `from`.
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

    /// The next bytes, without taking them: a block, or less at the end.
    pub(crate) fn peek(&mut self) -> Result<&[u8], Error> {
        let (bytes, _) = self.start()?;
        Ok(bytes)
    }

    /// The first bytes, without taking them, and whether they are all.
    pub(crate) fn start(&mut self) -> Result<(&[u8], bool), Error> {
        self.more(BLOCK)?;
        Ok((&self.buffer[self.from..self.to], self.ended))
    }

    /// Takes the mark that some programs write before a text in UTF-8.
    pub(crate) fn skip_mark(&mut self) -> Result<(), Error> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        if self.peek()?.starts_with(MARK) {
            self.take(MARK.len());
        }
        Ok(())
    }

    /// Takes bytes that [`Self::peek`] showed.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.take(bytes.min(self.to - self.from));
    }

    /// The next line without its line end; `None` after the last.
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

    /// The next whole lines, without taking them, and whether they are the last: a block, or more if they are to have more than
    /// `least` bytes.
    ///
    /// Errors: a line that is too long.
    pub(crate) fn lines(&mut self, least: usize) -> Result<(&[u8], bool), Error> {
        let mut wanted = least.max(1);
        loop {
            self.more(wanted.max(LEAST_LINES))?;
            let bytes = &self.buffer[self.from..self.to];
            if self.ended {
                return Ok((&self.buffer[self.from..self.to], true));
            }
            let end = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
            if end > least {
                return Ok((&self.buffer[self.from..self.from + end], false));
            }
            if bytes.len() > least + LONGEST {
                let what = "longer than 65536 bytes: is this a text trace?";
                return Err(self.wrong_line(what));
            }
            wanted = bytes.len() + LONGEST;
        }
    }

    /// Bytes of the input that have been taken.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Gives back bytes that were taken since it was last read.
    pub(crate) fn give_back(&mut self, bytes: u64) {
        self.from -= bytes as usize;
        self.offset -= bytes;
    }

    /// The next records of `size` bytes each: at most `most`, none at the end.
    ///
    /// Errors: bytes at the end that are no whole record.
    pub(crate) fn records(&mut self, size: usize, most: usize) -> Result<&[u8], Error> {
        self.more((size * most).min(BLOCK))?;
        let whole = ((self.to - self.from) / size).min(most);
        if whole == 0 && self.from < self.to {
            let left = self.to - self.from;
            let what = format!("the last {left} bytes are no record of {size}");
            return Err(self.wrong_byte(0, &what));
        }
        let start = self.from;
        self.take(whole * size);
        Ok(&self.buffer[start..start + whole * size])
    }

    /// An error about the line that was returned last.
    pub(crate) fn wrong_line(&self, what: &str) -> Error {
        Error::Malformed {
            place: format!("line {}", self.line.max(1)),
            what: what.to_owned(),
        }
    }

    /// An error about the byte that is so many before the next one.
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

    /// Reads until the buffer holds so many bytes, or the input ends.
    fn more(&mut self, wanted: usize) -> Result<(), Error> {
        if self.to - self.from >= wanted || self.ended {
            return Ok(());
        }
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        let size = wanted.max(BLOCK);
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        while self.to < wanted {
            match self.reader.read(&mut self.buffer[self.to..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(read) => self.to += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.read_error(&error)),
            }
        }
        Ok(())
    }

    fn read_error(&self, error: &io::Error) -> Error {
        let at = self.offset + (self.to - self.from) as u64;
        let what = format!("after byte {at} of the plain content: {error}");
        Error::Io(io::Error::new(error.kind(), what))
    }
}

impl Read for Input<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.more(1).map_err(io::Error::other)?;
        let size = out.len().min(self.to - self.from);
        let bytes = &self.buffer[self.from..self.from + size];
        out[..size].copy_from_slice(bytes);
        self.take(size);
        Ok(size)
    }
}
