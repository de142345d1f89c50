//! Working-set size and miss rate at every window θ, from one histogram of the times between uses
//! of a page.
//!
//! Let x be the time since a page's last use (none for the first), f the time to its next use (to
//! the trace's end for the last), and K the trace's time:
//!
//! - misses(θ) = cold + #{x > θ}; mean size(θ) = Σ min(f, θ) / K, the end correction included;
//! - VMIN at the same window: the same misses, and mean size Σ (f if f ≤ θ else 1) / K.
//!
//! - Cost: O(n), 4 or 8 B for each page, and 7,424 bins: single up to 256, then 128 for each
//!   doubling. So a window between two edges is known to 0.8 %. At a bin's upper edge all counts
//!   are exact.
//! - Source: Denning, Schwartz, CACM 15(3), 1972; Slutz, Traiger, CACM 17(10), 1974; Prieve, Fabry,
//!   CACM 19(5), 1976.

use crate::{NONE, Page, Trace, Uses};

/// Values that have a bin of their own: most intervals of programs are short.
const SINGLE: u64 = 256;
/// Bins of each doubling above: a bin is at most 1/128 wide, 0.8 %. More would cost memory for each
/// histogram.
const PARTS: usize = 128;
const BINS: usize = SINGLE as usize + (64 - 8) * PARTS;

#[inline]
fn bin(value: u64) -> usize {
    if value < SINGLE {
        return value as usize;
    }
    let octave = value.ilog2();
    let start = SINGLE as usize + (octave - 8) as usize * PARTS;
    let part = (value >> (octave - 7)) as usize - PARTS;
    start + part
}

/// The largest value of a bin.
fn edge(bin: usize) -> u64 {
    if bin < SINGLE as usize {
        return bin as u64;
    }
    let above = bin - SINGLE as usize;
    let octave = above / PARTS + 8;
    let part = above % PARTS;
    let width = 1_u128 << (octave - 7);
    let largest = (PARTS + part + 1) as u128 * width - 1;
    u64::try_from(largest).unwrap_or(u64::MAX)
}

/// The number and the sum of the values in each bin.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Histogram {
    count: Vec<u64>,
    sum: Vec<u128>,
}

impl Histogram {
    fn new() -> Self {
        Self {
            count: vec![0; BINS],
            sum: vec![0; BINS],
        }
    }

    #[inline]
    fn add(&mut self, value: u64) {
        let bin = bin(value);
        self.count[bin] += 1;
        self.sum[bin] += u128::from(value);
    }
}

/// Intervals between the uses of each page, as a histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intervals {
    between: Histogram,
    /// The times from each page's last use to the trace's end.
    tail: Histogram,
    /// First uses: the number of pages.
    pub cold: u64,
    /// References.
    pub references: u64,
    /// How long the trace is: in references, or one more than the time from the first to the last.
    pub time: u64,
}

/// The measures at one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// The window, in the trace's time.
    pub theta: u64,
    /// References that miss.
    pub misses: u64,
    /// Mean size of the working set, pages.
    pub size: f64,
    /// Mean size of VMIN's memory, pages.
    pub vmin: f64,
}

impl Intervals {
    /// The intervals of a trace: in its own time if it has one and `timed` is true, else in
    /// references.
    pub fn of(trace: &Trace, timed: bool) -> Self {
        match trace.time().filter(|_| timed) {
            Some(time) => Self::timed(trace.refs(), time, trace.pages()),
            None => Self::counted(trace.refs(), trace.pages()),
        }
    }

    /// The intervals of uses, in their time.
    pub fn of_uses(uses: &Uses) -> Self {
        let mut last: Vec<u64> = vec![u64::MAX; uses.pages()];
        let mut between = Histogram::new();
        let mut tail = Histogram::new();
        let mut cold = 0;
        let mut within = 0;
        for one in uses {
            // The references within a use are one unit of time apart, or none. The latter miss at
            // no window.
            within += one.to - one.from;
            match std::mem::replace(&mut last[one.page as usize], one.to) {
                u64::MAX => cold += 1,
                before => between.add(one.from - before),
            }
        }
        between.count[1] += within;
        between.sum[1] += u128::from(within);
        for at in &last {
            tail.add(uses.end() - at);
        }
        Self {
            between,
            tail,
            cold,
            references: uses.references(),
            time: uses.time(),
        }
    }

    fn counted(refs: &[Page], pages: usize) -> Self {
        let mut last = vec![NONE; pages];
        let mut between = Histogram::new();
        let mut cold = 0;
        // Most intervals are short: they are counted apart, without a sum.
        let mut short = vec![0_u64; SINGLE as usize];
        for (at, page) in refs.iter().enumerate() {
            let before = std::mem::replace(&mut last[*page as usize], at as u32);
            if before == NONE {
                cold += 1;
                continue;
            }
            let interval = at as u32 - before;
            if u64::from(interval) < SINGLE {
                short[interval as usize] += 1;
            } else {
                between.add(u64::from(interval));
            }
        }
        for (interval, count) in short.iter().enumerate() {
            between.count[interval] += count;
            between.sum[interval] += u128::from(*count) * interval as u128;
        }
        let mut tail = Histogram::new();
        for at in last {
            if at != NONE {
                tail.add(refs.len() as u64 - u64::from(at));
            }
        }
        Self {
            between,
            tail,
            cold,
            references: refs.len() as u64,
            time: refs.len() as u64,
        }
    }

    fn timed(refs: &[Page], time: &[u64], pages: usize) -> Self {
        let mut last: Vec<Option<u64>> = vec![None; pages];
        let mut between = Histogram::new();
        let mut cold = 0;
        for (page, now) in refs.iter().zip(time) {
            match last[*page as usize].replace(*now) {
                None => cold += 1,
                Some(before) => between.add(*now - before),
            }
        }
        let end = time[time.len() - 1] + 1;
        let mut tail = Histogram::new();
        for at in last.iter().flatten() {
            tail.add(end - at);
        }
        Self {
            between,
            tail,
            cold,
            references: refs.len() as u64,
            time: end - time[0],
        }
    }

    /// Every window at which a count changes, in rising order: at most 7,424.
    pub fn windows(&self) -> Vec<Window> {
        let count = |bin: usize| self.between.count[bin] + self.tail.count[bin];
        let last = (0..BINS).rfind(|bin| count(*bin) > 0).unwrap_or(0);
        let all: u64 = self.between.count.iter().sum();
        let tails: u64 = self.tail.count.iter().sum();
        let mut within = 0_u64;
        let mut sum = 0_u128;
        let mut ended = 0_u64;
        let mut ending = 0_u128;
        let mut windows = Vec::new();
        for bin in 0..=last {
            within += self.between.count[bin];
            sum += self.between.sum[bin];
            ended += self.tail.count[bin];
            ending += self.tail.sum[bin];
            if bin == 0 || (count(bin) == 0 && bin != last) {
                continue;
            }
            let theta = edge(bin).min(self.time);
            let longer = all - within;
            let later = tails - ended;
            let size = (sum + ending) as f64 + theta as f64 * (longer + later) as f64;
            // VMIN keeps a page that is not used again within the window for its use alone.
            let vmin = sum as f64 + (longer + tails) as f64;
            windows.push(Window {
                theta,
                misses: self.cold + longer,
                size: size / self.time as f64,
                vmin: vmin / self.time as f64,
            });
        }
        windows
    }

    /// The window at the first bin's edge that is not below θ.
    pub fn at(&self, theta: u64) -> Window {
        let windows = self.windows();
        let at = windows
            .partition_point(|window| window.theta < theta)
            .min(windows.len().saturating_sub(1));
        windows.get(at).copied().unwrap_or(Window {
            theta,
            misses: self.cold,
            size: 0.0,
            vmin: 0.0,
        })
    }

    /// The bins that are not empty: upper edge, and number of intervals.
    pub fn histogram(&self) -> Vec<(u64, u64)> {
        let mut bins = Vec::new();
        for (bin, count) in self.between.count.iter().enumerate() {
            if *count > 0 {
                bins.push((edge(bin), *count));
            }
        }
        bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bins_meet() {
        for bin_number in 0..BINS - 1 {
            let top = edge(bin_number);
            assert_eq!(bin(top), bin_number, "{top}");
            assert_eq!(bin(top + 1), bin_number + 1, "{top}");
        }
        assert_eq!(bin(u64::MAX), BINS - 1);
    }

    /// w(t,θ) and the misses, by their definitions.
    fn plainly(refs: &[Page], theta: usize) -> (u64, f64) {
        let mut misses = 0;
        let mut sizes = 0;
        for at in 0..refs.len() {
            let seen = refs[..at].iter().rposition(|page| *page == refs[at]);
            misses += u64::from(seen.is_none_or(|seen| at - seen > theta));
            let window = &refs[(at + 1).saturating_sub(theta)..=at];
            sizes += window
                .iter()
                .collect::<std::collections::BTreeSet<_>>()
                .len();
        }
        (misses, sizes as f64 / refs.len() as f64)
    }

    proptest! {
        #[test]
        fn every_window_is_what_the_definition_says(pages in prop::collection::vec(0..12_u64, 1..120)) {
            let trace = Trace::of(&pages).unwrap();
            for window in Intervals::of(&trace, false).windows() {
                let (misses, size) = plainly(trace.refs(), window.theta as usize);
                prop_assert_eq!(window.misses, misses, "theta {}", window.theta);
                prop_assert!((window.size - size).abs() < 1e-9, "theta {}: {} is not {size}", window.theta, window.size);
                prop_assert!(window.vmin <= window.size + 1e-9);
            }
        }

        #[test]
        fn uses_have_the_windows_of_their_references(pages in prop::collection::vec(0..4_u64, 1..120)) {
            let trace = Trace::of(&pages).unwrap();
            let one = Intervals::of(&trace, false);
            let other = Intervals::of_uses(&Uses::of(&trace, false).unwrap());
            prop_assert_eq!(one.windows(), other.windows());
        }
    }
}
