//! Reads back from swap what the processes of a group have there.

use super::pagemap::SWAPPED;
use super::touch::touch;
use rustix::fs::{Mode, OFlags};
use std::io;
use std::path::Path;
use units::Bytes;

/// Depth of cgroups below a protected one that is followed: a service has one or two levels.
const DEPTH: usize = 4;

/// Reads at most `amount` back, of `group` of the machine at `root` and of those below it. A process that ends meanwhile,
/// or may not be read, is passed over.
pub(crate) fn recall(root: &Path, group: &Path, amount: Bytes) -> io::Result<()> {
    let page = rustix::param::page_size() as u64;
    let mut left = (amount.get() / page) as usize;
    let mut open = vec![(group.to_owned(), DEPTH)];
    while let Some((group, depth)) = open.pop() {
        let inside = match std::fs::read_to_string(group.join("cgroup.procs")) {
            Err(error) if depth == DEPTH => return Err(error),
            // Gone meanwhile, or one of threads, which has no list of processes.
            other => other.unwrap_or_default(),
        };
        for pid in inside.lines() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let process = rustix::fs::open(root.join("proc").join(pid), flags, Mode::empty());
            left -= process.map_or(0, |process| touch(&process, SWAPPED, left).unwrap_or(0));
            if left == 0 {
                return Ok(());
            }
        }
        if depth > 0 {
            let below = std::fs::read_dir(&group)
                .into_iter()
                .flatten()
                .flatten()
                .filter(|entry| entry.path().is_dir());
            open.extend(below.map(|entry| (entry.path(), depth - 1)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_is_gone_is_an_error_and_its_processes_are_not() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("a/b");
        std::fs::create_dir_all(&group).unwrap();
        std::fs::write(root.path().join("a/cgroup.procs"), "").unwrap();
        std::fs::write(group.join("cgroup.procs"), "4711\n").unwrap();
        std::fs::create_dir_all(root.path().join("a/threads")).unwrap();
        recall(root.path(), &root.path().join("a"), Bytes::mib(1)).unwrap();
        assert!(recall(root.path(), &root.path().join("c"), Bytes::mib(1)).is_err());
    }
}
