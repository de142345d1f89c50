//! The size of the working set as the founding report's program drew it, to set beside [`super::Series`].
//!
//! What differs, and must be repeated to meet the published pictures:
//!
//! - a data reference is stamped with its place within the pixel, not within the trace, so that its page leaves the set
//!   at the end of the next pixel or so, whatever θ is; fetches are stamped rightly;
//! - pages leave only where a pixel ends, and the size is drawn before they do.
//!
//! - Cost: O(n + pixels · pages in the set), 8 B for each page.
//! - Source: the author's `ThirdPassHandler` as of 24 June 2011, and `totalInstructions += siz`: time counts bytes of
//!   instructions ([`crate::Clock::InstructionBytes`]).
//! - Limit: that the published figures came from this program is likely, not known.

use crate::{Error, NONE, Op, Trace};

/// Where each pixel ends, in the trace's time, and the size drawn there.
///
/// Errors: a trace without times, or without what each reference did.
pub fn published(trace: &Trace, theta: u64, pixels: usize) -> Result<Vec<(u64, u64)>, Error> {
    let need = || {
        Error::Unfit(
            "the report's arithmetic needs a trace with times that tells fetches from data"
                .to_owned(),
        )
    };
    let (time, ops) = trace.time().zip(trace.op()).ok_or_else(need)?;
    let first = time[0];
    let span = time[time.len() - 1] - time[0] + 1;
    let pixels = pixels.clamp(1, trace.len()) as u64;
    let pixel = |now: u64| (u128::from(now - first) * u128::from(pixels) / u128::from(span)) as u64;
    let start =
        |pixel: u64| (u128::from(pixel) * u128::from(span)).div_ceil(u128::from(pixels)) as u64;
    let mut set = Set {
        stamp: vec![0; trace.pages()],
        place: vec![NONE; trace.pages()],
        pages: Vec::new(),
    };
    let mut drawn = Vec::new();
    let mut current = 0;
    for ((page, now), op) in trace.refs().iter().zip(time).zip(ops) {
        while current < pixel(*now) {
            current += 1;
            drawn.push((first + start(current), set.pages.len() as u64));
            set.purge(start(current).saturating_sub(theta));
        }
        let since = now - first;
        set.stamp(
            *page,
            if *op == Op::FETCH {
                since
            } else {
                since - start(current).min(since)
            },
        );
    }
    drawn.push((first + span, set.pages.len() as u64));
    Ok(drawn)
}

/// The pages in the set.
struct Set {
    stamp: Vec<u64>,
    place: Vec<u32>,
    pages: Vec<u32>,
}

impl Set {
    fn stamp(&mut self, page: u32, stamp: u64) {
        self.stamp[page as usize] = stamp;
        if self.place[page as usize] == NONE {
            self.place[page as usize] = self.pages.len() as u32;
            self.pages.push(page);
        }
    }

    /// What was stamped before a moment leaves.
    fn purge(&mut self, before: u64) {
        let stamp = &self.stamp;
        let place = &mut self.place;
        self.pages.retain(|page| {
            stamp[*page as usize] >= before
                || std::mem::replace(&mut place[*page as usize], NONE) == NONE
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
        // Of 21 pages a pixel of 100 touches three; drawn before the purge, those of two pixels may stand.
        assert!((right - 20.4).abs() < 1.0, "{right}");
        assert!((code - right).abs() < 2.0, "{code}");
        assert!(data < right / 2.0, "{data}");
    }

    #[test]
    fn without_times_there_is_nothing_to_repeat() {
        assert!(published(&Trace::of(&[1, 2, 3]).unwrap(), 10, 10).is_err());
    }
}
