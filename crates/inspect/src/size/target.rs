//! What is to be sized, and by which means.

use super::group::Group;
use crate::files::unit;
use crate::pids::pids;
use host::Error;
use host::cgroups::reclaim::RECLAIM;
use host::cgroups::usage::{amount, waiting_for_memory};
use host::parse::lines::{number, stat};
use host::writes::MEMORY_RECLAIM;
use pressure::place::place;
use rustix::fs::OFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use units::Bytes;

/// A unit, or a process with what it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As it is called: the unit's name, or the process's number.
    pub name: String,
    /// Its control group, if nothing else is in that.
    pub group: Option<String>,
    /// Its processes now.
    pub pids: Vec<u32>,
}

/// How a target can be measured.
#[derive(Debug)]
pub enum Means {
    /// By taking memory from its control group.
    Reclaim(Group),
    /// By accessed bits of its processes, and why not by reclaim.
    Accessed(String),
}

/// The unit with this name or path of a control group, or the process with this number; `None` if there is none.
///
/// Errors: `/proc` cannot be read.
pub fn target(root: &Path, word: &str) -> Result<Option<Target>, Error> {
    if let Ok(pid) = word.parse() {
        return process(root, pid);
    }
    let found = unit(root, word)?.map(|found| Target {
        name: unit_name(&found.path),
        group: Some(found.path),
        pids: found.pids,
    });
    Ok(found)
}

/// The last part of a path; all of a path that is no unit's.
fn unit_name(path: &str) -> String {
    let found = place(path.as_bytes());
    if found.directory == path.as_bytes() && !found.unit.is_empty() {
        return String::from_utf8_lossy(found.unit).into_owned();
    }
    path.to_owned()
}

fn process(root: &Path, pid: u32) -> Result<Option<Target>, Error> {
    let parents = parents(root)?;
    if !parents.contains_key(&pid) {
        return Ok(None);
    }
    let is_its = |one: u32| {
        let mut now = one;
        // A process is no ancestor of itself, but a number may be taken again while this is read.
        for _ in 0..parents.len() {
            if now == pid {
                return true;
            }
            match parents.get(&now) {
                Some(parent) => now = *parent,
                None => return false,
            }
        }
        false
    };
    let pids: Vec<u32> = parents.keys().copied().filter(|one| is_its(*one)).collect();
    let group = match path_of(root, pid) {
        Some(path) => unit(root, &path)?.filter(|unit| unit.pids.iter().all(|one| is_its(*one))),
        None => None,
    };
    Ok(Some(Target {
        name: pid.to_string(),
        group: group.map(|group| group.path),
        pids,
    }))
}

/// The path of a process's control group, version 2 first; `None` if it has ended or is in the root group.
fn path_of(root: &Path, pid: u32) -> Option<String> {
    let text = fs::read_to_string(root.join(format!("proc/{pid}/cgroup"))).ok()?;
    let paths = || text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let second = text.lines().find_map(|line| line.strip_prefix("0::"));
    let mut of_its_own = second
        .into_iter()
        .chain(paths())
        .filter(|path| *path != "/");
    of_its_own.next().map(ToOwned::to_owned)
}

/// Every process with its parent.
fn parents(root: &Path) -> Result<BTreeMap<u32, u32>, Error> {
    let mut parents = BTreeMap::new();
    for pid in pids(root)? {
        // One that has ended meanwhile is left out.
        let Ok(text) = fs::read(root.join(format!("proc/{pid}/stat"))) else {
            continue;
        };
        // The state stands before the parent.
        let parent = stat(&text).and_then(|(_, mut fields)| number(fields.nth(1)?));
        if let Some(parent) = parent.and_then(|parent| u32::try_from(parent).ok()) {
            parents.insert(pid, parent);
        }
    }
    Ok(parents)
}

/// The names of all units that have processes, for a hint.
///
/// Errors: `/proc` cannot be read.
pub fn unit_names(root: &Path) -> Result<BTreeSet<String>, Error> {
    let mut names = BTreeSet::new();
    for pid in pids(root)? {
        let Some(path) = path_of(root, pid) else {
            continue;
        };
        let found = place(path.as_bytes());
        if !found.unit.is_empty() {
            names.insert(String::from_utf8_lossy(found.unit).into_owned());
        }
    }
    Ok(names)
}

/// By which means a target can be measured. Nothing is changed.
pub fn means(root: &Path, target: &Target, page: Bytes) -> Means {
    let Some(path) = &target.group else {
        let why = "it shares its control group with other processes";
        return Means::Accessed(why.to_owned());
    };
    let no = |why: &str| Means::Accessed(why.to_owned());
    let Some(group) = Group::open(root, path, page) else {
        return no("it has no control group of version 2");
    };
    let file = &group.directory().file;
    if amount(file, "memory.current").is_none() {
        return no("no control group of version 2 counts its memory");
    }
    if waiting_for_memory(file).is_none() {
        return no(
            "this kernel tells no memory.pressure, by which a unit is kept from harm: boot it with psi=1",
        );
    }
    match MEMORY_RECLAIM.open_at(file, RECLAIM, OFlags::empty()) {
        Ok(_) => Means::Reclaim(group),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            no("memory.reclaim needs Linux 5.19 or newer")
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            no("only root may write to its memory.reclaim")
        }
        Err(error) => Means::Accessed(format!("memory.reclaim: {error}")),
    }
}

/// The processes of a target as they are now; none if it is gone.
pub(super) fn members(root: &Path, target: &Target) -> Result<Vec<u32>, Error> {
    let again = match &target.group {
        Some(path) => unit(root, path)?.map(|unit| unit.pids),
        None => match target.name.parse() {
            Ok(pid) => process(root, pid)?.map(|process| process.pids),
            Err(_) => None,
        },
    };
    Ok(again.unwrap_or_default())
}
