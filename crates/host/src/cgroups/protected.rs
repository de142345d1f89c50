//! The protected cgroups, and those above them.

use super::directory::Directory;
use super::find::{is_leaf, is_recursive};
use super::limited::{Limited, tell};
use super::usage::{Usage, amount, waiting};
use crate::error::Error;
use crate::parse::process::printable;
use crate::undo::limit::Kind;
use crate::undo::{Restored, UndoLog};
use pressure::groups::Protected;
use pressure::scan::UnitName;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use units::{Bytes, Span};

/// All protected cgroups.
#[derive(Debug)]
pub(super) struct ProtectedCgroups {
    root: PathBuf,
    all: Vec<ProtectedCgroup>,
    /// Cgroups above them, each of which must keep as much as all below it.
    above: Vec<Limited>,
    /// Inodes of cgroups that refused a floor: not protected any more.
    refused: Vec<u64>,
    /// Cgroups with a floor that could not be put back: tried again at the end.
    stuck: Vec<Limited>,
    /// What all of them together may keep.
    most: Bytes,
}

/// One protected cgroup.
#[derive(Debug)]
struct ProtectedCgroup {
    limited: Limited,
    /// Inodes of the cgroups above it.
    above: Vec<u64>,
    told: Protected,
}

/// What other cgroups keep below one of those above.
struct Others {
    inode: u64,
    kept: u64,
}

impl ProtectedCgroups {
    pub(super) fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            all: Vec::new(),
            above: Vec::new(),
            refused: Vec::new(),
            stuck: Vec::new(),
            most: Bytes::ZERO,
        }
    }

    /// Protects the cgroups that were found, and no others. One that is known stays as it is.
    pub(super) fn replace(&mut self, found: Vec<Directory>, log: &mut UndoLog) {
        let mut gone = Vec::new();
        for one in &self.all {
            let id = one.told.id;
            if found.iter().all(|directory| directory.inode != id) {
                gone.push(id);
            }
        }
        for id in gone {
            self.dismiss(id, log);
        }
        for directory in found {
            let is_known = self.all.iter().any(|one| one.told.id == directory.inode);
            if !is_known && !self.refused.contains(&directory.inode) {
                self.admit(directory);
            }
        }
        let all = &self.all;
        self.above.retain(|limited| {
            let inode = limited.directory.inode;
            all.iter().any(|one| one.above.contains(&inode))
        });
    }

    fn admit(&mut self, directory: Directory) {
        // Without memory_recursiveprot a cgroup that asks for nothing gets nothing of what is kept above it.
        if !is_leaf(&self.root, &directory) && !is_recursive(&self.root) {
            return;
        }
        let above = directory.above(&self.root);
        let inodes = above.iter().map(|directory| directory.inode).collect();
        for directory in above {
            let inode = directory.inode;
            if self.above.iter().all(|one| one.directory.inode != inode) {
                self.above.extend(Limited::open(directory, Kind::Min));
            }
        }
        let Some(limited) = Limited::open(directory, Kind::Min) else {
            return;
        };
        let found = limited.value().map(Bytes::new).unwrap_or_default();
        let told = Protected {
            id: limited.directory.inode,
            unit: name(&limited.directory.path),
            at: Span::default(),
            used: Bytes::ZERO,
            warm: Bytes::ZERO,
            refaulted: Bytes::ZERO,
            floor: found,
            found,
            ours: None,
            waiting: None,
            swapped: None,
            swapped_before: None,
        };
        self.all.push(ProtectedCgroup {
            limited,
            above: inodes,
            told,
        });
    }

    /// Stops protecting a cgroup.
    fn dismiss(&mut self, id: u64, log: &mut UndoLog) {
        let _ = self.leave(id, log);
        let Some(index) = self.all.iter().position(|one| one.told.id == id) else {
            return;
        };
        let limited = self.all.swap_remove(index).limited;
        if limited.is_held(log) {
            self.stuck.push(limited);
        }
    }

    /// Reads all of them, and if `waits` how long each has waited; one that is gone is dismissed.
    pub(super) fn read(&mut self, at: Span, waits: bool, log: &mut UndoLog) {
        let mut gone = Vec::new();
        for one in &mut self.all {
            if one.read(at, waits).is_none() {
                gone.push(one.told.id);
            }
        }
        for id in gone {
            self.dismiss(id, log);
        }
        self.note_resets();
    }

    /// A service manager may have reset the floor of a cgroup above one: then the floor below it counts for nothing, and
    /// is shown as not set.
    fn note_resets(&mut self) {
        let mut reset = Vec::new();
        for one in &self.above {
            let inode = one.directory.inode;
            if one
                .value()
                .is_some_and(|now| now < self.kept_below(inode).get())
            {
                reset.push(inode);
            }
        }
        for one in &mut self.all {
            let is_reset = one.above.iter().any(|inode| reset.contains(inode));
            if one.told.ours.is_some() && is_reset {
                one.told.floor = one.told.found;
            }
        }
    }

    /// Puts their state into the sample.
    pub(super) fn tell(&mut self, protected: &mut Vec<Protected>, log: &mut UndoLog) {
        protected.clear();
        for one in &mut self.all {
            let held = one.limited.held(one.told.floor.get(), log);
            one.told.ours = held.map(|held| Bytes::new(held.ours));
            protected.push(one.told);
        }
    }

    /// Has reclaim leave `to` to a cgroup, if all together stay within `most`.
    pub(super) fn keep(
        &mut self,
        id: u64,
        to: Bytes,
        most: Bytes,
        log: &mut UndoLog,
    ) -> Result<(), Error> {
        let Some(index) = self.all.iter().position(|one| one.told.id == id) else {
            return Ok(());
        };
        let mut others = Bytes::ZERO;
        for one in &self.all {
            if one.told.id != id {
                others += one.told.ours.unwrap_or_default();
            }
        }
        if others + to > most {
            // Another is lowered by this decision, and this one is raised by the next.
            return Ok(());
        }
        self.most = most;
        self.all[index].told.ours = Some(to);
        let above = self.all[index].above.clone();
        let done = self
            .raise(&above, log)
            .and_then(|()| self.all[index].limited.set(to.get(), log));
        match &done {
            Ok(()) => self.all[index].told.floor = to,
            Err(_) => {
                self.refused.push(id);
                self.dismiss(id, log);
            }
        }
        done
    }

    /// The directory of a protected cgroup.
    pub(super) fn directory(&self, id: u64) -> Option<&Path> {
        let one = self.all.iter().find(|one| one.told.id == id)?;
        Some(&one.limited.directory.path)
    }

    /// Its memory in swap is being read back: it is not asked for again until more was swapped out.
    pub(super) fn recalled(&mut self, id: u64) {
        for one in &mut self.all {
            if one.told.id == id {
                one.told.swapped_before = one.told.swapped;
            }
        }
    }

    /// Puts a floor back, and those above it.
    pub(super) fn leave(&mut self, id: u64, log: &mut UndoLog) -> Result<(), Error> {
        let Some(one) = self.all.iter_mut().find(|one| one.told.id == id) else {
            return Ok(());
        };
        let back = one.limited.put_back(log).map(drop);
        one.told.ours = None;
        one.told.floor = one.limited.value().map_or(one.told.found, Bytes::new);
        let above = one.above.clone();
        back.and(self.raise(&above, log))
    }

    /// What we keep for cgroups below this one.
    fn kept_below(&self, inode: u64) -> Bytes {
        self.all
            .iter()
            .filter(|one| one.above.contains(&inode))
            .filter_map(|one| one.told.ours)
            .sum()
    }

    /// Gives each of these cgroups above the sum of what is below it, or what was found if that is more.
    ///
    /// Others there may have a floor of their own, which counted for nothing while there was none above it. The kernel
    /// shares what is above among all (`effective_protection` in mm/page_counter.c), so theirs is added, within
    /// the most that may be kept.
    fn raise(&self, above: &[u64], log: &mut UndoLog) -> Result<(), Error> {
        let ours: Bytes = self.all.iter().filter_map(|one| one.told.ours).sum();
        let left = self.most.get().saturating_sub(ours.get());
        let mut groups: Vec<&Limited> = self
            .above
            .iter()
            .filter(|one| above.contains(&one.directory.inode))
            .collect();
        // The innermost first: the sum of a cgroup includes those just below it.
        groups.sort_by_key(|one| std::cmp::Reverse(one.directory.path.components().count()));
        let mut beside = Vec::with_capacity(groups.len());
        for one in groups {
            let Some(found) = one.found(log) else {
                continue;
            };
            let inode = one.directory.inode;
            let below = self.kept_below(inode).get();
            let mut kept = 0;
            if below > 0 {
                kept = self.kept_by_others(&one.directory, &beside).min(left);
            }
            beside.push(Others { inode, kept });
            let to = (below + kept).max(found);
            if one.value() != Some(to) {
                one.set(to, log)?;
            }
        }
        Ok(())
    }

    /// What the cgroups just below this one keep that is none of ours; `beside` has it of those that we set.
    fn kept_by_others(&self, above: &Directory, beside: &[Others]) -> u64 {
        let names = above.names_below(&self.root);
        names
            .into_iter()
            .filter_map(|name| self.kept_by_other(above, name, beside))
            .sum()
    }

    fn kept_by_other(&self, above: &Directory, name: OsString, beside: &[Others]) -> Option<u64> {
        let directory = Directory::open(&self.root, &above.path.join(name))?;
        let inode = directory.inode;
        let is_ours = |one: &ProtectedCgroup| one.told.id == inode && one.told.ours.is_some();
        if self.all.iter().any(is_ours) {
            return None;
        }
        if let Some(known) = beside.iter().find(|others| others.inode == inode) {
            return Some(known.kept);
        }
        let floor = amount(&directory.file, "memory.min")?;
        let used = amount(&directory.file, "memory.current")?;
        Some(floor.min(used).get())
    }

    /// Puts every floor back that is still ours, and says what became of each.
    pub(super) fn restore(&mut self, log: &mut UndoLog, restored: &mut Restored) {
        for one in self.all.drain(..) {
            tell(one.limited.put_back(log), restored);
        }
        for limited in self.stuck.drain(..) {
            tell(limited.put_back(log), restored);
        }
        for limited in self.above.drain(..).rev() {
            tell(limited.put_back(log), restored);
        }
    }
}

impl ProtectedCgroup {
    /// Reads it; `None` if the cgroup is gone.
    fn read(&mut self, at: Span, waits: bool) -> Option<()> {
        let directory = &self.limited.directory.file;
        let usage = Usage::of(directory)?;
        self.told.waiting = if waits { waiting(directory) } else { None };
        let pages = usage.refaulted.unwrap_or(0);
        let page_size = rustix::param::page_size() as u64;
        self.told.used = usage.used;
        self.told.warm = usage.active;
        self.told.refaulted = Bytes::new(pages.saturating_mul(page_size));
        self.told.floor = Bytes::new(self.limited.now().ok()??);
        let swapped = usage.swapped;
        // If more was swapped out since, the recall before it says nothing any more.
        self.told.swapped_before = self
            .told
            .swapped_before
            .filter(|before| swapped.is_some_and(|swapped| swapped <= *before));
        self.told.swapped = swapped;
        self.told.at = at;
        Some(())
    }
}

/// The name of a unit: the last component of its cgroup's path.
fn name(path: &Path) -> UnitName {
    printable(path.file_name().map_or(b"", OsStrExt::as_bytes))
}
