//! Where the protected and the squeezed cgroups are: by the names of the system's services, the desktop's slice, or a path.
//!
//! Only root names what is in `/system.slice`, so a name is looked for there and nowhere else: a user's unit that calls
//! itself `ssh.service` is no protected cgroup. What a user runs is a protected cgroup only by its path, which a person has asked for.

use super::directory::Directory;
use crate::parse::mounts::{mounts, own_cgroup};
use pressure::place::place;
use pressure::scan::Place;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Slices that each user has: of a desktop itself, with nothing that a person starts in it, and of what runs in the background.
const OF_USERS: [&str; 2] = ["session.slice", "background.slice"];

/// What is looked for.
#[derive(Debug, Default)]
pub(super) struct Search {
    names: Vec<String>,
    paths: Vec<String>,
    slices: Vec<String>,
}

impl Search {
    /// Units as the configuration names them.
    pub(super) fn new(units: &[String]) -> Self {
        let (paths, names): (Vec<_>, Vec<_>) = units
            .iter()
            .cloned()
            .partition(|unit| unit.starts_with('/'));
        let (slices, names): (Vec<_>, Vec<_>) = names
            .into_iter()
            .partition(|unit| OF_USERS.contains(&unit.as_str()));
        Self {
            names,
            paths,
            slices,
        }
    }

    /// Those that are there, at most `most`: what a person asked for, then services, then slices of users.
    pub(super) fn run(&self, root: &Path, most: usize) -> Vec<Directory> {
        let asked = self.paths.iter().filter_map(|path| asked(root, path));
        let services = || self.services(root);
        let slices = self.slices.iter().flat_map(|slice| of_users(root, slice));
        let mut found: Vec<Directory> = asked.chain(services()).chain(slices).collect();
        let mut seen = Vec::new();
        found.retain(|directory| {
            let fresh = !seen.contains(&directory.inode);
            seen.push(directory.inode);
            fresh
        });
        found.truncate(most);
        found
    }

    fn services(&self, root: &Path) -> Vec<Directory> {
        if self.names.is_empty() {
            return Vec::new();
        }
        let below = children(root, b"/system.slice");
        let slices = below.iter().filter(|path| path.ends_with(b".slice"));
        let deeper: Vec<Vec<u8>> = slices.flat_map(|slice| children(root, slice)).collect();
        let units = below.iter().chain(&deeper);
        let wanted = units.filter(|path| self.names.iter().any(|name| is_called(path, name)));
        wanted
            .filter(|path| place(path).place == Place::Service)
            .filter_map(|path| Directory::of(root, path))
            .collect()
    }
}

/// A group that a person named by its path: a unit of its own, and the whole of it.
fn asked(root: &Path, path: &str) -> Option<Directory> {
    let found = place(path.as_bytes());
    let is_unit = found.place.is_of_its_own() && found.directory == path.as_bytes();
    is_unit
        .then(|| Directory::of(root, path.as_bytes()))
        .flatten()
}

/// This slice of each logged-in user.
fn of_users(root: &Path, slice: &str) -> Vec<Directory> {
    let begins = |path: &[u8], name: &[u8]| base(path).starts_with(name);
    let users = children(root, b"/user.slice")
        .into_iter()
        .filter(|path| begins(path, b"user-"));
    let managers = users
        .flat_map(|user| children(root, &user))
        .filter(|path| begins(path, b"user@"));
    managers
        .filter_map(|manager| Directory::of(root, &[&manager[..], b"/", slice.as_bytes()].concat()))
        .collect()
}

/// The groups just below one, by their paths.
fn children(root: &Path, path: &[u8]) -> Vec<Vec<u8>> {
    let Some(directory) = Directory::of(root, path) else {
        return Vec::new();
    };
    directory
        .names_below(root)
        .iter()
        .map(|name| [path, b"/", name.as_bytes()].concat())
        .collect()
}

fn base(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// A name, or its beginning before a star.
fn is_called(path: &[u8], pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => base(path).starts_with(beginning.as_bytes()),
        None => base(path) == pattern.as_bytes(),
    }
}

/// Our own group and those above it: what slows them down slows us down.
pub(super) fn own(root: &Path) -> Vec<Directory> {
    let text = |path: &str| fs::read(root.join(path)).unwrap_or_default();
    let path = own_cgroup(
        &mounts(&text("proc/self/mountinfo")),
        &text("proc/self/cgroup"),
    );
    let path: Option<PathBuf> = path.map(|path| path.strip_prefix("/").unwrap_or(&path).to_owned());
    let Some(directory) = path.and_then(|path| Directory::open(root, &path)) else {
        return Vec::new();
    };
    let mut own = directory.above(root);
    own.push(directory);
    own
}

/// Whether a group above passes what it keeps on to those below that ask for nothing (`memory_recursiveprot`).
pub(super) fn is_recursive(root: &Path) -> bool {
    let text = fs::read(root.join("proc/self/mountinfo")).unwrap_or_default();
    mounts(&text)
        .iter()
        .any(|mount| mount.kind == "cgroup2" && mount.has("memory_recursiveprot"))
}

/// Whether processes live in the group itself, and not in groups below it.
pub(super) fn is_leaf(root: &Path, directory: &Directory) -> bool {
    let entries = fs::read_dir(root.join(OsStr::from_bytes(directory.path.as_os_str().as_bytes())));
    entries.is_ok_and(|mut entries| {
        !entries.any(|it| it.is_ok_and(|it| it.file_type().is_ok_and(|kind| kind.is_dir())))
    })
}
