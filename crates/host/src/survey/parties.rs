//! Units by their control groups: services, scopes, containers, and whatever else has processes of its own.

use super::ages::Ages;
use super::{By, Holding};
use crate::parse::lines::{lines, number};
use crate::procs::{place, printable};
use pressure::census::Place;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use units::Bytes;

/// Where version 2 may be mounted: alone, or beside version 1.
const MOUNTS: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];
/// Groups looked at, at most, and how deep.
const MOST: usize = 2000;
const DEEPEST: usize = 12;

/// Every unit whose memory is counted; empty where control groups do not count it.
pub(super) fn all(root: &Path, ages: &Ages) -> Vec<Holding> {
    let mut found = Vec::new();
    for mount in MOUNTS {
        let mut walk = Walk { mount: root.join(mount), ages, left: MOST, found: Vec::new() };
        walk.below(&[], 0);
        found.append(&mut walk.found);
    }
    found
}

struct Walk<'a> {
    mount: PathBuf,
    ages: &'a Ages,
    left: usize,
    found: Vec<Holding>,
}

impl Walk<'_> {
    /// Takes units in; goes on below what is none.
    fn below(&mut self, path: &[u8], depth: usize) {
        let Ok(entries) = fs::read_dir(self.folder(path)) else { return };
        let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut paths: Vec<Vec<u8>> =
            folders.map(|entry| [path, b"/", entry.file_name().as_bytes()].concat()).collect();
        paths.sort();
        for path in paths {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let is_unit = is_unit(&path);
            if is_unit || self.has_processes(&path) {
                self.found.extend(self.holding(&path));
            }
            if !is_unit && depth < DEEPEST {
                self.below(&path, depth + 1);
            }
        }
    }

    fn folder(&self, path: &[u8]) -> PathBuf {
        let below = path.strip_prefix(b"/").unwrap_or(path);
        self.mount.join(Path::new(std::ffi::OsStr::from_bytes(below)))
    }

    fn has_processes(&self, path: &[u8]) -> bool {
        fs::read(self.folder(path).join("cgroup.procs")).is_ok_and(|text| !text.is_empty())
    }

    fn number(&self, path: &[u8], file: &str) -> Option<Bytes> {
        let text = fs::read(self.folder(path).join(file)).ok()?;
        number(text.trim_ascii()).map(Bytes::new)
    }

    /// `None` if it is gone, or its memory is not counted.
    fn holding(&self, path: &[u8]) -> Option<Holding> {
        let used = self.number(path, "memory.current")?;
        let stat = fs::read(self.folder(path).join("memory.stat")).ok()?;
        let value = |name: &[u8]| {
            let rest = lines(&stat).find_map(|line| line.strip_prefix(name)?.strip_prefix(b" "))?;
            number(rest)
        };
        let active = [&b"active_anon"[..], b"active_file"].into_iter().filter_map(value).map(Bytes::new).sum();
        // One count before 5.9, two since.
        let kinds = [&b"workingset_refault_anon"[..], b"workingset_refault_file", b"workingset_refault"];
        let refaulted = kinds.into_iter().filter_map(value).reduce(u64::saturating_add);
        let (warm, by) = self.ages.of_group(path).map_or((active, By::Lists), |warm| (warm, By::Ages));
        let found = place(path);
        Some(Holding {
            path: String::from_utf8_lossy(path).into_owned(),
            name: printable::<64>(found.unit).to_string(),
            place: found.place,
            used,
            warm: warm.min(used),
            by,
            swapped: self.number(path, "memory.swap.current"),
            floor: self.number(path, "memory.min").unwrap_or_default(),
            refaults: None,
            growth: None,
            refaulted,
        })
    }
}

/// Whether this is a whole unit, of which nothing below is one.
fn is_unit(path: &[u8]) -> bool {
    let found = place(path);
    let is_manager = found.unit.starts_with(b"user@") || found.unit.ends_with(b".slice");
    found.place != Place::Unknown && found.folder == path && !is_manager
}
