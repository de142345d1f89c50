//! The gap as a base stock: hold free what demand takes before kswapd answers, no more, and give it
//! back.
//!
//! ```text
//!   high ─┬─            kswapd sleeps          the gap is the stock: from the wake-up at low to the
//!         │ gap                                stall at min, demand lives on it and on what kswapd
//!   low  ─┼─            kswapd wakes           frees meanwhile
//!         │ gap
//!   min  ─┴─            allocations stall
//! ```
//!
//! - Law: `gap = widen · max over w of [ Q_p(D_w) − R·(w − τ)⁺ ]`, `p = stall/(stall + refault)`
//!   (newsvendor), within budget; `factor = ⌈10000 · gap / managed⌉`, never below what was found.
//! - Cost: O(windows × buckets). Source: base-stock rule, Arrow, Harris, Marschak 1951; watermarks as
//!   in `mm/page_alloc.c`, `__setup_per_zone_wmarks`.
//! - A base stock is for bursts. So the gap is given back while programs wait for refaults of their own
//!   pages, and at once when a process is about to fill memory: one that grows beyond the bursts before.
//!   While most of demand is for pages read again, it is at most the largest burst of processes before.
//! - Limit: a first burst larger than any before it is not foreseen; feedback widens the gap after it.

use super::draft::Draft;
use crate::config::{Config, Share};
use crate::decision::{Action, Notice, Phase, Reason};
use crate::demand::Need;
use crate::distress::warns;
use crate::knob::Knob;
use crate::watermark;
use std::time::Duration;
use units::{Bytes, Pages, Percent, Rate, Span};

const FACTOR: Knob = Knob::WatermarkScaleFactor;
/// Time from the wake-up of kswapd to its first freed pages: tens of milliseconds, under load one round
/// of the scheduler.
pub(crate) const RESPONSE: Duration = Duration::from_millis(100);

/// Least time between two changes that follow load.
const STEP_EVERY: Duration = Duration::from_secs(1);
/// Minimum time between two notices that the budget is too small.
const SHORT_OF_BUDGET_EVERY: Duration = Duration::from_secs(10);
/// Waits a second that take a fifth of all time on a disk that seeks for 10 ms.
const ON_A_HARD_DISK: u64 = 20;
/// Under load the gap narrows only after this long without a stall.
const QUIET: Duration = Duration::from_secs(30);

/// Demand that is mostly for pages that had been evicted.
#[derive(Clone, Copy)]
struct ReadAgain {
    again: Rate,
    demand: Rate,
    /// The most that the gap may be meanwhile.
    most: Bytes,
}

impl ReadAgain {
    fn why(&self) -> Reason {
        Reason::ReadAgain {
            again: self.again,
            demand: self.demand,
            burst: self.most,
        }
    }
}

impl Draft<'_> {
    /// Sizes and drives the gap. Returns the phase that this leaves.
    pub(super) fn base_stock(&mut self) -> Phase {
        let share = critical_share(self.config);
        self.forecast.quantile = Some(Percent::hundredths((share * 10_000.0) as u64));
        let need = self
            .history
            .demand
            .need(share, self.history.reclaim, RESPONSE);
        let gap_found = self.forecast.gap_found.unwrap_or_default();
        let read_again = self.read_again(gap_found);
        let mut wanted = self.wanted(need, gap_found);
        if let Some(read_again) = read_again {
            wanted = wanted.min(read_again.most);
        }
        self.forecast.gap_needed = Some(wanted);
        let held = self.sample.knobs.ours.of(FACTOR).is_some();
        if !self.config.gap.enabled || self.drivable(FACTOR).is_none() {
            return if self.config.gap.enabled {
                Phase::Yielding
            } else {
                Phase::Calm
            };
        }
        if let Some(verdict) = self.history.trial.verdict(self.sample.at) {
            self.release_gap(Reason::Worse {
                before: verdict.before,
                after: verdict.after,
            });
            return Phase::Backed;
        }
        if let Some(why) = self.runs_out().filter(|_| !self.is_known_burst()) {
            self.release_gap(why);
            return Phase::Watching;
        }
        let give_back_after = self
            .history
            .patience_with_calm(self.config.gap.give_back_after.get());
        if let Some(why) = self.thrash() {
            return self.halve_gap(why);
        }
        if let Some(read_again) = read_again.filter(|read_again| self.exceeds(read_again.most)) {
            return self.halve_gap(read_again.why());
        }
        match self.history.calm(self.sample.at) {
            Some(calm) if calm < give_back_after => self.hold(need, wanted),
            Some(calm) if held => self.ease(calm),
            _ => Phase::Calm,
        }
    }

    /// Whether a growing process fills memory within seconds, swap or not. The rest of memory is then what
    /// others use, and kswapd would take it for the gap. Free memory absorbs a burst, not unbounded growth.
    pub(super) fn runs_out(&self) -> Option<Reason> {
        let outlook = self.history.distress.outlook?.without_swap();
        if !self.distressed && !warns(&outlook, self.config.guard.warn_ahead) {
            return None;
        }
        Some(Reason::RunsOut {
            headroom: outlook.headroom,
        })
    }

    /// Whether what grows is a burst like one that came and went before: the gap is for it.
    fn is_known_burst(&self) -> bool {
        let distress = &self.history.distress;
        let Some(outlook) = distress.outlook else {
            return false;
        };
        let headroom = outlook.without_swap().headroom;
        distress.term_since.is_none() && distress.rises.are_known(headroom)
    }

    /// Whether programs wait for refaults more than is accepted. Memory is then short for good and not for a
    /// moment: no gap makes kswapd come in time, and what it holds free is missing where programs wait.
    ///
    /// The slower the disk, the fewer waits there can be in a second: where all tasks stall, a few are enough.
    fn thrash(&self) -> Option<Reason> {
        let per_second = self.history.waits as u64;
        let target = match self.history.distress.thrashing_since {
            Some(_) => self.config.gap.refault_target.min(ON_A_HARD_DISK),
            None => self.config.gap.refault_target,
        };
        if per_second <= target {
            return None;
        }
        Some(Reason::Thrash { per_second, target })
    }

    /// What is read again, where it is most of demand. Such demand does not end, so a gap is no stock for it:
    /// it takes from the cache what is read next. What is left for the gap are bursts of processes.
    fn read_again(&self, gap_found: Bytes) -> Option<ReadAgain> {
        let page_size = self.history.page_size;
        let (again, demand) = self.history.refaults.beside_demand(page_size);
        let accepted = page_size.scaled(self.config.gap.refault_target, 1);
        if again.get() <= demand.get() / 2 || again.get() <= accepted.get() {
            return None;
        }
        Some(ReadAgain {
            again,
            demand,
            most: self.history.distress.rises.largest().max(gap_found),
        })
    }

    /// Whether the gap is larger than `most`, by more than the dead band.
    fn exceeds(&self, most: Bytes) -> bool {
        let gap = self.forecast.gap.unwrap_or_default();
        gap > most + self.config.gap.dead_band.of(gap)
    }

    /// Gives back half of what is held at a time, and the rest when it is little.
    fn halve_gap(&mut self, why: Reason) -> Phase {
        let Some((now, found)) = self.factor_now_and_found() else {
            return Phase::Yielding;
        };
        if self.sample.knobs.ours.of(FACTOR).is_none() {
            return Phase::Watching;
        }
        if self.settled(STEP_EVERY) {
            self.lower_to(found + now.saturating_sub(found) / 2, found, why);
        }
        Phase::Easing
    }

    fn factor_now_and_found(&self) -> Option<(u64, u64)> {
        let now = self.drivable(FACTOR)?;
        let found = self.sample.knobs.found.of(FACTOR)?;
        Some((now, found))
    }

    /// Lowers the factor, or releases the gap if little more than `found` would be left.
    fn lower_to(&mut self, factor: u64, found: u64, why: Reason) {
        let least_effective = watermark::least_effective(self.sample, self.history.page_size);
        let matters = least_effective.unwrap_or(found).max(found + found / 4);
        if factor <= matters {
            self.release_gap(why);
        } else {
            self.set_factor(factor, why);
        }
    }

    /// The gap that demand calls for, before the budget: never less than what was found.
    fn wanted(&self, need: Option<Need>, gap_found: Bytes) -> Bytes {
        let quantile = need.map_or(Bytes::ZERO, |need| need.gap);
        let widened = Bytes::new((quantile.get() as f64 * self.history.widen) as u64);
        // Stalls without known demand: the gap itself is the only measure of what was too small.
        let by_stalls = if self.history.widen > 1.0 {
            Bytes::new((gap_found.get() as f64 * self.history.widen) as u64)
        } else {
            Bytes::ZERO
        };
        // A quarter of memory is beyond any budget, so more makes no difference.
        let most = self.history.latest.sizes.managed.scaled(1, 4);
        widened.max(by_stalls).min(most).max(gap_found)
    }

    /// The most that the gap may be: the budget, and what MemAvailable allows. A larger gap takes about
    /// four times its growth from MemAvailable, so a quarter of the headroom above the floor may be held.
    fn allowed(&self, gap_found: Bytes) -> Bytes {
        let sizes = self.history.latest.sizes;
        let memory = sizes.managed.less(sizes.huge);
        let budget = self.budget(memory);
        let floor = self.config.gap.available_floor.of(memory);
        let rival = self
            .sample
            .circumstances
            .rival_floor
            .map_or(Bytes::ZERO, |floor| floor + memory.scaled(2, 100));
        let unhindered = self
            .sample
            .memory
            .available
            .map(|now| now + self.forecast.withheld.unwrap_or_default());
        let headroom = unhindered.map_or(Bytes::ZERO, |available| available.less(floor.max(rival)));
        budget.min(gap_found + headroom.scaled(1, 4)).max(gap_found)
    }

    /// The configured budget, or by aggressiveness 1, 2 or 3 % of memory, and at least 128, 256 or 384 MiB
    /// where that is no more than a tenth of memory.
    fn budget(&self, memory: Bytes) -> Bytes {
        if let Some(share) = self.config.gap.max {
            return share.of(memory);
        }
        let level = u64::from(self.config.aggressiveness.get());
        let least = Bytes::mib(128 * level).min(memory.scaled(1, 10));
        Share::Percent(Percent::new(level)).of(memory).max(least)
    }

    fn hold(&mut self, need: Option<Need>, wanted: Bytes) -> Phase {
        let Some(now) = self.drivable(FACTOR) else {
            return Phase::Yielding;
        };
        let gap = self.forecast.gap.unwrap_or_default();
        let allowed = self.allowed(self.forecast.gap_found.unwrap_or_default());
        let target = wanted.min(allowed);
        if wanted > allowed.scaled(11, 10) && self.history.enters_slot(SHORT_OF_BUDGET_EVERY) {
            self.notify(Notice::ShortOfBudget { wanted, allowed });
        }
        let held = self.sample.knobs.ours.of(FACTOR).is_some();
        let standing = if held {
            Phase::Guarding
        } else {
            Phase::Watching
        };
        let Some(to) = watermark::factor_for(self.sample, self.history.page_size, target) else {
            return standing;
        };
        let found = self.sample.knobs.found.of(FACTOR).unwrap_or(now);
        let to = to.max(found);
        let band = self.config.gap.dead_band.of(gap);
        let reached = watermark::gap(self.sample, self.history.page_size, to).unwrap_or(target);
        if reached > gap + band && self.settled(STEP_EVERY) {
            let why = self.why_raise(need, gap);
            self.raise(to, why);
            return Phase::Guarding;
        }
        if held && self.exceeds(allowed) && self.settled(self.config.gap.settle.get()) {
            self.set_factor(to, Reason::Budget { wanted, allowed });
        } else if held && self.exceeds(reached) && self.settled(self.config.gap.settle.get() * 5) {
            self.narrow(now, to);
        }
        standing
    }

    /// Under load the gap follows a lower need slowly, and only where it costs refaults.
    fn narrow(&mut self, now: u64, to: u64) {
        let per_second = self.history.latest.refaults_per_second.unwrap_or(0);
        let target = self.config.gap.refault_target;
        let quiet = self.history.quiet_since_stall(self.sample.at);
        if quiet >= QUIET && per_second > target {
            self.set_factor(
                to.max(now - now / 10),
                Reason::Refaults { per_second, target },
            );
        }
    }

    fn why_raise(&self, need: Option<Need>, gap: Bytes) -> Reason {
        let latest = &self.history.latest;
        let stalled = latest.allocation_stalls + latest.compaction_stalls + latest.hit_quickly > 0;
        match need {
            Some(need) if !stalled || need.gap > gap => Reason::Demand {
                window: need.window,
                demand: need.demand,
                reclaimed: need.reclaimed,
                gap,
            },
            _ => Reason::Stalls {
                allocation: latest.allocation_stalls,
                compaction: latest.compaction_stalls,
                hit_quickly: latest.hit_quickly,
                gap,
            },
        }
    }

    fn raise(&mut self, to: u64, why: Reason) {
        self.set_factor(to, why);
        if self.config.gap.reclaim_ahead {
            self.reclaim_ahead(to);
        }
    }

    /// Sets the factor, and the boost so that it keeps its bytes of before.
    fn set_factor(&mut self, to: u64, why: Reason) {
        self.drive(FACTOR, to, why);
        if self.config.gap.cap_boost {
            self.cap_boost(to);
        }
    }

    /// The boost is a share of the high watermark, so a higher one would boost more:
    /// `boost' = boost · high_found / high`, rounded down.
    fn cap_boost(&mut self, factor: u64) {
        let knobs = &self.sample.knobs;
        let Some(found) = knobs.found.of(FACTOR) else {
            return;
        };
        let Some(boost) = knobs.found.of(Knob::WatermarkBoostFactor) else {
            return;
        };
        let Some(high_found) = self.high_watermark(found) else {
            return;
        };
        let Some(high) = self.high_watermark(factor) else {
            return;
        };
        let kept = Bytes::new(boost)
            .scaled(high_found.get(), high.get().max(1))
            .get()
            .min(boost);
        let why = Reason::BoostKept { high_found, high };
        self.drive(Knob::WatermarkBoostFactor, kept, why);
    }

    /// The high watermark of all zones under `factor`.
    fn high_watermark(&self, factor: u64) -> Option<Bytes> {
        let page_size = self.history.page_size;
        let base = watermark::Base::of(self.sample, page_size)?;
        let pages: Option<Pages> = self
            .sample
            .zones
            .iter()
            .map(|zone| base.marks(zone, factor).map(|marks| marks.high))
            .sum();
        Some(pages?.to_bytes(page_size))
    }

    /// A raised low watermark wakes kswapd only at the next slow allocation. Where the kernel takes a
    /// request per node, this asks for what is missing, at most 1 % of the node at once.
    fn reclaim_ahead(&mut self, factor: u64) {
        let Some(base) = watermark::Base::of(self.sample, self.history.page_size) else {
            return;
        };
        let sample = self.sample;
        for node in &sample.nodes {
            if node.amounts.can_reclaim == Some(1) {
                self.reclaim_in(node.id, base, factor);
            }
        }
    }

    fn reclaim_in(&mut self, node: u32, base: watermark::Base, factor: u64) {
        let page_size = self.history.page_size;
        let sample = self.sample;
        let zones = || sample.zones.iter().filter(|zone| zone.node == node);
        let low: Option<Pages> = zones()
            .map(|zone| base.marks(zone, factor).map(|marks| marks.low))
            .sum();
        let free: Option<Pages> = zones().map(|zone| zone.amounts.free).sum();
        let managed: Option<Pages> = zones().map(|zone| zone.amounts.managed).sum();
        let Some(low) = low else { return };
        let Some(free) = free else { return };
        let Some(managed) = managed else { return };
        let missing = low.less(free).min(managed.scaled(1, 100));
        let amount = missing.to_bytes(page_size);
        if amount == Bytes::ZERO {
            return;
        }
        let why = Reason::Ahead {
            free: free.to_bytes(page_size),
            low: low.to_bytes(page_size),
        };
        self.step(Action::Reclaim { node, amount }, why);
    }

    /// Gives back three quarters of what is held at a time, and the rest when it is little.
    fn ease(&mut self, calm: Duration) -> Phase {
        if !self.settled(self.config.gap.settle.get()) {
            return Phase::Easing;
        }
        let why = Reason::Quiet {
            calm: Span::new(calm),
        };
        let Some((now, found)) = self.factor_now_and_found() else {
            return Phase::Yielding;
        };
        self.lower_to(found + now.saturating_sub(found) / 4, found, why);
        Phase::Easing
    }

    fn release_gap(&mut self, why: Reason) {
        self.release(FACTOR, why);
        self.release(Knob::WatermarkBoostFactor, why);
    }

    /// Whether the factor has stood for `time`.
    fn settled(&self, time: Duration) -> bool {
        self.ago(self.history.last_change)
            .is_none_or(|ago| ago >= time)
    }
}

/// The critical ratio, shifted by the aggressiveness: a refault counts five times at 1, a fifth at 3.
pub(crate) fn critical_share(config: &Config) -> f64 {
    let gap = &config.gap;
    let weight = [5.0, 1.0, 0.2][usize::from(config.aggressiveness.get() - 1)];
    let stall = gap.stall_cost.get().as_secs_f64();
    let refault = weight * gap.refault_cost.get().as_secs_f64();
    (stall / (stall + refault)).clamp(0.5, 0.999)
}
