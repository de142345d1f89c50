//! From a device and an inode's number to an open file, by a file handle that is made of them.
//!
//! | file system | its handle | source, of Linux |
//! |---|---|---|
//! | ext2, ext3, ext4 | inode, generation 0 for any | `ext4_nfs_get_inode` in fs/ext4/super.c |
//! | Btrfs | inode, subvolume, generation 0 for any | `btrfs_get_dentry` in fs/btrfs/export.c |
//!
//! An event does not tell the subvolume, and each counts its inodes from the start: those that are mounted are tried,
//! and the file that is most in memory is the one that is being read. XFS asks for the generation, which only a process
//! with every capability may learn.
//!
//! Cost: a read of `mountinfo`, and two system calls for each subvolume.

#![allow(unsafe_code, reason = "one system call that has no wrapper")]

use crate::map::Map;
use pressure::protect::FileId;
use rustix::fs::{CWD, Mode, OFlags, major, minor, openat};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

/// `FILEID_INO32_GEN`, and `FILEID_BTRFS_WITHOUT_PARENT`.
const BY_INODE: u32 = 1;
const BY_SUBVOLUME: u32 = 0x4d;
/// Subvolumes that are tried: each may have a file of that number.
const MOST_SUBVOLUMES: usize = 64;

/// Where a file system is mounted that takes such handles.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    point: String,
    /// The subvolume, of Btrfs.
    subvolume: Option<u64>,
}

/// The file of this number, if its file system takes such handles.
pub(crate) fn open(id: FileId) -> Option<File> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mut files = BTreeMap::new();
    for mount in mounts
        .lines()
        .filter_map(|line| Mount::parse(line, id.device))
    {
        if files.len() < MOST_SUBVOLUMES && !files.contains_key(&mount.subvolume) {
            files.extend(mount.open(id.inode).map(|file| (mount.subvolume, file)));
        }
    }
    if files.len() < 2 {
        return files.into_values().next();
    }
    let mut most = None;
    for file in files.into_values() {
        let Some(pages) = in_memory(&file) else {
            continue;
        };
        if most.as_ref().is_none_or(|(other, _)| pages >= *other) {
            most = Some((pages, file));
        }
    }
    most.map(|(_, file)| file)
}

/// Its pages that are in memory; `None` if there are none.
fn in_memory(file: &File) -> Option<u64> {
    let meta = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let pages = meta.len().div_ceil(rustix::param::page_size() as u64);
    Map::of(file, pages)
        .ok()?
        .resident(0, pages)
        .ok()
        .filter(|pages| *pages > 0)
}

impl Mount {
    /// By a line such as `36 35 0:32 /home /home rw - btrfs /dev/vdb rw,subvolid=257`, if it is of this device.
    fn parse(line: &str, device: u64) -> Option<Self> {
        let (mount, kind) = line.split_once(" - ")?;
        let mut words = mount.split(' ').skip(2);
        let is_here = words.next()? == format!("{}:{}", major(device), minor(device));
        let point = unescaped(words.nth(1).filter(|_| is_here)?);
        let options = kind.rsplit(' ').next()?;
        let kind = kind.split(' ').next()?;
        let subvolume = options
            .split(',')
            .find_map(|option| option.strip_prefix("subvolid="));
        match (kind, subvolume) {
            ("ext2" | "ext3" | "ext4", _) => Some(Self {
                point,
                subvolume: None,
            }),
            ("btrfs", Some(subvolume)) => Some(Self {
                point,
                subvolume: Some(subvolume.parse().ok()?),
            }),
            _ => None,
        }
    }

    fn open(&self, inode: u64) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mount = openat(CWD, &self.point, flags, Mode::empty()).ok()?;
        let handle = self.handle(inode)?;
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
        // SAFETY: `handle` is laid out as `struct file_handle`, is longer than the length in it, and outlives the call.
        // A result that is no error is a new descriptor that nothing else owns.
        unsafe {
            let fd = libc::syscall(
                libc::SYS_open_by_handle_at,
                mount.as_raw_fd(),
                handle.as_ptr(),
                flags,
            );
            (fd >= 0).then(|| File::from_raw_fd(fd as i32))
        }
    }

    /// `struct file_handle`: its bytes after the type, the type, and what this type has.
    fn handle(&self, inode: u64) -> Option<[u32; 7]> {
        let Some(subvolume) = self.subvolume else {
            return Some([8, BY_INODE, u32::try_from(inode).ok()?, 0, 0, 0, 0]);
        };
        let [a, b] = halves(inode);
        let [c, d] = halves(subvolume);
        Some([20, BY_SUBVOLUME, a, b, c, d, 0])
    }
}

/// As they are in memory.
fn halves(number: u64) -> [u32; 2] {
    let low = number as u32;
    let high = (number >> 32) as u32;
    if cfg!(target_endian = "little") {
        [low, high]
    } else {
        [high, low]
    }
}

/// The kernel writes space, tab, line end and backslash as `\040` and so on.
fn unescaped(text: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (code, sign)| {
        text.replace(code, sign)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::fs::makedev;

    #[test]
    fn a_mount_is_known_by_its_device_and_its_subvolume() {
        let mount =
            |line, device| Mount::parse(line, device).map(|mount| (mount.point, mount.subvolume));
        let data = "36 35 254:16 / /my\\040data rw shared:1 - ext4 /dev/vdb rw";
        assert_eq!(
            mount(data, makedev(254, 16)),
            Some(("/my data".to_owned(), None))
        );
        assert_eq!(mount(data, makedev(254, 1)), None);
        let home = "41 30 0:32 /home /home rw,relatime shared:9 - btrfs /dev/vda3 rw,ssd,subvolid=257,subvol=/home";
        assert_eq!(
            mount(home, makedev(0, 32)),
            Some(("/home".to_owned(), Some(257)))
        );
        for line in [
            "40 1 0:5 / /dev rw - devtmpfs udev rw",
            "40 1 0:5 / /x rw - btrfs /dev/vda rw",
            "short",
            "",
        ] {
            assert_eq!(
                mount(line, makedev(0, 5)),
                None,
                "no handles of inodes there: {line}"
            );
        }
    }

    #[test]
    fn a_handle_is_what_the_file_system_reads() {
        let mount = |subvolume| Mount {
            point: "/".to_owned(),
            subvolume,
        };
        let bytes = |handle: [u32; 7]| handle.map(u32::to_ne_bytes).concat();
        assert_eq!(
            mount(None).handle(12).map(|handle| handle[..4].to_vec()),
            Some(vec![8, 1, 12, 0])
        );
        assert_eq!(mount(None).handle(1 << 32), None);
        let told = bytes(mount(Some(257)).handle((1 << 40) + 300).unwrap());
        assert_eq!(told[8..16], ((1_u64 << 40) + 300).to_ne_bytes());
        assert_eq!(told[16..24], 257_u64.to_ne_bytes());
        assert_eq!(
            (told[0..4].to_vec(), told[24..].to_vec()),
            (20_u32.to_ne_bytes().to_vec(), vec![0; 4])
        );
    }

    proptest! {
        #[test]
        fn no_line_does_harm(line in "\\PC{0,120}") {
            let _ = Mount::parse(&line, makedev(0, 5));
        }
    }
}
