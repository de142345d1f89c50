//! The founding design: least squares over eight samples of free memory, per zone and order.
//!
//! As its slides describe it (K. Aziz, "Memoptimizer", LF Live 2022): a window of eight samples of free
//! pages for each order of each zone and of the whole system; a line fitted to each; forecasts of
//! exhaustion from the lines, with reclaim and compaction rates; watermarks raised when free pages run
//! out, a node compacted when an order does, watermarks lowered when free pages rise. It is here to be
//! run and compared: by `predictor = "classic"`, the replay and the VM lab.
//!
//! - Law: slope `m = (n·Σxy − Σx·Σy) / (n·Σx² − (Σx)²)`, `x` in seconds since the oldest sample; exhausted
//!   when `free + m·t` reaches the high watermark, or free blocks of an order reach none.
//! - Cost: O(zones × orders) per period of 15, 30 or 60 s.
//! - Differs from its implementations where their arithmetic is wrong: time is a duration, the
//!   distance to the watermark counts, zones keep their own node, and a raise never lowers.
//! - Limit: free memory is what kswapd controls, so the slope is near zero under load. That is the
//!   design's own limit, and why it is not the default.

use crate::config::Aggressiveness;
use crate::sample::{Blocks, MAX_ORDERS, Sample};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Pages, Span};

/// Samples in the window, as in the founding design.
pub const WINDOW: usize = 8;

/// The windows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Classic {
    level: Aggressiveness,
    times: ArrayVec<Span, WINDOW>,
    /// The whole system first, then each zone.
    series: Vec<Series>,
    /// When `pgsteal_kswapd` was last read, and its value.
    stolen: Option<(Span, u64)>,
    reclaim_rate: u64,
    compaction_rate: u64,
    fresh: Freshness,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Freshness {
    New,
    Old,
}

/// Free pages and free pages below each order, over the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Series {
    free: ArrayVec<u64, WINDOW>,
    fragmented: [ArrayVec<u64, WINDOW>; MAX_ORDERS],
    orders: u32,
    high: u64,
    node: Option<u32>,
}

/// What a window forecasts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outlook {
    /// Free pages reach the high watermark.
    Exhaustion {
        /// Pages lost per second.
        falling: u64,
        /// When.
        within: Duration,
    },
    /// An order of a node runs out.
    Fragmentation {
        /// The node.
        node: u32,
        /// The order.
        order: u32,
        /// When.
        within: Duration,
    },
    /// Free pages rise.
    Rising {
        /// Pages gained per second.
        rising: u64,
    },
}

impl Classic {
    /// Empty windows, with the period, highest factor and order of `level`.
    pub fn new(level: Aggressiveness) -> Self {
        Self {
            level,
            times: ArrayVec::new(),
            series: Vec::new(),
            stolen: None,
            reclaim_rate: 0,
            compaction_rate: 0,
            fresh: Freshness::Old,
        }
    }

    /// Time between samples of the window.
    pub fn period(&self) -> Duration {
        Duration::from_secs([60, 30, 15][usize::from(self.level.get() - 1)])
    }

    /// The highest watermark factor it sets.
    pub fn most_factor(&self) -> u64 {
        [400, 700, 1000][usize::from(self.level.get() - 1)]
    }

    /// The highest order it watches.
    fn most_order(&self) -> u32 {
        [5, 7, 9][usize::from(self.level.get() - 1)]
    }

    /// Pages per second that kswapd reclaimed in the last period.
    pub fn reclaim_rate(&self) -> u64 {
        self.reclaim_rate
    }

    /// Takes a sample in, if a period has passed.
    pub fn push(&mut self, sample: &Sample) {
        self.fresh = Freshness::Old;
        let elapsed = self
            .times
            .last()
            .map(|last| sample.at.get().saturating_sub(last.get()));
        if elapsed.is_some_and(|elapsed| elapsed < self.period()) {
            return;
        }
        if self.series.len() != sample.zones.len() + 1 {
            self.series = vec![Series::default(); sample.zones.len() + 1];
            self.times.clear();
        }
        self.rates(sample, elapsed.unwrap_or_default());
        slide(&mut self.times, sample.at);
        let (whole, zones) = self.series.split_at_mut(1);
        whole[0].high = 0;
        let mut totals = [0u64; MAX_ORDERS];
        for (series, zone) in zones.iter_mut().zip(&sample.zones) {
            let high = zone.amounts.high.unwrap_or_default().get();
            *series = Series {
                orders: u32::from(zone.blocks.orders),
                high,
                node: Some(zone.node),
                ..std::mem::take(series)
            };
            whole[0].high += high;
            whole[0].orders = whole[0].orders.max(series.orders);
            for (order, total) in totals.iter_mut().enumerate() {
                let below = zone.blocks.fragmented(order as u32).get();
                *total += below;
                slide(&mut series.fragmented[order], below);
            }
            slide(&mut series.free, zone.blocks.total().get());
        }
        let free: Pages = sample.zones.iter().map(|zone| zone.blocks.total()).sum();
        slide(&mut whole[0].free, free.get());
        for (order, total) in totals.into_iter().enumerate() {
            slide(&mut whole[0].fragmented[order], total);
        }
        self.fresh = Freshness::New;
    }

    /// Reclaim: pages kswapd stole per second. Compaction: growth per second of blocks of the highest order.
    fn rates(&mut self, sample: &Sample, elapsed: Duration) {
        // Two samples at one time must not divide by zero.
        let seconds = elapsed.as_secs_f64().max(1e-9);
        let per_second = |pages: u64| (pages as f64 / seconds) as u64;
        let Some(stolen) = sample.counters.pgsteal_kswapd else {
            return;
        };
        if let Some((_, before)) = self.stolen {
            self.reclaim_rate = per_second(stolen.saturating_sub(before));
        }
        self.stolen = Some((sample.at, stolen));
        let whole: u64 = sample
            .zones
            .iter()
            .filter_map(|zone| pages_of_top_order(&zone.blocks))
            .sum();
        let before = self.series.first().and_then(Series::pages_of_top_order);
        self.compaction_rate = before.map_or(0, |before| per_second(whole.saturating_sub(before)));
    }

    /// Forecasts of the whole system and of each zone, once per period when the window is full.
    ///
    /// Of the exhaustions the nearest counts; those of zones only where the whole system falls too: the
    /// kernel falls back from one zone to the next, and a full small zone is no shortage.
    pub fn outlook(&self) -> impl Iterator<Item = Outlook> + '_ {
        let ready = self.fresh == Freshness::New && self.times.is_full();
        let series = if ready { &self.series[..] } else { &[] };
        let (whole, zones) = series.split_at(series.len().min(1));
        let falls = whole
            .iter()
            .any(|whole| slope(&self.times, &whole.free).is_some_and(|slope| slope < 0.0));
        let rising = whole
            .iter()
            .filter(move |_| !falls)
            .filter_map(|whole| self.supply(whole));
        let exhaustions = series
            .iter()
            .filter(move |_| falls)
            .filter_map(|series| self.supply(series));
        let nearest = exhaustions
            .filter(|outlook| outlook.exhausted_within().is_some())
            .min_by_key(Outlook::exhausted_within);
        let fragmentations = zones.iter().filter_map(|zone| self.fragmentation(zone));
        rising.chain(nearest).chain(fragmentations)
    }

    fn supply(&self, series: &Series) -> Option<Outlook> {
        let slope = slope(&self.times, &series.free)?;
        if slope >= 0.0 {
            return Some(Outlook::Rising {
                rising: slope as u64,
            });
        }
        let above_high = (*series.free.last()? as f64 - series.high as f64).max(0.0);
        let within = self.within_window(above_high / -slope)?;
        Some(Outlook::Exhaustion {
            falling: -slope as u64,
            within,
        })
    }

    /// The first order, from the highest watched, with free blocks that run out within the window's
    /// length although compaction goes on at its present rate.
    fn fragmentation(&self, series: &Series) -> Option<Outlook> {
        let top = self.most_order().min(series.orders.checked_sub(1)?);
        (1..=top)
            .rev()
            .find_map(|order| self.fragmentation_of(series, order))
    }

    fn fragmentation_of(&self, series: &Series, order: u32) -> Option<Outlook> {
        let mut usable: ArrayVec<u64, WINDOW> = ArrayVec::new();
        for (free, below) in series.free.iter().zip(&series.fragmented[order as usize]) {
            usable.push(free - below.min(free));
        }
        let falling = -slope(&self.times, &usable)?;
        if falling <= self.compaction_rate as f64 {
            return None;
        }
        let within = self.within_window(*usable.last()? as f64 / falling)?;
        Some(Outlook::Fragmentation {
            node: series.node?,
            order,
            within,
        })
    }

    /// A forecast counts if its time is no longer than the window.
    fn within_window(&self, seconds: f64) -> Option<Duration> {
        let within = Duration::try_from_secs_f64(seconds).ok()?;
        if within <= self.period() * WINDOW as u32 {
            Some(within)
        } else {
            None
        }
    }
}

impl Outlook {
    fn exhausted_within(&self) -> Option<Duration> {
        match self {
            Self::Exhaustion { within, .. } => Some(*within),
            Self::Fragmentation { .. } | Self::Rising { .. } => None,
        }
    }
}

impl Series {
    /// Free pages in blocks of the highest order.
    fn pages_of_top_order(&self) -> Option<u64> {
        let top = self.orders.checked_sub(1)? as usize;
        let below = *self.fragmented[top].last()?;
        Some(self.free.last()?.saturating_sub(below))
    }
}

/// Free pages in blocks of the highest order.
fn pages_of_top_order(blocks: &Blocks) -> Option<u64> {
    let top = u32::from(blocks.orders).checked_sub(1)?;
    Some(blocks.suitable(top)? << top)
}

fn slide<T>(window: &mut ArrayVec<T, WINDOW>, value: T) {
    if window.is_full() {
        window.remove(0);
    }
    window.push(value);
}

/// Least squares, per second; `None` with fewer points than the window or no time between them.
fn slope(times: &[Span], values: &[u64]) -> Option<f64> {
    if times.len() < WINDOW || values.len() < WINDOW {
        return None;
    }
    let n = WINDOW as f64;
    let origin = times[0].get();
    let mut sx = 0.0;
    let mut sy = 0.0;
    let mut sxy = 0.0;
    let mut sxx = 0.0;
    for (time, value) in times.iter().zip(values) {
        let x = time.get().saturating_sub(origin).as_secs_f64();
        let y = *value as f64;
        sx += x;
        sy += y;
        sxy += x * y;
        sxx += x * x;
    }
    let divisor = n * sxx - sx * sx;
    if divisor > 0.0 {
        Some((n * sxy - sx * sy) / divisor)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Zone, ZoneAmounts};

    fn sample(second: u64, singles: u64, large: u64) -> Sample {
        let mut blocks = Blocks {
            orders: 11,
            ..Blocks::default()
        };
        blocks.counts[0] = singles;
        blocks.counts[10] = large;
        let amounts = ZoneAmounts {
            high: Some(Pages::new(10_000)),
            ..ZoneAmounts::default()
        };
        let mut sample = Sample {
            at: Span::secs(second),
            ..Sample::default()
        };
        sample.zones.push(Zone {
            node: 1,
            blocks,
            amounts,
            ..Zone::default()
        });
        sample.counters.pgsteal_kswapd = Some(second * 500);
        sample
    }

    fn run(free: impl Fn(u64) -> (u64, u64)) -> Vec<Outlook> {
        let mut classic = Classic::new(Aggressiveness::try_from(3).unwrap());
        for tick in 0..8 {
            let (singles, large) = free(tick);
            classic.push(&sample(tick * 15, singles, large));
        }
        classic.outlook().collect()
    }

    #[test]
    fn the_distance_to_the_watermark_counts() {
        // 100 pages/s lost: 30 s from the watermark, then two hours from it.
        let near = run(|tick| (10_000 + 3_000 + 1500 * (7 - tick), 0));
        let Some(Outlook::Exhaustion { falling, within }) = near.first() else {
            panic!("{near:?}")
        };
        assert_eq!((*falling, within.as_secs()), (100, 30));
        let far = run(|tick| (10_000 + 720_000 + 1500 * (7 - tick), 0));
        assert!(far.is_empty(), "{far:?}");
    }

    #[test]
    fn a_zone_that_runs_out_counts_while_the_whole_falls() {
        // The second zone has plenty, and stays.
        let mut classic = Classic::new(Aggressiveness::try_from(3).unwrap());
        for tick in 0..8 {
            let mut sample = sample(tick * 15, 10_000 + 1500 * (9 - tick), 0);
            let mut second = sample.zones[0];
            second.blocks.counts[0] = 900_000;
            sample.zones.push(second);
            classic.push(&sample);
        }
        let outlook: Vec<_> = classic.outlook().collect();
        assert!(
            matches!(outlook[0], Outlook::Exhaustion { falling: 100, within } if within.as_secs() == 30),
            "{outlook:?}"
        );
        assert_eq!(
            outlook
                .iter()
                .filter(|one| matches!(one, Outlook::Exhaustion { .. }))
                .count(),
            1
        );
    }

    #[test]
    fn rising_free_memory_is_told() {
        let rising = run(|tick| (20_000 + 150 * tick, 0));
        assert_eq!(rising.first(), Some(&Outlook::Rising { rising: 10 }));
    }

    #[test]
    fn an_order_that_runs_out_names_its_node() {
        // Large blocks break into single pages, the total stays.
        let outlook = run(|tick| (1024 * tick * 10, 1000 - tick * 10 - 900));
        assert!(
            outlook
                .iter()
                .any(|o| matches!(o, Outlook::Fragmentation { node: 1, .. })),
            "{outlook:?}"
        );
    }

    #[test]
    fn nothing_is_said_before_the_window_is_full_or_between_periods() {
        let mut classic = Classic::new(Aggressiveness::try_from(3).unwrap());
        (0..7).for_each(|tick| classic.push(&sample(tick * 15, 90_000 - tick * 10_000, 0)));
        assert_eq!(classic.outlook().count(), 0);
        classic.push(&sample(7 * 15, 20_000, 0));
        assert!(classic.outlook().count() > 0);
        classic.push(&sample(7 * 15 + 1, 19_000, 0));
        assert_eq!(classic.outlook().count(), 0);
        assert_eq!(classic.reclaim_rate(), 500);
    }
}
