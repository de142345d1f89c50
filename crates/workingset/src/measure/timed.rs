//! Measures of uses over time: the working set's size, how long pages stay in it, and a timer in
//! its place.
//!
//! - Size: w(t,θ) = the pages used in (t−θ, t]. A page enters at the first reference of a use and
//!   leaves θ after the last reference of its last use. Between these moments the size does not
//!   change, so each size is weighed by how long it lasts.
//! - Space at faults: Σ w over the moments of faults, the new page included. This is the memory
//!   that is held while a fault is served.
//! - Half-life: a page leaves H after it was loaded, used or not. Faults and mean size are by
//!   definition.
//! - Cost: O(uses) each, 4 to 16 B for each page.
//! - Source: as `series`, `residence` and `policy::half_life`; those count references, these time.

use super::residence::Residence;
use super::series::{Pixel, Series};
use crate::{NONE, Uses};

/// The working set's sizes over time, and at its faults.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes {
    /// The sizes over time. `Series::sizes` counts time, not references.
    pub series: Series,
    /// Faults.
    pub faults: u64,
    /// Sum of the sizes at faults, in pages.
    pub at_faults: f64,
}

/// The sizes within a pixel, while it is being drawn.
#[derive(Clone, Copy)]
struct Drawn {
    least: u64,
    most: u64,
    /// Pages × time.
    space: f64,
    time: u64,
}

impl Drawn {
    const NONE: Self = Self {
        least: u64::MAX,
        most: 0,
        space: 0.0,
        time: 0,
    };

    fn add(&mut self, size: u64, time: u64) {
        self.least = self.least.min(size);
        self.most = self.most.max(size);
        self.space += size as f64 * time as f64;
        self.time += time;
    }
}

/// A series that is being drawn.
struct Canvas {
    pixels: Vec<Drawn>,
    start: u64,
    span: u64,
    /// Time at each size.
    sizes: Vec<u64>,
}

impl Canvas {
    /// The size was `size` from `from` up to `to`.
    fn add(&mut self, size: u64, mut from: u64, to: u64) {
        if from >= to {
            return;
        }
        self.sizes[size as usize] += to - from;
        let count = self.pixels.len() as u128;
        while from < to {
            let since = u128::from(from - self.start);
            let place = (since * count / u128::from(self.span)) as usize;
            let until = to.min(self.begin(place + 1));
            self.pixels[place].add(size, until - from);
            from = until;
        }
    }

    /// The first moment of a pixel.
    fn begin(&self, place: usize) -> u64 {
        let count = self.pixels.len() as u128;
        let since = place as u128 * u128::from(self.span);
        self.start + since.div_ceil(count) as u64
    }

    fn drawn(mut self, theta: u64) -> Series {
        while self.sizes.last() == Some(&0) {
            self.sizes.pop();
        }
        let mut pixels = Vec::with_capacity(self.pixels.len());
        for (place, drawn) in self.pixels.iter().enumerate() {
            if drawn.time > 0 {
                pixels.push(Pixel {
                    from: self.begin(place),
                    least: drawn.least,
                    mean: drawn.space / drawn.time as f64,
                    most: drawn.most,
                });
            }
        }
        Series {
            theta,
            pixels,
            sizes: self.sizes,
        }
    }
}

/// The working set's size at a window of at least 1, in so many pixels.
pub fn sizes(uses: &Uses, theta: u64, pixels: usize) -> Sizes {
    let longest = usize::try_from(uses.time()).unwrap_or(usize::MAX);
    let mut canvas = Canvas {
        pixels: vec![Drawn::NONE; pixels.clamp(1, longest)],
        start: uses.start(),
        span: uses.time(),
        sizes: vec![0; uses.pages() + 1],
    };
    // The place of each page's last use, if the page is in the set.
    let mut last = vec![NONE; uses.pages()];
    // The oldest use that may still keep a page in the set.
    let mut oldest = uses.iter().enumerate().peekable();
    let mut size = 0_u64;
    // Since when the set has this size.
    let mut since = uses.start();
    let mut faults = 0;
    let mut at_faults = 0.0;
    for (place, one) in uses.iter().enumerate() {
        while let Some((old, before)) =
            oldest.next_if(|(old, before)| *old < place && before.to + theta <= one.from)
        {
            let page = before.page as usize;
            let leaves = before.to + theta;
            // A page that is used in the moment in which it would leave, stays.
            let stays = before.page == one.page && leaves == one.from;
            if last[page] == old as u32 && !stays {
                canvas.add(size, since, leaves);
                since = leaves;
                size -= 1;
                last[page] = NONE;
            }
        }
        let seen = std::mem::replace(&mut last[one.page as usize], place as u32);
        if seen == NONE {
            canvas.add(size, since, one.from);
            since = since.max(one.from);
            size += 1;
            faults += 1;
            at_faults += size as f64;
        }
    }
    for (old, before) in oldest {
        let leaves = before.to + theta;
        if last[before.page as usize] == old as u32 && leaves < uses.end() {
            canvas.add(size, since, leaves);
            since = leaves;
            size -= 1;
        }
    }
    canvas.add(size, since, uses.end());
    Sizes {
        series: canvas.drawn(theta),
        faults,
        at_faults,
    }
}

/// How long pages stay in the working set.
pub fn residence(uses: &Uses, theta: u64) -> Residence {
    let moments = uses.iter().map(|one| (one.from, one.to));
    Residence::of_moments(uses.trace(), moments, theta, uses.end())
}

/// Faults and mean size of a memory from which a page leaves a half-life after it was loaded.
pub fn half_life(uses: &Uses, half_life: u64) -> (u64, f64) {
    let half_life = half_life.max(1);
    let mut loads: Vec<Option<u64>> = vec![None; uses.pages()];
    let mut faults = 0_u64;
    let mut space = 0_u128;
    for one in uses {
        let load = &mut loads[one.page as usize];
        let mut from = match *load {
            Some(load) if one.from - load < half_life => load,
            before => {
                if before.is_some() {
                    space += u128::from(half_life);
                }
                faults += 1;
                one.from
            }
        };
        // The page is referenced in every unit of time of the use, so it is loaded again whenever
        // it leaves.
        let again = (one.to - from) / half_life;
        faults += again;
        space += u128::from(again) * u128::from(half_life);
        from += again * half_life;
        *load = Some(from);
    }
    for load in loads.iter().flatten() {
        space += u128::from((uses.end() - load).min(half_life));
    }
    (faults, space as f64 / uses.time() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;
    use crate::measure::Intervals;
    use proptest::prelude::*;

    fn uses(pages: &[u64]) -> Uses {
        Uses::of(&Trace::of(pages).unwrap(), false).unwrap()
    }

    /// Faults and mean size of the timer, moment by moment.
    fn timer(pages: &[u64], half_life: u64) -> (u64, f64) {
        let mut loaded = std::collections::BTreeMap::new();
        let mut faults = 0;
        let mut space = 0;
        for (now, page) in (0_u64..).zip(pages) {
            loaded.retain(|_, load| now - *load < half_life);
            if !loaded.contains_key(page) {
                loaded.insert(page, now);
                faults += 1;
            }
            space += loaded.len();
        }
        (faults, space as f64 / pages.len() as f64)
    }

    proptest! {
        #[test]
        fn sizes_are_those_of_the_series_by_references(
            pages in prop::collection::vec(prop_oneof![0..3_u64, 0..30_u64], 1..300),
            theta in 1..60_u64,
        ) {
            let trace = Trace::of(&pages).unwrap();
            let by_use = sizes(&uses(&pages), theta, 20);
            let by_reference = Series::of(&trace, false, theta, 20).unwrap();
            prop_assert_eq!(&by_use.series.sizes, &by_reference.sizes);
            for (one, other) in by_use.series.pixels.iter().zip(&by_reference.pixels) {
                prop_assert_eq!((one.least, one.most), (other.least, other.most));
                prop_assert!((one.mean - other.mean).abs() < 1e-9);
            }
            let window = Intervals::of(&trace, false).at(theta);
            prop_assert_eq!(sizes(&uses(&pages), window.theta, 20).faults, window.misses);
            let exact = crate::measure::lifetime::space_at_faults(&trace, theta).unwrap();
            prop_assert_eq!(by_use.at_faults, exact);
        }

        #[test]
        fn stays_are_those_of_references(pages in prop::collection::vec(0..9_u64, 2..200), theta in 1..20_u64) {
            let by_reference = Residence::of(&Trace::of(&pages).unwrap(), false, theta);
            let by_use = residence(&uses(&pages), theta);
            prop_assert_eq!((by_use.stays, by_use.cut), (by_reference.stays, by_reference.cut));
            prop_assert!(by_use.mean == by_reference.mean || by_use.stays == 0);
        }

        #[test]
        fn the_timer_is_the_timer(pages in prop::collection::vec(0..6_u64, 1..200), half_life_ in 1..30_u64) {
            let (faults, size) = half_life(&uses(&pages), half_life_);
            let plain = timer(&pages, half_life_);
            prop_assert_eq!(faults, plain.0);
            prop_assert!((size - plain.1).abs() < 1e-9, "{} {}", size, plain.1);
        }
    }
}
