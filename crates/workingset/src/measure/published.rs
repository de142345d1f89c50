//! The size of the working set as the founding report's program drew it, to set beside
//! [`super::Series`].
//!
//! The program differs from the definition in two points, which must be repeated to meet the
//! published pictures:
//!
//! - A data reference is stamped with its place within the pixel, not within the trace. So its page
//!   leaves the set at the end of the next pixel or so, whatever θ is. Fetches are stamped rightly.
//! - Pages leave only where a pixel ends, and the size is drawn before they do.
//!
//! - Cost: O(n + pixels · pages in the set), 8 B for each page.
//! - Source: the author's `ThirdPassHandler` as of 24 June 2011, and `totalInstructions += siz`:
//!   time counts bytes of instructions ([`crate::Clock::InstructionBytes`]).
//! - Limits: it is likely, but not known, that the published figures came from this program.

use crate::{Error, NONE, Op, Page, Trace};

/// Where each pixel ends, in the trace's time, and the size drawn there.
///
/// Errors: a trace without times, or without operations.
pub fn published(trace: &Trace, theta: u64, pixels: usize) -> Result<Vec<(u64, u64)>, Error> {
    let Some((time, ops)) = trace.time().zip(trace.op()) else {
        return Err(Error::Unfit(
            "the report's arithmetic needs a trace with times that tells fetches from data"
                .to_owned(),
        ));
    };
    let axis = Axis {
        first: time[0],
        span: time[time.len() - 1] - time[0] + 1,
        pixels: pixels.clamp(1, trace.len()) as u64,
    };
    let mut set = Set::new(trace.pages());
    let mut drawn = Vec::new();
    let mut current = 0;
    for ((page, now), op) in trace.refs().iter().zip(time).zip(ops) {
        let since = now - axis.first;
        while current < axis.pixel(since) {
            current += 1;
            let start = axis.start(current);
            drawn.push((axis.first + start, set.pages.len() as u64));
            set.purge(start.saturating_sub(theta));
        }
        let stamp = if *op == Op::FETCH {
            since
        } else {
            since.saturating_sub(axis.start(current))
        };
        set.stamp(*page, stamp);
    }
    drawn.push((axis.first + axis.span, set.pages.len() as u64));
    Ok(drawn)
}

/// The time axis of the picture. Times are since the first reference.
struct Axis {
    first: u64,
    span: u64,
    pixels: u64,
}

impl Axis {
    /// The pixel of a time.
    fn pixel(&self, since: u64) -> u64 {
        let place = u128::from(since) * u128::from(self.pixels);
        (place / u128::from(self.span)) as u64
    }

    /// The time at which a pixel begins.
    fn start(&self, pixel: u64) -> u64 {
        let place = u128::from(pixel) * u128::from(self.span);
        place.div_ceil(u128::from(self.pixels)) as u64
    }
}

/// The pages in the set.
struct Set {
    stamp: Vec<u64>,
    /// Each page's place in `pages`, or [`NONE`].
    place: Vec<u32>,
    pages: Vec<Page>,
}

impl Set {
    fn new(pages: usize) -> Self {
        Self {
            stamp: vec![0; pages],
            place: vec![NONE; pages],
            pages: Vec::new(),
        }
    }

    fn stamp(&mut self, page: Page, stamp: u64) {
        self.stamp[page as usize] = stamp;
        if self.place[page as usize] == NONE {
            self.place[page as usize] = self.pages.len() as u32;
            self.pages.push(page);
        }
    }

    /// Removes the pages that were stamped before a moment.
    fn purge(&mut self, before: u64) {
        let stamp = &self.stamp;
        let place = &mut self.place;
        self.pages.retain(|page| {
            let stays = stamp[*page as usize] >= before;
            if !stays {
                place[*page as usize] = NONE;
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Series;
    use crate::{About, Batch, Loader};

    /// Fetches of one page, and data references that walk over twenty, each tick of the clock one.
    fn trace(fetch: bool) -> Trace {
        let mut loader = Loader::default();
        let mut batch = Batch::default();
        for at in 0..10_000_u64 {
            batch
                .page
                .push(if at % 2 == 0 { 1000 } else { at / 50 % 20 });
            batch.time.push(at);
            batch.op.push(if at % 2 == 0 || fetch {
                Op::FETCH
            } else {
                Op::LOAD
            });
        }
        loader.push(&batch).unwrap();
        loader.finish(About::default()).unwrap()
    }

    #[test]
    fn data_leave_early_and_code_does_not() {
        let mean = |drawn: &[(u64, u64)]| {
            drawn.iter().map(|point| point.1 as f64).sum::<f64>() / drawn.len() as f64
        };
        let right = Series::of(&trace(false), true, 1000, 100)
            .unwrap()
            .shape()
            .mean;
        let code = mean(&published(&trace(true), 1000, 100).unwrap());
        let data = mean(&published(&trace(false), 1000, 100).unwrap());
        // Of 21 pages a pixel of 100 touches three; drawn before the purge, those of two pixels may
        // stand.
        assert!((right - 20.4).abs() < 1.0, "{right}");
        assert!((code - right).abs() < 2.0, "{code}");
        assert!(data < right / 2.0, "{data}");
    }

    #[test]
    fn without_times_there_is_nothing_to_repeat() {
        assert!(published(&Trace::of(&[1, 2, 3]).unwrap(), 10, 10).is_err());
    }
}
