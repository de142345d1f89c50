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
        let active = ["active_anon", "active_file"]
            .iter()
            .filter_map(|name| field(&stat, name))
            .sum();
        Some(Self {
            used,
            active: Bytes::new(active),
            refaulted: refaulted(&stat),
            swapped: amount(&directory, "memory.swap.current"),
        })
    }
}

/// Pages read again after eviction, of both kinds, by a `memory.stat`: one count before 5.9, two since.
pub fn refaulted(stat: &[u8]) -> Option<u64> {
    let kinds = [
        "workingset_refault_anon",
        "workingset_refault_file",
        "workingset_refault",
    ];
    let counts = kinds.iter().filter_map(|name| field(stat, name));
    counts.reduce(u64::saturating_add)
}

/// How long all tasks of a group have waited for memory, since it was made; `None` where it is not told.
pub fn waiting_for_memory(directory: impl AsFd) -> Option<Micros> {
    full(directory, "memory.pressure")
}

/// How long a group has waited; `None` where it is not told.
pub fn waiting(directory: impl AsFd) -> Option<Waiting> {
    let events = text(&directory, "memory.events")?;
    Some(Waiting {
        memory: full(&directory, "memory.pressure")?,
        disks: full(&directory, "io.pressure")?,
        limited: field(&events, "high")?.saturating_add(field(&events, "max")?),
    })
}

/// The total of `full` in a file of pressure.
fn full(directory: impl AsFd, name: &str) -> Option<Micros> {
    pressure::parse(&text(directory, name)?).ok()?.full_total
}

/// The number in the line of this name, of a file such as `memory.stat`.
pub fn field(text: &[u8], name: &str) -> Option<u64> {
    let line = text
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b" "));
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
