//! How long pages stay in the working set, and whether their leaving is chance: exponential (a
//! half-life), lognormal, or neither.
//!
//! A stay begins with a miss and ends θ after the last use before the next miss. If pages left at
//! random, as nuclei decay, stays would be exponential: median/mean = ln 2, a coefficient of
//! variation of 1. A timer would then be as good as the working set (`half-life`).
//!
//! - Rule: stay = last use + θ − miss. A stay that the trace's end cuts counts as at least so long
//!   (Kaplan, Meier).
//! - Fits are by maximum likelihood, compared by AIC = 2k − 2 ln L: exponential (rate = ended stays
//!   / all time), and lognormal (ended stays).
//! - Cost: O(n), 16 B for each page.
//! - Source: the founding report's "half life"; Kaplan, Meier, JASA 53, 1958; Akaike, 1974.

use crate::{NONE, Trace};
use serde::Serialize;
use std::f64::consts::PI;

/// Stays at which survival is kept: more than a picture shows.
const STEPS: usize = 200;

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
    /// AIC of an exponential law.
    pub aic_exponential: f64,
    /// AIC of a lognormal law.
    pub aic_lognormal: f64,
    /// Mean and deviation of the logarithm.
    pub lognormal: (f64, f64),
    /// Time, and the share of stays that last longer.
    pub survival: Vec<(f64, f64)>,
}

impl Residence {
    /// The stays in a trace: in its own time if it has one and `timed` is true, else in references.
    pub fn of(trace: &Trace, timed: bool, theta: u64) -> Self {
        let time = trace.time().filter(|_| timed);
        let at = |reference: usize| time.map_or(reference as u64, |time| time[reference]);
        let mut last: Vec<(u32, u64)> = vec![(NONE, 0); trace.pages()];
        let mut ended = Vec::new();
        for (reference, page) in trace.refs().iter().enumerate() {
            let (used, began) = &mut last[*page as usize];
            let now = at(reference);
            if *used == NONE {
                *began = now;
            } else {
                let before = at(*used as usize);
                if now - before > theta {
                    ended.push((before + theta - *began) as f64);
                    *began = now;
                }
            }
            *used = reference as u32;
        }
        let end = at(trace.len() - 1) + 1;
        let mut cut = Vec::new();
        for (used, began) in last.into_iter().filter(|stay| stay.0 != NONE) {
            let leaves = at(used as usize) + theta;
            if leaves <= end {
                ended.push((leaves - began) as f64);
            } else {
                cut.push((end - began) as f64);
            }
        }
        Self::fitted(theta, ended, &cut)
    }

    pub(super) fn fitted(theta: u64, mut ended: Vec<f64>, cut: &[f64]) -> Self {
        ended.sort_unstable_by(f64::total_cmp);
        let count = ended.len() as f64;
        let sum: f64 = ended.iter().sum();
        let mean = sum / count;
        let variance = mean_square(&ended, mean);
        let cut_sum: f64 = cut.iter().sum();
        let rate = count / (sum + cut_sum);
        let exponential = count * rate.ln() - rate * sum;
        let logs: Vec<f64> = ended.iter().map(|stay| stay.max(1.0).ln()).collect();
        let log_sum: f64 = logs.iter().sum();
        let centre = log_sum / count;
        let spread = mean_square(&logs, centre).sqrt();
        let normal = -(count / 2.0) * ((2.0 * PI * spread.powi(2)).ln() + 1.0);
        let survival = survival(&ended, cut);
        let half = survival.iter().find(|(_, share)| *share <= 0.5);
        let median = half.map(|(stay, _)| *stay);
        Self {
            theta,
            stays: ended.len(),
            cut: cut.len(),
            mean,
            median,
            variation: variance.sqrt() / mean,
            aic_exponential: 2.0 - 2.0 * exponential,
            aic_lognormal: 4.0 - 2.0 * (normal - log_sum),
            lognormal: (centre, spread),
            survival,
        }
    }

    /// A sentence that says whether the stays differ from exponential decay.
    pub fn verdict(&self) -> String {
        if self.stays < 30 {
            return format!("{} stays ended: too few to tell a law", self.stays);
        }
        let ratio = self.median.unwrap_or(f64::INFINITY) / self.mean;
        let decays = (0.6..0.8).contains(&ratio) && (0.8..1.25).contains(&self.variation);
        let better = if self.aic_lognormal < self.aic_exponential {
            "lognormal"
        } else {
            "exponential"
        };
        let start = if decays {
            "Stays decay as by chance"
        } else {
            "Stays do not decay as by chance"
        };
        format!(
            "{start}: median/mean {ratio:.2} (ln 2 = 0.69 if they did), variation {:.2} (1 if they did); of the two laws the {better} fits better.",
            self.variation
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

/// Kaplan and Meier's estimate, at [`STEPS`] stays at most.
fn survival(ended: &[f64], cut: &[f64]) -> Vec<(f64, f64)> {
    let mut all = Vec::with_capacity(ended.len() + cut.len());
    for stay in ended {
        all.push((*stay, true));
    }
    for stay in cut {
        all.push((*stay, false));
    }
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

    #[test]
    fn decay_is_told_from_what_is_not() {
        let mut rng = Rng::new(2);
        let decaying: Vec<f64> = (0..5000)
            .map(|_| -1000.0 * (1.0 - rng.unit()).ln())
            .collect();
        let fitted = Residence::fitted(1, decaying, &[]);
        assert!(fitted.aic_exponential < fitted.aic_lognormal);
        assert!(
            fitted.verdict().starts_with("Stays decay"),
            "{}",
            fitted.verdict()
        );
        let spread: Vec<f64> = (0..5000)
            .map(|_| {
                ((0..12).map(|_| rng.unit()).sum::<f64>() - 6.0)
                    .mul_add(2.0, 7.0)
                    .exp()
            })
            .collect();
        let fitted = Residence::fitted(1, spread, &[]);
        assert!(fitted.aic_lognormal < fitted.aic_exponential);
        assert!(
            fitted.verdict().starts_with("Stays do not"),
            "{}",
            fitted.verdict()
        );
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
