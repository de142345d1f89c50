//! Programs that must answer, and which parts of their files are in memory: looked up while memory is not short.
//!
//! A program is known by its executable: a path of the list, a file that is root's and that only root may change.
//! What runs under such a name from elsewhere is another program. Of its mappings the unchanging ones of files
//! count (code and constants), and of these what is resident now.

use crate::finder::{self, Found};
use crate::map::Map;
use pressure::protect::{FileId, Ranges};
use rustix::fs::{Mode, OFlags, open};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files reported, those with the most resident pages: half of the report, which leaves the rest to files that thrash.
const MOST: usize = 8;
/// Lines of `maps` read: a program has a few hundred mappings.
const MOST_LINES: usize = 4096;

/// A file that a program runs from.
#[derive(Debug)]
pub(crate) struct Used {
    pub(crate) id: FileId,
    pub(crate) found: Found,
    /// Its parts that are mapped and resident.
    pub(crate) ranges: Ranges,
    resident: u64,
}

/// Part of a file that is mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    id: FileId,
    path: PathBuf,
    first: u64,
    count: u64,
}

/// The files that the programs of `list` now run from, the most resident first.
pub(crate) fn used(proc: &Path, list: &[PathBuf]) -> Vec<Used> {
    let mut parts: HashMap<(FileId, PathBuf), Vec<(u64, u64)>> = HashMap::new();
    for process in processes(proc).filter(|process| is_listed(process, list)) {
        let text = std::fs::read_to_string(process.join("maps")).unwrap_or_default();
        for part in text.lines().take(MOST_LINES).filter_map(Part::parse) {
            // Its own root: it may be in a container.
            let path = process
                .join("root")
                .join(part.path.strip_prefix("/").unwrap_or(&part.path));
            parts
                .entry((part.id, path))
                .or_default()
                .push((part.first, part.count));
        }
    }
    let mut used: Vec<Used> = parts
        .into_iter()
        .filter_map(|((id, path), runs)| resident(id, &path, &runs))
        .collect();
    used.sort_by_key(|used| (std::cmp::Reverse(used.resident), used.id));
    used.dedup_by_key(|used| used.id);
    used.truncate(MOST);
    used
}

fn processes(proc: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .map(|entry| entry.path())
}

/// Returns true if a process runs one of the listed executables, and only root could have put it there.
///
/// Who has mounts of their own may show any file of root's at any path. Without root that takes a user namespace, so the
/// process must be in ours. A process outside may run such a file by a descriptor: so it must be the one at its path.
fn is_listed(process: &Path, list: &[PathBuf]) -> bool {
    let own = process.join("exe");
    let Ok(path) = std::fs::read_link(&own) else {
        return false;
    };
    if !list.contains(&path) || !has_our_users(process) {
        return false;
    }
    let Ok(running) = std::fs::metadata(&own) else {
        return false;
    };
    // Its own root: it may be in a container of root's.
    let path = path.strip_prefix("/").unwrap_or(&path);
    let there = std::fs::metadata(process.join("root").join(path));
    let identity = |meta: &Metadata| (meta.dev(), meta.ino());
    let is_there = there.is_ok_and(|there| identity(&there) == identity(&running));
    is_there && running.uid() == 0 && running.mode() & 0o022 == 0
}

/// Returns true if the process is in the user namespace of this one.
fn has_our_users(process: &Path) -> bool {
    let theirs = std::fs::read_link(process.join("ns/user"));
    let ours = std::fs::read_link("/proc/self/ns/user");
    matches!((theirs, ours), (Ok(theirs), Ok(ours)) if theirs == ours)
}

/// The resident parts of these runs, by segments of the file.
fn resident(id: FileId, path: &Path, runs: &[(u64, u64)]) -> Option<Used> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(open(path, flags, Mode::empty()).ok()?);
    let found = finder::fit(id, file, i64::MAX).ok()?;
    let pages = found.size.div_ceil(rustix::param::page_size() as u64);
    let map = Map::of(&found.file, pages).ok()?;
    let mut ranges = Ranges::default();
    let mut sum = 0;
    for (first, count) in runs.iter().filter(|(first, _)| *first < pages) {
        let count = (*count).min(pages - first);
        // Sixteen pages at a time: what a fault brings in around itself.
        for start in (*first..first + count).step_by(16) {
            let length = 16.min(first + count - start);
            let there = map.resident(start, length).ok()?;
            sum += there;
            if there > 0 {
                ranges.put(start, length);
            }
        }
    }
    if ranges.is_empty() {
        return None;
    }
    Some(Used {
        id,
        found,
        ranges,
        resident: sum,
    })
}

/// A number to the base of 16.
fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

impl Part {
    /// `7f0a1000-7f0a3000 r-xp 00001000 fe:01 1234  /usr/lib/libc.so.6`, of which what may not be written counts.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let kind = words.next()?;
        let offset = words.next()?;
        let (major, minor) = words.next()?.split_once(':')?;
        let inode = words.next()?.parse().ok().filter(|inode| *inode != 0)?;
        let path = line.get(line.find('/')?..)?;
        if path.ends_with(" (deleted)") {
            return None;
        }
        let length = hex(end)?.checked_sub(hex(start)?)?;
        let is_constant = kind.starts_with("r-");
        if !is_constant || length == 0 {
            return None;
        }
        let major = u32::try_from(hex(major)?).ok()?;
        let minor = u32::try_from(hex(minor)?).ok()?;
        let page = rustix::param::page_size() as u64;
        Some(Self {
            id: FileId {
                device: rustix::fs::makedev(major, minor),
                inode,
            },
            path: path.into(),
            first: hex(offset).unwrap_or(0) / page,
            count: length.div_ceil(page),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use testsupport::forged::{Forged, SLEEP};

    #[test]
    fn code_and_constants_of_files_count_and_nothing_else() {
        let part = Part::parse(
            "7f0a1000-7f0a3000 r-xp 00001000 fe:01 1234                       /usr/lib/a b.so",
        );
        let id = FileId {
            device: rustix::fs::makedev(0xfe, 1),
            inode: 1234,
        };
        assert_eq!(
            part,
            Some(Part {
                id,
                path: "/usr/lib/a b.so".into(),
                first: 1,
                count: 2
            })
        );
        for line in [
            "7f0a1000-7f0a3000 rw-p 00001000 fe:01 1234 /usr/lib/a.so",
            "7f0a1000-7f0a3000 r--p 00000000 00:00 0 [vdso]",
            "7f0a1000-7f0a3000 r-xp 00000000 fe:01 1234 /usr/lib/a.so (deleted)",
            "7f0a3000-7f0a1000 r-xp 00000000 fe:01 1234 /usr/lib/a.so",
            "",
        ] {
            assert_eq!(Part::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_listed_program_is_known_by_its_file_and_not_by_its_name() {
        let own = std::fs::read_link("/proc/self/exe").unwrap();
        let process = PathBuf::from(format!("/proc/{}", std::process::id()));
        let meta = std::fs::metadata(&own).unwrap();
        let safe = meta.uid() == 0 && meta.mode() & 0o022 == 0;
        assert_eq!(is_listed(&process, std::slice::from_ref(&own)), safe);
        assert!(!is_listed(&process, &["/usr/sbin/sshd".into()]));
        assert!(!is_listed(Path::new("/proc/0"), &[own]));
    }

    #[test]
    fn no_path_that_a_user_shows_makes_a_program_one_of_the_list() {
        let process = |running: &Forged| PathBuf::from(format!("/proc/{}", running.pid()));
        let own = Forged::start(SLEEP).unwrap();
        assert!(is_listed(&process(&own), &[SLEEP.into()]));
        let path = "/usr/local/bin/listed";
        let Some(forged) = Forged::in_own_mounts(path) else {
            return;
        };
        assert!(!is_listed(&process(&forged), &[path.into()]));
        let outside = forged.run_outside();
        assert!(!is_listed(&process(&outside), &[path.into()]));
    }

    #[test]
    fn what_a_program_runs_from_is_found_resident() {
        let own = std::fs::read_link("/proc/self/exe").unwrap();
        let process = PathBuf::from(format!("/proc/{}", std::process::id()));
        if !is_listed(&process, std::slice::from_ref(&own)) {
            return;
        }
        let used = used(Path::new("/proc"), std::slice::from_ref(&own));
        assert!(used.len() <= MOST);
        if let Some(this) = used
            .iter()
            .find(|used| used.found.name == own.to_string_lossy())
        {
            assert!(this.resident > 0 && !this.ranges.is_empty());
        }
    }

    proptest! {
        #[test]
        fn no_line_does_harm(line in "\\PC{0,120}") {
            let _ = Part::parse(&line);
        }
    }
}
