//! Working set by cgroup: every control group that is a unit of its own, else every process group.
//!
//! ```text
//! memory control of version 2 ─► each unit: memory.current, memory.stat, and, where root may, the ages of its pages
//! none ────────────────────────► each process group: what is resident, of the largest what was used (smaps_rollup)
//! ```
//!
//! For the command, not for the guard: it opens files and allocates as it goes. Nothing is written, and no accessed bit is
//! taken back, so a use that was never cleared counts for ever; `tracee::watch` measures one process or group properly.
//!
//! The files of the twelve warmest can be asked, too, for what was evicted of them of late.
//!
//! Cost: three files a unit; of process groups one walk of the page tables of the twelve largest. Evictions are asked of at
//! most 512 files, and of each at most 1 GiB, 20 ns a page.

mod ages;
mod cgroups;
mod evictions;
mod process_groups;

pub(crate) use cgroups::is_unit;

use ages::Ages;
use evictions::Evictions;
use host::Error;
use pressure::scan::Place;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::{Bytes, Rate, Span};

/// Units, or process groups, and what each had at the look before.
#[derive(Debug)]
pub struct Survey {
    root: PathBuf,
    page_size: Bytes,
    before: HashMap<String, Before>,
    /// The processes of each process group, at the last look.
    process_groups: HashMap<String, Vec<u32>>,
    at: Span,
}

/// What one of them had.
#[derive(Debug, Clone, Copy)]
struct Before {
    used: Bytes,
    refaulted: Option<u64>,
}

/// What a unit, or a process group, has of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// The path of the control group, or the number of the process group.
    pub path: String,
    /// The unit's name, or that of the process that leads.
    pub name: String,
    /// What kind of place it is.
    pub place: Place,
    /// All of its memory.
    pub used: Bytes,
    /// Of it, in use.
    pub warm: Bytes,
    /// How that is known.
    pub by: By,
    /// What it has on swap; `None` where it is not told.
    pub swapped: Option<Bytes>,
    /// What reclaim leaves to it: `memory.min`.
    pub floor: Bytes,
    /// Pages read again after eviction, per second; `None` where it is not told, or at the first look.
    pub refaults: Option<u64>,
    /// Change of its memory, per second, and whether upwards.
    pub growth: Option<(Rate, bool)>,
    /// Pages read again since it was made; `None` where it is not told.
    pub refaulted: Option<u64>,
    /// Of the files that it has open or mapped, evicted of late: it would be warm if it were there. `None` where it is not
    /// told, or it was not among those that were asked.
    pub evicted: Option<Bytes>,
}

/// How a warm set is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Multi-Gen LRU: pages of its two youngest generations, and of those used within the last minute.
    Ages,
    /// The active lists of the kernel, and what was read again since the last look.
    Lists,
    /// Accessed bits of its page tables.
    Bits,
    /// DAMON: what its processes use of what they have mapped, which leaves out files that are only read.
    Damon,
    /// Nothing but that it is in memory.
    Resident,
}

impl By {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ages => "ages",
            Self::Lists => "lists",
            Self::Bits => "bits",
            Self::Damon => "damon",
            Self::Resident => "resident",
        }
    }
}

impl Survey {
    /// Of the machine at `root`. Reads nothing yet.
    pub fn of(root: &Path, page_size: Bytes) -> Self {
        Self {
            root: root.to_owned(),
            page_size,
            before: HashMap::new(),
            process_groups: HashMap::new(),
            at: Span::default(),
        }
    }

    /// Every unit that has memory now, the warmest first.
    ///
    /// Errors: `/proc` cannot be read, where there are no units.
    pub fn look(&mut self, at: Span) -> Result<Vec<Holding>, Error> {
        let ages = Ages::read(&self.root, self.page_size);
        let mut all = cgroups::all(&self.root, &ages);
        self.process_groups.clear();
        if all.is_empty() {
            for (one, pids) in process_groups::all(&self.root, self.page_size)? {
                self.process_groups.insert(one.path.clone(), pids);
                all.push(one);
            }
        }
        let elapsed = at.get().saturating_sub(self.at.get());
        for one in &mut all {
            if let Some(before) = self.before.get(&one.path) {
                self.compare(one, *before, elapsed);
            }
        }
        all.sort_by(|a, b| {
            (b.warm, b.used)
                .cmp(&(a.warm, a.used))
                .then_with(|| a.path.cmp(&b.path))
        });
        let now = |one: &Holding| {
            (
                one.path.clone(),
                Before {
                    used: one.used,
                    refaulted: one.refaulted,
                },
            )
        };
        self.before = all.iter().map(now).collect();
        self.at = at;
        Ok(all)
    }

    /// Asks the files of the first of these, as the last look had them, for what was evicted of them of late.
    pub fn ask_files(&self, all: &mut [Holding]) {
        let mut evictions = Evictions::of(&self.root, self.page_size);
        for one in all.iter_mut().take(evictions::ASKED) {
            one.evicted = evictions.of_processes(&self.members(one));
        }
    }

    /// The processes of this one, as the last look had it.
    pub fn members(&self, one: &Holding) -> Vec<u32> {
        let of_unit = || cgroups::members(&self.root, &one.path);
        self.process_groups
            .get(&one.path)
            .cloned()
            .unwrap_or_else(of_unit)
    }

    /// What changed since the look before. What was read again was in use, wherever the lists have it now.
    fn compare(&self, one: &mut Holding, before: Before, elapsed: Duration) {
        one.growth = growth(before.used, one.used, elapsed);
        let Some(pages) = one
            .refaulted
            .zip(before.refaulted)
            .and_then(|(now, before)| now.checked_sub(before))
        else {
            return;
        };
        one.refaults = (!elapsed.is_zero()).then(|| (pages as f64 / elapsed.as_secs_f64()) as u64);
        if one.by == By::Lists {
            one.warm = (one.warm + self.page_size.scaled(pages, 1)).min(one.used);
        }
    }
}

/// How fast an amount changes, and whether upwards; `None` without time.
pub fn growth(before: Bytes, now: Bytes, elapsed: Duration) -> Option<(Rate, bool)> {
    let is_more = now >= before;
    let change = if is_more {
        now.less(before)
    } else {
        before.less(now)
    };
    Some((Rate::over(change, elapsed)?, is_more))
}

#[cfg(test)]
mod tests;
