//! How long pages stay in the working set, and whether they leave it by chance.
//!
//! A stay begins with a miss and ends θ after the last use before the next miss. So none is shorter than θ, and its law depends on θ
//! even where each use is of a random page. What chance would give is therefore measured, not assumed: the same uses in random order
//! keep how often each page is used, and nothing else. Where stays are like theirs, pages leave as nuclei decay, and no policy can
//! know better than how often a page is used.
//!
//! - Rule: stay = last use + θ − miss. A stay that the trace's end cuts counts as at least so long
//!   (Kaplan, Meier).
//! - By chance: the two survivals are at most 1.95 √(1/n + 1/m) apart, which two samples of one law are in 999 of 1000 cases, or a
//!   twentieth, which no reader of a curve sees.
//! - Fits of the time from miss to last use are by maximum likelihood, compared by AIC = 2k − 2 ln L: exponential (rate = ended stays
//!   / all time), and lognormal (ended stays).
//! - Cost: O(n) twice, 16 B for each page and 4 B for each use.
//! - Source: the founding report's "half life"; Kaplan, Meier, JASA 53, 1958; Smirnov, Annals of Mathematical Statistics 19, 1948;
//!   Akaike, 1974.

use crate::rng::Rng;
use crate::{Page, Trace};
use serde::Serialize;
use std::f64::consts::PI;

/// Stays at which survival is kept: more than a picture shows.
const STEPS: usize = 200;
/// Smirnov's distance of two samples of one law that one of a thousand exceeds, times √(nm/(n+m)).
const SMIRNOV: f64 = 1.95;
/// A distance that means nothing, however many stays there are: how often a page is used never stays quite the same.
const SMALL: f64 = 0.05;
/// The order of the shuffled uses is the same on every machine.
const SEED: u64 = 1;

/// The stays of pages in the working set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Residence {
    /// The window, in the trace's time.
    pub theta: u64,
    /// Stays that ended.
    pub stays: usize,
    /// Stays that the trace's end cut.
    pub cut: usize,
    /// Mean of those that ended.
    pub mean: f64,
    /// Median of all, by Kaplan and Meier; `None` if fewer than half ended.
    pub median: Option<f64>,
    /// Standard deviation over mean of those that ended: 1 if exponential.
    pub variation: f64,
    /// How far the shares of stays that last longer than some time are from those by chance, at most.
    pub distance: f64,
    /// How far they may be if chance is all there is.
    pub distance_by_chance: f64,
    /// AIC of an exponential law.
    pub aic_exponential: f64,
    /// AIC of a lognormal law.
    pub aic_lognormal: f64,
    /// Mean and deviation of the logarithm.
    pub lognormal: (f64, f64),
    /// Time, and the share of stays that last longer.
    pub survival: Vec<(f64, f64)>,
    /// The same for the uses in random order.
    pub survival_by_chance: Vec<(f64, f64)>,
}

/// Stays that ended and that the trace's end cut.
#[derive(Debug, Default)]
struct Stays {
    ended: Vec<f64>,
    cut: Vec<f64>,
}

impl Stays {
    /// The stays of uses, given as page, and first and last moment, in a trace that ends at `end`.
    fn of(
        uses: impl Iterator<Item = (Page, (u64, u64))>,
        pages: usize,
        theta: u64,
        end: u64,
    ) -> Self {
        let mut stays = Self::default();
        // When each page's stay began, and its last reference.
        let mut open: Vec<Option<(u64, u64)>> = vec![None; pages];
        for (page, (from, to)) in uses {
            let stay = &mut open[page as usize];
            let began = match *stay {
                Some((began, last)) if from - last <= theta => began,
                Some((began, last)) => {
                    stays.ended.push((last + theta - began) as f64);
                    from
                }
                None => from,
            };
            *stay = Some((began, to));
        }
        for (began, last) in open.into_iter().flatten() {
            if last + theta <= end {
                stays.ended.push((last + theta - began) as f64);
            } else {
                stays.cut.push((end - began) as f64);
            }
        }
        stays.ended.sort_unstable_by(f64::total_cmp);
        stays
    }

    /// Kaplan and Meier's estimate: each stay after which fewer go on, and the share that do.
    fn survival(&self) -> Vec<(f64, f64)> {
        let mut all = Vec::with_capacity(self.ended.len() + self.cut.len());
        all.extend(self.ended.iter().map(|stay| (*stay, true)));
        all.extend(self.cut.iter().map(|stay| (*stay, false)));
        // Of equal stays those that ended come first.
        all.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
        let mut share = 1.0;
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for (place, (stay, has_ended)) in all.iter().enumerate() {
            if !has_ended {
                continue;
            }
            let left = (all.len() - place) as f64;
            share *= (left - 1.0) / left;
            match steps.last_mut() {
                Some((last, value)) if *last == *stay => *value = share,
                _ => steps.push((*stay, share)),
            }
        }
        steps
    }
}

/// The same pages in random order (Fisher, Yates).
fn shuffled(mut pages: Vec<Page>) -> Vec<Page> {
    let mut rng = Rng::new(SEED);
    for at in (1..pages.len()).rev() {
        let other = rng.below(at as u64 + 1) as usize;
        pages.swap(at, other);
    }
    pages
}

/// The largest difference of two shares that last longer.
fn distance(one: &[(f64, f64)], other: &[(f64, f64)]) -> f64 {
    let mut most: f64 = 0.0;
    let mut rest = other.iter().peekable();
    let mut beside = 1.0;
    let mut before = 1.0;
    for (stay, share) in one {
        while let Some((_, value)) = rest.next_if(|(other, _)| other < stay) {
            beside = *value;
            most = most.max((before - beside).abs());
        }
        while let Some((_, value)) = rest.next_if(|(other, _)| other <= stay) {
            beside = *value;
        }
        before = *share;
        most = most.max((before - beside).abs());
    }
    for (_, value) in rest {
        most = most.max((before - value).abs());
    }
    most
}

impl Residence {
    /// The stays in a trace: in its own time if it has one and `timed` is true, else in references.
    pub fn of(trace: &Trace, timed: bool, theta: u64) -> Self {
        let time = trace.time().filter(|_| timed);
        let at = |reference: usize| time.map_or(reference as u64, |time| time[reference]);
        let end = at(trace.len() - 1) + 1;
        let moments = (0..trace.len()).map(|reference| (at(reference), at(reference)));
        Self::of_moments(trace, moments, theta, end)
    }

    /// The stays of uses, whose pages are those of this trace, with the first and last moment of each. The trace ends at `end`.
    pub(super) fn of_moments(
        trace: &Trace,
        moments: impl Iterator<Item = (u64, u64)> + Clone,
        theta: u64,
        end: u64,
    ) -> Self {
        let stays = |pages: &[Page]| {
            let uses = pages.iter().copied().zip(moments.clone());
            Stays::of(uses, trace.pages(), theta, end)
        };
        let by_chance = stays(&shuffled(trace.refs().to_vec()));
        Self::told(theta, &stays(trace.refs()), &by_chance)
    }

    /// What these stays tell, beside those of the same uses in random order.
    fn told(theta: u64, stays: &Stays, by_chance: &Stays) -> Self {
        let ended = &stays.ended;
        let count = ended.len() as f64;
        let sum: f64 = ended.iter().sum();
        let mean = sum / count;
        let variance = mean_square(ended, mean);
        // From the miss to the last use, both of them in it.
        let used = |stay: &f64| (stay - theta as f64).max(0.0) + 1.0;
        let lengths: Vec<f64> = ended.iter().map(used).collect();
        let length_sum: f64 = lengths.iter().sum();
        let cut_sum: f64 = stays.cut.iter().sum();
        let rate = count / (length_sum + cut_sum);
        let exponential = count * rate.ln() - rate * length_sum;
        let logs: Vec<f64> = lengths.iter().map(|length| length.ln()).collect();
        let log_sum: f64 = logs.iter().sum();
        let centre = log_sum / count;
        let spread = mean_square(&logs, centre).sqrt();
        let normal = -(count / 2.0) * ((2.0 * PI * spread.powi(2)).ln() + 1.0);
        let survival = stays.survival();
        let survival_by_chance = by_chance.survival();
        let half = survival.iter().find(|(_, share)| *share <= 0.5);
        let allowed = SMIRNOV * (1.0 / count + 1.0 / by_chance.ended.len() as f64).sqrt();
        Self {
            theta,
            stays: ended.len(),
            cut: stays.cut.len(),
            mean,
            median: half.map(|(stay, _)| *stay),
            variation: variance.sqrt() / mean,
            distance: distance(&survival, &survival_by_chance),
            distance_by_chance: allowed.max(SMALL),
            aic_exponential: 2.0 - 2.0 * exponential,
            aic_lognormal: 4.0 - 2.0 * (normal - log_sum),
            lognormal: (centre, spread),
            survival: thinned(survival),
            survival_by_chance: thinned(survival_by_chance),
        }
    }

    /// Whether pages leave as they would if each use were of a random page.
    pub fn is_by_chance(&self) -> bool {
        self.distance <= self.distance_by_chance
    }

    /// A sentence that says whether the stays differ from exponential decay.
    pub fn verdict(&self) -> String {
        if self.stays < 30 {
            return format!("{} stays ended: too few to tell a law", self.stays);
        }
        let better = if self.aic_lognormal < self.aic_exponential {
            "lognormal"
        } else {
            "exponential"
        };
        let start = if self.is_by_chance() {
            "Stays decay as by chance"
        } else {
            "Stays do not decay as by chance"
        };
        format!(
            "{start}: shares that last longer are up to {:.2} from those of the same uses in random order, where chance allows {:.2}; \
             of two laws for the time from first to last use the {better} fits better.",
            self.distance, self.distance_by_chance
        )
    }
}

/// The mean of the squared distances from a centre.
fn mean_square(values: &[f64], centre: f64) -> f64 {
    let mut sum = 0.0;
    for value in values {
        sum += (value - centre).powi(2);
    }
    sum / values.len() as f64
}

/// At most about [`STEPS`] of these points, the last among them.
fn thinned(steps: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let step = steps.len().div_ceil(STEPS).max(1);
    let last = steps.len().saturating_sub(1);
    let mut kept = Vec::new();
    for (at, point) in steps.into_iter().enumerate() {
        if at % step == 0 || at == last {
            kept.push(point);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Independent references (King, 1971): page k is used as often as 1/(k+1)^skew.
    fn memoryless(pages: u64, skew: f64, references: usize) -> Trace {
        let weights: Vec<f64> = (1..=pages).map(|page| (page as f64).powf(-skew)).collect();
        let all: f64 = weights.iter().sum();
        let mut rng = Rng::new(9);
        let mut draw = || {
            let mut left = rng.unit() * all;
            let found = weights.iter().position(|weight| {
                left -= weight;
                left < 0.0
            });
            found.unwrap_or(0) as u64
        };
        let drawn: Vec<u64> = (0..references).map(|_| draw()).collect();
        Trace::of(&drawn).unwrap()
    }

    #[test]
    fn a_trace_without_memory_decays_as_by_chance_at_every_window() {
        for skew in [0.0, 0.8, 1.2] {
            let trace = memoryless(200, skew, 60_000);
            for theta in [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000] {
                let residence = Residence::of(&trace, false, theta);
                assert!(
                    residence.is_by_chance() || residence.stays < 30,
                    "{skew} {theta}: {residence:?}"
                );
            }
        }
    }

    #[test]
    fn phases_do_not_decay_as_by_chance() {
        // A thousand references to ten of 200 pages, then to ten others.
        let mut rng = Rng::new(4);
        let mut pages = Vec::new();
        for _ in 0..60 {
            let first = rng.below(190);
            pages.extend((0..1000).map(|_| first + rng.below(10)));
        }
        let trace = Trace::of(&pages).unwrap();
        for theta in [100, 300, 1000] {
            let residence = Residence::of(&trace, false, theta);
            assert!(residence.stays >= 30, "{theta}: {}", residence.stays);
            assert!(
                residence.verdict().starts_with("Stays do not"),
                "{theta}: {}",
                residence.verdict()
            );
        }
    }

    #[test]
    fn stays_by_hand() {
        // With a window of 2: page 1 stays from 0 to 3, then from 6; page 2 from 1 on in steps that
        // never miss.
        let trace = Trace::of(&[1, 1, 2, 2, 2, 2, 1, 2, 2, 2]).unwrap();
        let residence = Residence::of(&trace, false, 2);
        assert_eq!(residence.stays, 2);
        assert_eq!(residence.cut, 1);
        assert_eq!(residence.mean, (3.0 + 2.0) / 2.0);
    }
}
