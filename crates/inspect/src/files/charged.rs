//! Page cache by control group: what each is charged for, whichever process reads it now.
//!
//! A page is charged to the group that brought it in. So a file that two units read counts for the one that was first.

use crate::survey::is_unit;
use host::cgroups::directory::{Directory, MOUNTS};
use host::cgroups::usage::text;
use host::parse::lines::{lines, number, words};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use units::{Bytes, Pages};

/// Where the memory controller of version 1 is mounted.
const FIRST: &str = "sys/fs/cgroup/memory";
/// Groups that are looked at, at most, and how deep.
const MOST: usize = 5000;
const DEEPEST: usize = 12;

/// A unit, or another group with processes of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charged {
    /// The path of its control group.
    pub path: String,
    /// Page cache; shared memory and tmpfs are a part of it.
    pub cached: Bytes,
    /// Of it, shared memory and tmpfs, which leave memory for swap only; `None` where it is not told, as each below.
    pub shared: Option<Bytes>,
    /// Of it, mapped by processes.
    pub mapped: Option<Bytes>,
    /// Of it, changed and not written yet.
    pub dirty: Option<Bytes>,
    /// Of it, being written.
    pub writeback: Option<Bytes>,
    /// Read again after eviction, since the group was made.
    pub refaulted: Option<Bytes>,
}

/// Every unit that is charged for page cache, and every other group with processes of its own, the most first; empty where
/// control groups do not count memory.
pub fn charged(root: &Path) -> Vec<Charged> {
    let mut walk = Walk {
        root,
        version: Version::Second,
        left: MOST,
        found: Vec::new(),
    };
    for top in MOUNTS.iter().filter_map(|mount| open(root, mount)) {
        let controls = text(&top.file, "cgroup.controllers").unwrap_or_default();
        if words(&controls).any(|name| name == b"memory") {
            walk.below(&top, b"", 0);
        }
    }
    if let (Some(top), true) = (open(root, FIRST), walk.found.is_empty()) {
        walk.version = Version::First;
        // Version 1 counts what is in no group below, too.
        walk.found
            .extend(of_group(&top, b"/", Own::Alone, Version::First));
        walk.below(&top, b"", 0);
    }
    walk.found.retain(|one| one.cached > Bytes::ZERO);
    walk.found
        .sort_by(|a, b| b.cached.cmp(&a.cached).then_with(|| a.path.cmp(&b.path)));
    walk.found
}

/// What the group at this path is charged for, with all below it; `None` where it is not told.
pub fn charged_to(root: &Path, path: &str) -> Option<Charged> {
    let second = Directory::of(root, path.as_bytes());
    if let Some(found) =
        second.and_then(|group| of_group(&group, path.as_bytes(), Own::WithBelow, Version::Second))
    {
        return Some(found);
    }
    let below = Path::new(path.trim_start_matches('/'));
    let first = Directory::open(root, &Path::new(FIRST).join(below))?;
    of_group(&first, path.as_bytes(), Own::WithBelow, Version::First)
}

fn open(root: &Path, path: &str) -> Option<Directory> {
    Directory::open(root, Path::new(path))
}

/// Version of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    First,
    Second,
}

/// Whether a group is counted with those below it. Version 2 always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    Alone,
    WithBelow,
}

struct Walk<'a> {
    root: &'a Path,
    version: Version,
    left: usize,
    found: Vec<Charged>,
}

impl Walk<'_> {
    /// Takes units, and walks on below groups that are none.
    fn below(&mut self, above: &Directory, path: &[u8], depth: usize) {
        for name in above.names_below(self.root) {
            if self.left == 0 || depth > DEEPEST {
                return;
            }
            self.left -= 1;
            let path = [path, b"/", name.as_bytes()].concat();
            let Some(directory) = Directory::open(self.root, &above.path.join(&name)) else {
                continue;
            };
            if is_unit(&path) {
                self.found
                    .extend(of_group(&directory, &path, Own::WithBelow, self.version));
                continue;
            }
            let processes = text(&directory.file, "cgroup.procs");
            if processes.is_some_and(|pids| !pids.is_empty()) {
                self.found
                    .extend(of_group(&directory, &path, Own::Alone, self.version));
            }
            self.below(&directory, &path, depth + 1);
        }
    }
}

fn of_group(group: &Directory, path: &[u8], own: Own, version: Version) -> Option<Charged> {
    let stat = text(&group.file, "memory.stat")?;
    let is_second = version == Version::Second;
    let total = if !is_second && own == Own::WithBelow {
        "total_"
    } else {
        ""
    };
    let value = |of_second: &str, of_first: &str| {
        let name = if is_second {
            of_second.to_owned()
        } else {
            format!("{total}{of_first}")
        };
        let mut found = lines(&stat).filter_map(|line| {
            let rest = line.strip_prefix(name.as_bytes())?.strip_prefix(b" ")?;
            number(rest.trim_ascii())
        });
        found.next()
    };
    let bytes = |of_second, of_first| value(of_second, of_first).map(Bytes::new);
    // One count before 5.9, two since.
    let refaults = value("workingset_refault_file", "workingset_refault_file")
        .or_else(|| value("workingset_refault", "workingset_refault"));
    let page_size = Bytes::new(rustix::param::page_size() as u64);
    Some(Charged {
        path: String::from_utf8_lossy(path).into_owned(),
        cached: bytes("file", "cache")?,
        shared: bytes("shmem", "shmem"),
        mapped: bytes("file_mapped", "mapped_file"),
        dirty: bytes("file_dirty", "dirty"),
        writeback: bytes("file_writeback", "writeback"),
        refaulted: refaults.map(|pages| Pages::new(pages).to_bytes(page_size)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn group(root: &Path, path: &str, stat: &str, processes: &str) {
        let directory = root.join(path);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("memory.stat"), stat).unwrap();
        fs::write(directory.join("cgroup.procs"), processes).unwrap();
    }

    #[test]
    fn of_version_2_units_are_told_whole_and_slices_not() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().join("sys/fs/cgroup");
        group(&top, "", "file 900\n", "1\n");
        fs::write(top.join("cgroup.controllers"), "cpu memory\n").unwrap();
        group(&top, "system.slice", "file 300\n", "");
        let stat = "anon 1\nfile 200\nshmem 50\nfile_mapped 40\nfile_dirty 7\nfile_writeback 3\nworkingset_refault_file 2\n";
        group(&top, "system.slice/db.service", stat, "");
        group(&top, "system.slice/db.service/worker", "file 100\n", "7\n");
        group(&top, "other", "file 250\n", "8\n");
        let found = charged(root.path());
        let names: Vec<_> = found.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(names, ["/other", "/system.slice/db.service"]);
        let db = &found[1];
        assert_eq!(
            (db.cached, db.shared),
            (Bytes::new(200), Some(Bytes::new(50)))
        );
        assert_eq!(
            (db.dirty, db.writeback),
            (Some(Bytes::new(7)), Some(Bytes::new(3)))
        );
        let page = rustix::param::page_size() as u64;
        assert_eq!(db.refaulted, Some(Bytes::new(2 * page)));
        assert_eq!((found[0].shared, found[0].refaulted), (None, None));
        assert_eq!(charged_to(root.path(), &db.path).as_ref(), Some(db));
        assert_eq!(charged_to(root.path(), "/../../etc"), None);
    }

    #[test]
    fn of_version_1_nothing_counts_twice() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().join(FIRST);
        group(&top, "", "cache 10\ntotal_cache 360\n", "1\n");
        group(&top, "other", "cache 50\ntotal_cache 150\n", "8\n");
        group(&top, "other/below", "cache 100\ntotal_cache 100\n", "9\n");
        group(&top, "system.slice", "cache 0\ntotal_cache 200\n", "");
        let stat = "cache 150\ntotal_cache 200\ndirty 1\ntotal_dirty 2\n";
        group(&top, "system.slice/db.service", stat, "7\n");
        let found = charged(root.path());
        let all: Vec<_> = found
            .iter()
            .map(|one| (one.path.as_str(), one.cached.get()))
            .collect();
        let expected = [
            ("/system.slice/db.service", 200),
            ("/other/below", 100),
            ("/other", 50),
            ("/", 10),
        ];
        assert_eq!(all, expected);
        assert_eq!(found[0].dirty, Some(Bytes::new(2)));
        assert_eq!(charged_to(root.path(), "/other").unwrap().cached.get(), 150);
    }
}
