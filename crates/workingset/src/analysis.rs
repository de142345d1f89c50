//! All measures of one program in one value: what `warmset analyze` shows and prints.
//!
//! ```text
//!   Uses ──┬─► Intervals ──► windows θ ──┬─► size over time, its shape, stays, space-time   one pass for each θ
//!          ├─► stack distances ──► LRU   │
//!          ├─► OPT, FIFO, 2Q, half-life ◄┘ at the sizes of the windows' working sets
//!          └─► map, moves between localities
//! ```
//!
//! Cost: the passes of each measure, two at a time; memory as `uses`, and 4 B for each use while
//! the optimum is computed.

mod curves;
mod program;
mod wanted;
mod window;

pub use curves::{Claim, Curves, SpaceTime};
pub use program::{Floor, Move, Need, Program, RegionUse};
pub use wanted::Wanted;
pub use window::AtWindow;

use crate::measure::map::Map;
use crate::measure::{Intervals, moves};
use crate::trace::Visibility;
use crate::{Error, Uses};
use serde::Serialize;

/// The analysis of a program's use of memory.
#[derive(Debug, Clone, Serialize)]
pub struct Analysis {
    /// The trace as a whole.
    pub program: Program,
    /// The map of time by memory.
    pub map: Map,
    /// What backs the first page of each of the map's rows.
    pub rows: Vec<String>,
    /// Moves between localities, by stretch of time.
    pub moves: Vec<Move>,
    /// The histogram of times between two uses of a page: a bin's upper edge, and references.
    pub intervals: Vec<(u64, u64)>,
    /// The working set at a few windows, by rising window.
    pub windows: Vec<AtWindow>,
    /// The policies beside each other; `None` if the trace does not show every reference.
    pub curves: Option<Curves>,
}

/// Stretches of time between which moves are looked for: with more, a stretch is too short to use
/// its locality's pages.
const STRETCHES: usize = 200;

impl Analysis {
    /// Analyses a trace.
    ///
    /// Errors: a window that is longer than the trace.
    pub fn of(name: &str, uses: &Uses, wanted: &Wanted) -> Result<Self, Error> {
        let intervals = Intervals::of_uses(uses);
        let resolution = uses.resolution();
        let thetas = window::chosen(uses, &intervals, wanted, resolution)?;
        let (columns, map_rows) = wanted.map;
        let ((map, steps), windows) = rayon::join(
            || {
                let map = Map::of_uses(uses, columns, map_rows);
                (map, moves::moves(uses, STRETCHES))
            },
            || window::all(uses, &intervals, &thetas, wanted.pixels),
        );
        let shows_all = uses.about().visibility != Visibility::Scans;
        let curves = if shows_all {
            Some(Curves::of(uses, &intervals, wanted)?)
        } else {
            None
        };
        let program = Program::of(name, uses, resolution, curves.as_ref(), &windows);
        let mut moves = Vec::with_capacity(steps.len());
        for step in steps {
            moves.push(Move {
                from: step.from,
                distance: step.distance,
            });
        }
        let rows = program::named(uses, &map.rows);
        Ok(Self {
            program,
            map,
            rows,
            moves,
            intervals: coarse(&intervals.histogram()),
            windows,
            curves,
        })
    }
}

impl Analysis {
    /// The window of the floor, or the one in the middle if there is no floor.
    pub fn middle(&self) -> Option<&AtWindow> {
        let floor = self.program.floor.map(|floor| floor.theta);
        let mut windows = self.windows.iter();
        let found = windows.find(|window| Some(window.theta) == floor);
        found.or_else(|| self.windows.get(self.windows.len() / 2))
    }
}

/// A histogram with eight bins for each doubling: enough for a picture.
fn coarse(fine: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    let place = |edge: u64| ((edge.max(1) as f64).log2() * 8.0).floor();
    for (edge, count) in fine {
        match bins.last_mut() {
            Some((last, sum)) if place(*last) == place(*edge) => {
                *last = *edge;
                *sum += count;
            }
            _ => bins.push((*edge, *count)),
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;

    /// Two localities, four times each, in which a size that fits both is wasted on one.
    fn phased() -> Uses {
        let mut rng = crate::rng::Rng::new(3);
        let page = |at: u64, rng: &mut crate::rng::Rng| {
            if at / 10_000 % 2 == 0 {
                rng.below(12)
            } else {
                20 + rng.below(60)
            }
        };
        let pages: Vec<u64> = (0..80_000).map(|at| page(at, &mut rng)).collect();
        Uses::of(&Trace::of(&pages).unwrap(), false).unwrap()
    }

    #[test]
    fn an_analysis_agrees_with_itself() {
        let analysis = Analysis::of("phased", &phased(), &Wanted::default()).unwrap();
        let curves = analysis.curves.unwrap();
        assert_eq!(
            analysis
                .moves
                .iter()
                .filter(|step| step.distance > 0.5)
                .count(),
            7
        );
        assert_eq!(
            u64::from(analysis.map.count.iter().sum::<u32>()),
            phased().len() as u64
        );
        for at in &analysis.windows {
            assert_eq!(at.sizes.pixels.len(), 400);
            assert!(
                (at.shape.mean - at.size).abs() < 1e-6,
                "{} {}",
                at.shape.mean,
                at.size
            );
        }
        for claim in &curves.claims {
            assert!(
                claim.opt <= claim.lru && claim.opt <= claim.fifo && claim.vmin_size <= claim.size,
                "{claim:?}"
            );
        }
        let gain = curves
            .claims
            .iter()
            .map(|claim| claim.lru / claim.ws)
            .fold(0.0, f64::max);
        assert!(gain > 1.5, "in phases the working set gains: {gain}");
        assert!(
            analysis
                .program
                .needs
                .windows(2)
                .all(|pair| pair[0].lru_pages <= pair[1].lru_pages)
        );
        let floor = analysis.program.floor.unwrap();
        assert!(floor.pages >= 12 && floor.pages <= 80, "{floor:?}");
    }

    #[test]
    fn without_locality_there_is_no_floor() {
        let pages: Vec<u64> = (0..5000).collect();
        let uses = Uses::of(&Trace::of(&pages).unwrap(), false).unwrap();
        let program = Analysis::of("once", &uses, &Wanted::default())
            .unwrap()
            .program;
        assert_eq!(program.floor, None);
        assert!(program.needs.is_empty());
    }

    /// A loop over 8192 pages that is looked at every 30 ms: at each look it has used all of them.
    fn looked_at(resolution: Option<u64>) -> Trace {
        const PAGES: u64 = 8192;
        const EVERY: u64 = 30_000_000;
        let mut batch = crate::Batch::default();
        for look in 1..=100 {
            batch.page.extend(0..PAGES);
            batch
                .time
                .extend(std::iter::repeat_n(look * EVERY, PAGES as usize));
        }
        let about = crate::About {
            clock: crate::Clock::Nanoseconds,
            visibility: Visibility::Scans,
            resolution,
            ..crate::About::default()
        };
        let mut loader = crate::trace::Loader::default();
        loader.push(&batch).unwrap();
        loader.finish(about).unwrap()
    }

    #[test]
    fn a_window_is_no_shorter_than_the_time_between_two_looks() {
        for resolution in [None, Some(31_000_000)] {
            let trace = looked_at(resolution);
            let uses = Uses::of(&trace, true).unwrap();
            let least = resolution.unwrap_or(30_000_000);
            assert_eq!(uses.resolution(), Some(least));
            let analysis = Analysis::of("loop", &uses, &Wanted::default()).unwrap();
            for at in &analysis.windows {
                assert!(at.theta >= least, "{}", at.theta);
                assert!((at.size - 8192.0).abs() < 1.0, "{}: {}", at.theta, at.size);
            }
            let wanted = Wanted {
                thetas: vec![least - 1],
                ..Wanted::default()
            };
            let error = Analysis::of("loop", &uses, &wanted).unwrap_err();
            assert!(
                error.to_string().contains(&format!("take {least}")),
                "{error}"
            );
            let series = crate::measure::Series::of(&trace, true, least - 1, 10);
            assert!(series.is_err());
            for policy in ["ws", "vmin"] {
                let choice = crate::policy::Choice::parse(policy).unwrap();
                let curve = crate::measure::Lifetime::of(&trace, true, &choice, 10).unwrap();
                assert!(!curve.points.is_empty(), "{policy}");
                for point in &curve.points {
                    assert!(point.parameter >= least, "{policy}: {}", point.parameter);
                }
            }
        }
        let all = Uses::of(&Trace::of(&[1, 2, 1]).unwrap(), false).unwrap();
        assert_eq!(all.resolution(), None);
    }

    #[test]
    fn one_page_has_an_analysis() {
        let uses = Uses::of(&Trace::of(&[7; 30]).unwrap(), false).unwrap();
        let analysis = Analysis::of("one", &uses, &Wanted::default()).unwrap();
        assert_eq!(analysis.program.pages, 1);
        assert_eq!(analysis.program.references, 30);
        let short = Uses::of(&Trace::of(&[7]).unwrap(), false).unwrap();
        assert!(Analysis::of("short", &short, &Wanted::default()).is_ok());
        let wanted = Wanted {
            thetas: vec![31],
            ..Wanted::default()
        };
        assert!(Analysis::of("one", &uses, &wanted).is_err());
    }
}
