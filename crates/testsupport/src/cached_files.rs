//! Files of which a known part is in the page cache.

use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use tempfile::TempDir;

/// Size of a page of the machines that the tests run on.
pub const PAGE: u64 = 4096;

/// A directory on a disk: nothing can be dropped from a tmpfs.
pub fn on_disk() -> TempDir {
    tempfile::tempdir_in("/var/tmp").expect("a directory in /var/tmp")
}

/// A file of so many pages, written and resident.
pub fn written(path: &Path, pages: u64) -> File {
    let mut file = File::create(path).expect("a new file");
    file.write_all(&vec![7; (pages * PAGE) as usize])
        .expect("room on the disk");
    file.sync_all().expect("the file reaches the disk");
    File::open(path).expect("the file can be read")
}

/// A file of so many pages, of which the first are resident, one by one: of a large folio no part can be dropped.
pub fn partly(path: &Path, pages: u64, resident: u64) -> File {
    let file = written(path, pages);
    fadvise(&file, 0, None, Advice::DontNeed).expect("pages are dropped");
    // Without readahead.
    fadvise(&file, 0, None, Advice::Random).expect("no pages are read ahead");
    for page in 0..resident {
        file.read_exact_at(&mut [0; 1], page * PAGE)
            .expect("a page is read");
    }
    file
}
