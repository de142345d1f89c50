//! Whether memory is about to run out for good, and which process causes it.
//!
//! One comparison decides: the headroom for memory that cannot be reclaimed, against the speed at which
//! such memory grows. Pressure, refaults and watermarks each move these numbers.
//!
//! ```text
//! headroom = (free − min − unusable CMA)⁺ + (file cache + lent − unwritten − floor)⁺
//!            + reclaimable slab / 2 + (ZFS cache − its least)⁺ + swap                       [bytes]
//! floor    = least + (most − least) · min(1, refaults / (4 % of memory per second))         [bytes]
//! growth   = min over 0.4 s and 2 s (with scarce headroom: over 2 s) of
//!            Δ(anon + shmem + unreclaimable + swap used)/Δt                                 [bytes/s]
//! left     = (headroom + in flight) / min(growth, fall of headroom)                         [s]
//! ```
//!
//! A cgroup that meets its own limit raises pressure but leaves headroom and growth as they are, so it
//! is not distress of the machine. Free zram counts less the memory that it will cost. *In flight* is
//! the memory of processes that were signalled and have not freed it yet. Every share of memory in here
//! has an amount that it is never more than (`Part`): 2 % of a large machine is more than a program.
//!
//! Cost: a few µs a sample; no allocation. Source: the base stock of `demand`, turned around. Known
//! limit: two windows of growth need 0.4 s of samples, so a decision comes no sooner.

mod at_limit;
mod choice;
mod ended;
mod growth;
mod headroom;
mod outlook;
mod rises;
mod roles;
mod severity;
mod thrash;

pub use choice::{Considered, Extent, Verdict};
pub use growth::Growth;
pub use outlook::Outlook;
pub use roles::{Exemption, exemption, is_a_persons, keeps_the_system_up};
pub use severity::SHARES_OF;

pub(crate) use choice::{
    Choice, Exemptions, Inputs, Pick, choose, fastest, join_family, kernels_choice, largest,
    limitable_unit,
};
pub(crate) use severity::{Bounds, Part, Severity, is_tight, reserve, severity, thrashes, warns};

use crate::config::{Guard, Share};
use crate::protect::{Needs, StalledUnit};
use crate::sample::Sample;
use crate::scan::{Signal, Victim};
use at_limit::AtLimits;
use ended::EndedFamilies;
use growth::Growths;
use headroom::{Point, Terms};
use rises::Rises;
use serde::{Deserialize, Serialize};
use severity::{alerts, fills, is_time_for_sigterm};
use std::time::Duration;
use units::{Bytes, Percent, Rate, Span};

/// Points kept. At [`SPACING`] they reach back four seconds, the longest window that is looked at.
const POINTS: usize = 48;
/// Least time between two points: the daemon samples every 100 ms at its fastest.
const SPACING: Duration = Duration::from_millis(80);
/// Points older than this say nothing about the present growth.
const MEMORY: Duration = Duration::from_secs(8);
/// The shorter window in which growth must show: some samples, so that one burst is not growth.
const SHORT: Duration = Duration::from_millis(400);
/// The longer window. Longer answers later; shorter takes a burst of seconds for a runaway.
const LONG: Duration = Duration::from_secs(2);
/// The memory of a process shows as free within this time after it is gone.
const SETTLE: Duration = Duration::from_secs(1);

/// A process that outlives SIGKILL for this long is in an uninterruptible sleep.
pub(crate) const STUCK: Duration = Duration::from_secs(5);
/// A process that outlives SIGTERM for this long ignores it, and its memory is no longer in flight.
const IGNORES_SIGTERM: Duration = Duration::from_secs(10);
/// Minimum time between two warnings: more often tells nothing new.
const WARN_EVERY: Duration = Duration::from_secs(10);
/// With headroom below this share of memory, a growing process waits for memory most of the time, so
/// its growth comes in bursts.
const SCARCE: Part = Part::new(Percent::new(3), Bytes::mib(1024));
/// With less than this above the low watermark a machine is full.
const FULL: Part = Part::new(Percent::new(1), Bytes::mib(256));
/// Below twice the headroom at which SIGTERM is due, growth counts even where headroom does not fall:
/// what gave memory back may be used up at any time.
const LAST_HEADROOM: u64 = 2;

/// How much headroom there is, as far as the measurement of growth depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Supply {
    Enough,
    Scarce,
}

/// What is remembered of the last seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Distress {
    /// Least and most of memory that counts as file cache in use.
    cache: (Share, Share),
    /// Oldest first. Storage for all is allocated at the start.
    points: Vec<Point>,
    pub(crate) growths: Growths,
    /// Since when throttled cgroups have been at their limit.
    #[serde(default, rename = "pushing")]
    pub(crate) at_limits: AtLimits,
    /// Families that were ended lately.
    pub(crate) ended: EndedFamilies,
    /// Bursts that came and went.
    pub(crate) rises: Rises,
    /// When a process was last signalled.
    pub(crate) signalled: Option<Span>,
    /// The outlook of the last sample.
    pub(crate) outlook: Option<Outlook>,
    /// When users were last warned.
    pub(crate) warned: Option<Span>,
    /// Since when it is time for SIGTERM.
    #[serde(default)]
    pub(crate) term_since: Option<Span>,
    /// Since when the machine thrashes: all tasks stall, and hardly any headroom is left in RAM.
    #[serde(default)]
    pub(crate) thrashing_since: Option<Span>,
    /// When the machine last thrashed.
    #[serde(default)]
    pub(crate) thrashed: Option<Span>,
    /// When the kernel last reclaimed for the whole machine.
    #[serde(default)]
    reclaimed: Option<Span>,
    /// The protected cgroup that waited with all of its tasks then; `None` if only the whole machine did.
    #[serde(default)]
    pub(crate) stalled_unit: Option<StalledUnit>,
    /// When there was last reason to scan processes.
    pub(crate) alerted: Option<Span>,
    /// When a process was last about to fill memory, swap or not.
    #[serde(default)]
    pub(crate) filled: Option<Span>,
    /// When memory was last so short that, without lent memory, it would be time for SIGTERM.
    #[serde(default)]
    pub(crate) pinched: Option<Span>,
    /// Times and headroom at which it is time to act.
    #[serde(default)]
    bounds: Bounds,
    /// Share of time that all tasks stall in a thrashing machine.
    #[serde(default)]
    stall_limit: Percent,
    /// Since when there has been no headroom.
    pub(crate) full_since: Option<Span>,
}

impl Distress {
    /// Has seen no sample yet.
    pub(crate) fn new(config: &Guard) -> Self {
        let mut fresh = Self {
            points: Vec::with_capacity(POINTS),
            growths: Growths::new(),
            ..Self::default()
        };
        fresh.go_on_by(config);
        fresh
    }

    /// Goes on with another configuration.
    pub(crate) fn go_on_by(&mut self, config: &Guard) {
        self.cache = (config.cache_least, config.cache_most);
        self.bounds = Bounds::of(config);
        self.stall_limit = config.stall_limit;
    }

    /// Takes a sample in, whether the kernel OOM-killed a process since the one before, and what protected
    /// cgroups need. Allocates nothing.
    pub(crate) fn push(
        &mut self,
        sample: &Sample,
        page_size: Bytes,
        is_oom_killed: bool,
        needs: &Needs,
    ) {
        self.growths.push(&sample.scan);
        self.at_limits.push(&sample.groups.throttled, sample.at);
        self.ended.push(&sample.scan.victims, sample.at);
        self.signalled = sample
            .scan
            .victims
            .iter()
            .map(|victim| victim.at)
            .max()
            .max(self.signalled);
        let point = Point::of(sample);
        self.push_point(point, sample);
        self.outlook = self.look(sample, page_size);
        self.note_warning(sample.at);
        let refaulted = self.share_refaulted(page_size);
        let stalled_unit = needs.most_stalled(&sample.groups.protected, refaulted);
        self.note_thrash(sample, page_size, stalled_unit);
        let is_due = self
            .outlook
            .is_some_and(|outlook| is_time_for_sigterm(&outlook, &self.bounds));
        self.term_since = if is_due {
            self.term_since.or(Some(sample.at))
        } else {
            None
        };
        if let Some(point) = point {
            self.rises
                .push(point.held, is_due || is_oom_killed, sample.at);
        }
        if self.outlook.is_some_and(|outlook| alerts(&outlook)) {
            self.alerted = Some(sample.at);
        }
        if self.outlook.is_some_and(|outlook| fills(&outlook)) {
            self.filled = Some(sample.at);
        }
        let gap = crate::watermark::observed_gap(sample, page_size).unwrap_or_default();
        let without_lent = self.outlook.as_ref().map(Outlook::without_lent);
        if without_lent.is_some_and(|outlook| {
            is_time_for_sigterm(&outlook, &self.bounds) || is_full(&outlook, gap)
        }) {
            self.pinched = Some(sample.at);
        }
        self.full_since = if self.outlook.is_some_and(|outlook| is_full(&outlook, gap)) {
            self.full_since.or(Some(sample.at))
        } else {
            None
        };
    }

    fn push_point(&mut self, point: Option<Point>, sample: &Sample) {
        // Memory that fell when a process exited says nothing about how the others grow.
        let begin = sample.scan.last_end().map_or(Duration::ZERO, Span::get);
        let now = sample.at.get();
        self.points.retain(|point| {
            let at = point.at.get();
            at >= begin && at <= now && now.saturating_sub(at) <= MEMORY
        });
        let is_due = self
            .points
            .last()
            .is_none_or(|last| now.saturating_sub(last.at.get()) >= SPACING);
        if !is_due {
            return;
        }
        if let Some(point) = point {
            if self.points.len() == POINTS {
                self.points.remove(0);
            }
            self.points.push(point);
        }
    }

    fn note_warning(&mut self, now: Span) {
        let is_due = self
            .warned
            .is_none_or(|warned| now.get().saturating_sub(warned.get()) >= WARN_EVERY);
        if is_due
            && self
                .outlook
                .is_some_and(|outlook| self.bounds.warns(&outlook))
        {
            self.warned = Some(now);
        }
    }

    /// The newest point, and before it the last that is at least `age` older; the oldest if none is.
    fn back(&self, age: Duration) -> Option<(&Point, &Point)> {
        let newest = self.points.last()?;
        let old_enough = self
            .points
            .iter()
            .rev()
            .find(|point| newest.after(point) >= age);
        let older = old_enough.or(self.points.first())?;
        (older.at < newest.at).then_some((older, newest))
    }

    /// Growth of memory that cannot be reclaimed: the less of both windows, zero if it fell in one.
    /// With scarce headroom only the long window counts, for growth comes in bursts then.
    fn growth(&self, supply: Supply) -> Option<Rate> {
        let (older, newest) = self.back(SHORT)?;
        let long = self.slope(LONG)?;
        if newest.after(older) < SHORT {
            return None;
        }
        match supply {
            Supply::Scarce => Some(long),
            Supply::Enough => Some(self.slope(SHORT)?.min(long)),
        }
    }

    fn slope(&self, age: Duration) -> Option<Rate> {
        let (older, newest) = self.back(age)?;
        newest.grown_since(older)
    }

    /// Share of the last seconds in which all tasks stalled for memory.
    fn stalled(&self) -> Option<Percent> {
        let (older, newest) = self.back(2 * LONG)?;
        let stalled = newest.full?.get().checked_sub(older.full?.get())?;
        Percent::ratio(stalled, newest.after(older).as_micros() as u64)
    }

    /// Refaults of file pages per second.
    fn refaults(&self) -> Option<u64> {
        let (older, newest) = self.back(LONG)?;
        let count = newest.refaults?.checked_sub(older.refaults?)?;
        Some((count as f64 / newest.after(older).as_secs_f64()) as u64)
    }

    /// Share of what disks have read in the last seconds that had been evicted. Zero where that is unknown.
    fn share_refaulted(&self, page_size: Bytes) -> Percent {
        let share = || {
            let (older, newest) = self.back(2 * LONG)?;
            let read = newest.read?.less(older.read?);
            let refaults = newest.refaults?.checked_sub(older.refaults?)?;
            let again = page_size.scaled(refaults, 1);
            Percent::ratio(again.get(), read.get())
        };
        share().unwrap_or_default().min(Percent::WHOLE)
    }

    /// How fast headroom fell: the more of both windows.
    fn fall(&self) -> Option<Rate> {
        let fell = |age| -> Option<Rate> {
            let (older, newest) = self.back(age)?;
            Rate::over(older.headroom?.less(newest.headroom?), newest.after(older))
        };
        Some(fell(SHORT)?.max(fell(LONG)?))
    }

    /// How fast a part of the held memory grows.
    fn growth_of(&self, part: fn(&Point) -> Bytes) -> Rate {
        let grown = self.back(LONG).and_then(|(older, newest)| {
            Rate::over(part(newest).less(part(older)), newest.after(older))
        });
        grown.unwrap_or_default()
    }

    /// How fast disks write.
    fn disk(&self) -> Option<Rate> {
        let (older, newest) = self.back(LONG)?;
        Rate::over(newest.written?.less(older.written?), newest.after(older))
    }

    /// Whether more than half of what grows may be placed in areas for contiguous memory.
    fn grows_movable(&self) -> bool {
        let Some((older, newest)) = self.back(LONG) else {
            return false;
        };
        let grown = newest.held.less(older.held);
        let movable = newest.movable.less(older.movable);
        grown > Bytes::ZERO && movable >= grown.scaled(1, 2)
    }

    /// The outlook by the last sample; `None` if the sample does not say.
    fn look(&mut self, sample: &Sample, page_size: Bytes) -> Option<Outlook> {
        let managed = headroom::managed(sample, page_size)?;
        let refaulted = self.refaults().unwrap_or(0).saturating_mul(page_size.get());
        let floor = headroom::floor(self.cache, managed, refaulted);
        let terms = Terms {
            page_size,
            floor,
            disk: self.disk().unwrap_or_default(),
            may_use_cma: self.grows_movable(),
        };
        let headroom = headroom::headroom(sample, &terms)?;
        if let Some(newest) = self.points.last_mut().filter(|point| point.at == sample.at) {
            newest.headroom = Some(headroom);
        }
        let in_flight = in_flight(sample);
        let supply = if headroom + in_flight <= SCARCE.of(managed) {
            Supply::Scarce
        } else {
            Supply::Enough
        };
        let mut outlook = Outlook {
            headroom,
            swap: headroom::swap_headroom(sample, page_size),
            lent: sample.warm.lent().min(headroom),
            returnable: headroom::returnable(sample),
            managed,
            floor,
            in_flight,
            growth: self.growth(supply).unwrap_or_default(),
            fall: None,
            shared_growth: self.growth_of(|point| point.shared),
            anon_growth: self.growth_of(|point| point.movable.less(point.shared)),
            kernel_growth: self.growth_of(|point| point.kernel),
            huge_growth: self.growth_of(|point| point.huge),
            left: None,
            stalled: self.stalled(),
        };
        let last = reserve(&outlook, &self.bounds).scaled(LAST_HEADROOM, 1);
        if outlook.expected_headroom() > last {
            outlook.fall = self.fall().filter(|fall| *fall < outlook.growth);
        }
        outlook.left = outlook.time_left();
        Some(outlook)
    }
}

/// Whether hardly anything is left above the low watermark, which is `gap` above min.
fn is_full(outlook: &Outlook, gap: Bytes) -> bool {
    outlook.expected_headroom() <= gap + FULL.of(outlook.managed)
}

/// Memory of processes that were signalled and have not freed it yet.
fn in_flight(sample: &Sample) -> Bytes {
    sample
        .scan
        .victims
        .iter()
        .filter(|victim| is_in_flight(victim, sample.at))
        .map(|victim| victim.size)
        .sum()
}

fn is_in_flight(victim: &Victim, now: Span) -> bool {
    let since = |then: Span| now.get().saturating_sub(then.get());
    match (victim.gone, victim.signal) {
        (Some(gone), _) => since(gone) < SETTLE,
        (None, Signal::Kill) => since(victim.at) < STUCK,
        (None, Signal::Term) => since(victim.at) < IGNORES_SIGTERM,
    }
}

#[cfg(test)]
pub(crate) use headroom::{Terms as HeadroomTerms, headroom as headroom_of, managed as managed_of};
