//! Files held in memory: those whose pages are evicted and soon read again, those in use when somebody is about to have all of
//! memory, and those of programs that must answer.
//!
//! - Law: a file is held if its pages came back `away ≤ reuse` after they left, mostly (`again ≥ ½`), and often enough
//!   to be worth their memory: `returns/s · reuse ≥ pages to hold`; the densest `returns / pages` first, while the
//!   budget lasts, and most of a file if all does not fit and its pages come back [`SOON`]; one whose pages are away
//!   [`LESSER`] times as long makes way. It is let go when nobody has used it for `release-after`, or memory has not been
//!   short for so long.
//! - In use is what is read again from memory within [`SOON`], as far as the kernel tells of that: as much worth as if it had
//!   come back, but before it is lost; so it counts only while memory is about to run out.
//! - Source: the break-even interval of Gray and Putzolu's five-minute rule (1987), turned to measured returns.
//! - Cost: O(files²) of 16 files.
//! - Limit: a stream in a loop that fits into the budget is held too: it is a working set. What comes back late of a file
//!   larger than the budget is not, though it may be the part in use.

mod floor;
mod lend;
mod protected;
mod recall;

use super::{Draft, SHORT};
use crate::config::Mode;
use crate::decision::{Action, Reason};
use crate::protect::{Act, FileId, MAX_FILES, Ranges, SOON, WarmFile, Why};
use arrayvec::ArrayVec;
use std::cmp::Ordering;
use std::time::Duration;
use units::{Bytes, Micros, Pages, Percent, Span};

/// Memory that ends so soon is short now.
const AHEAD: Duration = Duration::from_secs(120);
/// Less comes back of any file now and then.
const LEAST_RETURNS: u64 = 8;
/// A file of which one in so many pages comes back is read from end to end: the rest will come back too.
const WHOLE: u64 = 8;
/// Files held anew in one decision; each brings pages in.
const MOST_AT_ONCE: usize = 4;

/// Who comes back in so many times the time of another is of less use.
const LESSER: u64 = 4;

/// A file that may be held, and what that costs.
#[derive(Clone, Copy)]
struct Candidate {
    file: FileId,
    ranges: Ranges,
    /// All of the parts.
    size: Pages,
    /// Of these, not yet asked for.
    more: Pages,
    /// Pages that are wanted again, per second, and after how long; a program needs no reason.
    why: Option<(u64, Micros)>,
    /// Nothing of it is lost yet.
    in_use: bool,
}

impl Draft<'_> {
    /// Watches while memory is short, holds what thrashes, lets go of what does not.
    pub(super) fn protect(&mut self) {
        if self.config.mode != Mode::Protect || !self.config.protect.enabled {
            return self.let_all_go(Why::Off);
        }
        let calm = self.history.calm(self.sample.at).unwrap_or(Duration::MAX);
        let quiet = calm.min(
            self.ago(self.history.distress.filled)
                .unwrap_or(Duration::MAX),
        );
        self.watch(calm, quiet);
        let held = self.let_go(quiet);
        let kept = self.keep_protected(held, calm.min(self.eased()));
        self.floors(held, calm);
        self.hold_files(held, calm, kept);
        self.recall(calm.min(self.eased()));
    }

    /// Lets go of every file, and stops watching.
    pub(super) fn let_all_go(&mut self, why: Why) {
        let sample = self.sample;
        for file in sample
            .warm
            .files
            .iter()
            .filter(|file| file.is_held())
            .filter_map(WarmFile::id)
        {
            self.step(Action::Protect(Act::Release { file }), Reason::Protect(why));
        }
        if sample.warm.sums.watching == Some(1) {
            self.step(Action::Protect(Act::Rest), Reason::Protect(why));
        }
        self.leave_protected(why);
        self.release_floors(why);
    }

    /// Watches while memory is short, `calm` being how long it has not been, and before that: what leaves before the watch
    /// begins is not known when it comes back, and what is in use takes a while to be known.
    fn watch(&mut self, calm: Duration, quiet: Duration) {
        let refaults = self.history.latest.refaults_per_second.unwrap_or(0);
        let ahead = self
            .forecast
            .exhaustion
            .is_some_and(|end| end.expected.get() < AHEAD);
        let is_short = calm < SHORT && (ahead || refaults >= self.config.gap.refault_target);
        let left = self
            .history
            .distress
            .outlook
            .and_then(|outlook| outlook.without_swap().left);
        let (act, why) = match (self.sample.warm.sums.watching, left) {
            (Some(0), _) if is_short => (Act::Watch, Why::Short { refaults }),
            (Some(0), Some(left)) if quiet.is_zero() => (Act::Watch, Why::Filling { left }),
            (Some(1), _) if quiet >= self.config.protect.release_after.get() => (
                Act::Rest,
                Why::Calm {
                    calm: Span::new(quiet),
                },
            ),
            _ => return,
        };
        self.step(Action::Protect(act), Reason::Protect(why));
    }

    /// Lets go of what is not used; what stays held is the answer.
    fn let_go(&mut self, calm: Duration) -> Pages {
        let sample = self.sample;
        let after = self.config.protect.release_after;
        let budget = self.hold_budget(self.kept());
        let called_in = self.called_in();
        let mut held = Pages::ZERO;
        for (file, id) in sample
            .warm
            .files
            .iter()
            .filter_map(|file| Some((file, file.id()?)))
        {
            if !file.is_held() {
                continue;
            }
            let size = self.asked_for(file);
            let idle = file
                .idle
                .filter(|idle| Duration::from_micros(idle.get()) >= after.get());
            let called = called_in.filter(|(called, _)| *called == id);
            let why = match (file.program == Some(1), idle, called) {
                _ if held + size > budget => {
                    let page = self.history.page_size;
                    Why::Budget {
                        held: (held + size).to_bytes(page),
                        budget: budget.to_bytes(page),
                    }
                }
                (_, _, Some((_, headroom))) => Why::Needed {
                    headroom,
                    away: file.away,
                },
                (false, Some(idle), None) => Why::Idle { idle },
                (false, None, None) if calm >= after.get() => Why::Calm {
                    calm: Span::new(calm),
                },
                _ => {
                    held += size;
                    continue;
                }
            };
            self.step(
                Action::Protect(Act::Release { file: id }),
                Reason::Protect(why),
            );
        }
        held
    }

    fn hold_files(&mut self, mut held: Pages, calm: Duration, kept: Bytes) {
        let page = self.history.page_size;
        // What is kept now and what will be: neither may meet locks that leave no room for it.
        let budget = self.hold_budget(kept.max(self.kept()));
        let sample = self.sample;
        let known = self.worthy();
        // What thrashed is left alone once memory is there again.
        let now =
            |candidate: &Candidate| candidate.why.is_none() || candidate.in_use || calm < SHORT;
        let mut open: ArrayVec<Candidate, MAX_FILES> = known.filter(now).collect();
        let running = sample
            .warm
            .files
            .iter()
            .filter(|file| file.program == Some(1));
        let mut of_programs: Pages = running.map(|file| self.asked_for(file)).sum();
        for _ in 0..MOST_AT_ONCE {
            // Programs have half of it at most: the rest is for what shows that it needs it.
            let fits = |open: &&Candidate| {
                let programs = open.why.is_some() || of_programs + open.more <= budget.scaled(1, 2);
                programs && held + open.more <= budget
            };
            let pressed = open.iter().filter(|open| open.why.is_some() && !fits(open));
            let pressed = pressed
                .min_by_key(|open| open.why.map(|(_, away)| away))
                .copied();
            if let Some((file, size)) =
                pressed.and_then(|first| self.make_way(&first, (held + first.more).less(budget)))
            {
                held = held.less(size);
                open.retain(|other| other.file != file);
                continue;
            }
            let best = open.iter().filter(fits).max_by(|a, b| a.worth(b)).copied();
            let Some(best) = best.or_else(|| self.part_of(&open, budget.less(held))) else {
                return;
            };
            open.retain(|candidate| candidate.file != best.file);
            held += best.more;
            of_programs += if best.why.is_none() {
                best.more
            } else {
                Pages::ZERO
            };
            let why = best.reason(held.to_bytes(page), budget.to_bytes(page));
            let act = Act::Hold {
                file: best.file,
                ranges: best.ranges,
                amount: best.size.to_bytes(page),
            };
            self.step(Action::Protect(act), Reason::Protect(why));
        }
    }

    /// Of what does not fit the best, as much of it as there is room for, if that is most of it: a file that is read in a
    /// circle saves as many reads as it has pages held.
    fn part_of(&self, open: &[Candidate], headroom: Pages) -> Option<Candidate> {
        let best = open
            .iter()
            .filter(|open| open.why.is_some())
            .max_by(|a, b| a.worth(b))?;
        let file = self
            .sample
            .warm
            .files
            .iter()
            .find(|file| file.id() == Some(best.file))?;
        let (pages, asked) = (self.pages_of(file), file.asked_ranges());
        let ranges = best.ranges.at_most(headroom, asked, pages);
        let size = ranges.size(pages);
        let more = size.less(asked.size(pages));
        let is_most = size.scaled(2, 1) >= best.size && more > Pages::ZERO;
        is_most.then_some(Candidate {
            ranges,
            size,
            more,
            ..*best
        })
    }

    /// Lets go of a held file whose pages come back much later than those of one for which there is too little room.
    fn make_way(&mut self, first: &Candidate, over: Pages) -> Option<(FileId, Pages)> {
        let (_, by) = first.why?;
        let sample = self.sample;
        let stays = |file: FileId| {
            !self
                .steps
                .iter()
                .any(|it| it.action == Action::Protect(Act::Release { file }))
        };
        let lesser = |file: &WarmFile| {
            let id = file.id().filter(|id| *id != first.file && stays(*id))?;
            let away = file
                .away
                .filter(|away| away.get() >= by.get().saturating_mul(LESSER))?;
            let may = file.is_held() && file.program != Some(1) && self.asked_for(file) >= over;
            may.then_some((away, id, self.asked_for(file)))
        };
        let (away, file, size) = sample
            .warm
            .files
            .iter()
            .filter_map(lesser)
            .max_by_key(|(away, ..)| *away)?;
        self.step(
            Action::Protect(Act::Release { file }),
            Reason::Protect(Why::Lesser { away, by }),
        );
        Some((file, size))
    }

    /// What is worth its memory now. What comes back late is lent while anything may be; if it is of a file larger than all
    /// that may be held, it is taken for a stream's.
    fn worthy(&self) -> impl Iterator<Item = Candidate> + '_ {
        let (may_lend, budget) = (self.may_lend(), self.hold_budget(self.kept()).get());
        let may_be_lent = move |file: &WarmFile| may_lend && self.pages_of(file) <= budget;
        let runs_out = self.runs_out().is_some();
        self.sample.warm.files.iter().filter_map(move |file| {
            let has_a_right = |open: &Candidate| {
                open.why
                    .is_none_or(|(_, away)| away <= SOON || may_be_lent(file))
            };
            let lost = self.candidate(file).filter(has_a_right);
            lost.or_else(|| self.in_use(file).filter(|_| runs_out))
        })
    }

    /// Whether a file that loses pages, or that a program runs from, is worth its memory, and how much that is.
    fn candidate(&self, file: &WarmFile) -> Option<Candidate> {
        let hot = file.hot_ranges();
        if file.program == Some(1) {
            return self.part(file, hot);
        }
        let (returns, away, again) = (file.returns?, file.away?, file.again?);
        let soon = Duration::from_micros(away.get()) <= self.config.protect.reuse.get();
        let part = self
            .wanted_again(file, hot, (returns, away))
            .filter(|_| again >= Percent::new(50) && soon)?;
        // The rest of a file that is read from end to end has not had the time to come back.
        let pages = self.pages_of(file);
        let whole = hot.size(pages).scaled(WHOLE, 1).get() >= pages;
        let best = if whole {
            self.part(file, Ranges::whole(pages))?
        } else {
            part
        };
        Some(Candidate {
            why: part.why,
            ..best
        })
    }

    /// Whether one that is used again and again would be worth its memory if it lost it. Only what was used: the rest may not
    /// be in memory, and this is no time to read.
    fn in_use(&self, file: &WarmFile) -> Option<Candidate> {
        let (uses, every) = (file.uses?, file.every?);
        let used = self
            .wanted_again(file, file.used_ranges(), (uses, every))
            .filter(|_| every <= SOON)?;
        Some(Candidate {
            in_use: true,
            ..used
        })
    }

    /// These parts of a file, of which so many pages a second are wanted again after so long.
    fn wanted_again(
        &self,
        file: &WarmFile,
        ranges: Ranges,
        why: (u64, Micros),
    ) -> Option<Candidate> {
        let (times, reuse) = (why.0, self.config.protect.reuse.get().as_secs());
        let worth = |part: &Candidate| {
            times >= LEAST_RETURNS && times.saturating_mul(reuse) >= part.size.get()
        };
        let part = self.part(file, ranges).filter(worth)?;
        Some(Candidate {
            why: Some(why),
            ..part
        })
    }

    /// These parts of a file, and what of it is held already; `None` if that is all.
    fn part(&self, file: &WarmFile, ranges: Ranges) -> Option<Candidate> {
        file.size?;
        let (pages, asked) = (self.pages_of(file), file.asked_ranges());
        let ranges = if file.is_held() {
            asked.with(ranges)
        } else {
            ranges
        };
        let size = ranges.size(pages);
        let more = size.less(asked.size(pages));
        Some(Candidate {
            file: file.id()?,
            ranges,
            size,
            more,
            why: None,
            in_use: false,
        })
        .filter(|_| more > Pages::ZERO)
    }

    /// What of the file is held, or about to be.
    fn asked_for(&self, file: &WarmFile) -> Pages {
        file.asked_ranges().size(self.pages_of(file))
    }

    /// Pages of the file, the last one in part.
    fn pages_of(&self, file: &WarmFile) -> u64 {
        file.size
            .unwrap_or(Bytes::ZERO)
            .to_pages(self.history.page_size)
            .get()
    }

    /// What may be held in all, `kept` being left to units.
    fn hold_budget(&self, kept: Bytes) -> Pages {
        let sizes = self.history.latest.sizes;
        let memory = sizes.managed.less(sizes.huge);
        self.config
            .protect
            .budget
            .of(memory)
            .min(protected::ALL.of(memory).less(kept))
            .to_pages(self.history.page_size)
    }

    /// What is left to units now.
    fn kept(&self) -> Bytes {
        self.sample
            .groups
            .protected
            .iter()
            .filter_map(|cgroup| cgroup.ours)
            .sum()
    }
}

impl Candidate {
    /// Why it is held, if with it `held` of `budget` are.
    fn reason(&self, held: Bytes, budget: Bytes) -> Why {
        match (self.why, self.in_use) {
            (Some((uses, every)), true) => Why::InUse {
                uses,
                every,
                held,
                budget,
            },
            (Some((returns, away)), false) => Why::Thrashes {
                returns,
                away,
                held,
                budget,
            },
            (None, _) => Why::Program,
        }
    }

    /// Programs first, then the more returns for each page: `returns / pages`, by cross products.
    fn worth(&self, other: &Self) -> Ordering {
        let times =
            |returns: u64, pages: Pages| u128::from(returns) * u128::from(pages.get().max(1));
        match (self.why, other.why) {
            (Some((a, _)), Some((b, _))) => times(a, other.size).cmp(&times(b, self.size)),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }
}

#[cfg(test)]
mod tests;
