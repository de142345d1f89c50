//! Which mounts answer by themselves: a look at others may wait for a server.

use host::filesystems::is_local_name;
use host::parse::lines::{lines, number, words};
use host::parse::mounts::path;
use rustix::fs::{Statx, StatxFlags};
use std::collections::HashMap;
use std::path::PathBuf;

/// File systems without a disk whose files have pages in memory. An overlay's are those of the layers below.
const IN_MEMORY: [&[u8]; 5] = [b"tmpfs", b"ramfs", b"devtmpfs", b"overlay", b"zfs"];
/// File systems with files that the kernel makes up as they are read.
const MADE_UP: [&[u8]; 14] = [
    b"proc",
    b"sysfs",
    b"cgroup",
    b"cgroup2",
    b"debugfs",
    b"tracefs",
    b"securityfs",
    b"selinuxfs",
    b"configfs",
    b"bpf",
    b"efivarfs",
    b"pstore",
    b"mqueue",
    b"devpts",
];

/// What is on a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Files with pages, which can be looked at without a wait.
    Local,
    /// Files that have no pages.
    MadeUp,
    /// Anything else.
    Other,
}

/// A mount, as a file tells it.
#[derive(Debug, Clone, Copy)]
pub(super) struct MountOf {
    /// Its number; `None` before 5.8.
    id: Option<u64>,
    /// The file system's device, which differs between subvolumes.
    device: (u32, u32),
}

impl MountOf {
    pub(super) fn of(stat: &Statx) -> Self {
        let is_told = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        Self {
            id: is_told.then_some(stat.stx_mnt_id),
            device: (stat.stx_dev_major, stat.stx_dev_minor),
        }
    }

    /// Returns true if both are one mount; before 5.8, one file system.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self.id, other.id) {
            (Some(own), Some(other)) => own == other,
            _ => self.device == other.device,
        }
    }
}

/// Mounts by their numbers, and by their devices.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    by_id: HashMap<u64, (Kind, PathBuf)>,
    by_device: HashMap<(u32, u32), (Kind, PathBuf)>,
}

impl Mounts {
    /// Those that this process sees.
    pub(super) fn own() -> Self {
        let mut mounts = Self::default();
        mounts.add(&std::fs::read("/proc/self/mountinfo").unwrap_or_default());
        mounts
    }

    /// Adds those of a `mountinfo`.
    pub(super) fn add(&mut self, text: &[u8]) {
        for line in lines(text) {
            if let Some((id, device, kind, point)) = mount(line) {
                self.by_id.insert(id, (kind, point.clone()));
                self.by_device.entry(device).or_insert((kind, point));
            }
        }
    }

    /// `None` if it is none of them.
    pub(super) fn kind(&self, mount: &MountOf) -> Option<Kind> {
        self.find(mount).map(|(kind, _)| *kind)
    }

    /// What is on a file system with this device.
    pub(super) fn kind_of_device(&self, device: (u32, u32)) -> Option<Kind> {
        self.by_device.get(&device).map(|(kind, _)| *kind)
    }

    /// Where it is.
    pub(super) fn point(&self, mount: &MountOf) -> Option<PathBuf> {
        self.find(mount).map(|(_, point)| point.clone())
    }

    fn find(&self, mount: &MountOf) -> Option<&(Kind, PathBuf)> {
        match mount.id {
            Some(id) => self.by_id.get(&id),
            None => self.by_device.get(&mount.device),
        }
    }
}

/// Number, device, kind and place of a line of `mountinfo`.
fn mount(line: &[u8]) -> Option<(u64, (u32, u32), Kind, PathBuf)> {
    let mut words = words(line);
    let id = number(words.next()?)?;
    let device = std::str::from_utf8(words.nth(1)?).ok()?;
    let (major, minor) = device.split_once(':')?;
    let device = (major.parse().ok()?, minor.parse().ok()?);
    let point = path(words.nth(1)?);
    // Any number of fields, a lone dash, then the kind.
    let name = words.skip_while(|word| *word != b"-").nth(1)?;
    let kind = if is_local_name(name) || IN_MEMORY.contains(&name) {
        Kind::Local
    } else if MADE_UP.contains(&name) {
        Kind::MadeUp
    } else {
        Kind::Other
    };
    Some((id, device, kind, point))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_that_may_wait_are_told_from_those_that_answer() {
        let text = b"21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
22 21 0:31 / /net\\040x rw - nfs4 server:/ rw\n23 21 0:32 / /b rw master:1 shared:9 - overlay o rw\n24 21 0:33 / /p rw - proc p rw\nnonsense\n- ext4";
        let mut mounts = Mounts::default();
        mounts.add(text);
        let of = |id, device| MountOf { id, device };
        assert_eq!(mounts.kind(&of(Some(21), (0, 0))), Some(Kind::Local));
        assert_eq!(mounts.kind(&of(Some(23), (0, 0))), Some(Kind::Local));
        assert_eq!(mounts.kind(&of(Some(24), (0, 0))), Some(Kind::MadeUp));
        assert_eq!(mounts.kind(&of(Some(25), (254, 0))), None);
        let remote = of(None, (0, 31));
        assert_eq!(mounts.kind(&remote), Some(Kind::Other));
        assert_eq!(mounts.point(&remote), Some(PathBuf::from("/net x")));
        assert!(
            !of(Some(1), (0, 1)).is(&of(Some(2), (0, 1))),
            "a bind mount"
        );
        assert!(of(Some(1), (0, 1)).is(&of(Some(1), (0, 2))), "a subvolume");
        assert!(of(None, (0, 1)).is(&of(Some(2), (0, 1))));
    }
}
