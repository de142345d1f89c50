//! What the kernel tells of one open file.
//!
//! `cachestat` tells all. It is not there before Linux 6.5 or in a container that refuses it, and an overlay answers it with
//! zeros. Then `mincore` on a mapping tells what is resident.
//!
//! Both tell it only to the owner of a file, to a process with `CAP_FOWNER`, and to one that may write to the file:
//! `cachestat` since 6.14 (CVE-2025-21691, also in stable kernels of early 2025), `mincore` since 5.2. To others
//! `mincore` says that all is resident, so it is not asked.
//!
//! Source: `can_do_cachestat` in mm/filemap.c and `can_do_mincore` in mm/mincore.c of Linux.

use host::system_calls::{CacheStat, cachestat, resident_pages};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, CWD, OFlags, accessat, fcntl_getfl, fcntl_setfl, fstat, fstatfs,
};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities};

/// `OVERLAYFS_SUPER_MAGIC` of include/uapi/linux/magic.h.
const OVERLAY: u64 = 0x794c_7630;
/// A larger file is not asked by `mincore`, which walks holes, too: at 10 ns a page a TiB takes 3 s.
const LARGEST: u64 = 1 << 40;
/// The user that files of unknown users seem to have; `CAP_FOWNER` has no effect on these.
const NOBODY: u32 = 65_534;

/// Where the pages of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    /// With the file.
    Own,
    /// With a file of a layer below it.
    OfLayer,
}

/// What is told of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// All.
    All(CacheStat),
    /// The number of resident pages.
    Residency(u64),
    /// Nothing: it is not ours, and may not be written by us.
    NotOurs,
    /// Nothing: the text says why.
    Nothing(&'static str),
}

/// Where the pages are of files on this file system.
pub(super) fn pages_of(file: &OwnedFd) -> Pages {
    match fstatfs(file) {
        Ok(stat) if u64::try_from(stat.f_type).is_ok_and(|kind| kind == OVERLAY) => Pages::OfLayer,
        _ => Pages::Own,
    }
}

/// Asks for the pages of a file up to its size.
pub(super) fn ask(file: &OwnedFd, size: u64, pages: Pages) -> Told {
    if pages == Pages::Own {
        match cachestat(file, 0, size) {
            Ok(stat) => return Told::All(stat),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOSYS | Errno::PERM) => {}
                Some(Errno::OPNOTSUPP) => return Told::Nothing("it is made of huge pages"),
                _ => return Told::Nothing("the kernel refuses to say"),
            },
        }
    }
    by_mincore(file, size, pages)
}

fn by_mincore(file: &OwnedFd, size: u64, pages: Pages) -> Told {
    let is_ours = is_owned(file);
    // Whether a lower layer may be written is not what the overlay says of its own file.
    let is_writable = pages == Pages::Own && may_write(file);
    if !is_ours && !is_writable {
        return Told::NotOurs;
    }
    if size > LARGEST {
        return Told::Nothing("it is larger than 1 TiB, and only mincore could be asked");
    }
    if let Ok(flags) = fcntl_getfl(file) {
        // A mapping counts as an access, except with this flag, which an owner may set.
        let _ = fcntl_setfl(file, flags | OFlags::NOATIME);
    }
    let page = rustix::param::page_size() as u64;
    match resident_pages(file, size.div_ceil(page)) {
        Ok(resident) => Told::Residency(resident),
        Err(_) => Told::Nothing("it cannot be mapped"),
    }
}

fn is_owned(file: &OwnedFd) -> bool {
    let Ok(stat) = fstat(file) else {
        return false;
    };
    if stat.st_uid == rustix::process::geteuid().as_raw() {
        return true;
    }
    let own = capabilities(None);
    stat.st_uid != NOBODY && own.is_ok_and(|own| own.effective.contains(CapabilitySet::FOWNER))
}

fn may_write(file: &OwnedFd) -> bool {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Advice, fadvise};
    use std::fs::File;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    /// A file of so many pages on a disk, all of them written and none resident: /tmp may be a tmpfs, from which nothing can
    /// be dropped.
    fn dropped(pages: usize) -> File {
        let mut file = tempfile::tempfile_in("/var/tmp").unwrap();
        file.write_all(&vec![7; pages * 4096]).unwrap();
        file.sync_all().unwrap();
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        // Without readahead.
        fadvise(&file, 0, None, Advice::Random).unwrap();
        file
    }

    #[test]
    fn both_means_agree_page_for_page_also_where_a_part_is_missing() {
        let file = dropped(300);
        // All but the hundred pages from the hundredth on.
        for page in (0..100).chain(200..300) {
            file.read_exact_at(&mut [0; 1], page * 4096).unwrap();
        }
        let file = OwnedFd::from(file);
        let size = 300 * 4096;
        let Told::Residency(resident) = by_mincore(&file, size, Pages::Own) else {
            panic!("the file is ours");
        };
        assert_eq!(resident, 200);
        assert_eq!(
            by_mincore(&file, size, Pages::OfLayer),
            Told::Residency(200)
        );
        match ask(&file, size, pages_of(&file)) {
            Told::All(stat) => {
                assert_eq!((stat.cached, stat.dirty, stat.writeback), (200, 0, 0));
            }
            // An overlay, an older kernel, or a container that refuses the call.
            told => assert_eq!(told, Told::Residency(200)),
        }
        // Asking has brought nothing in.
        assert_eq!(by_mincore(&file, size, Pages::Own), Told::Residency(200));
    }

    #[test]
    fn a_large_sparse_file_is_asked_in_pieces_and_one_too_large_is_not() {
        let file = dropped(2);
        file.read_exact_at(&mut [0; 8192], 0).unwrap();
        // More than three pieces of mincore, and a last page that is not whole.
        file.set_len((200 << 10) * 4096 + 5).unwrap();
        let file = OwnedFd::from(file);
        let size = (200 << 10) * 4096 + 5;
        assert_eq!(by_mincore(&file, size, Pages::Own), Told::Residency(2));
        let told = by_mincore(&file, LARGEST + 1, Pages::Own);
        assert!(matches!(told, Told::Nothing(_)), "{told:?}");
    }
}
