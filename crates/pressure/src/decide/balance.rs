//! What reclaim takes first, how much of swap it reads at once, how long it leaves the youngest alone: on request, from
//! what comes back and who waits for it.
//!
//! - Law, `vm.swappiness`: `f` pages of files and `a` of anonymous memory come back per second, one of the latter worth
//!   `w` of the former. A step up while `f > 2·w·a`, a step down while `w·a > 2·f`, none between: the kind that is
//!   missed more is taken less. `w` is 1, and ⅛ where all swap is compressed memory, which needs no device. Never above 100
//!   where swap is on a device; an administrator's 0 stays.
//! - Law, `vm.page-cluster`: one less, down to 1, while less than half of what is read ahead from swap is used; one more, up
//!   to what was found, while nine tenths are. At 0 nothing would be read ahead, and so nothing seen.
//! - Law, `min_ttl_ms`: 100 ms more, up to 1000, while all tasks wait a tenth of the time for pages that come back; half
//!   when an allocation had to reclaim for itself; 100 ms less when few wait. As found at once when memory is about to run
//!   out, and for [`AFTER_A_KILL`] when the kernel has ended a process: it does when all memory is younger than this, by its
//!   own choice.
//! - All: once in [`EVERY`] at most; as found after [`CALM`], and when it is no longer asked for.
//! - Source: Documentation/admin-guide/sysctl/vm.rst; "mm: multi-gen LRU: thrashing prevention" (1332a809d95a), in whose
//!   words 1000 "usually eliminates intolerable lags".
//! - Limit: a step every few seconds follows a load of minutes, and no burst.

use super::{Draft, SHORT};
use crate::decision::Reason;
use crate::distress::{Outlook, Severity, severity};
use crate::knob::Knob;
use crate::sample::SwapKind;
use std::time::Duration;
use units::{Percent, Span};

/// Between two steps: the means must show what the last one did.
const EVERY: Duration = Duration::from_secs(5);
/// Memory that was last short so long ago is so no more.
const CALM: Duration = Duration::from_secs(60);
/// For so long the youngest are not protected any more.
const AFTER_A_KILL: Duration = Duration::from_secs(600);
/// Of 200.
const STEP: u64 = 20;
const MOST_ON_DEVICES: u64 = 100;
const MOST_IN_MEMORY: u64 = 200;
/// What a page from compressed memory costs of one from a device.
const IN_MEMORY: f64 = 0.125;
/// Fewer pages ahead a second say nothing.
const LEAST_AHEAD: f64 = 32.0;
/// All tasks wait for so much of the time.
const LAGS: Percent = Percent::new(10);
const FEW_WAIT: Percent = Percent::new(5);
const MORE_MS: u64 = 100;
const MOST_MS: u64 = 1000;

impl Draft<'_> {
    /// Moves what the configuration asks for.
    pub(super) fn balance(&mut self) {
        let asked = &self.config.balance;
        // Where it was never short, that is since boot.
        let calm = self
            .history
            .calm(self.sample.at)
            .unwrap_or(self.sample.at.get());
        for (knob, is_asked, law) in [
            (
                Knob::Swappiness,
                asked.swappiness,
                Self::swappiness as fn(&mut Self),
            ),
            (Knob::PageCluster, asked.page_cluster, Self::page_cluster),
            (Knob::MinTtlMs, asked.min_ttl, Self::min_ttl),
        ] {
            if self.is_by_hand(knob) {
                continue;
            }
            if !is_asked {
                self.release(knob, Reason::Stop);
            } else if let Some(why) = self.is_risky(knob) {
                self.release(knob, why);
            } else if calm >= CALM {
                self.release(
                    knob,
                    Reason::Quiet {
                        calm: Span::new(calm),
                    },
                );
            } else if calm < SHORT && self.history.enters_slot(EVERY) {
                law(self);
            }
        }
    }

    /// Why this may not be held now: the kernel would choose who ends, or has.
    fn is_risky(&self, knob: Knob) -> Option<Reason> {
        let outlook = self.history.distress.outlook;
        let is_near = |outlook: &Outlook| severity(outlook, &self.config.guard) >= Severity::Warn;
        let killed = self
            .ago(self.history.returns.last_kill)
            .is_some_and(|ago| ago < AFTER_A_KILL);
        let is_risky = knob == Knob::MinTtlMs && (killed || outlook.as_ref().is_some_and(is_near));
        is_risky.then(|| Reason::Verge {
            headroom: outlook.map(|outlook| outlook.headroom).unwrap_or_default(),
        })
    }

    fn found(&self, knob: Knob) -> u64 {
        self.sample.knobs.found.of(knob).unwrap_or_default()
    }

    fn swappiness(&mut self) {
        let back = self.history.returns;
        let why = Reason::Balance {
            file: back.file as u64,
            anon: back.anon as u64,
        };
        let (swaps, found) = (&self.sample.swaps, self.found(Knob::Swappiness));
        let Some(now) = self.drivable(Knob::Swappiness) else {
            return;
        };
        if swaps.is_empty() || found == 0 {
            return self.release(Knob::Swappiness, why);
        }
        let in_memory = swaps.iter().all(|swap| swap.kind == SwapKind::Zram);
        let (weight, most) = if in_memory {
            (IN_MEMORY, MOST_IN_MEMORY)
        } else {
            (1.0, MOST_ON_DEVICES)
        };
        let is_much = back.file + back.anon >= self.config.gap.refault_target as f64;
        let to = if is_much && back.file > 2.0 * weight * back.anon {
            now + STEP
        } else if is_much && weight * back.anon > 2.0 * back.file {
            now.saturating_sub(STEP).max(1)
        } else {
            now
        };
        self.drive(Knob::Swappiness, to.min(most.max(found)), why);
    }

    fn page_cluster(&mut self) {
        let back = self.history.returns;
        let Some(now) = self.drivable(Knob::PageCluster) else {
            return;
        };
        let why = Reason::ReadAhead {
            ahead: back.ahead as u64,
            used: back.used as u64,
        };
        if back.ahead < LEAST_AHEAD {
            return;
        }
        if back.used < 0.5 * back.ahead && now > 1 {
            self.drive(Knob::PageCluster, now - 1, why);
        } else if back.used > 0.9 * back.ahead && now < self.found(Knob::PageCluster) {
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
        let (back, found) = (self.history.returns, self.found(Knob::MinTtlMs));
        let per_second = (back.file + back.anon) as u64;
        let to = if self.ago(back.last_stall).is_some_and(|ago| ago < EVERY) {
            (now / 2).max(found)
        } else if stalled >= LAGS && per_second >= self.config.gap.refault_target {
            (now + MORE_MS).min(MOST_MS.max(now))
        } else if stalled < FEW_WAIT {
            now.saturating_sub(MORE_MS).max(found)
        } else {
            now
        };
        self.drive(
            Knob::MinTtlMs,
            to,
            Reason::Lags {
                stalled,
                per_second,
            },
        );
    }
}
