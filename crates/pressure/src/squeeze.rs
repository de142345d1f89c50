//! Unused memory of units is taken, a little at a time: what each unit has answered so far.
//!
//! - Law, at each reading: a unit *answers* if more than a quarter of what was taken over the last
//!   [`COMPARED`] readings was read again, or if all its tasks waited for longer than the budget. Then it
//!   rests, each time for twice as long. A step is at most `budget · time / cost of a page` pages: if all of
//!   it came back, the unit would wait for the budget and no longer.
//! - Source: Senpai takes a share of the unit that shrinks with its pressure (Weiner et al., TMO, ASPLOS
//!   2022, 3.3). Here a refault answers, too: the kernel counts no wait for a page that was not on the
//!   active list.
//! - Cost: O(1) for each unit and reading; no allocation.
//! - Limit: what refaults for another reason, such as a shortage of the whole machine, is an answer as well.

use crate::config::Squeeze as Keys;
use crate::groups::{MAX_SQUEEZED, Squeezed};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Micros, Percent, Span};

/// Steps over which what came back is compared with what was taken: 15 s. The kernel counts refaults up to
/// 2 s late (`FLUSH_TIME` of mm/memcontrol.c), and a program uses again what it uses every few seconds.
pub(crate) const COMPARED: usize = 3;
/// Readings that are kept: one more than steps that lie between them.
const LOOKS: usize = COMPARED + 1;
/// A unit answers if more than one part in this many came back: the kernel's lists are no exact order, so
/// some pages that are taken are in use at any size.
const PART: u64 = 4;
/// So much may come back without being an answer: a command that starts in the unit reads as much.
const NOISE: Bytes = Bytes::kib(128);
/// The first rest after an answer. A shorter one asks a busy unit again before it is calm.
const REST: Duration = Duration::from_secs(60);
/// The longest rest: what a unit uses may be less an hour later.
const LONGEST_REST: Duration = Duration::from_secs(3600);
/// The rest when nothing is left to take: what it uses now grows old meanwhile.
const EMPTY_REST: Duration = Duration::from_secs(600);
/// Requests in a row that must give little before nothing is left to take.
const EMPTY: u32 = 3;
/// Without an answer for so long after a rest, the next rest is the first one again.
const CALM: Duration = Duration::from_secs(600);
/// What a page that comes back costs until more is measured: a read of a solid-state disk.
const ASSUMED: Micros = Micros::new(50);
/// The dearest that a page can be: a seek of a rotating disk. Without a bound, waiting for something else
/// would end all steps.
const DEAREST: Micros = Micros::new(10_000);
/// Pages that must have come back before their cost is measured: fewer are within what is counted late.
const ENOUGH_TO_MEASURE: u64 = 256;
/// A step is at most one part in this many of the unit, however little a page costs. The Multi-Gen LRU may
/// take more than it is asked for, and what it takes is compared before the next step.
const SHARE: u64 = 64;
/// A step is for so long at most, whatever the time since the last reading: after a pause of the machine
/// it would otherwise be the whole unit.
const LONGEST_STEP: Duration = Duration::from_secs(10);
/// Less is not asked for: the kernel takes up to 32 pages at once (`SWAP_CLUSTER_MAX`).
const LEAST: Bytes = Bytes::kib(128);

/// All units that are squeezed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Squeezes {
    budget: Percent,
    units: ArrayVec<Squeeze, MAX_SQUEEZED>,
}

/// One unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Squeeze {
    id: u64,
    /// The oldest first.
    looks: ArrayVec<Look, LOOKS>,
    /// Taken and not read again since.
    away: Bytes,
    /// What a page that comes back costs.
    cost: Micros,
    /// Requests in a row that gave little.
    empty: u32,
    /// How long the last rest after an answer was.
    rest: Span,
    rests_until: Option<Span>,
    /// The answer of the last reading, if it had one.
    answer: Option<Answer>,
}

/// What one reading says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Look {
    at: Span,
    refaulted: Bytes,
    waited: Micros,
    asked: Bytes,
    taken: Bytes,
}

/// What happened over the readings that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lately {
    /// Taken.
    pub(crate) taken: Bytes,
    /// Read again.
    pub(crate) back: Bytes,
    /// Share of time in which all of its tasks waited.
    pub(crate) waited: Percent,
}

/// Why a unit rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) lately: Lately,
    /// Nothing was left to take; else something came back.
    pub(crate) is_empty: bool,
    /// For how long.
    pub(crate) rest: Span,
}

impl Squeezes {
    /// None yet.
    pub(crate) fn new(keys: &Keys) -> Self {
        Self {
            budget: keys.budget,
            units: ArrayVec::new(),
        }
    }

    /// Goes on with another configuration.
    pub(crate) fn go_on_by(&mut self, keys: &Keys) {
        self.budget = keys.budget;
    }

    /// Takes readings in. A unit that is squeezed no more is forgotten.
    pub(crate) fn push(&mut self, squeezed: &[Squeezed], page: Bytes) {
        self.units
            .retain(|unit| squeezed.iter().any(|one| one.id == unit.id));
        for one in squeezed {
            let known = self.units.iter().position(|unit| unit.id == one.id);
            match known {
                Some(index) => self.units[index].read(one, self.budget, page),
                None => {
                    let _ = self.units.try_push(Squeeze::new(one));
                }
            }
        }
    }

    /// What is known of this unit, if it was read just now.
    pub(crate) fn of(&self, one: &Squeezed, now: Span) -> Option<&Squeeze> {
        self.units
            .iter()
            .find(|unit| unit.id == one.id && one.at == now)
    }

    /// Memory that was taken of all of them and not read again; `None` if no unit is squeezed.
    pub(crate) fn away(&self) -> Option<Bytes> {
        if self.units.is_empty() {
            return None;
        }
        Some(self.units.iter().map(|unit| unit.away).sum())
    }

    /// The most that its tasks may wait.
    pub(crate) fn budget(&self) -> Percent {
        self.budget
    }
}

impl Squeeze {
    fn new(one: &Squeezed) -> Self {
        let mut looks = ArrayVec::new();
        looks.push(Look::of(one));
        Self {
            id: one.id,
            looks,
            away: Bytes::ZERO,
            cost: ASSUMED,
            empty: 0,
            rest: Span::default(),
            rests_until: None,
            answer: None,
        }
    }

    fn read(&mut self, one: &Squeezed, budget: Percent, page: Bytes) {
        let now = Look::of(one);
        let Some(last) = self.looks.last().copied() else {
            return;
        };
        if now.at <= last.at {
            return;
        }
        self.answer = None;
        let got = now.taken.less(last.taken);
        self.away = (self.away + got).less(now.refaulted.less(last.refaulted));
        let asked = now.asked.less(last.asked);
        if asked > Bytes::ZERO {
            let is_little = got < asked.scaled(1, PART);
            self.empty = if is_little { self.empty + 1 } else { 0 };
        }
        if self.looks.is_full() {
            self.looks.remove(0);
        }
        self.looks.push(now);
        let Some(lately) = self.lately() else {
            return;
        };
        self.measure(lately, page);
        if !self.rests(now.at) {
            self.take_answer(lately, budget, now.at);
        }
    }

    /// What happened over the readings that are kept; `None` before there are two.
    pub(crate) fn lately(&self) -> Option<Lately> {
        let first = self.looks.first()?;
        let last = self.looks.last()?;
        let elapsed = last.at.get().saturating_sub(first.at.get());
        let waited = last.waited.get().saturating_sub(first.waited.get());
        Some(Lately {
            taken: last.taken.less(first.taken),
            back: last.refaulted.less(first.refaulted),
            waited: Percent::ratio(waited, elapsed.as_micros() as u64)?,
        })
    }

    /// Measures what a page that came back has cost. Only more than before counts: a page may also come back unwaited for.
    fn measure(&mut self, lately: Lately, page: Bytes) {
        let pages = lately.back.to_pages(page).get();
        let (Some(first), Some(last)) = (self.looks.first(), self.looks.last()) else {
            return;
        };
        if pages >= ENOUGH_TO_MEASURE {
            let waited = last.waited.get().saturating_sub(first.waited.get());
            let measured = Micros::new(waited / pages).min(DEAREST);
            self.cost = self.cost.max(measured);
        }
    }

    fn take_answer(&mut self, lately: Lately, budget: Percent, now: Span) {
        let comes_back = lately.back > lately.taken.scaled(1, PART) + NOISE;
        let is_empty = self.empty >= EMPTY;
        if comes_back || lately.waited > budget {
            let is_again = self
                .rests_until
                .is_some_and(|until| now.get().saturating_sub(until.get()) < CALM);
            let rest = if is_again {
                (self.rest.get() * 2).clamp(REST, LONGEST_REST)
            } else {
                REST
            };
            self.rest = Span::new(rest);
            self.rest_for(rest, lately, false, now);
        } else if is_empty {
            self.rest_for(EMPTY_REST, lately, true, now);
        }
    }

    fn rest_for(&mut self, rest: Duration, lately: Lately, is_empty: bool, now: Span) {
        self.empty = 0;
        self.rests_until = Some(Span::new(now.get() + rest));
        self.answer = Some(Answer {
            lately,
            is_empty,
            rest: Span::new(rest),
        });
    }

    /// Whether nothing is to be taken of it now.
    pub(crate) fn rests(&self, now: Span) -> bool {
        self.rests_until.is_some_and(|until| now < until)
    }

    /// Why it began to rest at the last reading.
    pub(crate) fn answer(&self) -> Option<Answer> {
        self.answer
    }

    /// Taken of it and not read again since.
    pub(crate) fn away(&self) -> Bytes {
        self.away
    }

    /// How much may be taken now, of a unit that has so much; `None` if it is too little, or before the second reading.
    pub(crate) fn step(&self, used: Bytes, budget: Percent, page: Bytes) -> Option<Bytes> {
        let mut newest = self.looks.iter().rev();
        let last = newest.next()?;
        let before = newest.next()?;
        let elapsed = last.at.get().saturating_sub(before.at.get());
        let time = elapsed.min(LONGEST_STEP).as_micros() as u64;
        let waits = time * budget.get() / Percent::WHOLE.get();
        let pages = waits / self.cost.get().max(1);
        let step = Bytes::new(pages * page.get()).min(used.scaled(1, SHARE));
        if step >= LEAST { Some(step) } else { None }
    }
}

impl Look {
    fn of(one: &Squeezed) -> Self {
        Self {
            at: one.at,
            refaulted: one.refaulted,
            waited: one.waited,
            asked: one.asked,
            taken: one.taken,
        }
    }
}

#[cfg(test)]
mod tests;
