//! Memory that others give back when the kernel asks for it: the cache of ZFS, and a balloon.
//!
//! The cache of ZFS is read at every tick. It shrinks by gigabytes in a second when memory is short, and a number of a
//! second ago would promise memory that is gone. Without ZFS there is no such file, and nothing is read.

use super::source::{Length, Source};
use crate::parse::arcstats;
use pressure::sample::Returnable;
use std::fs;
use std::path::Path;

/// The virtio device ID of a memory balloon, by the virtio specification, section 5.5.
const BALLOON: &str = "0x0005";
/// The bit of `VIRTIO_BALLOON_F_DEFLATE_ON_OOM`.
const DEFLATE_ON_OOM: usize = 2;

/// The files, which may be absent, and what was found at the last look for devices.
#[derive(Debug)]
pub(super) struct ReturnableFiles {
    arc: Source,
    /// Whether a balloon deflates before the kernel OOM-kills; `None` without a balloon.
    balloon_deflates: Option<u64>,
}

impl ReturnableFiles {
    /// Looks for both under `root`. The host adds a balloon to a machine at its start, so it is not looked for again until
    /// something else of the machine changes.
    pub(super) fn open(root: &Path) -> Self {
        let arc = root.join("proc/spl/kstat/zfs/arcstats");
        Self {
            // It grows where there is ZFS: about 150 lines of 50 bytes.
            arc: Source::open(arc, Length::Many, 512),
            balloon_deflates: balloon_deflates(root).map(u64::from),
        }
    }

    pub(super) fn read(&mut self) -> Returnable {
        let mut returnable = Returnable {
            balloon_deflates: self.balloon_deflates,
            ..Returnable::default()
        };
        self.arc.read(|text| {
            let arc = arcstats::parse(text)?;
            returnable.arc = arc.size;
            returnable.arc_min = arc.least;
            Ok(())
        });
        returnable
    }

    /// Looks again for what was absent: the module of ZFS may be loaded late.
    pub(super) fn rescan(&mut self, root: &Path) {
        self.arc.reopen();
        self.balloon_deflates = balloon_deflates(root).map(u64::from);
    }

    pub(super) fn source(&self) -> &Source {
        &self.arc
    }
}

/// Whether all balloons of the machine deflate on OOM; `None` if there is none, or it does not tell.
fn balloon_deflates(root: &Path) -> Option<bool> {
    let devices = fs::read_dir(root.join("sys/bus/virtio/devices")).ok()?;
    devices
        .flatten()
        .filter_map(|device| deflates(&device.path()))
        .reduce(|all, this| all && this)
}

/// `None` if this device is no balloon. Its features are one digit for each bit, the lowest first.
fn deflates(device: &Path) -> Option<bool> {
    let kind = fs::read_to_string(device.join("device")).ok()?;
    if kind.trim() != BALLOON {
        return None;
    }
    let features = fs::read(device.join("features")).ok()?;
    features.get(DEFLATE_ON_OOM).map(|bit| *bit == b'1')
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    fn device(root: &Path, name: &str, id: &str, features: &str) {
        let directory = root.join("sys/bus/virtio/devices").join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("device"), id).unwrap();
        fs::write(directory.join("features"), features).unwrap();
    }

    #[test]
    fn a_balloon_is_told_by_its_device_number_and_its_third_bit() {
        let root = tempfile::tempdir().unwrap();
        let deflates = || {
            let mut files = ReturnableFiles::open(root.path());
            files.read().balloon_deflates
        };
        assert_eq!(deflates(), None, "no virtio at all");
        device(root.path(), "virtio0", "0x0001\n", "0010000\n");
        assert_eq!(deflates(), None, "a network card");
        device(root.path(), "virtio1", "0x0005\n", "0100000\n");
        assert_eq!(deflates(), Some(0));
        device(root.path(), "virtio1", "0x0005\n", "0110000\n");
        assert_eq!(deflates(), Some(1));
        device(root.path(), "virtio2", "0x0005\n", "");
        assert_eq!(deflates(), Some(1), "a device that tells nothing");
    }

    #[test]
    fn the_cache_of_zfs_is_read_anew_each_time_and_unknown_without_zfs() {
        let root = tempfile::tempdir().unwrap();
        let mut files = ReturnableFiles::open(root.path());
        assert_eq!(files.read(), Returnable::default());
        let directory = root.path().join("proc/spl/kstat/zfs");
        fs::create_dir_all(&directory).unwrap();
        let write = |size: u64| {
            let text = format!("name type data\nc_min 4 1024\nsize 4 {size}\n");
            fs::write(directory.join("arcstats"), text).unwrap();
        };
        write(4096);
        files.rescan(root.path());
        assert_eq!(files.read().arc, Some(Bytes::new(4096)));
        write(2048);
        let seen = files.read();
        assert_eq!(seen.arc, Some(Bytes::new(2048)));
        assert_eq!(seen.arc_min, Some(Bytes::new(1024)));
        assert!(files.source().error().is_none());
        fs::write(directory.join("arcstats"), "size 4 many\n").unwrap();
        assert_eq!(files.read().arc, None);
        assert!(files.source().error().is_some());
    }
}
