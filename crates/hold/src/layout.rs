//! How the kernel lays a tracepoint's record out: read from it (`events/…/format`), never assumed.
//!
//! Fields come and go, and 32-bit kernels have shorter words.

use std::io;
use std::path::{Path, PathBuf};

/// Where tracefs may be mounted.
const DIRECTORIES: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// The number of a tracepoint in this boot, and the text that says where its fields are.
pub(crate) struct Layout<'t> {
    pub(crate) id: u16,
    text: &'t str,
}

/// Where a number is in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    offset: usize,
    size: usize,
}

/// The directory of a group of tracepoints, such as `filemap`.
pub(crate) fn group(root: &Path, name: &str) -> Option<PathBuf> {
    let paths = DIRECTORIES.map(|directory| root.join(directory).join("events").join(name));
    paths.into_iter().find(|path| path.is_dir())
}

/// What is in the file of a layout, turned into something by `read`; an error if that finds nothing.
pub(crate) fn read_with<T>(path: &Path, read: impl Fn(&str) -> Option<T>) -> io::Result<T> {
    let text = std::fs::read_to_string(path)?;
    let wrong = || {
        io::Error::other(format!(
            "{}: not the layout of such an event",
            path.display()
        ))
    };
    read(&text).ok_or_else(wrong)
}

impl<'t> Layout<'t> {
    pub(crate) fn parse(text: &'t str) -> Option<Self> {
        let id = text
            .lines()
            .find_map(|line| line.strip_prefix("ID: "))?
            .trim()
            .parse()
            .ok()?;
        Some(Self { id, text })
    }

    /// Where the field of this name is.
    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        self.text.lines().find_map(|line| Field::parse(line, name))
    }
}

/// The number of the tracepoint that a record is of.
pub(crate) fn id_of(record: &[u8]) -> Option<u64> {
    let common = Field { offset: 0, size: 2 };
    common.of(record)
}

impl Field {
    /// `field:unsigned long i_ino; offset:16; size:8; signed:0;` for `i_ino`, with tabs.
    fn parse(line: &str, name: &str) -> Option<Self> {
        let mut parts = line
            .trim()
            .strip_prefix("field:")?
            .split(';')
            .map(str::trim);
        let declared = parts.next()?.rsplit(' ').next()?;
        let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse().ok();
        let offset = number("offset:")?;
        let size = number("size:")?;
        let is_word = matches!(size, 1 | 2 | 4 | 8);
        if declared == name && is_word && offset < 4096 {
            Some(Self { offset, size })
        } else {
            None
        }
    }

    /// The number in a record; `None` for one that is too short.
    pub(crate) fn of(self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.offset..self.offset + self.size)?;
        Some(match self.size {
            1 => bytes[0].into(),
            2 => u16::from_ne_bytes(bytes.try_into().ok()?).into(),
            4 => u32::from_ne_bytes(bytes.try_into().ok()?).into(),
            _ => u64::from_ne_bytes(bytes.try_into().ok()?),
        })
    }
}
