//! Which parts of a file: 64 segments of equal size, as bits.
//!
//! A segment is `2^shift` pages, and doubles when the file turns out to be longer: two neighbours become
//! one. So the ranges of any file are sixteen bytes, are copied and recorded as two numbers, and never
//! cover less than what was put in.

use serde::{Deserialize, Serialize};
use units::Pages;

/// Segments of a file: the bits of the mask.
const SEGMENTS: u64 = 64;

/// Parts of one file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranges {
    /// Pages in a segment, as a power of two.
    pub shift: u32,
    /// Bit `k` is set if pages `k·2^shift` to `(k+1)·2^shift − 1` belong to it.
    pub segments: u64,
}

impl Ranges {
    /// All of a file of this many pages.
    pub fn whole(pages: u64) -> Self {
        let mut ranges = Self::default();
        if let Some(last) = pages.checked_sub(1) {
            ranges.widen(last);
            ranges.segments = u64::MAX >> (SEGMENTS - 1 - (last >> ranges.shift));
        }
        ranges
    }

    /// Whether no segment belongs to it.
    pub const fn is_empty(&self) -> bool {
        self.segments == 0
    }

    /// Adds `count` pages from `index` on.
    pub fn put(&mut self, index: u64, count: u64) {
        let last = index.saturating_add(count.max(1) - 1);
        self.widen(last);
        let first_segment = index >> self.shift;
        let last_segment = last >> self.shift;
        let from_first = u64::MAX << first_segment;
        let up_to_last = u64::MAX >> (SEGMENTS - 1 - last_segment);
        self.segments |= from_first & up_to_last;
    }

    /// The union, in the coarser segments of the two.
    #[must_use]
    pub fn with(mut self, mut other: Self) -> Self {
        self.coarsen(other.shift);
        other.coarsen(self.shift);
        self.segments |= other.segments;
        self
    }

    /// The same ranges in segments that are not smaller than those of `other`.
    #[must_use]
    pub fn measured_as(self, other: Self) -> Self {
        self.with(Self {
            segments: 0,
            ..other
        })
    }

    /// Whether all of `other` is in it.
    pub fn covers(self, other: Self) -> bool {
        self.with(other) == self.measured_as(other)
    }

    /// How many pages of a file of `pages` pages it covers.
    pub fn size(&self, pages: u64) -> Pages {
        Pages::new(self.runs(pages).map(|(_, count)| count).sum())
    }

    /// `kept`, which is a part of it, and at most `most` pages of the rest, from the file's beginning on.
    #[must_use]
    pub fn at_most(self, most: Pages, kept: Self, pages: u64) -> Self {
        let mut part = kept.measured_as(self);
        let before = part.size(pages);
        for bit in 0..SEGMENTS {
            let more = Self {
                segments: part.segments | (self.segments & (1 << bit)),
                ..part
            };
            if more.size(pages).less(before) <= most {
                part = more;
            }
        }
        part
    }

    /// First page and number of pages of each unbroken run, within a file of `pages` pages.
    pub fn runs(&self, pages: u64) -> impl Iterator<Item = (u64, u64)> {
        let Self { shift, segments } = *self;
        let mut from = 0;
        std::iter::from_fn(move || {
            let left = segments.checked_shr(from)?;
            if left == 0 {
                return None;
            }
            let start = from + left.trailing_zeros();
            let length = (segments >> start).trailing_ones();
            from = start + length;
            let first = u64::from(start) << shift;
            let end = (u128::from(from) << shift).min(u128::from(pages)) as u64;
            if first < end {
                Some((first, end - first))
            } else {
                None
            }
        })
    }

    /// Makes segments so large that page `last` is in one of them.
    fn widen(&mut self, last: u64) {
        let needed = u64::BITS - (last / SEGMENTS).leading_zeros();
        self.coarsen(needed);
    }

    fn coarsen(&mut self, shift: u32) {
        while self.shift < shift && self.shift < u64::BITS {
            self.segments = halved(self.segments);
            self.shift += 1;
        }
    }
}

/// Joins each two neighbouring bits into one; the upper half of the result is empty.
fn halved(segments: u64) -> u64 {
    let mut halved = 0;
    for bit in 0..SEGMENTS / 2 {
        let pair = segments >> (2 * bit) & 0b11;
        if pair != 0 {
            halved |= 1 << bit;
        }
    }
    halved
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn pages_of(ranges: &Ranges, pages: u64) -> BTreeSet<u64> {
        ranges
            .runs(pages)
            .flat_map(|(first, count)| first..first + count)
            .collect()
    }

    #[test]
    fn a_whole_file_is_all_of_its_pages_and_no_more() {
        for pages in [0, 1, 63, 64, 65, 100, 25_600, 1 << 40] {
            let ranges = Ranges::whole(pages);
            assert_eq!(ranges.size(pages), Pages::new(pages), "{pages}");
            assert!(ranges.runs(pages).count() <= 1);
        }
    }

    #[test]
    fn the_last_page_there_can_be_is_in_it() {
        let mut ranges = Ranges::default();
        ranges.put(u64::MAX, 9);
        ranges.put(0, 1);
        assert_eq!(ranges.segments, 1 | 1 << 63);
        assert_eq!(ranges.runs(u64::MAX).count(), 2);
    }

    proptest! {
        #[test]
        fn what_was_put_in_is_in_it(puts in prop::collection::vec((0..100_000u64, 1..500u64), 1..20)) {
            let mut ranges = Ranges::default();
            let mut model = BTreeSet::new();
            for (index, count) in puts {
                ranges.put(index, count);
                model.extend(index..index + count);
            }
            let last = model.last().copied().unwrap_or(0);
            let got = pages_of(&ranges, last + 1);
            prop_assert!(model.is_subset(&got));
            // Nothing is in it but segments that have a page of the model.
            let segments: BTreeSet<u64> = model.iter().map(|page| page >> ranges.shift).collect();
            prop_assert!(got.iter().all(|page| segments.contains(&(page >> ranges.shift))));
        }

        #[test]
        fn a_part_has_what_was_kept_and_no_more_than_it_may(
            a in (0..5000u64, 1..900u64), b in (0..90_000u64, 1..9000u64), most in 0..9000u64
        ) {
            let mut kept = Ranges::default();
            let mut rest = Ranges::default();
            kept.put(a.0, a.1);
            rest.put(b.0, b.1);
            let all = kept.with(rest);
            let pages = 99_000;
            let part = all.at_most(Pages::new(most), kept, pages);
            let kept = kept.with(Ranges { segments: 0, ..all });
            prop_assert!(all.covers(part) && part.covers(kept));
            prop_assert!(part.size(pages).less(kept.size(pages)) <= Pages::new(most));
            prop_assert_eq!(all.at_most(Pages::new(pages), kept, pages), all);
        }

        #[test]
        fn both_together_cover_each(a in (0..5000u64, 1..900u64), b in (0..90_000u64, 1..900u64)) {
            let mut one = Ranges::default();
            let mut other = Ranges::default();
            one.put(a.0, a.1);
            other.put(b.0, b.1);
            let both = one.with(other);
            prop_assert!(both.covers(one) && both.covers(other) && both.covers(both));
            prop_assert_eq!(both, other.with(one));
            let wide = one.with(Ranges { shift: both.shift, segments: 0 });
            prop_assert_eq!(wide.covers(other), wide.with(other) == wide);
        }
    }
}
