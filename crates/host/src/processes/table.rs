//! The table of all processes, by `stat`, and by `status` as far as that was read.

use crate::parse::lines::number;
use crate::parse::process::{self, Status};
use crate::system::clock::monotonic;
use arrayvec::{ArrayString, ArrayVec};
use pressure::scan::{Identity, Life};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom};
use std::mem::MaybeUninit;
use std::time::Duration;
use units::{Bytes, Pages};

/// Processes kept in mind, at most; of more, the larger ones. Bounds the memory of the guard at about 1 MiB, and the time
/// of a scan.
pub const MOST: usize = 10_000;
/// Buffer for directory entries: one page, which holds about 150 of `/proc`.
const DIRECTORIES: usize = 4096;
/// Processes that each part reads at least, however long it takes: else a slow machine would never finish a round.
const AT_LEAST: usize = 256;
/// Kernel threads are passed over, and looked at again every so many rounds: a number may pass to a process.
const KERNELS_AGAIN: u32 = 16;
/// Processes that have their `status` read in each part, round robin: about half a millisecond. 600 are covered in 19
/// parts, 10,000 in 313.
const ASKED: usize = 32;

/// What a process calls itself: `comm` has 15 bytes and a zero.
pub(super) type Comm = ArrayString<16>;

/// One process in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) pid: u32,
    pub(super) parent: u32,
    /// Its process group.
    pub(super) group: u32,
    /// Its family, as `Family::kin`; zero until families are told apart.
    pub(super) kin: u32,
    pub(super) start: u64,
    pub(super) resident: Pages,
    /// What its `status` told.
    pub(super) told: Told,
    /// Memory without a name that it holds open, mapped or not, at the last look at its files.
    pub(super) held: Kib,
    /// Named files on a tmpfs that it has open for writing, at that look.
    pub(super) written: Kib,
    /// Time that the kernel worked for it, and what that grew by since the reading before.
    pub(super) system_time: u32,
    pub(super) worked: u32,
    pub(super) life: Life,
    pub(super) has_terminal: bool,
    /// Whether it began its session, as a login shell and a service do.
    pub(super) leads_session: bool,
    pub(super) name: Comm,
    /// The part in which it was last read.
    pub(super) part: u32,
}

/// Memory in KiB, as the kernel tells it: half the size of [`Bytes`], as there are many in the table. Up to 4 TiB.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kib(u32);

impl Kib {
    pub(super) const ZERO: Self = Self(0);

    pub(super) fn of(bytes: Bytes) -> Self {
        Self(u32::try_from(bytes.get() >> 10).unwrap_or(u32::MAX))
    }

    pub(super) const fn bytes(self) -> Bytes {
        Bytes::kib(self.0 as u64)
    }
}

/// What `status` told of a process when that was last read. All zero until then.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) is_known: bool,
    pub(super) files: Kib,
    pub(super) shared: Kib,
    pub(super) swapped: Kib,
    pub(super) tables: Kib,
    pub(super) hugetlb: Kib,
}

impl Told {
    pub(super) fn of(status: &Status) -> Self {
        Self {
            is_known: true,
            files: Kib::of(status.files.unwrap_or_default()),
            shared: Kib::of(status.shared.unwrap_or_default()),
            swapped: Kib::of(status.swapped.unwrap_or_default()),
            tables: Kib::of(status.tables.unwrap_or_default()),
            hugetlb: Kib::of(status.hugetlb.unwrap_or_default()),
        }
    }
}

/// All processes but the kernel's, in the order of their numbers. Keeps its storage.
///
/// It is read in rounds, and a round of very many processes in parts. A process that the round has not reached is as in
/// the round before.
#[derive(Debug)]
pub(super) struct ProcessTable {
    pub(super) page_size: Bytes,
    pub(super) entries: Vec<Entry>,
    /// Numbers of kernel threads, in order.
    kernels: Vec<u32>,
    /// Parts read so far, and with which of them this round began.
    parts: u32,
    began: u32,
    is_through: bool,
    rounds: u32,
    asked: usize,
    /// Places in `entries`, in the order that families are found by; kept for its storage.
    pub(super) order: Vec<u32>,
}

impl ProcessTable {
    /// No process is known yet.
    pub(super) const fn new(page_size: Bytes) -> Self {
        Self {
            page_size,
            entries: Vec::new(),
            kernels: Vec::new(),
            parts: 0,
            began: 0,
            is_through: true,
            rounds: 0,
            asked: 0,
            order: Vec::new(),
        }
    }

    /// Reads on through `/proc` for about `patience`. Returns true at the end of a round.
    pub(super) fn read(&mut self, proc: &OwnedFd, patience: Duration) -> bool {
        self.parts = self.parts.wrapping_add(1);
        if self.is_through && !self.begin(proc) {
            return true;
        }
        self.is_through = self.go_on(proc, patience);
        if self.is_through {
            let began = self.began;
            self.entries
                .retain(|entry| entry.part.wrapping_sub(began) < u32::MAX / 2);
        }
        self.entries.sort_unstable_by_key(|entry| entry.pid);
        self.ask_some(proc);
        self.is_through
    }

    /// A new round; `false` if there is no `/proc` to go through.
    fn begin(&mut self, proc: &OwnedFd) -> bool {
        if self.rounds % KERNELS_AGAIN == 0 {
            self.kernels.clear();
        }
        self.rounds = self.rounds.wrapping_add(1);
        self.began = self.parts;
        rustix::fs::seek(proc, SeekFrom::Start(0)).is_ok()
    }

    /// Reads on into the entries. Returns true at the end of `/proc`.
    fn go_on(&mut self, proc: &OwnedFd, patience: Duration) -> bool {
        let begun = monotonic();
        let mut sorted = self.entries.len();
        let mut seen = 0;
        let mut buffer = [MaybeUninit::uninit(); DIRECTORIES];
        let mut directories = RawDir::new(proc, &mut buffer);
        loop {
            // What is still in the buffer would be lost.
            let may_stop = directories.is_buffer_empty() && seen >= AT_LEAST;
            if may_stop && monotonic().saturating_sub(begun) >= patience {
                return false;
            }
            let Some(Ok(directory)) = directories.next() else {
                return true;
            };
            seen += 1;
            if let Some(pid) =
                number(directory.file_name().to_bytes()).and_then(|pid| u32::try_from(pid).ok())
            {
                sorted = self.note(proc, pid, sorted);
            }
        }
    }

    /// Reads one process; of the entries so many are in order, before and after.
    fn note(&mut self, proc: &OwnedFd, pid: u32, mut sorted: usize) -> usize {
        if self.kernels.binary_search(&pid).is_ok() {
            return sorted;
        }
        match entry(proc, pid) {
            Some(Kind::Process(entry)) => {
                match self.entries[..sorted].binary_search_by_key(&pid, |known| known.pid) {
                    Ok(index) => self.entries[index].become_of(entry, self.parts),
                    Err(_) => {
                        if make_room(&mut self.entries, self.page_size) {
                            sorted = self.entries.len();
                        }
                        self.entries.push(Entry {
                            part: self.parts,
                            ..entry
                        });
                    }
                }
            }
            Some(Kind::Kernel) if self.kernels.last().is_none_or(|last| *last < pid) => {
                self.kernels.push(pid);
            }
            _ => {}
        }
        sorted
    }

    /// Reads the `status` of some processes, round robin: one that is wholly in swap is found in the end.
    fn ask_some(&mut self, proc: &OwnedFd) {
        for _ in 0..ASKED.min(self.entries.len()) {
            self.asked = (self.asked + 1) % self.entries.len();
            self.ask(proc, self.asked);
        }
    }

    /// Reads the `status` of the process at this place.
    pub(super) fn ask(&mut self, proc: &OwnedFd, index: usize) {
        let entry = &mut self.entries[index];
        if let Some(status) = status(proc, entry.pid) {
            entry.told = Told::of(&status);
        }
    }

    /// An entry as it is now; `None` if the process is gone.
    pub(super) fn renew(&mut self, proc: &OwnedFd, old: &Entry) -> Option<Entry> {
        if old.part == self.parts {
            return Some(*old);
        }
        let Kind::Process(new) = entry(proc, old.pid)? else {
            return None;
        };
        let index = self
            .entries
            .binary_search_by_key(&old.pid, |known| known.pid)
            .ok()?;
        self.entries[index].become_of(new, self.parts);
        Some(self.entries[index])
    }

    /// Keeps what the `status` of a process told.
    pub(super) fn remember(&mut self, pid: u32, told: Told) {
        if let Some(entry) = self.find_mut(pid) {
            entry.told = told;
        }
    }

    /// The process with this number.
    pub(super) fn find(&self, pid: u32) -> Option<&Entry> {
        self.entries.get(self.place_of(pid)?)
    }

    /// The same, to change it.
    pub(super) fn find_mut(&mut self, pid: u32) -> Option<&mut Entry> {
        let place = self.place_of(pid)?;
        self.entries.get_mut(place)
    }

    fn place_of(&self, pid: u32) -> Option<usize> {
        self.entries
            .binary_search_by_key(&pid, |known| known.pid)
            .ok()
    }

    /// The `N` largest, the largest first.
    pub(super) fn largest<const N: usize>(&self) -> ArrayVec<Entry, N> {
        let size = |entry: &Entry| entry.size(self.page_size);
        let mut largest = ArrayVec::<Entry, N>::new();
        for entry in &self.entries {
            let place = largest.partition_point(|other| size(other) >= size(entry));
            if place < N {
                if largest.is_full() {
                    largest.pop();
                }
                largest.insert(place, *entry);
            }
        }
        largest
    }
}

impl Entry {
    pub(super) const fn identity(&self) -> Identity {
        Identity {
            pid: self.pid,
            start: self.start,
        }
    }

    /// What decides its rank among the largest: an upper bound of what its end frees.
    ///
    /// `rss` has the shared memory that it maps, and files. What it holds without mapping it comes on top, as do swap
    /// and page tables.
    pub(super) fn size(&self, page_size: Bytes) -> Bytes {
        let unmapped = self.shared().less(self.told.shared.bytes());
        let others = self.told.swapped.bytes() + self.told.tables.bytes();
        self.resident.to_bytes(page_size) + others + unmapped
    }

    /// Shared memory that it maps, or holds without a name. What is held may be mapped, too, so the larger counts; what
    /// is held of huge pages belongs to their pool.
    pub(super) fn shared(&self) -> Bytes {
        let held = self.held.bytes().less(self.told.hugetlb.bytes());
        self.told.shared.bytes().max(held)
    }

    /// Takes what was read in this part. What else is known stays if it is the same process.
    fn become_of(&mut self, new: Self, part: u32) {
        let old = *self;
        *self = Self { part, ..new };
        if new.start == old.start {
            self.kin = old.kin;
            self.told = old.told;
            self.held = old.held;
            self.written = old.written;
            self.worked = new.system_time.wrapping_sub(old.system_time);
        }
    }
}

/// Forgets the smaller half if there are too many: a process that matters is large. Returns true if it did.
fn make_room(entries: &mut Vec<Entry>, page_size: Bytes) -> bool {
    let is_full = entries.len() == MOST;
    if is_full {
        entries
            .select_nth_unstable_by_key(MOST / 2, |entry| std::cmp::Reverse(entry.size(page_size)));
        entries.truncate(MOST / 2);
        entries.sort_unstable_by_key(|entry| entry.pid);
    }
    is_full
}

pub(super) enum Kind {
    Process(Entry),
    Kernel,
}

/// `None` if it is gone, or its `stat` cannot be read.
pub(super) fn entry(proc: &OwnedFd, pid: u32) -> Option<Kind> {
    let mut buffer = [0; 1024];
    let stat = process::stat(read_at(proc, pid, "stat", &mut buffer)?)?;
    if stat.is_kernels {
        return Some(Kind::Kernel);
    }
    Some(Kind::Process(Entry {
        pid,
        parent: stat.parent,
        group: stat.group,
        kin: 0,
        start: stat.start,
        resident: stat.resident,
        told: Told::default(),
        held: Kib::ZERO,
        written: Kib::ZERO,
        system_time: stat.system_time,
        worked: 0,
        life: stat.life,
        has_terminal: stat.has_terminal,
        leads_session: stat.session == pid,
        name: process::printable(stat.name),
        part: 0,
    }))
}

/// The directory of a process: the descriptor stays of this process, whatever takes its number later.
pub(super) fn directory(proc: &OwnedFd, pid: u32) -> Option<OwnedFd> {
    let mut name = ArrayString::<16>::new();
    std::fmt::Write::write_fmt(&mut name, format_args!("{pid}")).ok()?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(proc, name.as_str(), flags, Mode::empty()).ok()
}

/// Memory and user of a process. 4 KiB: a user in a hundred groups has a line of those.
pub(super) fn status(proc: &OwnedFd, pid: u32) -> Option<Status> {
    let mut buffer = [0; 4096];
    read_at(proc, pid, "status", &mut buffer).map(process::status)
}

/// `PID/FILE`, read once into `buffer`; what does not fit is left out.
pub(super) fn read_at<'b>(
    proc: &OwnedFd,
    pid: u32,
    file: &str,
    buffer: &'b mut [u8],
) -> Option<&'b [u8]> {
    let mut path = ArrayString::<32>::new();
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
impl Entry {
    /// A process of which nothing is known.
    pub(super) const fn example(pid: u32) -> Self {
        Self {
            pid,
            parent: 1,
            group: 1,
            kin: 0,
            start: 1,
            resident: Pages::new(0),
            told: Told {
                is_known: false,
                files: Kib::ZERO,
                shared: Kib::ZERO,
                swapped: Kib::ZERO,
                tables: Kib::ZERO,
                hugetlb: Kib::ZERO,
            },
            held: Kib::ZERO,
            written: Kib::ZERO,
            system_time: 0,
            worked: 0,
            life: Life::Alive,
            has_terminal: false,
            leads_session: false,
            name: Comm::new_const(),
            part: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_the_larger_stay_and_the_last_is_seen() {
        let entry = |pid: u32| Entry {
            resident: Pages::new(u64::from(pid % 100)),
            ..Entry::example(pid)
        };
        let mut entries = Vec::new();
        for pid in 0..=MOST as u32 {
            make_room(&mut entries, Bytes::kib(4));
            entries.push(entry(pid));
        }
        assert_eq!(entries.len(), MOST / 2 + 1);
        assert_eq!(entries.last().unwrap().pid, MOST as u32);
        assert!(
            entries[..MOST / 2]
                .iter()
                .all(|entry| entry.resident >= Pages::new(50))
        );
    }

    /// Processes in a directory, each of so many pages.
    fn write(directory: &std::path::Path, pid: u32, pages: u64) {
        let process = directory.join(pid.to_string());
        std::fs::create_dir_all(&process).unwrap();
        let stat =
            format!("{pid} (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid} 0 {pages} 0 0\n");
        std::fs::write(process.join("stat"), stat).unwrap();
    }

    #[test]
    fn of_very_many_some_are_read_at_a_time_and_one_that_is_gone_is_forgotten_at_the_end_of_a_round()
     {
        let directory = tempfile::tempdir().unwrap();
        let many = 4 * AT_LEAST as u32;
        (1..=many).for_each(|pid| write(directory.path(), pid, 1));
        let proc = rustix::fs::open(
            directory.path(),
            OFlags::RDONLY | OFlags::DIRECTORY,
            Mode::empty(),
        )
        .unwrap();
        let mut roll = ProcessTable::new(Bytes::kib(4));
        assert!(!roll.read(&proc, Duration::ZERO));
        let known = roll.entries.len();
        assert!((AT_LEAST..many as usize).contains(&known), "{known}");
        // A known process is read again, whether this part reaches it or not.
        let first = roll.entries[0];
        write(directory.path(), first.pid, 1000);
        assert!(!roll.read(&proc, Duration::ZERO));
        assert_eq!(
            roll.renew(&proc, &first).unwrap().resident,
            Pages::new(1000)
        );
        assert_eq!(roll.largest::<1>()[0].pid, first.pid);
        while !roll.read(&proc, Duration::ZERO) {}
        assert_eq!(roll.entries.len(), many as usize);
        assert!(roll.entries.is_sorted_by_key(|entry| entry.pid));

        std::fs::remove_dir_all(directory.path().join(first.pid.to_string())).unwrap();
        assert!(!roll.read(&proc, Duration::ZERO));
        assert_eq!(roll.renew(&proc, &first), None);
        while !roll.read(&proc, Duration::ZERO) {}
        assert_eq!(roll.entries.len(), many as usize - 1);
        assert!(roll.read(&proc, Duration::MAX));
    }
}
