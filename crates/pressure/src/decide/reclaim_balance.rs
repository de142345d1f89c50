//! What reclaim takes first, how much of swap it reads at once, and how long it leaves the youngest pages
//! alone: on request, moved by refaults and stalls.
//!
//! - Law, `vm.swappiness`: `f` file pages and `a` anonymous pages refault per second, and one of the
//!   latter costs `w` of the former. A step up while `f > 2·w·a`, a step down while `w·a > 2·f`, none
//!   between: the kind that is missed more is taken less. `w` is 1, and ⅛ where all swap is zram, which
//!   needs no device. Never above 100 where swap is on a device; an administrator's 0 stays.
//! - Law, `vm.page-cluster`: one less, down to 1, while less than half of what is read ahead from swap is
//!   used; one more, up to what was found, while nine tenths are. At 0 nothing is read ahead, so nothing
//!   could be measured.
//! - Law, `min_ttl_ms`: 100 ms more, up to 1000, while all tasks wait a tenth of the time for refaults;
//!   half when an allocation entered direct reclaim; 100 ms less when few wait. As found at once when
//!   memory is about to run out, and for [`AFTER_A_KILL`] when the kernel has OOM-killed a process: it
//!   does so when all memory is younger than this.
//! - All: at most one step in [`EVERY`]; as found after [`CALM`], and when no longer requested.
//! - Source: Documentation/admin-guide/sysctl/vm.rst; "mm: multi-gen LRU: thrashing prevention"
//!   (1332a809d95a): 1000 "usually eliminates intolerable lags".
//! - Limit: a step every few seconds follows a load of minutes, and no burst.

use super::draft::{Draft, SHORT};
use crate::decision::Reason;
use crate::distress::{Bounds, Severity, severity};
use crate::knob::Knob;
use crate::sample::SwapKind;
use std::time::Duration;
use units::{Percent, Span};

/// Time between two steps: the half-life of the means, so that they show what the last step did.
const EVERY: Duration = Duration::from_secs(5);
/// Memory that was last short this long ago is no longer short.
const CALM: Duration = Duration::from_secs(60);
/// The youngest pages are not protected for this long after an OOM kill. Shorter risks the next kill;
/// longer leaves lags.
const AFTER_A_KILL: Duration = Duration::from_secs(600);
/// One step of swappiness, of 200. A larger one overshoots before the means follow.
const STEP: u64 = 20;
/// The kernel's limit before Linux 5.8. More would prefer swap on a device to dropping file pages.
const MOST_ON_DEVICES: u64 = 100;
/// The kernel's limit.
const MOST_IN_MEMORY: u64 = 200;
/// What a refault from zram costs against one from a device.
const IN_MEMORY: f64 = 0.125;
/// Fewer pages read ahead per second say nothing.
const LEAST_AHEAD: f64 = 32.0;
/// Tasks lag when all of them wait for this share of the time.
const LAGS: Percent = Percent::new(10);
/// Few wait below this share.
const FEW_WAIT: Percent = Percent::new(5);
/// One step of `min_ttl_ms`.
const MORE_MS: u64 = 100;
/// The most that `min_ttl_ms` is driven to; see Source above.
const MOST_MS: u64 = 1000;

impl Draft<'_> {
    /// Moves the knobs that the configuration asks for.
    pub(super) fn balance(&mut self) {
        let wanted = &self.config.balance;
        if self.is_due(Knob::Swappiness, wanted.swappiness) {
            self.swappiness();
        }
        if self.is_due(Knob::PageCluster, wanted.page_cluster) {
            self.page_cluster();
        }
        if self.is_due(Knob::MinTtlMs, wanted.min_ttl) {
            self.min_ttl();
        }
    }

    /// Whether it is time for a step of `knob`. Puts it back if it is not requested, at risk, or memory
    /// is no longer short.
    fn is_due(&mut self, knob: Knob, is_wanted: bool) -> bool {
        if self.is_by_hand(knob) {
            return false;
        }
        // Where memory was never short, it has been calm since boot.
        let calm = self
            .history
            .calm(self.sample.at)
            .unwrap_or(self.sample.at.get());
        if !is_wanted {
            self.release(knob, Reason::Stop);
        } else if let Some(why) = self.is_risky(knob) {
            self.release(knob, why);
        } else if calm >= CALM {
            let calm = Span::new(calm);
            self.release(knob, Reason::Quiet { calm });
        } else {
            return calm < SHORT && self.history.enters_slot(EVERY);
        }
        false
    }

    /// Why `min_ttl_ms` may not be held now: the kernel would OOM-kill for it, or has.
    fn is_risky(&self, knob: Knob) -> Option<Reason> {
        if knob != Knob::MinTtlMs {
            return None;
        }
        let outlook = self.history.distress.outlook;
        let has_killed = self
            .ago(self.history.refaults.last_kill)
            .is_some_and(|ago| ago < AFTER_A_KILL);
        let is_near = outlook.is_some_and(|outlook| {
            severity(&outlook, &Bounds::of(&self.config.guard)) >= Severity::Warn
        });
        if !has_killed && !is_near {
            return None;
        }
        Some(Reason::NearOom {
            headroom: outlook.map(|outlook| outlook.headroom).unwrap_or_default(),
        })
    }

    fn found(&self, knob: Knob) -> u64 {
        self.sample.knobs.found.of(knob).unwrap_or_default()
    }

    fn swappiness(&mut self) {
        let refaults = self.history.refaults;
        let why = Reason::Balance {
            file: refaults.file as u64,
            anon: refaults.anon as u64,
        };
        let swaps = &self.sample.swaps;
        let found = self.found(Knob::Swappiness);
        let Some(now) = self.drivable(Knob::Swappiness) else {
            return;
        };
        if swaps.is_empty() || found == 0 {
            return self.release(Knob::Swappiness, why);
        }
        let is_in_memory = swaps.iter().all(|swap| swap.kind == SwapKind::Zram);
        let (weight, most) = if is_in_memory {
            (IN_MEMORY, MOST_IN_MEMORY)
        } else {
            (1.0, MOST_ON_DEVICES)
        };
        let is_much = refaults.file + refaults.anon >= self.config.gap.refault_target as f64;
        let to = if is_much && refaults.file > 2.0 * weight * refaults.anon {
            now + STEP
        } else if is_much && weight * refaults.anon > 2.0 * refaults.file {
            now.saturating_sub(STEP).max(1)
        } else {
            now
        };
        self.drive(Knob::Swappiness, to.min(most.max(found)), why);
    }

    fn page_cluster(&mut self) {
        let refaults = self.history.refaults;
        let Some(now) = self.drivable(Knob::PageCluster) else {
            return;
        };
        if refaults.ahead < LEAST_AHEAD {
            return;
        }
        let why = Reason::ReadAhead {
            ahead: refaults.ahead as u64,
            used: refaults.used as u64,
        };
        if refaults.used < 0.5 * refaults.ahead && now > 1 {
            self.drive(Knob::PageCluster, now - 1, why);
        } else if refaults.used > 0.9 * refaults.ahead && now < self.found(Knob::PageCluster) {
            self.drive(Knob::PageCluster, now + 1, why);
        }
    }

    fn min_ttl(&mut self) {
        let Some(now) = self.drivable(Knob::MinTtlMs) else {
            return;
        };
        let Some(stalled) = self.sample.memory_pressure.full_avg10 else {
            return;
        };
        let refaults = self.history.refaults;
        let found = self.found(Knob::MinTtlMs);
        let per_second = (refaults.file + refaults.anon) as u64;
        let stalled_lately = self.ago(refaults.last_stall).is_some_and(|ago| ago < EVERY);
        let to = if stalled_lately {
            (now / 2).max(found)
        } else if stalled >= LAGS && per_second >= self.config.gap.refault_target {
            (now + MORE_MS).min(MOST_MS.max(now))
        } else if stalled < FEW_WAIT {
            now.saturating_sub(MORE_MS).max(found)
        } else {
            now
        };
        let why = Reason::Lags {
            stalled,
            per_second,
        };
        self.drive(Knob::MinTtlMs, to, why);
    }
}
