//! Whether memory is about to run out for good, and who makes it.
//!
//! One number decides: the room that is left for memory which cannot be given back, against the speed at which such
//! memory grows. Pressure, refaults and watermarks each move that number; none of them alone ends a process.
//!
//! ```text
//! room    = (free − min)⁺ + (file cache + lent − floor)⁺ + reclaimable slab / 2 + swap     [bytes]
//! floor   = least + (most − least) · min(1, refaults / (4 % of memory a second))           [bytes]
//! growth  = min over 0.4 s and 2 s (with hardly any room: over 2 s) of
//!           Δ(anon + shmem + unreclaimable + swap used)/Δt                                  [bytes/s]
//! left    = (room + in flight) / growth                                                     [s]
//! ```
//!
//! A control group that meets its own limit raises pressure and leaves room and growth as they are: it is not
//! distress of the machine. Free swap of compressed memory counts by what it will cost in memory. *In flight* is the
//! memory of those who were signalled and have not yet given it back.
//!
//! Cost: a few µs a sample; no allocation. Source: the base stock of `demand`, turned around. Known limits: growth in
//! tmpfs has no owner; two windows of growth need 0.4 s of samples, so an answer comes no sooner.

mod choice;
mod growth;
mod headroom;
mod ladder;
mod pushing;
mod roles;

pub use choice::{Considered, Extent, Verdict};
pub use growth::Growth;
pub use headroom::Outlook;
pub use roles::{Exemption, exemption, is_a_persons, keeps_the_system_up};

pub(crate) use choice::{Bench, Choice, Pick, choose, extent, kernels_choice, largest};
use growth::Growths;
pub(crate) use ladder::{Severity, freezes, reserve, severity, warns};
use pushing::Pushing;

use crate::config::Guard;
use crate::sample::Sample;
use crate::scan::{Signal, Victim};
use headroom::Point;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Percent, Rate, Span};

/// Points kept: four seconds at the fastest pace.
const POINTS: usize = 48;
/// No point is nearer to the one before.
const SPACING: Duration = Duration::from_millis(80);
/// Points older than this say nothing about now.
const MEMORY: Duration = Duration::from_secs(8);
/// The windows over which growth must hold.
const SHORT: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_secs(2);
/// Memory comes back within this time after a process is gone.
const SETTLE: Duration = Duration::from_secs(1);

/// Who is not gone so long after SIGKILL sits in a sleep that no signal ends.
pub(crate) const STUCK: Duration = Duration::from_secs(5);
/// Who was asked to end so long ago does not count as leaving.
const LONG_ASKED: Duration = Duration::from_secs(10);
/// Between two warnings.
const WARN_EVERY: Duration = Duration::from_secs(10);
/// With less room than this share of memory, growth comes in fits.
const SCARCE: Percent = Percent::new(3);
/// With less than this share of memory above the low watermark a machine is full.
const FULL: Percent = Percent::new(1);

/// How much room there is, as far as it matters to how growth is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Some,
    Scarce,
}

/// What is remembered of the last seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Distress {
    /// Least and most of memory that file cache in use is taken to be.
    cache: (Percent, Percent),
    /// Oldest first; room for all is taken at the start.
    points: Vec<Point>,
    pub(crate) growths: Growths,
    /// Who is held up at its ceiling.
    #[serde(default)]
    pub(crate) pushing: Pushing,
    /// What the last sample leaves.
    pub(crate) outlook: Option<Outlook>,
    /// Near to this end, people are told.
    warn_ahead: Span,
    /// When they were last told.
    pub(crate) warned: Option<Span>,
    /// When there was last reason to look at who holds memory.
    pub(crate) alerted: Option<Span>,
    /// When somebody last was about to have all of memory, swap or not.
    #[serde(default)]
    pub(crate) filled: Option<Span>,
    /// When memory last was so short that someone would be asked to end, but for what is lent.
    #[serde(default)]
    pub(crate) pinched: Option<Span>,
    /// So near to the end, and with so little room, that is.
    #[serde(default)]
    term: (Span, Percent),
    /// Since when there has been no room at all.
    pub(crate) full_since: Option<Span>,
}

impl Distress {
    /// Nothing seen yet.
    pub(crate) fn new(config: &Guard) -> Self {
        let mut fresh = Self {
            points: Vec::with_capacity(POINTS),
            growths: Growths::new(),
            ..Self::default()
        };
        fresh.go_on_by(config);
        fresh
    }

    /// Goes on by another configuration.
    pub(crate) fn go_on_by(&mut self, config: &Guard) {
        self.cache = (config.cache_least, config.cache_most);
        self.warn_ahead = config.warn_ahead;
        self.term = (config.term_ahead, config.term_room);
    }

    /// Takes a sample in. Allocates nothing.
    pub(crate) fn push(&mut self, sample: &Sample, page_size: Bytes) {
        self.growths.push(&sample.scan);
        self.pushing.push(&sample.groups.throttled, sample.at);
        let settled = sample
            .scan
            .victims
            .iter()
            .filter_map(|victim| victim.gone)
            .max();
        // What fell when a process ended says nothing about how the others grow.
        let begin = settled.map_or(Duration::ZERO, Span::get);
        let now = sample.at.get();
        self.points.retain(|point| {
            let at = point.at.get();
            at >= begin && at <= now && now.saturating_sub(at) <= MEMORY
        });
        let due = self
            .points
            .last()
            .is_none_or(|last| now.saturating_sub(last.at.get()) >= SPACING);
        if let Some(point) = Point::of(sample).filter(|_| due) {
            if self.points.len() == POINTS {
                self.points.remove(0);
            }
            self.points.push(point);
        }
        self.outlook = self.look(sample, page_size);
        let is_news = self
            .warned
            .is_none_or(|warned| now.saturating_sub(warned.get()) >= WARN_EVERY);
        if is_news
            && self
                .outlook
                .is_some_and(|outlook| warns(&outlook, self.warn_ahead))
        {
            self.warned = Some(sample.at);
        }
        if self.outlook.is_some_and(|outlook| ladder::alerts(&outlook)) {
            self.alerted = Some(sample.at);
        }
        if self.outlook.is_some_and(|outlook| ladder::fills(&outlook)) {
            self.filled = Some(sample.at);
        }
        let gap = crate::watermark::observed_gap(sample, page_size).unwrap_or_default();
        let is_full = |it: &Outlook| it.expected_headroom() <= gap + FULL.of(it.managed);
        let poorer = self.outlook.as_ref().map(Outlook::without_lent);
        if poorer.is_some_and(|outlook| ladder::asks(&outlook, self.term) || is_full(&outlook)) {
            self.pinched = Some(sample.at);
        }
        let full = self.outlook.as_ref().is_some_and(is_full);
        self.full_since = if full {
            self.full_since.or(Some(sample.at))
        } else {
            None
        };
    }

    /// The newest point, and the last that is at least `age` older; the oldest if none is.
    fn back(&self, age: Duration) -> Option<(&Point, &Point)> {
        let newest = self.points.last()?;
        let old_enough = |point: &&Point| newest.after(point) >= age;
        let older = self
            .points
            .iter()
            .rev()
            .find(old_enough)
            .or(self.points.first())?;
        (older.at < newest.at).then_some((older, newest))
    }

    /// Growth of what cannot be given back: the less of both windows, nothing if it fell in one. With hardly any
    /// room it is the long window's alone: who grows waits for memory most of the time then.
    fn growth(&self, headroom: Room) -> Option<Rate> {
        let slope = |age| {
            self.back(age)
                .and_then(|(older, newest)| newest.grown_since(older))
        };
        let (older, newest) = self.back(SHORT)?;
        let long = slope(LONG).filter(|_| newest.after(older) >= SHORT)?;
        match headroom {
            Room::Scarce => Some(long),
            Room::Some => Some(slope(SHORT)?.min(long)),
        }
    }

    /// Share of the last seconds in which all tasks stalled for memory.
    fn stalled(&self) -> Option<Percent> {
        let (older, newest) = self.back(2 * LONG)?;
        let stalled = newest.full?.get().checked_sub(older.full?.get())?;
        Percent::ratio(stalled, newest.after(older).as_micros() as u64)
    }

    /// File pages read again after eviction, per second.
    fn refaults(&self) -> Option<u64> {
        let (older, newest) = self.back(LONG)?;
        let count = newest.refaults?.checked_sub(older.refaults?)?;
        Some((count as f64 / newest.after(older).as_secs_f64()) as u64)
    }

    /// What is left, by the last sample; `None` if it does not say.
    fn look(&self, sample: &Sample, page_size: Bytes) -> Option<Outlook> {
        let managed = sample.managed()?.to_bytes(page_size);
        let refaulted = self.refaults().unwrap_or(0).saturating_mul(page_size.get());
        let floor = headroom::floor(self.cache, managed, refaulted);
        let headroom = headroom::headroom(sample, floor, page_size)?;
        let in_flight = in_flight(sample);
        let is_scarce = headroom + in_flight <= SCARCE.of(managed);
        let growth = self
            .growth(if is_scarce { Room::Scarce } else { Room::Some })
            .unwrap_or_default();
        let swap = headroom::swap_headroom(sample, page_size);
        let (lent, stalled) = (sample.warm.lent().min(headroom), self.stalled());
        let outlook = Outlook {
            headroom,
            swap,
            lent,
            managed,
            floor,
            in_flight,
            growth,
            left: None,
            stalled,
        };
        Some(Outlook {
            left: outlook.left_now(),
            ..outlook
        })
    }
}

/// Memory of those who were signalled and have not given it back.
fn in_flight(sample: &Sample) -> Bytes {
    let since = |then: Span| sample.at.get().saturating_sub(then.get());
    let owes = |victim: &&Victim| match victim.gone {
        Some(gone) => since(gone) < SETTLE,
        None => {
            since(victim.at)
                < if victim.signal == Signal::Kill {
                    STUCK
                } else {
                    LONG_ASKED
                }
        }
    };
    sample
        .scan
        .victims
        .iter()
        .filter(owes)
        .map(|victim| victim.size)
        .sum()
}

#[cfg(test)]
pub(crate) use headroom::headroom as headroom_of;
