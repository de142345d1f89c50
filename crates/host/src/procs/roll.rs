//! Every process once, by `stat`.

use super::MOST;
use super::text::{self, Status};
use crate::parse::lines::number;
use arrayvec::ArrayVec;
use pressure::census::{Identity, Life, Name};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom};
use std::mem::MaybeUninit;
use units::{Bytes, Pages};

/// Folders read at once.
const FOLDERS: usize = 16 * 1024;
/// Kernel threads are passed over, and looked at again every so many scans: a number may pass to a process.
const KERNELS_AGAIN: u32 = 16;
/// Of the processes that are small in RAM, so many are asked for their swap in each scan.
const ASKED: usize = 16;

/// One process in the roll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) pid: u32,
    pub(super) start: u64,
    pub(super) resident: Pages,
    /// Zero until it is looked into.
    pub(super) anon: Bytes,
    /// As far as is known.
    pub(super) swapped: Bytes,
    pub(super) user: u32,
    pub(super) life: Life,
    /// It runs or waits to run.
    pub(super) runs: bool,
    pub(super) name: Name,
}

impl Entry {
    pub(super) const fn identity(&self) -> Identity {
        Identity { pid: self.pid, start: self.start }
    }
}

/// What a process had on swap when that was read.
#[derive(Debug, Clone, Copy)]
struct Swapped {
    who: Identity,
    amount: Bytes,
}

/// All processes but the kernel's, in the order of `/proc`. Keeps its storage.
#[derive(Debug, Default)]
pub(super) struct Roll {
    entries: Vec<Entry>,
    /// Numbers of kernel threads, in order.
    kernels: Vec<u32>,
    /// In the order of the numbers.
    swapped: Vec<Swapped>,
    folders: Vec<MaybeUninit<u8>>,
    scans: u32,
    asked: usize,
}

impl Roll {
    /// Goes through all of `/proc`.
    pub(super) fn read(&mut self, proc: &OwnedFd) {
        self.entries.clear();
        self.folders.resize(FOLDERS, MaybeUninit::uninit());
        if self.scans % KERNELS_AGAIN == 0 {
            self.kernels.clear();
        }
        self.scans = self.scans.wrapping_add(1);
        if rustix::fs::seek(proc, SeekFrom::Start(0)).is_err() {
            return;
        }
        let mut folders = RawDir::new(proc, &mut self.folders);
        while let Some(Ok(folder)) = folders.next() {
            let Some(pid) = number(folder.file_name().to_bytes()).and_then(|pid| u32::try_from(pid).ok()) else {
                continue;
            };
            if self.kernels.binary_search(&pid).is_ok() {
                continue;
            }
            match entry(proc, pid) {
                Some(Kind::Process(entry)) => {
                    make_room(&mut self.entries);
                    self.entries.push(entry);
                }
                Some(Kind::Kernel) if self.kernels.last().is_none_or(|last| *last < pid) => self.kernels.push(pid),
                _ => {}
            }
        }
        self.entries.sort_unstable_by_key(|entry| entry.pid);
        self.carry_swapped();
        self.ask_some(proc);
    }

    /// Those that ran or waited to run.
    pub(super) fn runnable(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.runs)
    }

    /// What was known of swap, for those who are still there.
    fn carry_swapped(&mut self) {
        let entries = &mut self.entries;
        self.swapped.retain(|known| {
            let Ok(index) = entries.binary_search_by_key(&known.who.pid, |entry| entry.pid) else { return false };
            let is_same = entries[index].start == known.who.start;
            if is_same {
                entries[index].swapped = known.amount;
            }
            is_same
        });
    }

    /// Some of all, in turn, so that who is on swap altogether is found in the end.
    fn ask_some(&mut self, proc: &OwnedFd) {
        for _ in 0..ASKED.min(self.entries.len()) {
            self.asked = (self.asked + 1) % self.entries.len();
            let mut entry = self.entries[self.asked];
            if let Some(status) = status(proc, entry.pid) {
                entry.swapped = status.swapped.unwrap_or_default();
                self.entries[self.asked] = entry;
                self.remember(&entry);
            }
        }
    }

    /// Keeps what was read of a process's swap.
    pub(super) fn remember(&mut self, entry: &Entry) {
        match self.swapped.binary_search_by_key(&entry.pid, |known| known.who.pid) {
            Ok(index) => self.swapped[index] = Swapped { who: entry.identity(), amount: entry.swapped },
            Err(_) if entry.swapped == Bytes::ZERO => {}
            Err(index) => self.swapped.insert(index, Swapped { who: entry.identity(), amount: entry.swapped }),
        }
    }

    /// The `N` largest, in no order.
    pub(super) fn largest<const N: usize>(&mut self, page_size: Bytes) -> ArrayVec<Entry, N> {
        let size = |entry: &Entry| std::cmp::Reverse(entry.resident.to_bytes(page_size) + entry.swapped);
        if self.entries.len() > N {
            self.entries.select_nth_unstable_by_key(N, size);
        }
        self.entries.iter().take(N).copied().collect()
    }
}

/// Where there are too many, the smaller half is forgotten: whoever matters is large.
fn make_room(entries: &mut Vec<Entry>) {
    if entries.len() == MOST {
        entries.select_nth_unstable_by_key(MOST / 2, |entry| std::cmp::Reverse(entry.resident));
        entries.truncate(MOST / 2);
    }
}

pub(super) enum Kind {
    Process(Entry),
    Kernel,
}

/// `None` if it is gone, or its `stat` cannot be read.
pub(super) fn entry(proc: &OwnedFd, pid: u32) -> Option<Kind> {
    let mut buffer = [0; 1024];
    let stat = text::stat(read_at(proc, pid, "stat", &mut buffer)?)?;
    if stat.is_kernels {
        return Some(Kind::Kernel);
    }
    Some(Kind::Process(Entry {
        pid,
        start: stat.start,
        resident: stat.resident,
        anon: Bytes::ZERO,
        swapped: Bytes::ZERO,
        user: u32::MAX,
        life: stat.life,
        runs: stat.runs,
        name: text::printable(stat.name),
    }))
}

/// The folder of a process, which stays of that one.
pub(super) fn folder(proc: &OwnedFd, pid: u32) -> Option<OwnedFd> {
    let mut name = arrayvec::ArrayString::<16>::new();
    std::fmt::Write::write_fmt(&mut name, format_args!("{pid}")).ok()?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(proc, name.as_str(), flags, Mode::empty()).ok()
}

/// Anonymous memory, swap and user of a process.
pub(super) fn status(proc: &OwnedFd, pid: u32) -> Option<Status> {
    let mut buffer = [0; 2048];
    read_at(proc, pid, "status", &mut buffer).map(text::status)
}

/// `PID/FILE`, read once into `buffer`; what does not fit is left out.
pub(super) fn read_at<'b>(proc: &OwnedFd, pid: u32, file: &str, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let mut path = arrayvec::ArrayString::<32>::new();
    std::fmt::Write::write_fmt(&mut path, format_args!("{pid}/{file}")).ok()?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let opened = rustix::fs::openat(proc, path.as_str(), flags, Mode::empty()).ok()?;
    read(&opened, buffer)
}

/// The text of an open file, from its start.
pub(super) fn read(file: impl AsFd, buffer: &mut [u8]) -> Option<&[u8]> {
    let length = rustix::io::pread(file, &mut *buffer, 0).ok()?;
    buffer.get(..length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_the_larger_stay_and_who_comes_last_is_seen() {
        let entry = |pid: u32| Entry {
            pid,
            start: 1,
            resident: Pages::new(u64::from(pid % 100)),
            anon: Bytes::ZERO,
            swapped: Bytes::ZERO,
            user: 0,
            life: Life::Alive,
            runs: false,
            name: Name::new(),
        };
        let mut entries = Vec::new();
        for pid in 0..=MOST as u32 {
            make_room(&mut entries);
            entries.push(entry(pid));
        }
        assert_eq!(entries.len(), MOST / 2 + 1);
        assert_eq!(entries.last().unwrap().pid, MOST as u32);
        assert!(entries[..MOST / 2].iter().all(|entry| entry.resident >= Pages::new(50)));
    }
}
