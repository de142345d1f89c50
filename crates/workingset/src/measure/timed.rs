//! Measures of uses over time: the working set's size, how long pages stay in it, and a timer in
//! its place.
//!
//! - Size: w(t,θ) = pages used in (t−θ, t]. A page comes at the first reference of a use and leaves
//!   θ after the last of its last use; between these moments the size does not change, so each is
//!   weighed with the time that it lasts.
//! - Space at faults: Σ w over the moments of faults, the new page included: what a fault's service
//!   costs in memory held.
//! - Half-life: a page leaves H after it was loaded, used or not. Faults and mean size by
//!   definition.
//! - Cost: O(uses) each, 4 to 16 B for each page.
//! - Source: as `series`, `residence` and `policy::half_life`; there by references, here by time.

use super::residence::Residence;
use super::series::{Pixel, Series};
use crate::{NONE, Uses};

/// The working set over time, and at its faults.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes {
    /// Over time; `sizes` counts time.
    pub series: Series,
    /// Faults.
    pub faults: u64,
    /// Sum of the sizes at faults, in pages.
    pub at_faults: f64,
}

/// Pixels on their way: least, most, pages × time, time.
struct Canvas {
    pixels: Vec<(u64, u64, f64, u64)>,
    start: u64,
    span: u64,
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
            let place = (u128::from(from - self.start) * count / u128::from(self.span)) as usize;
            // The first moment that belongs to the next pixel.
            let edge =
                ((place as u128 + 1) * u128::from(self.span)).div_ceil(count) as u64 + self.start;
            let until = to.min(edge);
            let pixel = &mut self.pixels[place];
            *pixel = (
                pixel.0.min(size),
                pixel.1.max(size),
                pixel.2 + size as f64 * (until - from) as f64,
                pixel.3 + until - from,
            );
            from = until;
        }
    }

    fn drawn(mut self, theta: u64) -> Series {
        while self.sizes.last() == Some(&0) {
            self.sizes.pop();
        }
        let start = self.start;
        let span = u128::from(self.span);
        let count = self.pixels.len() as u128;
        let seen = self
            .pixels
            .iter()
            .enumerate()
            .filter(|(_, pixel)| pixel.3 > 0);
        let pixels = seen.map(|(place, pixel)| Pixel {
            from: start + (span * place as u128).div_ceil(count) as u64,
            least: pixel.0,
            mean: pixel.2 / pixel.3 as f64,
            most: pixel.1,
        });
        Series {
            theta,
            pixels: pixels.collect(),
            sizes: self.sizes,
        }
    }
}

/// The working set's size at a window of at least 1, in so many pixels.
pub fn sizes(uses: &Uses, theta: u64, pixels: usize) -> Sizes {
    let pixels = pixels.clamp(1, usize::try_from(uses.time()).unwrap_or(usize::MAX));
    let mut canvas = Canvas {
        pixels: vec![(u64::MAX, 0, 0.0, 0); pixels],
        start: uses.start(),
        span: uses.time(),
        sizes: vec![0; uses.pages() + 1],
    };
    // The page's last use, by its place; the oldest use that may still keep a page.
    let mut last = vec![NONE; uses.pages()];
    let mut oldest = uses.iter().enumerate().peekable();
    let mut size = 0_u64;
    let mut since = uses.start();
    let mut faults = 0;
    let mut at_faults = 0.0;
    for (place, one) in uses.iter().enumerate() {
        while let Some((old, before)) =
            oldest.next_if(|(old, before)| *old < place && before.to + theta <= one.from)
        {
            let page = before.page as usize;
            // What is used in the moment in which it would leave, stays.
            let stays = before.page == one.page && before.to + theta == one.from;
            if last[page] == old as u32 && !stays {
                canvas.add(size, since, before.to + theta);
                since = before.to + theta;
                size -= 1;
                last[page] = NONE;
            }
        }
        if std::mem::replace(&mut last[one.page as usize], place as u32) == NONE {
            canvas.add(size, since, one.from);
            since = since.max(one.from);
            size += 1;
            faults += 1;
            at_faults += size as f64;
        }
    }
    for (old, before) in oldest {
        if last[before.page as usize] == old as u32 && before.to + theta < uses.end() {
            canvas.add(size, since, before.to + theta);
            since = before.to + theta;
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
    // When each page's stay began, and its last reference.
    let mut stays: Vec<Option<(u64, u64)>> = vec![None; uses.pages()];
    let mut ended = Vec::new();
    for one in uses {
        let stay = &mut stays[one.page as usize];
        let began = match *stay {
            Some((began, last)) if one.from - last <= theta => began,
            Some((began, last)) => {
                ended.push((last + theta - began) as f64);
                one.from
            }
            None => one.from,
        };
        *stay = Some((began, one.to));
    }
    let mut cut = Vec::new();
    for (began, last) in stays.into_iter().flatten() {
        if last + theta <= uses.end() {
            ended.push((last + theta - began) as f64);
        } else {
            cut.push((uses.end() - began) as f64);
        }
    }
    Residence::fitted(theta, ended, &cut)
}

/// Faults and mean size of memory from which a page is thrown a half-life after it came.
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
                space += before.map_or(0, |_| u128::from(half_life));
                faults += 1;
                one.from
            }
        };
        // It is referenced in every unit of time of the use: what is thrown is loaded at once.
        let again = (one.to - from) / half_life;
        faults += again;
        space += u128::from(again) * u128::from(half_life);
        from += again * half_life;
        *load = Some(from);
    }
    space += loads
        .iter()
        .flatten()
        .map(|load| u128::from((uses.end() - load).min(half_life)))
        .sum::<u128>();
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
