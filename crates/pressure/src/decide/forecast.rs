//! The forecast that a decision carries.

use super::draft::Draft;
use crate::decision::{Exhaustion, Forecast};
use crate::knob::Knob;
use crate::sums::unreclaimable;
use crate::watermark;
use units::{Bytes, Pages, Rate, Span};

impl Draft<'_> {
    /// Fills in what is expected, as far as the rules do not do it themselves.
    pub(super) fn forecast(&mut self) {
        let history = self.history;
        self.forecast = Forecast {
            demand: history.latest.demand,
            reclaim: (history.reclaim > Rate::ZERO).then_some(history.reclaim),
            gap: watermark::observed_gap(self.sample, history.page_size),
            gap_found: history.gap_found(self.sample),
            withheld: self.withheld(),
            exhaustion: self.exhaustion(),
            until_min: self.until_min(),
            ..Forecast::default()
        };
    }

    /// By how much the driven watermark factor lowers MemAvailable.
    fn withheld(&self) -> Option<Bytes> {
        let knobs = &self.sample.knobs;
        let found = knobs.found.of(Knob::WatermarkScaleFactor)?;
        let now = knobs.now.of(Knob::WatermarkScaleFactor)?;
        watermark::withheld(self.sample, self.history.page_size, found, now)
    }

    /// The min watermark of all zones.
    fn min_watermark(&self) -> Option<Bytes> {
        let min: Option<Pages> = self.sample.zones.iter().map(|zone| zone.amounts.min).sum();
        Some(min?.to_bytes(self.history.page_size))
    }

    /// Time until free memory meets the min watermark, if it falls.
    fn until_min(&self) -> Option<Span> {
        let free = self.history.free(self.sample)?;
        let min = self.min_watermark()?;
        let slope = self.history.latest.free_slope?;
        if slope >= 0.0 {
            return None;
        }
        let falling = Rate::new(-slope as u64);
        falling.time_for(free.less(min)).map(Span::new)
    }

    /// Time until memory that cannot be reclaimed fills memory and swap: `headroom / slope`, with the
    /// bounds of the slope. `None` unless it grows by more than 0.01 % of memory per second.
    fn exhaustion(&self) -> Option<Exhaustion> {
        let slope = self.history.unreclaimable.slope()?;
        let sizes = self.history.latest.sizes;
        if slope.middle <= sizes.managed.get() as f64 / 10_000.0 || slope.low <= 0.0 {
            return None;
        }
        let floor = self.min_watermark()? + sizes.huge;
        let swap = self.sample.memory.swap_free.unwrap_or_default();
        let headroom = (sizes.managed + swap)
            .less(floor)
            .less(unreclaimable(self.sample)?);
        let time = |slope: f64| {
            Rate::new(slope.max(1.0) as u64)
                .time_for(headroom)
                .map(Span::new)
        };
        Some(Exhaustion {
            growth: Rate::new(slope.middle as u64),
            earliest: time(slope.high)?,
            expected: time(slope.middle)?,
            latest: time(slope.low),
        })
    }
}
