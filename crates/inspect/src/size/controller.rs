//! How much to take next, from what the unit answered so far. Pure.
//!
//! ```text
//! Rest ──a window──► Take ──what was taken comes back, or it waits──► Hold ──a window of quiet──► Take
//!   └─ it waits, or reads again, by itself: the end           └─ nothing is left to take ─► Hold
//! ```
//!
//! A step is at most as large as this: if all of it came back as fast as it is taken, the unit would wait for the budget and no
//! longer. What a page costs that comes back is assumed, until it is measured to be more.

use super::{End, Event, EventKind, Record, Sample, Taken};
use std::collections::VecDeque;
use std::time::Duration;
use units::{Bytes, Micros, Percent, Span};

/// Pages that must have come back before their cost is measured: fewer are within what the kernel counts late.
const ENOUGH_TO_MEASURE: u64 = 256;
/// The dearest that a page can be: a seek of a rotating disk. Without a bound, waiting for something else would end all steps.
const DEAREST: f64 = 10_000.0;
/// Looks over which what came back is compared with what was taken. The kernel counts refaults up to 2 s late
/// (`FLUSH_TIME` of mm/memcontrol.c), and a look is made each second by default.
const COMPARED: usize = 3;
/// It is too small if more than this part of what was taken comes back: the kernel's lists are no exact order, so some pages
/// that are taken are in use at any size.
const PART: u64 = 4;
/// Pages of a step at least, so that of a unit of a few MiB something is taken, too: the kernel takes up to 32 at once
/// (`SWAP_CLUSTER_MAX`).
const LEAST: u64 = 8;
/// Pages that may come back without being an answer.
const NOISE: u64 = 32;
/// A request that takes so many times what was asked for is answered by smaller ones. The Multi-Gen LRU takes most too much where
/// little is left that is not in use: 28 MiB for 0.6 MiB were seen.
const TOO_MUCH: u64 = 4;
/// Steps are at most so many times smaller after answers: they still are larger than what may come back by chance.
const MOST_CAUTION: u64 = 16;
/// Requests in a row that must give little before nothing is left to take.
const EMPTY: u32 = 3;

/// What bounds a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Share of time for which all tasks of the unit may wait for memory, within any window.
    pub budget: Percent,
    /// A step takes at most this share of what it has.
    pub step: Percent,
    /// Time between two looks.
    pub interval: Span,
    /// The sliding window.
    pub window: Span,
    /// Bytes of a page.
    pub page: Bytes,
    /// What a page that comes back costs, until that is measured: [`super::cost_of_a_page`].
    pub assumed: Micros,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Look again.
    Wait,
    /// Take this much.
    Take(Bytes),
    /// Nothing can be taken: it is short of memory already.
    End,
}

/// What it is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It watches only.
    Rest,
    /// It takes.
    Take,
    /// It waits until nothing comes back any more.
    Hold,
}

impl Phase {
    /// In a word, for a person who waits.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rest => "watching",
            Self::Take => "taking",
            Self::Hold => "giving back",
        }
    }
}

/// The state between two looks.
#[derive(Debug, Clone)]
pub struct Controller {
    options: Options,
    phase: Phase,
    /// When the phase began.
    since: Duration,
    /// Looks of the last window, the oldest first, with what had been taken in all until then.
    seen: VecDeque<(Sample, Bytes)>,
    taken: Bytes,
    /// The largest step since it takes.
    largest: Bytes,
    /// How much more the last request took than was asked for: 1.0 is as much.
    excess: f64,
    /// Steps are so many times smaller: twice after each answer, and half after a window without one.
    caution: u64,
    /// Before anything was taken: what came back in a window, and the share of time that it waited.
    rest: Option<(Bytes, Percent)>,
    /// The look before anything was taken.
    begin: Option<Sample>,
    /// The smallest that a step has made it since it takes.
    low: Option<Bytes>,
    /// Requests in a row that gave little.
    empty: u32,
    events: Vec<Event>,
    worst: Percent,
}

impl Controller {
    /// Nothing was looked at yet.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            phase: Phase::Rest,
            since: Duration::ZERO,
            seen: VecDeque::new(),
            taken: Bytes::ZERO,
            largest: Bytes::ZERO,
            excess: 1.0,
            caution: 1,
            rest: None,
            begin: None,
            low: None,
            empty: 0,
            events: Vec::new(),
            worst: Percent::ZERO,
        }
    }

    /// What it is doing.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// What has been taken so far.
    pub fn taken(&self) -> Bytes {
        self.taken
    }

    /// Decides by the newest look.
    pub fn next(&mut self, sample: &Sample) -> Next {
        self.see(sample);
        let waited = self.waited();
        self.worst = self.worst.max(waited);
        match self.phase {
            Phase::Rest => self.rest(sample, waited),
            Phase::Take => self.go_on(sample, waited),
            Phase::Hold => self.hold(sample, waited),
        }
    }

    /// Takes note of what a request came to.
    pub fn took(&mut self, taken: Taken) {
        self.taken += taken.got;
        self.largest = self.largest.max(taken.got);
        self.excess = (taken.got.get() as f64 / taken.asked.get().max(1) as f64).max(1.0);
        if taken.got > taken.asked.scaled(TOO_MUCH, 1) {
            self.be_careful();
        }
        if let Some((sample, _)) = self.seen.back() {
            let size = sample.used.less(taken.got);
            self.low = Some(self.low.map_or(size, |low| low.min(size)));
        }
        let is_little = taken.got < taken.asked.scaled(1, PART);
        self.empty = if is_little { self.empty + 1 } else { 0 };
    }

    /// The measurement as a whole.
    pub fn record(self, samples: Vec<Sample>, end: End) -> Record {
        Record {
            samples,
            taken: self.taken,
            events: self.events,
            worst: self.worst,
            at_rest: self.rest.map(|(_, waited)| waited),
            end,
        }
    }

    /// Keeps the looks of one window, and the last one before it.
    fn see(&mut self, sample: &Sample) {
        self.seen.push_back((*sample, self.taken));
        let window = self.options.window.get();
        let now = sample.at.get();
        while self
            .seen
            .get(1)
            .is_some_and(|(second, _)| now.saturating_sub(second.at.get()) >= window)
        {
            self.seen.pop_front();
        }
    }

    /// The share of the window in which it waited.
    fn waited(&self) -> Percent {
        let Some(((first, _), (last, _))) = self.seen.front().zip(self.seen.back()) else {
            return Percent::ZERO;
        };
        let waited = last.stalled.get().saturating_sub(first.stalled.get());
        // A window that has only begun counts as a whole one, so that one moment is no alarm.
        let elapsed = last.at.get().saturating_sub(first.at.get());
        let time = elapsed.max(self.options.window.get());
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Percent::ratio(waited, time).unwrap_or_default()
    }

    /// What came back over the last so many looks beyond what comes back at rest, and what was taken.
    fn compared(&self, looks: usize) -> (Bytes, Bytes) {
        let from = self.seen.len().saturating_sub(looks + 1);
        let Some(((first, taken), (last, now))) = self.seen.get(from).zip(self.seen.back()) else {
            return (Bytes::ZERO, Bytes::ZERO);
        };
        let elapsed = last.at.get().saturating_sub(first.at.get());
        let usual = self.rest.map_or(Bytes::ZERO, |(rest, _)| {
            let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
            rest.scaled(micros(elapsed), micros(self.options.window.get()))
        });
        let came = last.refaulted.less(first.refaulted).less(usual);
        (came, now.less(*taken))
    }

    fn be_careful(&mut self) {
        self.caution = (self.caution * 2).min(MOST_CAUTION);
    }

    fn noise(&self) -> Bytes {
        self.options.page.scaled(NOISE, 1)
    }

    fn enter(&mut self, phase: Phase, sample: &Sample) {
        self.phase = phase;
        self.since = sample.at.get();
        self.low = None;
        self.largest = Bytes::ZERO;
        self.empty = 0;
    }

    fn note(&mut self, kind: EventKind, sample: &Sample, size: Bytes) {
        let at = sample.at;
        self.events.push(Event {
            at,
            size,
            step: self.largest,
            kind,
        });
    }

    fn rest(&mut self, sample: &Sample, waited: Percent) -> Next {
        let elapsed = sample.at.get().saturating_sub(self.since);
        if elapsed < self.options.window.get() {
            return Next::Wait;
        }
        let (came, _) = self.compared(self.seen.len());
        self.rest = Some((came, waited));
        self.begin = Some(*sample);
        // Half of the budget must be left for what is taken.
        let is_slowed = waited.get() * 2 > self.options.budget.get();
        if is_slowed || (sample.is_at_limit() && came > self.noise()) {
            return Next::End;
        }
        self.enter(Phase::Take, sample);
        self.take(sample, waited)
    }

    fn go_on(&mut self, sample: &Sample, waited: Percent) -> Next {
        let (came, taken) = self.compared(COMPARED);
        let came_back = came > self.noise().max(taken.scaled(1, PART));
        if came_back || waited >= self.options.budget {
            let low = self.low.unwrap_or(sample.used);
            self.note(EventKind::Missed, sample, low);
            self.be_careful();
            self.enter(Phase::Hold, sample);
            return Next::Wait;
        }
        if self.empty >= EMPTY {
            self.note(EventKind::Floor, sample, sample.used);
            self.enter(Phase::Hold, sample);
            return Next::Wait;
        }
        let elapsed = sample.at.get().saturating_sub(self.since);
        if elapsed >= self.options.window.get() {
            self.since = sample.at.get();
            self.caution = (self.caution / 2).max(1);
        }
        self.take(sample, waited)
    }

    fn hold(&mut self, sample: &Sample, waited: Percent) -> Next {
        let elapsed = sample.at.get().saturating_sub(self.since);
        if elapsed < self.options.window.get() {
            return Next::Wait;
        }
        let (came, _) = self.compared(self.seen.len());
        if came > self.noise() || waited.get() * 2 > self.options.budget.get() {
            return Next::Wait;
        }
        self.note(EventKind::Quiet, sample, sample.used);
        self.enter(Phase::Take, sample);
        self.take(sample, waited)
    }

    /// A step, in proportion to what is left of the budget.
    fn take(&self, sample: &Sample, waited: Percent) -> Next {
        let budget = self.options.budget.get();
        let left = budget.saturating_sub(waited.get());
        let step = self.most(sample).scaled(left, budget.max(1));
        if step < self.options.page {
            return Next::Wait;
        }
        Next::Take(step)
    }

    /// The largest step: a share of what it has, and what may come back within one look.
    fn most(&self, sample: &Sample) -> Bytes {
        let time = self.options.interval.get().as_micros() as f64 * self.options.budget.fraction();
        let pages = (time / self.cost(sample) / self.excess) as u64;
        let affordable = self.options.page.scaled(pages.max(1), 1);
        let share = self.options.step.of(sample.used);
        let step = affordable.min(share.max(self.options.page.scaled(LEAST, 1)));
        step.scaled(1, self.caution).max(self.options.page)
    }

    /// Microseconds that all of its tasks wait for a page that comes back. The kernel counts no wait for some pages that come back
    /// (those that were not active), so a measurement makes it dearer than assumed and never cheaper.
    fn cost(&self, sample: &Sample) -> f64 {
        let assumed = self.options.assumed.get() as f64;
        let Some(begin) = &self.begin else {
            return assumed;
        };
        let pages = sample.refaulted.less(begin.refaulted).get() / self.options.page.get().max(1);
        if pages < ENOUGH_TO_MEASURE {
            return assumed;
        }
        let waited = sample.stalled.get().saturating_sub(begin.stalled.get());
        (waited as f64 / pages as f64).min(DEAREST).max(assumed)
    }
}
