//! Memory that a process holds by open files: a memfd or a removed file that it writes to and never maps is in none of the
//! numbers of its `stat` and `status`.
//!
//! There is a link in `/proc/PID/fd` for each open file, which tells its path without opening it; what may be such a file
//! has its blocks looked up. Named files on a tmpfs are told apart: they do not go with the process.
//!
//! This is costly, so it is done only while the machine has much shared memory or that grows, and for some processes at a
//! time: those that hold such files, those for which the kernel works most, as for a writer, and the others in turn. A
//! file counts if the process's own user made it: anyone can pass a file to another's process.
//!
//! Cost: [`PATIENCE`] in each scan; 600 processes of twenty files each take some ten scans.

use super::mounts::{Device, TmpfsMounts};
use super::table::{self, Entry, Kib, ProcessTable, Told};
use crate::parse::lines::number;
use crate::system::clock::monotonic;
use arrayvec::ArrayVec;
use pressure::sample::Memory;
use pressure::scan::MAX_MOUNTS;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, SeekFrom, StatxFlags, statx};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;
use units::{Bytes, Percent};

/// Shared memory of the machine that makes a look worth its cost, as a share of memory.
const MUCH: Percent = Percent::new(5);
/// Looks go on for so long after shared memory grew: a writer may pause.
const LASTING: Duration = Duration::from_secs(10);
/// Time that looks at open files take in one scan: a fifth of what a scan may take.
const PATIENCE: Duration = Duration::from_millis(2);
/// Processes that are looked at first in each scan, as they held such files at the last look; and as many for which the
/// kernel worked most since the last reading.
const FIRST: usize = 8;
/// Processes that each scan looks at in turn, however long it takes: else a slow machine would never finish a round.
const AT_LEAST: usize = 4;
/// Open files of one process in one look; a server may have a million. The next look goes on behind them.
const FILES: usize = 256;
/// Files of one look that are told apart from copies of their descriptors; of more, the last ones.
const DISTINCT: usize = 32;
/// Buffer for the entries of `fd`: some 150.
const ENTRIES: usize = 4096;
/// The beginning of a path that is looked at. A path of a mount that is longer is not told apart.
const PATH: usize = 256;

/// What is remembered between two scans.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    pub(super) mounts: TmpfsMounts,
    /// Memory of the machine, and its shared memory at the last look.
    memory: Bytes,
    shared: Bytes,
    /// Looks are worth their cost until then.
    wanted_until: Duration,
    is_wanted: bool,
    /// Whether the table has what looks found.
    has_found: bool,
    /// The number up to which processes had their turn.
    last: u32,
    /// A process whose open files were not all looked at.
    cut: Option<Tally>,
}

/// The open files of one process, as far as they were looked at.
#[derive(Debug, Default, Clone)]
struct Tally {
    pid: u32,
    start: u64,
    user: u32,
    /// Where the next look goes on.
    position: u64,
    held: Bytes,
    written: Bytes,
    /// The part of `written` that is on each of the full mounts.
    on: ArrayVec<(Device, Bytes), MAX_MOUNTS>,
    seen: ArrayVec<(Device, u64), DISTINCT>,
}

/// What is taken from `statx` of an open file.
#[derive(Debug, Clone, Copy)]
struct OpenFile {
    device: Device,
    inode: u64,
    links: u32,
    owner: u32,
    size: Bytes,
}

impl OpenFiles {
    /// Takes how much shared memory the machine has, and whether that makes a look worthwhile.
    pub(super) fn see(&mut self, at: Duration, memory: &Memory) {
        let total = memory.total.unwrap_or_default();
        let shared = memory.shmem.unwrap_or_default();
        let is_much = total > Bytes::ZERO && shared >= MUCH.of(total);
        let grows = shared > self.shared && self.memory > Bytes::ZERO;
        if is_much || grows {
            self.wanted_until = at + LASTING;
        }
        self.is_wanted = at < self.wanted_until;
        self.memory = total;
        self.shared = shared;
    }

    /// Gives up all storage. What the table has of looks is forgotten with the next scan.
    pub(super) fn rest(&mut self) {
        *self = Self {
            has_found: self.has_found,
            ..Self::default()
        };
    }

    /// Looks at the open files of some processes, and keeps in the table what they hold.
    pub(super) fn read(
        &mut self,
        root: &std::path::Path,
        proc: &OwnedFd,
        at: Duration,
        table: &mut ProcessTable,
    ) {
        if !self.is_wanted {
            self.forget(table);
            return;
        }
        self.has_found = true;
        let begun = monotonic();
        self.mounts.read(root, at, self.memory);
        for pid in first(table) {
            if monotonic().saturating_sub(begun) >= PATIENCE {
                break;
            }
            self.look_at(proc, pid, table);
        }
        let mut turns = 0;
        let most = table.entries.len();
        while turns < most {
            let is_late = monotonic().saturating_sub(begun) >= PATIENCE;
            if turns >= AT_LEAST && is_late {
                break;
            }
            turns += 1;
            let pid = self.next(table);
            self.look_at(proc, pid, table);
        }
    }

    /// Forgets what the last looks found, as it is true no more.
    fn forget(&mut self, table: &mut ProcessTable) {
        if !self.has_found {
            return;
        }
        self.has_found = false;
        self.mounts = TmpfsMounts::default();
        self.last = 0;
        self.cut = None;
        for entry in &mut table.entries {
            entry.held = Kib::ZERO;
            entry.written = Kib::ZERO;
        }
    }

    /// The process that has its turn.
    fn next(&mut self, table: &ProcessTable) -> u32 {
        if let Some(cut) = &self.cut {
            return cut.pid;
        }
        let place = table
            .entries
            .partition_point(|entry| entry.pid <= self.last);
        let entry = table.entries.get(place).or(table.entries.first());
        self.last = entry.map_or(0, |entry| entry.pid);
        self.last
    }

    /// Looks at the open files of one process, or goes on where the last look at it was cut.
    fn look_at(&mut self, proc: &OwnedFd, pid: u32, table: &mut ProcessTable) {
        let Some(entry) = table.find_mut(pid) else {
            self.cut = None;
            return;
        };
        let goes_on = |cut: &Tally| cut.pid == pid && cut.start == entry.start;
        let is_cut = self.cut.as_ref().is_some_and(|cut| cut.pid == pid);
        let cut = if is_cut { self.cut.take() } else { None };
        let tally = match cut.filter(goes_on) {
            Some(cut) => Some(cut),
            None => Tally::begin(proc, entry),
        };
        let Some(mut tally) = tally else {
            return;
        };
        let is_through = tally.go_on(proc, &self.mounts);
        // What was found so far counts at once if it is more than was known.
        let held = Kib::of(tally.held);
        let written = Kib::of(tally.written);
        if is_through || held.bytes() > entry.held.bytes() {
            entry.held = held;
        }
        if is_through || written.bytes() > entry.written.bytes() {
            entry.written = written;
        }
        if !is_through {
            // Of two that were cut, the one that has its turn goes on.
            self.cut.get_or_insert(tally);
            return;
        }
        let identity = entry.identity();
        for mount in 0..self.mounts.fullest().len() {
            let device = self.mounts.fullest()[mount].device;
            let holds = tally.holds_on(device);
            self.mounts.note(device, identity, holds);
        }
    }
}

/// Processes that are looked at in each scan: those that held such files, and those that the kernel worked for.
fn first(table: &ProcessTable) -> ArrayVec<u32, { 2 * FIRST }> {
    let mut first = ArrayVec::<u32, { 2 * FIRST }>::new();
    let holds = |entry: &Entry| entry.held.bytes() + entry.written.bytes();
    let works = |entry: &Entry| Bytes::new(u64::from(entry.worked));
    for of in [&holds as &dyn Fn(&Entry) -> Bytes, &works] {
        let mut most = ArrayVec::<(Bytes, u32), FIRST>::new();
        for entry in &table.entries {
            let value = of(entry);
            let place = most.partition_point(|(other, _)| *other >= value);
            if value > Bytes::ZERO && place < FIRST {
                if most.is_full() {
                    most.pop();
                }
                most.insert(place, (value, entry.pid));
            }
        }
        for (_, pid) in most {
            if !first.contains(&pid) {
                first.push(pid);
            }
        }
    }
    first
}

impl Tally {
    /// Nothing was looked at yet; `None` if the process is gone.
    fn begin(proc: &OwnedFd, entry: &mut Entry) -> Option<Self> {
        let status = table::status(proc, entry.pid)?;
        entry.told = Told::of(&status);
        Some(Self {
            pid: entry.pid,
            start: entry.start,
            user: status.user?,
            ..Self::default()
        })
    }

    /// Looks at the next [`FILES`]; returns true if there are no more, or they may not be read.
    fn go_on(&mut self, proc: &OwnedFd, mounts: &TmpfsMounts) -> bool {
        let mut path = arrayvec::ArrayString::<16>::new();
        if std::fmt::Write::write_fmt(&mut path, format_args!("{}/fd", self.pid)).is_err() {
            return true;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let Ok(directory) = rustix::fs::openat(proc, path.as_str(), flags, Mode::empty()) else {
            return true;
        };
        if self.position > 0 {
            let _ = rustix::fs::seek(&directory, SeekFrom::Start(self.position));
        }
        let mut buffer = [MaybeUninit::uninit(); ENTRIES];
        let mut entries = RawDir::new(&directory, &mut buffer);
        let mut left = FILES;
        while let Some(Ok(entry)) = entries.next() {
            let name = entry.file_name();
            if number(name.to_bytes()).is_some() {
                self.count(directory.as_fd(), name, mounts);
                left -= 1;
            }
            if left == 0 {
                self.position = entry.next_entry_cookie();
                return false;
            }
        }
        true
    }

    /// Counts one open file, if it is memory.
    fn count(&mut self, directory: BorrowedFd<'_>, name: &CStr, mounts: &TmpfsMounts) {
        let mut buffer = [MaybeUninit::uninit(); PATH];
        let Ok((path, _)) = rustix::fs::readlinkat_raw(directory, name, &mut buffer) else {
            return;
        };
        if !may_be_memory(path, mounts) {
            return;
        }
        if let Some(file) = open_file(directory, name) {
            let is_writable = || is_open_for_writing(directory, name);
            self.add(path, &file, mounts, is_writable);
        }
    }

    fn add(
        &mut self,
        path: &[u8],
        file: &OpenFile,
        mounts: &TmpfsMounts,
        is_writable: impl Fn() -> bool,
    ) {
        let is_on = mounts
            .fullest()
            .iter()
            .any(|mount| mount.device == file.device);
        if !(is_on || is_always_memory(path, file.device)) || file.owner != self.user {
            return;
        }
        let key = (file.device, file.inode);
        if self.seen.contains(&key) {
            return;
        }
        if self.seen.is_full() {
            self.seen.remove(0);
        }
        self.seen.push(key);
        if file.links == 0 {
            self.held += file.size;
        } else if is_writable() {
            self.written += file.size;
            match self
                .on
                .iter_mut()
                .find(|(device, _)| *device == file.device)
            {
                Some((_, size)) => *size += file.size,
                None if is_on => self.on.push((file.device, file.size)),
                None => {}
            }
        }
    }

    fn holds_on(&self, device: Device) -> Bytes {
        let found = self.on.iter().find(|(on, _)| *on == device);
        found.map_or(Bytes::ZERO, |(_, size)| *size)
    }
}

/// Whether the path of an open file may be that of a file in memory. What is none is not looked up: that may wait for a
/// server.
fn may_be_memory(path: &[u8], mounts: &TmpfsMounts) -> bool {
    // No device yet: this asks for the path alone.
    is_always_memory(path, (0, 0))
        || mounts.fullest().iter().any(|mount| {
            let below = path.strip_prefix(mount.point.as_os_str().as_bytes());
            below.is_some_and(|below| below.starts_with(b"/"))
        })
}

/// Whether this is a memfd, or a file of the shared memory of a container, whose mounts we do not see. Neither has a
/// device below it.
fn is_always_memory(path: &[u8], device: Device) -> bool {
    let is_named_so = path.starts_with(b"/memfd:") || path.starts_with(b"/dev/shm/");
    is_named_so && device.0 == 0
}

/// An open file by its link. No question goes to a server.
fn open_file(directory: BorrowedFd<'_>, name: &CStr) -> Option<OpenFile> {
    let flags = AtFlags::STATX_DONT_SYNC;
    let file = statx(directory, name, flags, StatxFlags::BASIC_STATS).ok()?;
    Some(OpenFile {
        device: (file.stx_dev_major, file.stx_dev_minor),
        inode: file.stx_ino,
        links: file.stx_nlink,
        owner: file.stx_uid,
        // The kernel counts blocks of 512 bytes, whatever the file system has.
        size: Bytes::new(file.stx_blocks.saturating_mul(512)),
    })
}

/// The link itself is writable if the file is open for writing.
fn is_open_for_writing(directory: BorrowedFd<'_>, name: &CStr) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    let link = statx(directory, name, flags, StatxFlags::MODE);
    link.is_ok_and(|link| link.stx_mode & 0o200 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};

    const SHM: Device = (0, 24);

    fn file(inode: u64, links: u32, mib: u64) -> OpenFile {
        OpenFile {
            device: SHM,
            inode,
            links,
            owner: 1000,
            size: Bytes::mib(mib),
        }
    }

    fn tally() -> Tally {
        Tally {
            user: 1000,
            ..Tally::default()
        }
    }

    #[test]
    fn only_what_is_in_memory_and_the_processes_own_counts_and_that_once() {
        let mounts = TmpfsMounts::example(SHM, "/tmp", Bytes::mib(1));
        let mut it = tally();
        it.add(b"/tmp/a", &file(1, 0, 1), &mounts, || true);
        it.add(b"/tmp/a", &file(1, 0, 1), &mounts, || true);
        it.add(b"/memfd:x (deleted)", &file(2, 0, 2), &mounts, || true);
        let other = OpenFile {
            owner: 1001,
            ..file(3, 0, 4)
        };
        it.add(b"/memfd:passed (deleted)", &other, &mounts, || true);
        let on_disk = OpenFile {
            device: (8, 1),
            ..file(4, 0, 8)
        };
        it.add(b"/memfd:x (deleted)", &on_disk, &mounts, || true);
        assert_eq!(it.held, Bytes::mib(3));
        assert_eq!(it.written, Bytes::ZERO);
        it.add(b"/tmp/read", &file(5, 1, 16), &mounts, || false);
        it.add(b"/tmp/log", &file(6, 1, 32), &mounts, || true);
        let container = OpenFile {
            device: (0, 99),
            ..file(7, 1, 64)
        };
        it.add(b"/dev/shm/x", &container, &mounts, || true);
        assert_eq!(it.held, Bytes::mib(3));
        assert_eq!(it.written, Bytes::mib(96));
        assert_eq!(it.holds_on(SHM), Bytes::mib(32));
    }

    #[test]
    fn a_path_is_looked_up_only_if_it_may_be_in_memory() {
        let mounts = TmpfsMounts::example(SHM, "/tmp", Bytes::mib(1));
        for (path, may) in [
            (&b"/memfd:heap (deleted)"[..], true),
            (b"/dev/shm/x", true),
            (b"/tmp/x (deleted)", true),
            (b"/tmpx", false),
            (b"/tmp", false),
            (b"/srv/nfs/x (deleted)", false),
            (b"socket:[1]", false),
            (b"anon_inode:[eventfd]", false),
            (b"memfd:x", false),
            (b"\x1b[2J\xff", false),
            (b"", false),
        ] {
            assert_eq!(may_be_memory(path, &mounts), may, "{}", path.escape_ascii());
        }
    }

    #[test]
    fn a_look_is_worth_its_cost_while_shared_memory_is_much_or_grows() {
        let mut files = OpenFiles::default();
        let mut wanted = |second: u64, mib: u64| {
            let memory = Memory {
                total: Some(Bytes::mib(100)),
                shmem: Some(Bytes::mib(mib)),
                ..Memory::default()
            };
            files.see(Duration::from_secs(second), &memory);
            files.is_wanted
        };
        assert!(!wanted(1, 1), "nothing is known of before");
        assert!(wanted(2, 2));
        assert!(wanted(3, 2), "it may pause");
        assert!(!wanted(13, 2));
        assert!(wanted(14, 5));
        assert!(wanted(60, 5));
        files.see(Duration::from_secs(90), &Memory::default());
        assert!(!files.is_wanted);
        let (_, mut table) = own();
        table.entries[0].held = Kib::of(Bytes::mib(1));
        files.forget(&mut table);
        assert_ne!(table.entries[0].held, Kib::ZERO, "no look found it");
        files.has_found = true;
        files.rest();
        files.forget(&mut table);
        assert_eq!(table.entries[0].held, Kib::ZERO);
    }

    /// This process's own table entry, and `/proc`.
    fn own() -> (OwnedFd, ProcessTable) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = rustix::fs::open("/proc", flags, Mode::empty()).unwrap();
        let mut table = ProcessTable::new(Bytes::kib(4));
        table.entries.push(Entry::example(std::process::id()));
        (proc, table)
    }

    #[test]
    fn a_memfd_that_is_written_and_never_mapped_is_found_behind_many_open_files() {
        let (proc, mut table) = own();
        let fillers: Vec<OwnedFd> = (0..2 * FILES)
            .map(|_| memfd_create(c"empty", MemfdFlags::CLOEXEC).unwrap())
            .collect();
        let memfd = memfd_create(c"heap", MemfdFlags::CLOEXEC).unwrap();
        let copy = rustix::io::fcntl_dupfd_cloexec(&memfd, 0).unwrap();
        let piece = vec![1; 1 << 20];
        for _ in 0..32 {
            rustix::io::write(&memfd, &piece).unwrap();
        }
        let mut files = OpenFiles::default();
        let pid = std::process::id();
        let mut looks = 0;
        loop {
            files.look_at(&proc, pid, &mut table);
            looks += 1;
            if files.cut.is_none() {
                break;
            }
            assert!(looks < 100, "a process is gone through in the end");
        }
        assert!(looks >= 3, "{looks}");
        let held = table.entries[0].held.bytes();
        // Other tests of this process hold memfds at the same time, of some MiB: fewer than a second time the 32.
        assert!(held >= Bytes::mib(32) && held < Bytes::mib(64), "{held}");
        assert!(table.entries[0].shared() >= held);
        drop((copy, fillers));
        drop(memfd);
        files.look_at(&proc, pid, &mut table);
        while files.cut.is_some() {
            files.look_at(&proc, pid, &mut table);
        }
        assert!(
            table.entries[0].held.bytes() < Bytes::mib(32),
            "it was closed"
        );
    }

    #[test]
    fn each_process_has_its_turn_and_those_that_work_come_first() {
        let (_, mut table) = own();
        table.entries.clear();
        table.entries.extend((1..=40).map(Entry::example));
        let mut files = OpenFiles::default();
        let turns: Vec<u32> = (0..41).map(|_| files.next(&table)).collect();
        assert_eq!(turns[..3], [1, 2, 3]);
        assert_eq!(turns[39..], [40, 1]);
        table.entries[9].worked = 3;
        table.entries[19].held = Kib::of(Bytes::mib(1));
        table.entries[29].written = Kib::of(Bytes::mib(2));
        assert_eq!(first(&table)[..], [30, 20, 10]);
    }
}
