//! Files held in memory: those that are evicted and soon refault, those in steady use when a process is
//! about to fill memory, and those of programs that must answer, while memory is short. Those that were named by
//! hand are held all the time, and first.
//!
//! - Law: a file is held if its pages refault `refault time ≤ reuse` after eviction, mostly (`again ≥ ½`),
//!   and often enough to be worth their memory: `refaults/s · reuse ≥ pages to hold`. The densest
//!   `refaults / pages` comes first, while the budget lasts. If a file that refaults [`SOON`] does not
//!   fit, most of it may be held. A file with a refault time [`LESSER`] times as long makes way. A file
//!   is released when it was unused for `release-after`, or memory has not been short for so long.
//! - A file is in use if it is read from memory again within [`SOON`], as far as the kernel tells. It is
//!   worth as much as one that refaults, before it is lost; so it counts only while memory is about to
//!   run out.
//! - Source: the break-even interval of Gray and Putzolu's five-minute rule (1987), with measured
//!   refaults.
//! - Cost: O(files²) of 16 files.
//! - Limit: a stream in a loop that fits the budget is held too: it is a working set. Of a file larger
//!   than the budget, pages that refault late are not held, though they may be the part in use.

mod kernel_floors;
mod lend;
mod memory_min;
mod named;
mod recall;

use super::draft::{Draft, SHORT};
use crate::config::{Config, Mode};
use crate::decision::{Action, Reason};
use crate::history::History;
use crate::protect::{Act, FileId, MAX_FILES, Ranges, SOON, WarmFile, Why};
use crate::sample::Sample;
use arrayvec::ArrayVec;
use std::cmp::Ordering;
use std::time::Duration;
use units::{Bytes, Micros, Pages, Percent, Span};

/// The watch begins this long before memory runs out: what is in use takes a while to show.
const AHEAD: Duration = Duration::from_secs(120);
/// Fewer refaults per second happen to any file now and then.
const LEAST_REFAULTS: u64 = 8;
/// Least share of added pages that had been evicted before: less is a stream with a few refaults.
const LEAST_AGAIN: Percent = Percent::new(50);
/// A file of which one page in this many refaults is read from end to end: the rest will refault, too.
const WHOLE: u64 = 8;
/// Files held anew in one decision. Each reads pages in, and more at once would stall others.
const MOST_AT_ONCE: usize = 4;
/// Percent of the budget that fill it: segments seldom fill it to the last page. Then only another file can make way.
const FULL: u64 = 95;
/// A file with this many times the refault time of another is of less use.
const LESSER: u64 = 4;

/// A file that may be held, and what that costs.
#[derive(Clone, Copy)]
struct Candidate {
    file: FileId,
    ranges: Ranges,
    /// Size of all parts.
    size: Pages,
    /// Size of the parts that are not held yet.
    more: Pages,
    /// Pages that are wanted again per second, and after how long; a program needs no reason.
    why: Option<(u64, Micros)>,
    /// Nothing of it is lost yet.
    in_use: bool,
}

/// When memory was last short.
struct Shortage {
    /// Time since it was short and asked for.
    calm: Duration,
    /// Time since it was, or something was about to fill it.
    quiet: Duration,
}

impl Draft<'_> {
    /// Watches while memory is short, holds what thrashes, releases what does not.
    pub(super) fn protect(&mut self) {
        if self.config.mode != Mode::Protect {
            return self.release_all(Why::Off);
        }
        let last = self.shortage();
        let Shortage { calm, quiet } = last;
        self.watch(calm, quiet);
        let named = self.hold_named();
        let held = self.release_unused(named, quiet);
        let protected = self.protect_cgroups(held, calm.min(self.since_tight()));
        self.drive_floors(held, calm);
        self.hold_files(held, &last, protected);
        self.recall(calm.min(self.since_tight()));
    }

    fn shortage(&self) -> Shortage {
        let calm = self.history.calm(self.sample.at).unwrap_or(Duration::MAX);
        let since_filled = self
            .ago(self.history.distress.filled)
            .unwrap_or(Duration::MAX);
        Shortage {
            calm,
            quiet: calm.min(since_filled),
        }
    }

    /// Whether what the holder sees may be held now: it watches, memory is short or was lately, and the budget lasts for
    /// more.
    pub(super) fn may_hold(&self) -> bool {
        let warm = &self.sample.warm;
        let budget = self.hold_budget(self.sample.groups.kept());
        let learned: Pages = warm.files.iter().map(|file| self.requested(file)).sum();
        let held = learned + self.named_asked();
        let is_full = held >= budget.scaled(FULL, 100);
        warm.sums.watching == Some(1) && self.shortage().quiet < SHORT && !is_full
    }

    /// Releases every file, limit and floor, and stops watching.
    pub(super) fn release_all(&mut self, why: Why) {
        let sample = self.sample;
        for file in sample.warm.files.iter().filter(|file| file.is_held()) {
            if let Some(file) = file.id() {
                self.protection_step(Act::Release { file }, why);
            }
        }
        self.release_named(why);
        if sample.warm.sums.watching == Some(1) {
            self.protection_step(Act::Rest, why);
        }
        self.release_cgroups(why);
        self.release_floors(why);
    }

    fn protection_step(&mut self, act: Act, why: Why) {
        self.step(Action::Protect(act), Reason::Protect(why));
    }

    /// Watches the page cache while memory is short (`calm` is how long it has not been), and before
    /// that: pages evicted before the watch begins are unknown when they refault, and use takes a while
    /// to show.
    fn watch(&mut self, calm: Duration, quiet: Duration) {
        match self.sample.warm.sums.watching {
            Some(0) => {
                if let Some(why) = self.reason_to_watch(calm, quiet) {
                    self.protection_step(Act::Watch, why);
                }
            }
            Some(1) if quiet >= self.config.protect.release_after.get() => {
                self.protection_step(Act::Rest, self.why_calm(quiet));
            }
            _ => {}
        }
    }

    /// The reason that memory has not been short for so long: no longer than the machine has run.
    fn why_calm(&self, calm: Duration) -> Why {
        Why::Calm {
            calm: Span::new(calm).min(self.sample.at),
        }
    }

    fn reason_to_watch(&self, calm: Duration, quiet: Duration) -> Option<Why> {
        let refaults = self.history.latest.refaults_per_second.unwrap_or(0);
        let ends_soon = self
            .forecast
            .exhaustion
            .is_some_and(|end| end.expected.get() < AHEAD);
        if calm < SHORT && (ends_soon || refaults >= self.config.gap.refault_target) {
            return Some(Why::Short { refaults });
        }
        let outlook = self.history.distress.outlook?;
        let left = outlook.without_swap().left?;
        if quiet.is_zero() {
            Some(Why::Filling { left })
        } else {
            None
        }
    }

    /// Releases what is not used, or has no room beside the `named` files. Returns how much stays held, with those.
    fn release_unused(&mut self, named: Pages, quiet: Duration) -> Pages {
        let sample = self.sample;
        let budget = self.hold_budget(self.sample.groups.kept());
        let called_in = self.called_in();
        let mut held = named;
        for file in sample.warm.files.iter().filter(|file| file.is_held()) {
            let Some(id) = file.id() else {
                continue;
            };
            let size = self.requested(file);
            let why = if held + size > budget {
                let page_size = self.history.page_size;
                Some(Why::Budget {
                    held: (held + size).to_bytes(page_size),
                    budget: budget.to_bytes(page_size),
                })
            } else {
                self.reason_to_release(file, called_in.filter(|(called, _)| *called == id), quiet)
            };
            match why {
                Some(why) => self.protection_step(Act::Release { file: id }, why),
                None => held += size,
            }
        }
        held
    }

    /// Why a held file that fits the budget is released: its memory is needed, or it is unused.
    fn reason_to_release(
        &self,
        file: &WarmFile,
        called_in: Option<(FileId, Bytes)>,
        quiet: Duration,
    ) -> Option<Why> {
        if let Some((_, headroom)) = called_in {
            return Some(Why::Needed {
                headroom,
                refault_time: file.refault_time,
            });
        }
        let after = self.config.protect.release_after.get();
        let is_program = file.program == Some(1);
        let idle = file
            .idle
            .filter(|idle| !is_program && Duration::from_micros(idle.get()) >= after);
        if let Some(idle) = idle {
            return Some(Why::Idle { idle });
        }
        if quiet >= after {
            return Some(self.why_calm(quiet));
        }
        None
    }

    fn hold_files(&mut self, mut held: Pages, last: &Shortage, protected: Bytes) {
        let page_size = self.history.page_size;
        // Memory that cgroups have protected now and will have: locks must leave headroom for both.
        let budget = self.hold_budget(protected.max(self.sample.groups.kept()));
        let mut of_programs = self.held_for_programs();
        let mut open: ArrayVec<Candidate, MAX_FILES> = self
            .worthy()
            .filter(|open| open.is_wanted_now(last))
            .collect();
        for _ in 0..MOST_AT_ONCE {
            // Programs have half of it at most: the rest is for files that show that they need it.
            let fits = |open: &&Candidate| {
                let may_be_program =
                    open.why.is_some() || of_programs + open.more <= budget.scaled(1, 2);
                may_be_program && held + open.more <= budget
            };
            let pressed = open
                .iter()
                .filter(|open| open.why.is_some() && !fits(open))
                .min_by_key(|open| open.why.map(|(_, time)| time))
                .copied();
            let made_way =
                pressed.and_then(|first| self.make_way(&first, (held + first.more).less(budget)));
            if let Some((file, size)) = made_way {
                held = held.less(size);
                open.retain(|other| other.file != file);
                continue;
            }
            let best = open
                .iter()
                .filter(fits)
                .max_by(|a, b| a.compare_worth(b))
                .copied();
            let Some(best) = best.or_else(|| self.part_of(&open, budget.less(held))) else {
                return;
            };
            open.retain(|candidate| candidate.file != best.file);
            held += best.more;
            if best.why.is_none() {
                of_programs += best.more;
            }
            let why = best.reason(held.to_bytes(page_size), budget.to_bytes(page_size));
            let act = Act::Hold {
                file: best.file,
                ranges: best.ranges,
                amount: best.size.to_bytes(page_size),
            };
            self.protection_step(act, why);
        }
    }

    /// Pages that are held, or to be, because programs that must answer run from them.
    fn held_for_programs(&self) -> Pages {
        self.sample
            .warm
            .files
            .iter()
            .filter(|file| file.program == Some(1))
            .map(|file| self.requested(file))
            .sum()
    }

    /// The best of what does not fit, as much of it as fits, if that is most of it. A file that is read in
    /// a loop saves as many reads as it has pages held.
    fn part_of(&self, open: &[Candidate], budget: Pages) -> Option<Candidate> {
        let best = open
            .iter()
            .filter(|open| open.why.is_some())
            .max_by(|a, b| a.compare_worth(b))?;
        let file = self
            .sample
            .warm
            .files
            .iter()
            .find(|file| file.id() == Some(best.file))?;
        let pages = self.pages_of(file);
        let requested = file.asked_ranges();
        // What its segments have beside what is held is then held, too.
        let measured = requested.measured_as(best.ranges);
        let beside = measured.size(pages).less(self.requested(file));
        let ranges = best.ranges.at_most(budget.less(beside), requested, pages);
        let size = ranges.size(pages);
        let more = size.less(self.requested(file));
        let is_most = size.scaled(2, 1) >= best.size && more > Pages::ZERO;
        if !is_most {
            return None;
        }
        Some(Candidate {
            ranges,
            size,
            more,
            ..*best
        })
    }

    /// Releases a held file with a much longer refault time than one that does not fit, if that frees
    /// `over` pages.
    fn make_way(&mut self, first: &Candidate, over: Pages) -> Option<(FileId, Pages)> {
        let (_, by) = first.why?;
        let sample = self.sample;
        let lesser = sample
            .warm
            .files
            .iter()
            .filter(|file| file.is_held() && file.program != Some(1))
            .filter(|file| self.requested(file) >= over)
            .filter_map(|file| Some((file, file.id()?, file.refault_time?)))
            .filter(|(_, id, _)| *id != first.file && !self.is_released(*id))
            .filter(|(_, _, time)| time.get() >= by.get().saturating_mul(LESSER));
        let (file, id, refault_time) = lesser.max_by_key(|(_, _, time)| *time)?;
        self.protection_step(Act::Release { file: id }, Why::Lesser { refault_time, by });
        Some((id, self.requested(file)))
    }

    /// Whether this decision releases the file already.
    fn is_released(&self, file: FileId) -> bool {
        let release = Action::Protect(Act::Release { file });
        self.steps.iter().any(|step| step.action == release)
    }

    /// The files that are worth their memory now. A file that refaults late is lent memory while any may
    /// be lent. If it is larger than all that may be held, it is taken for a stream.
    fn worthy(&self) -> impl Iterator<Item = Candidate> + '_ {
        let may_lend = self.may_lend();
        let budget = self.hold_budget(self.sample.groups.kept()).get();
        let runs_out = self.runs_out().is_some();
        self.sample.warm.files.iter().filter_map(move |file| {
            let may_be_lent = may_lend && self.pages_of(file) <= budget;
            let thrashing = self
                .candidate(file)
                .filter(|open| open.is_wanted_soon() || may_be_lent);
            if thrashing.is_some() || !runs_out {
                return thrashing;
            }
            self.in_use(file)
        })
    }

    /// A file that thrashes, or that a program runs from, if it is worth its memory.
    fn candidate(&self, file: &WarmFile) -> Option<Candidate> {
        let hot = file.hot_ranges();
        if file.program == Some(1) {
            return self.part(file, hot);
        }
        let refaults = file.refaults?;
        let refault_time = file.refault_time?;
        let again = file.again?;
        let part = self.wanted_again(file, hot, (refaults, refault_time))?;
        let is_soon = Duration::from_micros(refault_time.get()) <= self.config.protect.reuse.get();
        if again < LEAST_AGAIN || !is_soon {
            return None;
        }
        // The rest of a file that is read from end to end has not had the time to refault.
        let pages = self.pages_of(file);
        let is_whole = hot.size(pages).scaled(WHOLE, 1).get() >= pages;
        if !is_whole {
            return Some(part);
        }
        Some(Candidate {
            why: part.why,
            ..self.part(file, Ranges::whole(pages))?
        })
    }

    /// A file in steady use that would be worth its memory if it lost it. Only the parts that were used:
    /// the rest may not be in memory, and this is no time to read.
    fn in_use(&self, file: &WarmFile) -> Option<Candidate> {
        let uses = file.uses?;
        let every = file.every?;
        if every > SOON {
            return None;
        }
        let used = self.wanted_again(file, file.used_ranges(), (uses, every))?;
        Some(Candidate {
            in_use: true,
            ..used
        })
    }

    /// Parts of a file of which some pages per second are wanted again after some time, if that is worth
    /// their memory.
    fn wanted_again(
        &self,
        file: &WarmFile,
        ranges: Ranges,
        why: (u64, Micros),
    ) -> Option<Candidate> {
        let (times, _) = why;
        let reuse = self.config.protect.reuse.get().as_secs();
        let part = self.part(file, ranges)?;
        if times < LEAST_REFAULTS || times.saturating_mul(reuse) < part.size.get() {
            return None;
        }
        Some(Candidate {
            why: Some(why),
            ..part
        })
    }

    /// Parts of a file with those that are held already; `None` if that adds nothing.
    fn part(&self, file: &WarmFile, ranges: Ranges) -> Option<Candidate> {
        file.size?;
        let pages = self.pages_of(file);
        let requested = file.asked_ranges();
        let ranges = if file.is_held() {
            requested.with(ranges)
        } else {
            ranges
        };
        let size = ranges.size(pages);
        if size == requested.size(pages) {
            return None;
        }
        Some(Candidate {
            file: file.id()?,
            ranges,
            size,
            more: size.less(self.requested(file)),
            why: None,
            in_use: false,
        })
    }

    /// Pages of the file that are held, or are to be.
    fn requested(&self, file: &WarmFile) -> Pages {
        match file.amount {
            Some(amount) => amount.to_pages(self.history.page_size),
            None => file.asked_ranges().size(self.pages_of(file)),
        }
    }

    /// Pages of the file, the last one in part.
    fn pages_of(&self, file: &WarmFile) -> u64 {
        file.size
            .unwrap_or(Bytes::ZERO)
            .to_pages(self.history.page_size)
            .get()
    }

    /// The most that may be held, if cgroups have `protected` of memory.
    fn hold_budget(&self, protected: Bytes) -> Pages {
        budget(self.config, self.history, protected)
    }
}

/// The most of files that may be locked now: whole pages of the memory that `history` has last seen; zero before that.
pub fn most_held(config: &Config, history: &History, sample: &Sample) -> Bytes {
    budget(config, history, sample.groups.kept()).to_bytes(history.page_size)
}

fn budget(config: &Config, history: &History, protected: Bytes) -> Pages {
    let sizes = history.latest.sizes;
    let memory = sizes.managed.less(sizes.huge);
    config
        .protect
        .budget
        .of(memory)
        .min(memory_min::ALL.of(memory).less(protected))
        .to_pages(history.page_size)
}

impl Candidate {
    /// Whether memory is short enough to hold it. What thrashed is left alone once that is over; a
    /// program is also held before, when something is about to fill memory.
    fn is_wanted_now(&self, last: &Shortage) -> bool {
        match self.why {
            Some(_) => self.in_use || last.calm < SHORT,
            None => last.quiet < SHORT,
        }
    }

    /// Whether a program runs from it, or it is wanted again within [`SOON`].
    fn is_wanted_soon(&self) -> bool {
        self.why.is_none_or(|(_, time)| time <= SOON)
    }

    /// Why it is held, if with it `held` of `budget` are.
    fn reason(&self, held: Bytes, budget: Bytes) -> Why {
        match (self.why, self.in_use) {
            (Some((uses, every)), true) => Why::InUse {
                uses,
                every,
                held,
                budget,
            },
            (Some((refaults, refault_time)), false) => Why::Thrashes {
                refaults,
                refault_time,
                held,
                budget,
            },
            (None, _) => Why::Program,
        }
    }

    /// Programs first, then the more refaults for each page: `refaults / pages`, by cross products.
    fn compare_worth(&self, other: &Self) -> Ordering {
        match (self.why, other.why) {
            (Some((mine, _)), Some((theirs, _))) => {
                cross(mine, other.size).cmp(&cross(theirs, self.size))
            }
            (mine, theirs) => theirs.is_some().cmp(&mine.is_some()),
        }
    }
}

fn cross(refaults: u64, pages: Pages) -> u128 {
    u128::from(refaults) * u128::from(pages.get().max(1))
}

#[cfg(test)]
mod tests;
