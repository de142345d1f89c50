//! Messages over a serial line between the lab and its guest.
//!
//! A frame is one line, `@warmset KIND LENGTH CRC32`, and then LENGTH bytes of payload and a newline. Bytes between
//! frames, such as a kernel message that strayed onto the line, are skipped. A frame with a wrong checksum is an error.

use anyhow::{Context, Result};
use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;

const MARK: &str = "@warmset";
/// Most bytes of a payload: a length above it is damage. Recordings, the largest files sent, are some MiB.
const LONGEST: usize = 64 << 20;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is: one word.
    pub kind: String,
    /// Its contents.
    pub payload: Vec<u8>,
}

impl Frame {
    /// A frame of this kind.
    pub fn new(kind: &str, payload: impl Into<Vec<u8>>) -> Self {
        Self {
            kind: kind.to_owned(),
            payload: payload.into(),
        }
    }

    /// Keeps the file that a frame carries in this directory, named after the run that it is of.
    pub fn keep(&self, directory: &Path, run: &str) -> Result<()> {
        let (name, bytes) = self.file()?;
        fs::create_dir_all(directory)?;
        let path = directory.join(format!("{run}-{name}"));
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    }

    /// The name of the file that a frame carries, and what is in it: one line, then the bytes.
    fn file(&self) -> Result<(String, &[u8])> {
        const NAMELESS: &str = "the guest sent a file without a name";
        let end = self.payload.iter().position(|byte| *byte == b'\n');
        let (path, rest) = self.payload.split_at(end.context(NAMELESS)?);
        let path = Path::new(std::str::from_utf8(path)?);
        let name = path.file_name().context(NAMELESS)?;
        let bytes = rest.get(1..).unwrap_or_default();
        Ok((name.to_string_lossy().into_owned(), bytes))
    }

    /// Writes the frame at once.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let kind = &self.kind;
        let length = self.payload.len();
        let sum = crc32fast::hash(&self.payload);
        let mut bytes = format!("{MARK} {kind} {length} {sum:08x}\n").into_bytes();
        bytes.extend_from_slice(&self.payload);
        bytes.push(b'\n');
        to.write_all(&bytes)?;
        to.flush()
    }

    /// The next frame; `None` at the end of the line.
    pub fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if from.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            if let Some(head) = Head::parse(&line) {
                return body(from, head).map(Some);
            }
        }
    }
}

/// The first line of a frame.
struct Head {
    kind: String,
    length: usize,
    sum: u32,
}

impl Head {
    /// `None` if this line begins no frame.
    fn parse(line: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(line);
        let from_mark = text.get(text.find(MARK)?..)?;
        let mut words = from_mark.split_whitespace().skip(1);
        let kind = words.next()?.to_owned();
        let length = words.next()?.parse().ok()?;
        let sum = u32::from_str_radix(words.next()?, 16).ok()?;
        if length > LONGEST {
            return None;
        }
        Some(Self { kind, length, sum })
    }
}

fn body(from: &mut impl BufRead, head: Head) -> io::Result<Frame> {
    let mut payload = Vec::new();
    let with_newline = head.length as u64 + 1;
    from.take(with_newline).read_to_end(&mut payload)?;
    payload.truncate(head.length);
    if payload.len() == head.length && crc32fast::hash(&payload) == head.sum {
        return Ok(Frame {
            kind: head.kind,
            payload,
        });
    }
    let message = format!(
        "a frame '{}' of {} bytes arrived damaged",
        head.kind, head.length
    );
    Err(io::Error::new(io::ErrorKind::InvalidData, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn noise_between_frames_is_skipped() {
        let mut line = b"[    1.0] boot noise\n".to_vec();
        Frame::new("hello", "one\n@two").write(&mut line).unwrap();
        line.extend_from_slice(b"noise without an end of line ");
        Frame::new("bye", "").write(&mut line).unwrap();
        let mut from = line.as_slice();
        assert_eq!(
            Frame::read(&mut from).unwrap(),
            Some(Frame::new("hello", "one\n@two"))
        );
        assert_eq!(Frame::read(&mut from).unwrap(), Some(Frame::new("bye", "")));
        assert_eq!(Frame::read(&mut from).unwrap(), None);
    }

    #[test]
    fn a_damaged_frame_is_an_error() {
        let mut line = Vec::new();
        Frame::new("result", "12345").write(&mut line).unwrap();
        let last = line.len() - 3;
        line[last] ^= 1;
        assert!(Frame::read(&mut line.as_slice()).is_err());
        line.truncate(last);
        assert!(Frame::read(&mut line.as_slice()).is_err(), "cut short");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let mut from = bytes.as_slice();
            while let Ok(Some(_)) = Frame::read(&mut from) {}
        }

        #[test]
        fn any_payload_is_read_as_it_was_written(payload: Vec<u8>) {
            let mut line = Vec::new();
            Frame::new("x", payload.clone()).write(&mut line).unwrap();
            prop_assert_eq!(Frame::read(&mut line.as_slice()).unwrap().unwrap().payload, payload);
        }
    }
}
