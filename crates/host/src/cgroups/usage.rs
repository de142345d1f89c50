//! What a control group has of memory, by its own files.

use crate::parse::lines::number;
use crate::parse::pressure;
use ::pressure::groups::Waiting;
use rustix::fd::AsFd;
use rustix::fs::{Mode, OFlags};
use std::io::Read;
use units::{Bytes, Micros};

/// No `memory.stat` is longer.
const MOST: u64 = 16 * 1024;

/// What a group has, all below it included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// `memory.current`.
    pub used: Bytes,
    /// Of it, used more than once or lately: `active_anon` and `active_file`.
    pub active: Bytes,
    /// Pages read again after eviction, since it was made; `None` where it is not told.
    pub refaulted: Option<u64>,
    /// What it has in swap; `None` where it is not told.
    pub swapped: Option<Bytes>,
}

impl Usage {
    /// `None` if the group is gone, or its memory is not counted.
    pub fn of(directory: impl AsFd) -> Option<Self> {
        let used = amount(&directory, "memory.current")?;
        let stat = text(&directory, "memory.stat")?;
        let value = |name: &&[u8]| field(&stat, name);
        let active = [&b"active_anon"[..], b"active_file"]
            .iter()
            .filter_map(value)
            .sum();
        // One count before 5.9, two since.
        let kinds = [
            &b"workingset_refault_anon"[..],
            b"workingset_refault_file",
            b"workingset_refault",
        ];
        let refaulted = kinds.iter().filter_map(value).reduce(u64::saturating_add);
        Some(Self {
            used,
            active: Bytes::new(active),
            refaulted,
            swapped: amount(&directory, "memory.swap.current"),
        })
    }
}

/// How long all tasks of a group have waited for memory, since it was made; `None` where it is not told.
pub fn waiting_for_memory(directory: impl AsFd) -> Option<Micros> {
    pressure::parse(&text(directory, "memory.pressure")?)
        .ok()?
        .full_total
}

/// How long a group has waited; `None` where it is not told.
pub fn waiting(directory: impl AsFd) -> Option<Waiting> {
    let full = |name| pressure::parse(&text(&directory, name)?).ok()?.full_total;
    let events = text(&directory, "memory.events")?;
    Some(Waiting {
        memory: full("memory.pressure")?,
        disks: full("io.pressure")?,
        limited: field(&events, b"high")?.saturating_add(field(&events, b"max")?),
    })
}

/// The number in the line of this name.
fn field(text: &[u8], name: &[u8]) -> Option<u64> {
    let line = text
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(b" "));
    number(line?.trim_ascii())
}

/// The one number of a file; `None` if there is no such file, or no number in it.
pub fn amount(directory: impl AsFd, name: &str) -> Option<Bytes> {
    number(text(directory, name)?.trim_ascii()).map(Bytes::new)
}

/// The text of a file in a group's directory, as far as it is read at all.
pub fn text(directory: impl AsFd, name: &str) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = std::fs::File::from(rustix::fs::openat(directory, name, flags, Mode::empty()).ok()?);
    let mut text = Vec::new();
    file.take(MOST).read_to_end(&mut text).ok()?;
    Some(text)
}
