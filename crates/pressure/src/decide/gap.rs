//! The gap as a base stock: hold what demand takes before kswapd answers, no more, and give it back.
//!
//! ```text
//!   high ─┬─            kswapd sleeps          the gap is the stock: from the wake-up at low to the
//!         │ gap                                stall at min, demand lives on it and on what kswapd
//!   low  ─┼─            kswapd wakes           frees meanwhile
//!         │ gap
//!   min  ─┴─            allocations stall
//! ```
//!
//! - Law: `gap = widen · max over w of [ Q_p(D_w) − R·(w − τ)⁺ ]`, `p = stall/(stall + refault)` (newsvendor),
//!   within budget; `factor = ⌈10000 · gap / managed⌉`, never below what was found.
//! - Cost: O(windows × buckets). Source: base-stock rule, Arrow, Harris, Marschak 1951; watermarks as
//!   in `mm/page_alloc.c`, `__setup_per_zone_wmarks`.
//! - While programs wait for their own pages to be read again, the gap goes, and at once where somebody is about to have all
//!   of memory and the guard may end that: a base stock is for bursts.
//! - Limit: a first burst larger than any before it is not foreseen; feedback widens after it.

use super::Draft;
use crate::config::{Config, Share};
use crate::decision::{Action, Notice, Phase, Reason};
use crate::demand::Need;
use crate::distress::warns;
use crate::knob::Knob;
use crate::watermark;
use std::time::Duration;
use units::{Bytes, Percent, Span};

const FACTOR: Knob = Knob::WatermarkScaleFactor;
/// From the wake-up of kswapd to its first freed pages: tens of milliseconds, at worst a scheduler's
/// round under load.
pub(crate) const RESPONSE: Duration = Duration::from_millis(100);

impl Draft<'_> {
    /// Sizes and drives the gap; says in which phase that leaves us.
    pub(super) fn base_stock(&mut self) -> Phase {
        let share = critical_share(self.config);
        self.forecast.quantile = Some(Percent::hundredths((share * 10_000.0) as u64));
        let need = self
            .history
            .demand
            .need(share, self.history.reclaim, RESPONSE);
        let gap_found = self.forecast.gap_found.unwrap_or_default();
        let wanted = self.wanted(need, gap_found);
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
        if let Some(why) = self.runs_out() {
            self.release_gap(why);
            return Phase::Watching;
        }
        let give_back_after = self
            .history
            .patience_with_calm(self.config.gap.give_back_after.get());
        if let Some(why) = self.thrash() {
            return self.make_room(why);
        }
        match self.history.calm(self.sample.at) {
            Some(calm) if calm < give_back_after => self.hold(need, wanted),
            Some(calm) if held => self.ease(calm),
            _ => Phase::Calm,
        }
    }

    /// Whether who grows has all of memory within seconds, swap or not. Until then the rest of it is what others use, which
    /// kswapd would take for a gap; what stays free helps against a burst, and not against who does not stop.
    pub(super) fn runs_out(&self) -> Option<Reason> {
        let outlook = self
            .history
            .distress
            .outlook
            .filter(|_| self.config.mode.guards())?
            .without_swap();
        let soon = self.distressed || warns(&outlook, self.config.guard.warn_ahead);
        soon.then_some(Reason::RunsOut {
            headroom: outlook.headroom,
        })
    }

    /// Whether programs wait for their own pages more than is accepted. Memory is then short for good, and not for a
    /// moment: no gap saves kswapd from coming too late, and what it holds free is missing where it is waited for.
    fn thrash(&self) -> Option<Reason> {
        let (per_second, target) = (self.history.waits as u64, self.config.gap.refault_target);
        (per_second > target).then_some(Reason::Thrash { per_second, target })
    }

    /// Gives back half of what is held at a time, and the rest when it is little.
    fn make_room(&mut self, why: Reason) -> Phase {
        let (Some(now), Some(found)) = (self.drivable(FACTOR), self.sample.knobs.found.of(FACTOR))
        else {
            return Phase::Yielding;
        };
        if self.sample.knobs.ours.of(FACTOR).is_none() {
            return Phase::Watching;
        }
        if self.settled(Duration::from_secs(1)) {
            let less = found + now.saturating_sub(found) / 2;
            let matters =
                watermark::least_effective(self.sample, self.history.page_size).unwrap_or(found);
            if less <= matters.max(found + found / 4) {
                self.release_gap(why);
            } else {
                self.set_factor(less, why);
            }
        }
        Phase::Easing
    }

    /// What demand calls for, before the budget: never less than what was found.
    fn wanted(&self, need: Option<Need>, gap_found: Bytes) -> Bytes {
        let quantile = need.map_or(Bytes::ZERO, |need| need.gap);
        let widened = Bytes::new((quantile.get() as f64 * self.history.widen) as u64);
        // Stalls without demand in sight: the gap itself is the only measure of what was too little.
        let by_stalls = if self.history.widen > 1.0 {
            Bytes::new((gap_found.get() as f64 * self.history.widen) as u64)
        } else {
            Bytes::ZERO
        };
        // A quarter of memory is beyond any budget: more says nothing.
        let most = self.history.latest.sizes.managed.scaled(1, 4);
        widened.max(by_stalls).min(most).max(gap_found)
    }

    /// Most that the gap may be: the budget, and what MemAvailable allows. Holding a gap takes about
    /// four times its growth from MemAvailable, so a quarter of the room above the floor is ours.
    fn allowed(&self, gap_found: Bytes) -> Bytes {
        let memory = self
            .history
            .latest
            .sizes
            .managed
            .less(self.history.latest.sizes.huge);
        let level = u64::from(self.config.aggressiveness.get());
        let budget = match self.config.gap.max {
            Some(share) => share.of(memory),
            None => Share::Percent(Percent::new(level))
                .of(memory)
                .max(Bytes::mib(128 * level).min(memory.scaled(1, 10))),
        };
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

    fn hold(&mut self, need: Option<Need>, wanted: Bytes) -> Phase {
        let Some(now) = self.drivable(FACTOR) else {
            return Phase::Yielding;
        };
        let gap = self.forecast.gap.unwrap_or_default();
        let allowed = self.allowed(self.forecast.gap_found.unwrap_or_default());
        let target = wanted.min(allowed);
        if wanted > allowed.scaled(11, 10) && self.history.enters_slot(Duration::from_secs(10)) {
            self.say(Notice::ShortOfBudget { wanted, allowed });
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
        if reached > gap + band && self.settled(Duration::from_secs(1)) {
            let why = self.why_raise(need, gap);
            self.raise(to, why);
            return Phase::Guarding;
        }
        if held && gap > allowed + band && self.settled(self.config.gap.settle.get()) {
            self.set_factor(to, Reason::Budget { wanted, allowed });
        } else if held && gap > reached + band && self.settled(self.config.gap.settle.get() * 5) {
            self.narrow(now, to);
        }
        standing
    }

    /// Under load the gap follows a lower need slowly, and only where it costs refaults.
    fn narrow(&mut self, now: u64, to: u64) {
        let per_second = self.history.latest.refaults_per_second.unwrap_or(0);
        let target = self.config.gap.refault_target;
        let quiet = self.history.quiet_since_stall(self.sample.at);
        if quiet >= Duration::from_secs(30) && per_second > target {
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
        let (Some(found), Some(boost)) = (
            knobs.found.of(FACTOR),
            knobs.found.of(Knob::WatermarkBoostFactor),
        ) else {
            return;
        };
        let page_size = self.history.page_size;
        let high = |factor| {
            let base = watermark::Base::of(self.sample, page_size)?;
            let pages: Option<units::Pages> = self
                .sample
                .zones
                .iter()
                .map(|zone| base.marks(zone, factor).map(|marks| marks.high))
                .sum();
            Some(pages?.to_bytes(page_size))
        };
        if let (Some(high_found), Some(high)) = (high(found), high(factor)) {
            let kept = Bytes::new(boost)
                .scaled(high_found.get(), high.get().max(1))
                .get()
                .min(boost);
            self.drive(
                Knob::WatermarkBoostFactor,
                kept,
                Reason::BoostKept { high_found, high },
            );
        }
    }

    /// A raised low watermark wakes kswapd only at the next slow allocation; where the kernel takes a
    /// request per node, ask for what is missing, at most 1 % of the node at once.
    fn reclaim_ahead(&mut self, factor: u64) {
        let page_size = self.history.page_size;
        let Some(base) = watermark::Base::of(self.sample, page_size) else {
            return;
        };
        for node in &self.sample.nodes {
            let zones = || self.sample.zones.iter().filter(|zone| zone.node == node.id);
            let low: Option<units::Pages> = zones()
                .map(|zone| base.marks(zone, factor).map(|marks| marks.low))
                .sum();
            let free: Option<units::Pages> = zones().map(|zone| zone.amounts.free).sum();
            let managed: Option<units::Pages> = zones().map(|zone| zone.amounts.managed).sum();
            let (Some(low), Some(free), Some(managed)) = (low, free, managed) else {
                continue;
            };
            let amount = low
                .less(free)
                .min(managed.scaled(1, 100))
                .to_bytes(page_size);
            if node.amounts.can_reclaim == Some(1) && amount > Bytes::ZERO {
                let why = Reason::Ahead {
                    free: free.to_bytes(page_size),
                    low: low.to_bytes(page_size),
                };
                self.step(
                    Action::Reclaim {
                        node: node.id,
                        amount,
                    },
                    why,
                );
            }
        }
    }

    /// Gives back three quarters of what is held at a time, and the rest when it is little.
    fn ease(&mut self, calm: Duration) -> Phase {
        if !self.settled(self.config.gap.settle.get()) {
            return Phase::Easing;
        }
        let why = Reason::Quiet {
            calm: Span::new(calm),
        };
        let (Some(now), Some(found)) = (self.drivable(FACTOR), self.sample.knobs.found.of(FACTOR))
        else {
            return Phase::Yielding;
        };
        let less = found + now.saturating_sub(found) / 4;
        let matters = watermark::least_effective(self.sample, self.history.page_size);
        if less <= matters.unwrap_or(found).max(found + found / 4) {
            self.release_gap(why);
        } else {
            self.set_factor(less, why);
        }
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
    let (stall, refault) = (
        gap.stall_cost.get().as_secs_f64(),
        weight * gap.refault_cost.get().as_secs_f64(),
    );
    (stall / (stall + refault)).clamp(0.5, 0.999)
}
