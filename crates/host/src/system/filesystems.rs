//! File systems on local disks: a file of one stays what it is, and can be opened without a wait for a server.
//!
//! Source: include/uapi/linux/magic.h and `file_system_type` of each, of Linux.

const BTRFS: u64 = 0x9123_683e;

/// Their `f_type`, as `statfs(2)` has it, and their names, as `mountinfo` has them.
const LOCAL: [(u64, &[&[u8]]); 12] = [
    (0xef53, &[b"ext2", b"ext3", b"ext4"]),
    (0x5846_5342, &[b"xfs"]),
    (BTRFS, &[b"btrfs"]),
    (0xf2f5_2010, &[b"f2fs"]),
    (0xe0f5_e1e2, &[b"erofs"]),
    (0x7371_7368, &[b"squashfs"]),
    (0x4d44, &[b"vfat", b"msdos"]),
    (0x2011_bab0, &[b"exfat"]),
    (0x7366_746e, &[b"ntfs3"]),
    (0x3153_464a, &[b"jfs"]),
    (0x5265_4973, &[b"reiserfs"]),
    (0xca45_1a4e, &[b"bcachefs"]),
];

/// Whether this is the `f_type` of one. To ask for it may wait for a server, so only of a file that is open anyway.
pub fn is_local(f_type: u64) -> bool {
    LOCAL.iter().any(|(known, _)| *known == f_type)
}

/// Returns true for the `f_type` of a file system with subvolumes, each of which has a device number of its own in `stat`.
pub fn has_subvolumes(f_type: u64) -> bool {
    f_type == BTRFS
}

/// Whether this is the name of one, which can be read without a wait.
pub fn is_local_name(name: &[u8]) -> bool {
    LOCAL.iter().any(|(_, names)| names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::lines::{lines, words};
    use std::collections::HashMap;

    #[test]
    fn a_mount_is_told_alike_by_its_name_and_by_its_number() {
        let text = std::fs::read("/proc/self/mountinfo").unwrap();
        // What is mounted last on a path is what answers there.
        let mounts: HashMap<_, _> = lines(&text)
            .filter_map(|line| {
                let kind = words(line).skip_while(|word| *word != b"-").nth(1)?;
                Some((words(line).nth(4)?, kind))
            })
            .collect();
        assert!(mounts.values().any(|kind| *kind == b"proc"), "{mounts:?}");
        for (path, kind) in mounts {
            let answers_by_itself = is_local_name(kind)
                || [&b"proc"[..], b"tmpfs", b"sysfs", b"overlay"].contains(&kind);
            let Some(stat) = answers_by_itself
                .then(|| rustix::fs::statfs(path))
                .and_then(Result::ok)
            else {
                continue;
            };
            assert_eq!(
                is_local(stat.f_type.try_into().unwrap()),
                is_local_name(kind),
                "{}",
                kind.escape_ascii()
            );
        }
    }
}
