//! Messages over a serial line between the lab and its guest.
//!
//! A frame is one line, `@warmset KIND LENGTH CRC32`, and then LENGTH bytes of payload and a newline. What stands
//! between frames (a kernel message that strayed onto the line) is skipped; a frame whose sum is wrong is an error.

use std::io::{self, BufRead, Read, Write};

const MARK: &str = "@warmset";
/// No payload is longer; a length above it is damage.
const LONGEST: usize = 64 << 20;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is: one word.
    pub kind: String,
    /// What it says.
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

    /// Writes the frame at once.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut bytes = format!(
            "{MARK} {} {} {:08x}\n",
            self.kind,
            self.payload.len(),
            crc32fast::hash(&self.payload)
        )
        .into_bytes();
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
            if let Some((kind, length, sum)) = head(&line) {
                return body(from, kind, length, sum).map(Some);
            }
        }
    }
}

/// Kind, length and sum, if this line begins a frame.
fn head(line: &[u8]) -> Option<(String, usize, u32)> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.get(text.find(MARK)?..)?.split_whitespace().skip(1);
    let (kind, length, sum) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
    (length <= LONGEST).then_some((kind.to_owned(), length, u32::from_str_radix(sum, 16).ok()?))
}

fn body(from: &mut impl BufRead, kind: String, length: usize, sum: u32) -> io::Result<Frame> {
    let mut payload = Vec::new();
    from.take(length as u64 + 1).read_to_end(&mut payload)?;
    payload.truncate(length);
    if payload.len() == length && crc32fast::hash(&payload) == sum {
        return Ok(Frame { kind, payload });
    }
    let message = format!("a frame '{kind}' of {length} bytes arrived damaged");
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
        fn any_payload_comes_back(payload: Vec<u8>) {
            let mut line = Vec::new();
            Frame::new("x", payload.clone()).write(&mut line).unwrap();
            prop_assert_eq!(Frame::read(&mut line.as_slice()).unwrap().unwrap().payload, payload);
        }
    }
}
