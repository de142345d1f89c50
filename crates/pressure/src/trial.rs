//! The circuit breaker: every raise of the gap is on trial, and one that made things worse is undone.
//!
//! Harm is the time that tasks lost to memory, as the kernel counts it (`some` of the pressure file). A
//! growing load loses more time whatever the gap. So harm is divided by demand: time lost for each MiB
//! of gross demand, measured only while memory is short, for demand that free memory can meet costs
//! nothing. The running mean before a raise is kept and compared with the mean after it.
//!
//! - Law: guilty if, 15 s after the raise, `harm/demand > 2·(harm/demand before)`, `harm > 50 ms/s`, and
//!   stalls per demand did not fall. Then nothing is raised for 5 min, doubling up to 1 h.
//! - Limit: a raise within the first seconds of a shortage has nothing to be compared with, and stands.

use crate::knob::Knob;
use crate::rates::Rates;
use crate::sample::Sample;
use crate::sketch::faded;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::Span;

/// Half-life of the running means: a third of the trial, so that the verdict is on what came after.
const HALF_LIFE: Duration = Duration::from_secs(5);
/// Length of a trial. Longer suffers a bad raise longer; shorter judges a raise by one burst.
const LENGTH: Duration = Duration::from_secs(15);
/// Time without raises after the first verdict. Each further verdict doubles it.
const PENALTY: Duration = Duration::from_secs(300);
/// The longest time without raises, so that a changed load gets another chance within the hour.
const MOST_PENALTY: Duration = Duration::from_secs(3600);
/// Lost microseconds per second that are not worth an undo: 5 % of the time.
const TOLERANCE: f64 = 50_000.0;
/// Least seconds of shortage before a raise: with fewer there is no mean to compare with.
const LEAST_SHORT: f64 = 3.0;
/// Half-life of the seconds of shortage: an older shortage was another load.
const MEMORY: Duration = Duration::from_secs(60);

/// The state of the breaker.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Trial {
    /// Running mean of time lost, µs per second.
    harm: f64,
    /// Running mean of allocations that stalled, per second.
    stalls: f64,
    /// Running mean of gross demand, MiB per second.
    demand: f64,
    /// Seconds of shortage behind those means, fading.
    short: f64,
    running: Option<Charge>,
    verdict: Option<Verdict>,
    penalty: Span,
}

/// A raise on trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Charge {
    since: Span,
    harm: f64,
    stalls: f64,
    demand: f64,
    short: f64,
}

/// A raise that was found to have made things worse.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    /// Time lost per second before.
    pub before: Span,
    /// Time lost per second after.
    pub after: Span,
    /// No raise until then.
    pub until: Span,
}

impl Trial {
    /// Takes in one pair of samples.
    pub(crate) fn push(&mut self, old: &Sample, new: &Sample, rates: &Rates) {
        let seconds = rates.elapsed.as_secs_f64();
        let is_short = rates.kswapd.is_some_and(|freed| freed.get() > 0)
            || rates.allocation_stalls.unwrap_or(0) > 0;
        let kept = if is_short {
            faded(rates.elapsed, HALF_LIFE)
        } else {
            1.0
        };
        let short_now = if is_short { seconds } else { 0.0 };
        self.short = self.short * faded(rates.elapsed, MEMORY) + short_now;
        let blend = |mean: &mut f64, amount: Option<u64>| {
            if let Some(amount) = amount {
                *mean = *mean * kept + amount as f64 / seconds * (1.0 - kept);
            }
        };
        blend(&mut self.harm, rates.stalled.map(units::Micros::get));
        blend(&mut self.stalls, rates.allocation_stalls);
        blend(
            &mut self.demand,
            rates.demand.map(|demand| demand.get() >> 20),
        );
        let before = factor(old).or(old.knobs.found.of(Knob::WatermarkScaleFactor));
        match factor(new) {
            Some(now) if before < Some(now) => self.begin(new.at),
            Some(_) => {}
            None => self.running = None,
        }
        self.judge(new.at);
    }

    /// Puts a raise on trial, unless one is already.
    fn begin(&mut self, at: Span) {
        self.running.get_or_insert(Charge {
            since: at,
            harm: self.harm,
            stalls: self.stalls,
            demand: self.demand,
            short: self.short,
        });
    }

    fn judge(&mut self, at: Span) {
        let Some(charge) = self.running else { return };
        if at.get().saturating_sub(charge.since.get()) < LENGTH {
            return;
        }
        self.running = None;
        if charge.short < LEAST_SHORT {
            return;
        }
        // Cross products instead of quotients: without demand the raise cannot be blamed.
        let worse = self.harm * charge.demand > 2.0 * charge.harm * self.demand;
        let no_fewer = self.stalls * charge.demand >= charge.stalls * self.demand;
        if worse && no_fewer && self.harm > TOLERANCE {
            self.penalty = Span::new((self.penalty.get() * 2).clamp(PENALTY, MOST_PENALTY));
            let lost = |harm: f64| Span::new(Duration::from_micros(harm as u64));
            let until = Span::new(at.get() + self.penalty.get());
            self.verdict = Some(Verdict {
                before: lost(charge.harm),
                after: lost(self.harm),
                until,
            });
        }
    }

    /// The verdict in force at `at`, if any.
    pub(crate) fn verdict(&self, at: Span) -> Option<Verdict> {
        self.verdict.filter(|verdict| at < verdict.until)
    }
}

/// The watermark factor that the guard wrote.
fn factor(sample: &Sample) -> Option<u64> {
    sample.knobs.ours.of(Knob::WatermarkScaleFactor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bytes, Micros, Pages};

    /// One sample a second, each with its stalled µs and the factor that the guard wrote.
    fn run(seconds: &[(u64, Option<u64>)]) -> Trial {
        let mut trial = Trial::default();
        let mut old = Sample::default();
        old.knobs.found.put(Knob::WatermarkScaleFactor, Some(10));
        old.memory_pressure.some_total = Some(Micros::new(0));
        old.counters.allocstall_normal = Some(0);
        old.counters.pgsteal_kswapd = Some(0);
        old.counters.nr_free_pages = Some(Pages::new(1000));
        for (stalled, ours) in seconds {
            let mut new = old.clone();
            new.at = Span::new(old.at.get() + Duration::from_secs(1));
            new.memory_pressure.some_total = old
                .memory_pressure
                .some_total
                .map(|t| Micros::new(t.get() + stalled));
            new.knobs.ours.put(Knob::WatermarkScaleFactor, *ours);
            new.counters.nr_free_pages = Some(Pages::new(1000));
            // 100 MiB each second.
            new.counters.pgsteal_kswapd = old.counters.pgsteal_kswapd.map(|stolen| stolen + 25_600);
            let rates = Rates::between(&old, &new, Bytes::kib(4)).unwrap();
            trial.push(&old, &new, &rates);
            old = new;
        }
        trial
    }

    #[test]
    fn a_raise_after_which_more_time_is_lost_is_undone_for_a_while() {
        let mut seconds = vec![(1000, None); 20];
        seconds.extend(vec![(400_000, Some(300)); 20]);
        let trial = run(&seconds);
        let verdict = trial.verdict(Span::secs(40)).expect("guilty");
        assert!(verdict.after > verdict.before);
        assert_eq!(trial.verdict(Span::secs(40 + 300)), None);
    }

    #[test]
    fn a_raise_that_helped_stands() {
        let mut seconds = vec![(400_000, None); 20];
        seconds.extend(vec![(1000, Some(300)); 20]);
        assert_eq!(run(&seconds).verdict(Span::secs(40)), None);
    }

    #[test]
    fn a_raise_at_the_begin_of_a_shortage_is_acquitted() {
        let mut seconds = vec![(0, None); 1];
        seconds.extend(vec![(400_000, Some(300)); 20]);
        assert_eq!(run(&seconds).verdict(Span::secs(21)), None);
    }

    #[test]
    fn harm_without_a_raise_is_nobodys_fault() {
        let mut seconds = vec![(1000, None); 20];
        seconds.extend(vec![(400_000, None); 20]);
        assert_eq!(run(&seconds).verdict(Span::secs(40)), None);
    }
}
