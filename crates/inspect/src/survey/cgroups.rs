//! Units by their control groups: services, scopes, containers, and whatever else has processes of its own.

use super::ages::Ages;
use super::{By, Holding};
use host::cgroups::directory::{Directory, MOUNTS};
use host::cgroups::usage::{Usage, amount, text};
use host::parse::lines::{lines, number, words};
use host::parse::process::printable;
use pressure::place::place;
use pressure::scan::Place;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Groups looked at, at most, and how deep.
const MOST: usize = 2000;
const DEEPEST: usize = 12;

/// Every unit with counted memory; empty where control groups do not count it.
pub(super) fn all(root: &Path, ages: &Ages) -> Vec<Holding> {
    let mut walk = Walk {
        root,
        ages,
        left: MOST,
        found: Vec::new(),
    };
    for top in MOUNTS
        .iter()
        .filter_map(|mount| Directory::open(root, Path::new(mount)))
    {
        let controls = text(&top.file, "cgroup.controllers").unwrap_or_default();
        if words(&controls).any(|name| name == b"memory") {
            walk.below(&top, &[], 0);
        }
    }
    walk.found
}

/// The processes of this unit, and of the groups below it.
pub(super) fn members(root: &Path, path: &str) -> Vec<u32> {
    let mut pids = Vec::new();
    let mut directories: Vec<Directory> =
        Directory::of(root, path.as_bytes()).into_iter().collect();
    while let Some(directory) = directories.pop() {
        let text = text(&directory.file, "cgroup.procs").unwrap_or_default();
        pids.extend(
            lines(&text)
                .filter_map(number)
                .filter_map(|pid| u32::try_from(pid).ok()),
        );
        directories.extend(
            directory
                .names_below(root)
                .iter()
                .filter_map(|name| Directory::open(root, &directory.path.join(name))),
        );
    }
    pids
}

struct Walk<'a> {
    root: &'a Path,
    ages: &'a Ages,
    left: usize,
    found: Vec<Holding>,
}

impl Walk<'_> {
    /// Takes units, and walks on below cgroups that are none.
    fn below(&mut self, above: &Directory, path: &[u8], depth: usize) {
        for name in above.names_below(self.root) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let path = [path, b"/", name.as_bytes()].concat();
            let Some(directory) = Directory::open(self.root, &above.path.join(&name)) else {
                continue;
            };
            let is_unit = is_unit(&path);
            if is_unit || text(&directory.file, "cgroup.procs").is_some_and(|pids| !pids.is_empty())
            {
                self.found.extend(self.holding(&directory, &path));
            }
            if !is_unit && depth < DEEPEST {
                self.below(&directory, &path, depth + 1);
            }
        }
    }

    /// `None` if it is gone, or its memory is not counted.
    fn holding(&self, directory: &Directory, path: &[u8]) -> Option<Holding> {
        let Usage {
            used,
            active,
            refaulted,
            swapped,
        } = Usage::of(&directory.file)?;
        let (warm, by) = self
            .ages
            .of_group(path)
            .map_or((active, By::Lists), |warm| (warm, By::Ages));
        let found = place(path);
        Some(Holding {
            path: String::from_utf8_lossy(path).into_owned(),
            name: printable::<64>(found.unit).to_string(),
            place: found.place,
            used,
            warm: warm.min(used),
            by,
            swapped,
            floor: amount(&directory.file, "memory.min").unwrap_or_default(),
            refaults: None,
            growth: None,
            refaulted,
            evicted: None,
        })
    }
}

/// Whether this is a whole unit, of which nothing below is one.
pub(crate) fn is_unit(path: &[u8]) -> bool {
    let found = place(path);
    let is_manager = found.unit.starts_with(b"user@") || found.unit.ends_with(b".slice");
    found.place != Place::Unknown && found.directory == path && !is_manager
}
