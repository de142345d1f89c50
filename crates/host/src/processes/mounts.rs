//! tmpfs mounts that hold much memory, and the process that writes to each.
//!
//! No process ends with the memory of its files: it is freed when they are removed. So a mount that fills is named, and
//! nobody is killed for it.
//!
//! The mounts are those of the first process, which sees all of the system's; the guard itself may be in a mount namespace
//! without `/run/user`. No mount below a network file system or one in user space is asked: that may wait for a server.
//!
//! Cost: `mountinfo` once in ten seconds while candidates are asked for, and two system calls a scan for each mount.

use super::table::ProcessTable;
use crate::parse::lines::{each_line, number, words};
use crate::parse::mounts::path;
use crate::parse::process::printable_end;
use crate::system::filesystems::is_local_name;
use arrayvec::ArrayVec;
use pressure::scan::{Identity, MAX_MOUNTS, Mount};
use rustix::fs::{AtFlags, CWD, StatxFlags, statfs, statx};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::{Bytes, Percent};

/// Major and minor number of a file system.
pub(super) type Device = (u32, u32);

/// Between two readings of `mountinfo`, which is long on a host of containers. A new mount takes longer to fill.
const PACE: Duration = Duration::from_secs(10);
/// More of `mountinfo` is not read: some 10,000 mounts.
const LONGEST: usize = 1 << 20;
/// It is read in pieces of so many bytes; a longer line is that of an overlay of many layers.
const PIECE: usize = 8192;
/// tmpfs mounts that are ranked, at most.
const MOST: usize = 512;
/// tmpfs mounts that are asked, at most: a host of containers has one for each secret, all tiny.
const ASKED: usize = 64;
/// A mount with less than this share of memory is no cause of a shortage.
const LEAST: Percent = Percent::new(1);
/// Processes remembered as writers, at most: four for each mount that is told.
const WRITERS: usize = 4 * MAX_MOUNTS;
/// The `f_type` of a tmpfs (`TMPFS_MAGIC` of include/uapi/linux/magic.h).
const TMPFS: u64 = 0x0102_1994;
/// File systems without a device, which answer by themselves.
const WITHOUT_DEVICE: &[&[u8]] = &[
    b"tmpfs",
    b"ramfs",
    b"rootfs",
    b"devtmpfs",
    b"devpts",
    b"proc",
    b"sysfs",
    b"cgroup",
    b"cgroup2",
    b"overlay",
    b"zfs",
];

/// A tmpfs mount and what its files hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tmpfs {
    pub(super) device: Device,
    pub(super) point: PathBuf,
    used: Bytes,
}

/// A process that has files of a mount open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Writer {
    device: Device,
    identity: Identity,
    /// Memory of these files, and what that grew by since the look before.
    holds: Bytes,
    grew: Bytes,
}

/// The tmpfs mounts of a machine.
#[derive(Debug, Default)]
pub(super) struct TmpfsMounts {
    /// Known mounts, the fullest first.
    known: Vec<Tmpfs>,
    /// How many of them hold much memory.
    full: usize,
    next: Duration,
    writers: ArrayVec<Writer, WRITERS>,
}

impl TmpfsMounts {
    /// Looks which mounts are full, on a machine with so much memory. On a recorded one there is nothing to ask.
    pub(super) fn read(&mut self, root: &Path, at: Duration, memory: Bytes) {
        if root != Path::new("/") {
            return;
        }
        if at >= self.next {
            self.next = at + PACE;
            self.known.clear();
            if let Some(file) = mountinfo(root) {
                self.known.extend(tmpfs_of(file));
            }
        }
        self.rank(LEAST.of(memory), &|mount| {
            used(&root.join("proc/1/root"), mount).or_else(|| used(root, mount))
        });
        if self.known.len() > ASKED {
            self.known.truncate(ASKED);
            self.known.shrink_to_fit();
        }
    }

    /// Orders the mounts by what they hold.
    fn rank(&mut self, least: Bytes, used: &dyn Fn(&Tmpfs) -> Option<Bytes>) {
        for mount in &mut self.known {
            mount.used = used(mount).unwrap_or_default();
        }
        self.known
            .sort_unstable_by_key(|mount| std::cmp::Reverse(mount.used));
        let least = least.max(Bytes::new(1));
        let full = self.known.partition_point(|mount| mount.used >= least);
        self.full = full.min(MAX_MOUNTS);
    }

    /// The mounts that hold much memory.
    pub(super) fn fullest(&self) -> &[Tmpfs] {
        &self.known[..self.full]
    }

    /// Notes what a process has open for writing on a mount.
    pub(super) fn note(&mut self, device: Device, identity: Identity, holds: Bytes) {
        let is_same = |writer: &Writer| writer.device == device && writer.identity == identity;
        if let Some(known) = self.writers.iter_mut().find(|writer| is_same(writer)) {
            known.grew = holds.less(known.holds);
            known.holds = holds;
            return;
        }
        if self.writers.is_full() {
            let least = self.writers.iter().map(|writer| writer.holds).min();
            self.writers.retain(|writer| Some(writer.holds) != least);
        }
        self.writers.push(Writer {
            device,
            identity,
            holds,
            grew: Bytes::ZERO,
        });
    }

    /// The full mounts, each with the process whose files there grew, or that holds the most.
    pub(super) fn told(&mut self, table: &mut ProcessTable) -> ArrayVec<Mount, MAX_MOUNTS> {
        self.writers.retain(|writer| {
            let entry = table.find(writer.identity.pid);
            entry.is_some_and(|entry| entry.start == writer.identity.start)
        });
        self.fullest()
            .iter()
            .map(|mount| {
                let writers = self
                    .writers
                    .iter()
                    .filter(|writer| writer.device == mount.device && writer.holds > Bytes::ZERO);
                Mount {
                    path: printable_end(mount.point.as_os_str().as_bytes()),
                    used: mount.used,
                    writer: writers
                        .max_by_key(|writer| (writer.grew, writer.holds))
                        .map(|writer| writer.identity),
                }
            })
            .collect()
    }

    #[cfg(test)]
    pub(super) fn example(device: Device, point: &str, used: Bytes) -> Self {
        Self {
            known: vec![Tmpfs {
                device,
                point: point.into(),
                used,
            }],
            full: 1,
            ..Self::default()
        }
    }
}

/// The mounts of the first process, or our own where those may not be read.
fn mountinfo(root: &Path) -> Option<File> {
    let of_first = File::open(root.join("proc/1/mountinfo"));
    of_first
        .or_else(|_| File::open(root.join("proc/self/mountinfo")))
        .ok()
}

/// Each tmpfs once, at the first path at which it can be asked without a wait.
///
/// `31 23 0:28 / /tmp rw,relatime shared:9 - tmpfs tmpfs rw`. A mount comes after the one that it is in.
fn tmpfs_of(mountinfo: impl Read) -> Vec<Tmpfs> {
    let mut found: Vec<Tmpfs> = Vec::new();
    let mut remote: Vec<u64> = Vec::new();
    each_line(mountinfo, LONGEST, &mut [0; PIECE], |line| {
        let Some(mount) = mount(line) else {
            return;
        };
        let is_local = is_local_name(mount.kind) || WITHOUT_DEVICE.contains(&mount.kind);
        if remote.contains(&mount.parent) || !is_local {
            remote.push(mount.id);
            return;
        }
        let is_known = found.iter().any(|other| other.device == mount.device);
        if mount.kind == b"tmpfs" && !is_known && found.len() < MOST {
            found.push(Tmpfs {
                device: mount.device,
                point: path(mount.point),
                used: Bytes::ZERO,
            });
        }
    });
    found
}

/// What is taken from one line of `mountinfo`.
struct Line<'t> {
    id: u64,
    parent: u64,
    device: Device,
    point: &'t [u8],
    kind: &'t [u8],
}

fn mount(line: &[u8]) -> Option<Line<'_>> {
    let mut words = words(line);
    let id = number(words.next()?)?;
    let parent = number(words.next()?)?;
    let device = words.next()?;
    let colon = device.iter().position(|byte| *byte == b':')?;
    let part = |digits: &[u8]| u32::try_from(number(digits)?).ok();
    let device = (part(&device[..colon])?, part(&device[colon + 1..])?);
    let point = words.nth(1)?;
    words.find(|word| *word == b"-")?;
    let kind = words.next()?;
    Some(Line {
        id,
        parent,
        device,
        point,
        kind,
    })
}

/// Memory of a tmpfs, if that is what is seen at its path below `root`.
fn used(root: &Path, mount: &Tmpfs) -> Option<Bytes> {
    let point = mount.point.strip_prefix("/").ok()?;
    let path = root.join(point);
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    let seen = statx(CWD, &path, flags, StatxFlags::INO).ok()?;
    // Something else may be mounted over it.
    if (seen.stx_dev_major, seen.stx_dev_minor) != mount.device {
        return None;
    }
    let system = statfs(&path).ok()?;
    if u64::try_from(system.f_type).ok()? != TMPFS {
        return None;
    }
    let size = u64::try_from(system.f_bsize).ok()?;
    let blocks = system.f_blocks.saturating_sub(system.f_bfree);
    Some(Bytes::new(blocks.saturating_mul(size)))
}

#[cfg(test)]
mod tests {
    use super::super::table::Entry;
    use super::*;

    const TEXT: &[u8] = b"21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 0:20 / /dev rw,nosuid shared:2 - devtmpfs udev rw
23 22 0:24 / /dev/shm rw - tmpfs tmpfs rw
24 21 0:25 / /run rw - tmpfs tmpfs rw
25 24 0:26 / /run/user/1000 rw - tmpfs tmpfs rw
26 21 0:25 /systemd /tmp\\040of\\040one rw - tmpfs tmpfs rw
27 21 0:40 / /srv rw - nfs4 server:/ rw
28 27 0:41 / /srv/deep rw - tmpfs tmpfs rw
29 28 0:42 / /srv/deep/er rw - tmpfs tmpfs rw
30 21 0:43 / /home/me/\x1b[2J rw - tmpfs \xff rw
31 21 nonsense / /x rw - tmpfs tmpfs rw
32 21 0:44 / /auto rw - autofs systemd-1 rw
33 21 0:45 / /cut rw";

    #[test]
    fn each_tmpfs_counts_once_and_none_behind_a_server() {
        let found = tmpfs_of(TEXT);
        let points: Vec<String> = found
            .iter()
            .map(|mount| mount.point.display().to_string())
            .collect();
        assert_eq!(
            points,
            ["/dev/shm", "/run", "/run/user/1000", "/home/me/\u{1b}[2J"]
        );
        assert_eq!(found[0].device, (0, 24));
    }

    fn mounts(gib: &[u64]) -> TmpfsMounts {
        let mut mounts = TmpfsMounts::default();
        for (minor, gib) in (0..).zip(gib) {
            mounts.known.push(Tmpfs {
                device: (0, minor),
                point: format!("/{minor}").into(),
                used: Bytes::mib(*gib),
            });
        }
        mounts.rank(Bytes::mib(1), &|mount| Some(mount.used));
        mounts
    }

    #[test]
    fn the_fullest_come_first_and_small_ones_not_at_all() {
        let mounts = mounts(&[0, 3, 9, 1, 4, 5, 0]);
        let used: Vec<Bytes> = mounts.fullest().iter().map(|mount| mount.used).collect();
        assert_eq!(used, [9, 5, 4, 3].map(Bytes::mib));
    }

    #[test]
    fn the_writer_is_the_one_whose_files_grow_before_the_one_that_holds_most() {
        let mut table = ProcessTable::new(Bytes::kib(4));
        table.entries.extend((1..=30).map(Entry::example));
        let who = |pid| Identity { pid, start: 1 };
        let mut mounts = mounts(&[5]);
        let told = |mounts: &mut TmpfsMounts, table: &mut ProcessTable| mounts.told(table)[0];
        assert_eq!(told(&mut mounts, &mut table).writer, None);
        mounts.note((0, 0), who(1), Bytes::mib(3));
        mounts.note((0, 0), who(2), Bytes::mib(1));
        mounts.note((0, 7), who(3), Bytes::mib(9));
        assert_eq!(told(&mut mounts, &mut table).writer, Some(who(1)));
        mounts.note((0, 0), who(1), Bytes::mib(3));
        mounts.note((0, 0), who(2), Bytes::mib(2));
        assert_eq!(told(&mut mounts, &mut table).writer, Some(who(2)));
        // It ends, and another process gets its number.
        table.find_mut(2).unwrap().start = 99;
        assert_eq!(told(&mut mounts, &mut table).writer, Some(who(1)));
        mounts.note((0, 0), who(1), Bytes::ZERO);
        assert_eq!(told(&mut mounts, &mut table).writer, None, "it closed all");
        for pid in 1..=30 {
            mounts.note((0, 0), who(pid), Bytes::mib(u64::from(pid)));
        }
        assert!(mounts.writers.len() <= WRITERS);
        assert_eq!(told(&mut mounts, &mut table).used, Bytes::mib(5));
    }
}
