//! The groups whose memory is to stay, and those above them.

use super::find::{is_leaf, is_recursive};
use super::limited::{Limited, tell};
use super::throttled::name;
use super::usage::{Usage, amount};
use crate::error::Error;
use crate::procs::Directory;
use crate::undo::limit::Kind;
use crate::undo::{Restored, UndoLog};
use pressure::groups::Protected;
use std::path::{Path, PathBuf};
use units::{Bytes, Span};

/// All wards.
#[derive(Debug)]
pub(super) struct ProtectedCgroups {
    root: PathBuf,
    all: Vec<Kept>,
    /// Groups above wards, which must keep what those keep.
    above: Vec<Limited>,
    /// Groups whose floor could not be set: they are none of ours any more.
    refused: Vec<u64>,
    /// Those whose floor could not be put back: tried again at the end.
    stuck: Vec<Limited>,
    /// What all of them together may keep.
    most: Bytes,
}

/// One ward.
#[derive(Debug)]
struct Kept {
    limited: Limited,
    /// Inodes of the groups above it.
    above: Vec<u64>,
    told: Protected,
}

impl ProtectedCgroups {
    pub(super) fn at(root: &Path) -> Self {
        let (all, above, refused, stuck) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            root: root.to_owned(),
            all,
            above,
            refused,
            stuck,
            most: Bytes::ZERO,
        }
    }

    /// These are the wards now: who was one stays as it is, who is none any more is let go.
    pub(super) fn replace(&mut self, found: Vec<Directory>, log: &mut UndoLog) {
        let is_gone = |kept: &&Kept| {
            !found
                .iter()
                .any(|directory| directory.inode == kept.told.id)
        };
        let gone: Vec<u64> = self
            .all
            .iter()
            .filter(is_gone)
            .map(|kept| kept.told.id)
            .collect();
        gone.into_iter().for_each(|id| self.dismiss(id, log));
        for directory in found {
            let is_known = self.all.iter().any(|kept| kept.told.id == directory.inode);
            if !is_known && !self.refused.contains(&directory.inode) {
                self.admit(directory);
            }
        }
        let protected = &self.all;
        self.above.retain(|one| {
            protected
                .iter()
                .any(|kept| kept.above.contains(&one.directory.inode))
        });
    }

    fn admit(&mut self, directory: Directory) {
        // Without this a group that asks for nothing gets nothing of what is kept above it.
        if !is_leaf(&self.root, &directory) && !is_recursive(&self.root) {
            return;
        }
        let above = directory.above(&self.root);
        let inodes = above.iter().map(|directory| directory.inode).collect();
        for directory in above {
            if self
                .above
                .iter()
                .all(|one| one.directory.inode != directory.inode)
            {
                self.above.extend(Limited::open(directory, Kind::Min));
            }
        }
        let Some(limited) = Limited::open(directory, Kind::Min) else {
            return;
        };
        let found = limited
            .now()
            .ok()
            .flatten()
            .map(Bytes::new)
            .unwrap_or_default();
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
            swapped: None,
            swapped_before: None,
        };
        self.all.push(Kept {
            limited,
            above: inodes,
            told,
        });
    }

    /// Lets a ward go.
    fn dismiss(&mut self, id: u64, log: &mut UndoLog) {
        let _ = self.leave(id, log);
        let Some(index) = self.all.iter().position(|kept| kept.told.id == id) else {
            return;
        };
        let Kept { limited, .. } = self.all.swap_remove(index);
        if limited.is_held(log) {
            self.stuck.push(limited);
        }
    }

    /// Reads all of them; who is gone is let go. What a manager has reset above one shows as its own floor gone.
    pub(super) fn read(&mut self, at: Span, log: &mut UndoLog) {
        let read = |kept: &mut Kept| kept.read(at).is_none().then_some(kept.told.id);
        let gone: Vec<u64> = self.all.iter_mut().filter_map(read).collect();
        gone.into_iter().for_each(|id| self.dismiss(id, log));
        let is_less = |one: &Limited, now: u64| now < self.below(one.directory.inode).get();
        let is_reset = |one: &&Limited| {
            one.now()
                .ok()
                .flatten()
                .is_some_and(|now| is_less(one, now))
        };
        let reset: Vec<u64> = self
            .above
            .iter()
            .filter(is_reset)
            .map(|one| one.directory.inode)
            .collect();
        for kept in &mut self.all {
            if kept.told.ours.is_some() && kept.above.iter().any(|inode| reset.contains(inode)) {
                kept.told.floor = kept.told.found;
            }
        }
    }

    /// Tells how they are.
    pub(super) fn tell(&mut self, protected: &mut Vec<Protected>, log: &mut UndoLog) {
        protected.clear();
        for kept in &mut self.all {
            let held = kept.limited.held(kept.told.floor.get(), log);
            kept.told.ours = held.map(|held| Bytes::new(held.ours));
            protected.push(kept.told);
        }
    }

    /// Has reclaim leave `to` to a ward, if all wards together stay within `most`.
    pub(super) fn keep(
        &mut self,
        id: u64,
        to: Bytes,
        most: Bytes,
        log: &mut UndoLog,
    ) -> Result<(), Error> {
        let Some(index) = self.all.iter().position(|kept| kept.told.id == id) else {
            return Ok(());
        };
        let others: Bytes = self
            .all
            .iter()
            .filter(|kept| kept.told.id != id)
            .filter_map(|kept| kept.told.ours)
            .sum();
        if others + to > most {
            // A smaller one comes first, and this with the next decision.
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

    /// The folder of a ward. What it has in swap now counts as what it had before it was brought back.
    pub(super) fn directory(&self, id: u64) -> Option<&Path> {
        self.all
            .iter()
            .find(|kept| kept.told.id == id)
            .map(|kept| kept.limited.directory.path.as_path())
    }

    /// What of a ward is in swap is being read back: it is not asked for again before more has left.
    pub(super) fn recalled(&mut self, id: u64) {
        self.all
            .iter_mut()
            .filter(|kept| kept.told.id == id)
            .for_each(|kept| kept.told.swapped_before = kept.told.swapped);
    }

    /// Puts a ward's floor back, and what is above it.
    pub(super) fn leave(&mut self, id: u64, log: &mut UndoLog) -> Result<(), Error> {
        let Some(kept) = self.all.iter_mut().find(|kept| kept.told.id == id) else {
            return Ok(());
        };
        let back = kept.limited.put_back(log).map(drop);
        kept.told.ours = None;
        kept.told.floor = kept
            .limited
            .now()
            .ok()
            .flatten()
            .map_or(kept.told.found, Bytes::new);
        let above = kept.above.clone();
        back.and(self.raise(&above, log))
    }

    /// What is kept below a group.
    fn below(&self, inode: u64) -> Bytes {
        self.all
            .iter()
            .filter(|kept| kept.above.contains(&inode))
            .filter_map(|kept| kept.told.ours)
            .sum()
    }

    /// Gives each of these groups above the sum of what is below it, or what was found if that is more.
    ///
    /// Others there may have a floor of their own, which counted for nothing while there was none above it. The kernel
    /// shares what is above among all (`effective_protection` in mm/page_counter.c), so theirs is added, as far as the
    /// quarter of memory allows.
    fn raise(&self, above: &[u64], log: &mut UndoLog) -> Result<(), Error> {
        let ours: Bytes = self.all.iter().filter_map(|kept| kept.told.ours).sum();
        let spare = self.most.get().saturating_sub(ours.get());
        let mut groups: Vec<&Limited> = self
            .above
            .iter()
            .filter(|one| above.contains(&one.directory.inode))
            .collect();
        // The innermost first, since what is above them is made of what they get.
        groups.sort_by_key(|one| std::cmp::Reverse(one.directory.path.components().count()));
        let mut beside = Vec::with_capacity(groups.len());
        for one in groups {
            let Some(found) = one.found(log) else {
                continue;
            };
            let below = self.below(one.directory.inode).get();
            let others = if below > 0 {
                self.others(&one.directory, &beside).min(spare)
            } else {
                0
            };
            beside.push((one.directory.inode, others));
            let to = (below + others).max(found);
            if one.now().ok().flatten() != Some(to) {
                one.set(to, log)?;
            }
        }
        Ok(())
    }

    /// What the groups just below this one keep that is none of ours; `beside` has it of those that we set.
    fn others(&self, above: &Directory, beside: &[(u64, u64)]) -> u64 {
        let is_ours = |inode| {
            self.all
                .iter()
                .any(|kept| kept.told.id == inode && kept.told.ours.is_some())
        };
        let one = |name| {
            let directory = Directory::open(&self.root, &above.path.join(name))?;
            if is_ours(directory.inode) {
                return None;
            }
            if let Some((_, others)) = beside.iter().find(|(inode, _)| *inode == directory.inode) {
                return Some(*others);
            }
            let floor = amount(&directory.file, "memory.min")?;
            Some(floor.min(amount(&directory.file, "memory.current")?).get())
        };
        above
            .names_below(&self.root)
            .into_iter()
            .filter_map(one)
            .sum()
    }

    /// Puts every floor back that is still ours, and tells.
    pub(super) fn put_everything_back(&mut self, log: &mut UndoLog, restored: &mut Restored) {
        for limited in self
            .all
            .drain(..)
            .map(|kept| kept.limited)
            .chain(self.stuck.drain(..))
        {
            tell(limited.put_back(log), restored);
        }
        for one in self.above.drain(..).rev() {
            tell(one.put_back(log), restored);
        }
    }
}

impl Kept {
    /// Reads it; `None` if the group is gone.
    fn read(&mut self, at: Span) -> Option<()> {
        let usage = Usage::of(&self.limited.directory.file)?;
        let pages = usage.refaulted.unwrap_or(0);
        self.told.used = usage.used;
        self.told.warm = usage.active;
        self.told.refaulted = Bytes::new(pages.saturating_mul(rustix::param::page_size() as u64));
        self.told.floor = Bytes::new(self.limited.now().ok()??);
        let away = usage.swapped;
        // More has left since.
        self.told.swapped_before = self
            .told
            .swapped_before
            .filter(|before| away.is_some_and(|away| away <= *before));
        self.told.swapped = away;
        self.told.at = at;
        Some(())
    }
}
