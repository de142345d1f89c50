//! What a unit needs, from what it answered. Pure.

use super::{End, EventKind, Record, Sample};
use units::Bytes;

/// Working set of a unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate {
    /// It needs more than this; `None` if nothing was too small.
    pub lower: Option<Bytes>,
    /// This was enough; `None` if nothing was.
    pub upper: Option<Bytes>,
    /// Its size since the first answer that was confirmed; `None` without one.
    pub over_time: Option<OverTime>,
    /// The largest step that led to an answer since then: sizes are no more exact than this.
    pub resolution: Option<Bytes>,
}

/// An answer is confirmed if the next one comes at a size that is smaller by no more than this share: half of the quarter that
/// limits keep above the largest size.
const NEAR: u64 = 8;

/// Sizes over time: at so much of the time it was at most so large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverTime {
    /// Half of the time.
    pub p50: Bytes,
    /// 95 % of the time.
    pub p95: Bytes,
    /// 99 % of the time.
    pub p99: Bytes,
    /// The largest.
    pub most: Bytes,
    /// How many sizes these are of.
    pub count: usize,
}

/// Percentiles by nearest rank; `None` of no sizes. Of fewer than 20 sizes the 95th is the largest, of fewer than 100 the 99th.
pub fn over_time(mut sizes: Vec<Bytes>) -> Option<OverTime> {
    sizes.sort_unstable();
    let most = *sizes.last()?;
    let count = sizes.len();
    let at = |percent: usize| {
        let rank = (count * percent).div_ceil(100).max(1);
        sizes[rank - 1]
    };
    Some(OverTime {
        p50: at(50),
        p95: at(95),
        p99: at(99),
        most,
        count,
    })
}

impl Record {
    /// What the unit needs.
    ///
    /// `lower` is the smallest size at which something was missed, `upper` the largest at which nothing was for a window. Both
    /// count from the first confirmed answer on: what is taken before is cold, and a size on the way down is enough only until
    /// something comes back.
    pub fn estimate(&self) -> Estimate {
        if self.end == End::Short {
            let most = self.samples.iter().map(|sample| sample.used).max();
            return Estimate {
                lower: most,
                ..Estimate::default()
            };
        }
        let Some(settled) = self.settled() else {
            return Estimate {
                upper: self.smallest(),
                ..Estimate::default()
            };
        };
        let events = &self.events[settled..];
        let of = |kind| {
            let events = events.iter().filter(move |event| event.kind == kind);
            events.map(|event| event.size)
        };
        let from = events.first().map(|event| event.at);
        let since = self.samples.iter().filter(|one| Some(one.at) >= from);
        Estimate {
            lower: of(EventKind::Missed).min(),
            upper: of(EventKind::Quiet).chain(of(EventKind::Floor)).max(),
            over_time: over_time(since.map(|one| one.used).collect()),
            resolution: events.iter().map(|event| event.step).max(),
        }
    }

    /// The place of the first answer that was confirmed by what came after it. The kernel takes some pages in use at first, until it
    /// has looked at which are: that is an answer, and is not confirmed.
    fn settled(&self) -> Option<usize> {
        let mut answers = Vec::new();
        for (place, event) in self.events.iter().enumerate() {
            if event.kind != EventKind::Quiet {
                answers.push((place, event));
            }
        }
        for pair in answers.windows(2) {
            let (place, event) = pair[0];
            let (_, next) = pair[1];
            let step = event.step.max(event.size.scaled(1, NEAR));
            if next.size + step >= event.size {
                return Some(place);
            }
        }
        None
    }

    /// The smallest that it was made; `None` if nothing was taken.
    fn smallest(&self) -> Option<Bytes> {
        if self.taken == Bytes::ZERO {
            return None;
        }
        self.samples.iter().map(|sample| sample.used).min()
    }

    /// Came back since something was taken first.
    pub fn came_back(&self) -> Bytes {
        let ends = self.samples.first().zip(self.samples.last());
        ends.map_or(Bytes::ZERO, |(first, last)| {
            last.refaulted.less(first.refaulted)
        })
    }

    /// The last look.
    pub fn last(&self) -> Option<&Sample> {
        self.samples.last()
    }
}
