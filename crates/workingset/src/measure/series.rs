//! The size of the working set over time, w(t,θ), and how it is distributed.
//!
//! - Rule: w(t,θ) = the number of pages with a last use in (t−θ, t], after each reference.
//! - Cost: O(n), 4 B for each page. A pixel keeps the least, the mean and the most of all its
//!   moments, not only the last.
//! - Source: Denning, CACM 11(5), 1968; the founding report draws the last value of each pixel.

use crate::trace::demand_window;
use crate::{Error, NONE, Trace};
use serde::Serialize;

/// The sizes within a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pixel {
    /// When the stretch begins, in the trace's time.
    pub from: u64,
    /// Fewest pages.
    pub least: u64,
    /// Mean of pages.
    pub mean: f64,
    /// Most pages.
    pub most: u64,
}

/// The sizes within a pixel, while it is being drawn.
#[derive(Clone, Copy)]
struct Drawn {
    least: u64,
    most: u64,
    sum: u64,
    count: u64,
}

impl Drawn {
    const NONE: Self = Self {
        least: u64::MAX,
        most: 0,
        sum: 0,
        count: 0,
    };

    #[inline]
    fn add(&mut self, size: u64) {
        self.least = self.least.min(size);
        self.most = self.most.max(size);
        self.sum += size;
        self.count += 1;
    }

    fn pixel(&self, from: u64) -> Pixel {
        Pixel {
            from,
            least: self.least,
            mean: self.sum as f64 / self.count as f64,
            most: self.most,
        }
    }
}

/// How sizes are distributed over references.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shape {
    /// The mean, in pages.
    pub mean: f64,
    /// The standard deviation, in pages.
    pub deviation: f64,
    /// Third standardised moment: 0 for a normal distribution.
    pub skewness: f64,
    /// Fourth standardised moment less 3: 0 for a normal distribution.
    pub excess_kurtosis: f64,
    /// n/6·(S² + K²/4): above 9.2 a normal distribution is rejected at 1 %, if the sizes were
    /// independent.
    pub jarque_bera: f64,
}

/// The working set over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// The window, in the trace's time.
    pub theta: u64,
    /// The pixels in order.
    pub pixels: Vec<Pixel>,
    /// References at which the set had each size.
    pub sizes: Vec<u64>,
}

impl Series {
    /// The series of a trace in so many pixels: in its own time if it has one and `timed` is true,
    /// else in references.
    ///
    /// Errors: a window of no time.
    pub fn of(trace: &Trace, timed: bool, theta: u64, pixels: usize) -> Result<Self, Error> {
        if theta == 0 {
            return Err(Error::Unfit(format!(
                "a window of 0: the trace is {} long",
                trace.span(timed)
            )));
        }
        let time = trace.time().filter(|_| timed);
        demand_window(theta, trace.resolution(timed))?;
        let at = |reference: usize| time.map_or(reference as u64, |time| time[reference]);
        let refs = trace.refs();
        let first = at(0);
        let span = u128::from(at(trace.len() - 1) - first + 1);
        let count = pixels.clamp(1, trace.len());
        let mut drawn = vec![Drawn::NONE; count];
        let mut last = vec![NONE; trace.pages()];
        let mut oldest = 0;
        let mut size = 0_u64;
        let mut sizes = vec![0_u64; trace.pages() + 1];
        for (reference, page) in refs.iter().enumerate() {
            let now = at(reference);
            let before = std::mem::replace(&mut last[*page as usize], reference as u32);
            size += u64::from(before == NONE);
            while at(oldest).saturating_add(theta) <= now {
                let page = refs[oldest] as usize;
                if last[page] == oldest as u32 {
                    last[page] = NONE;
                    size -= 1;
                }
                oldest += 1;
            }
            sizes[size as usize] += 1;
            let place = u128::from(now - first) * count as u128 / span;
            drawn[place as usize].add(size);
        }
        let mut pixels = Vec::with_capacity(count);
        for (place, drawn) in drawn.iter().enumerate() {
            if drawn.count > 0 {
                let since = span * place as u128 / count as u128;
                pixels.push(drawn.pixel(first + since as u64));
            }
        }
        while sizes.last() == Some(&0) {
            sizes.pop();
        }
        Ok(Self {
            theta,
            pixels,
            sizes,
        })
    }

    /// Moments of the sizes.
    pub fn shape(&self) -> Shape {
        let all: f64 = self.sizes.iter().map(|count| *count as f64).sum();
        let mut sum = 0.0;
        for (size, count) in self.sizes.iter().enumerate() {
            sum += size as f64 * *count as f64;
        }
        let mean = sum / all;
        let moment = |power: i32| {
            let mut sum = 0.0;
            for (size, count) in self.sizes.iter().enumerate() {
                sum += (size as f64 - mean).powi(power) * *count as f64;
            }
            sum / all
        };
        let deviation = moment(2).sqrt();
        let mut skewness = 0.0;
        let mut excess_kurtosis = 0.0;
        if deviation > 0.0 {
            skewness = moment(3) / deviation.powi(3);
            excess_kurtosis = moment(4) / deviation.powi(4) - 3.0;
        }
        let jarque_bera = all / 6.0 * (skewness.powi(2) + excess_kurtosis.powi(2) / 4.0);
        Shape {
            mean,
            deviation,
            skewness,
            excess_kurtosis,
            jarque_bera,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Intervals;

    #[test]
    fn the_series_has_the_mean_that_intervals_say() {
        let mut rng = crate::rng::Rng::new(5);
        let pages: Vec<u64> = (0..30_000)
            .map(|at| rng.below(30) + at / 10_000 * 40)
            .collect();
        let trace = Trace::of(&pages).unwrap();
        let window = Intervals::of(&trace, false).at(200);
        let series = Series::of(&trace, false, window.theta, 100).unwrap();
        assert!((series.shape().mean - window.size).abs() < 1e-9);
        assert!(Series::of(&trace, false, 0, 100).is_err());
        assert_eq!(
            Series::of(&trace, false, u64::MAX, 1).unwrap().pixels[0].most,
            trace.pages() as u64
        );
        assert_eq!(series.pixels.len(), 100);
        assert!(
            series
                .pixels
                .iter()
                .all(|pixel| pixel.least as f64 <= pixel.mean && pixel.mean <= pixel.most as f64)
        );
    }
}
