//! Policies beside each other, at equal mean size of memory.

use super::Wanted;
use crate::measure::lifetime::{Knees, Lifetime, Point, sizes};
use crate::measure::timed::half_life;
use crate::measure::{Intervals, MissCurve};
use crate::policy::Choice;
use crate::{Error, Uses};
use rayon::prelude::*;
use serde::Serialize;

/// Points of a curve that are kept: more cannot be told apart in a picture.
const KEPT: usize = 160;
/// Windows at which the policies are compared.
const LADDER: usize = 8;
/// Fault services in the trace's time at which space-time is shown.
const SERVICES: [f64; 5] = [0.0, 1e3, 1e4, 1e5, 1e6];

/// Faults at the size of a working set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Claim {
    /// The window.
    pub theta: u64,
    /// Mean pages of its working set.
    pub size: f64,
    /// Mean pages of VMIN, which has the same faults.
    pub vmin_size: f64,
    /// Faults of the working set.
    pub ws: f64,
    /// Faults with room for that mean size, rounded, of LRU and the others.
    pub lru: f64,
    /// Of Belady's optimum.
    pub opt: f64,
    /// Of FIFO.
    pub fifo: f64,
    /// Of 2Q.
    pub two_q: f64,
    /// Faults of a timer of the same mean size.
    pub half_life: f64,
}

/// Space-time of one policy at one fault service.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpaceTime {
    /// The policy.
    pub policy: String,
    /// The service time.
    pub service: f64,
    /// Its least value: where, and how much, in pages × time.
    pub least: Point,
    /// In pages × time.
    pub value: f64,
}

/// Policies, by mean pages in memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curves {
    /// Working set, LRU, VMIN, OPT, FIFO, 2Q, half-life: thinned for pictures.
    pub lifetimes: Vec<Lifetime>,
    /// Of the working set and LRU, at the fault service asked for.
    pub knees: Vec<(String, Knees)>,
    /// The fault service asked for.
    pub service: f64,
    /// Of the working set and LRU, over fault services.
    pub space_time: Vec<SpaceTime>,
    /// The policies at the sizes of working sets, by rising window.
    pub claims: Vec<Claim>,
    /// LRU's misses at a few ratios, for [`super::Need`]: pages for each.
    pub(super) lru_needs: Vec<(f64, u64, u64)>,
}

impl Curves {
    pub(super) fn of(uses: &Uses, intervals: &Intervals, wanted: &Wanted) -> Result<Self, Error> {
        let time = uses.time();
        let misses = MissCurve::of(uses.trace()).all();
        let ws = Lifetime::of_working_set(intervals);
        let vmin = Lifetime::of_vmin(intervals);
        let space = Space::of(uses);
        let lru = Lifetime::new(
            "lru",
            time,
            (1..misses.len()).map(|c| (c as u64, space.mean(c), misses[c])),
        );
        let ladder = ladder(&ws, &vmin, time);
        let mut capacities: Vec<usize> = ladder.iter().map(|(point, _)| room(point.size)).collect();
        capacities.extend(sizes(uses.pages(), wanted.points));
        capacities.retain(|size| *size <= uses.pages());
        capacities.sort_unstable();
        capacities.dedup();
        let others = ["opt", "fifo", "2q"].map(|name| fixed(uses, name, &capacities, &space));
        let [opt, fifo, two_q] = others;
        let opt = opt?;
        let fifo = fifo?;
        let two_q = two_q?;
        let timer = timer(uses, &ladder);
        let claims = ladder.iter().map(|(point, vmin_size)| {
            let at = |curve: &Lifetime| faults(curve, room(point.size));
            Claim {
                theta: point.parameter,
                size: point.size,
                vmin_size: *vmin_size,
                ws: point.misses,
                lru: at(&lru),
                opt: at(&opt),
                fifo: at(&fifo),
                two_q: at(&two_q),
                half_life: timer.misses_at(point.size).unwrap_or(f64::NAN),
            }
        });
        let claims = claims.collect();
        let knees = [&ws, &lru]
            .into_iter()
            .filter_map(|curve| Some((curve.policy.clone(), curve.knees(wanted.service)?)));
        let knees = knees.collect();
        let space_time = [&ws, &lru].into_iter().flat_map(over_services).collect();
        let lru_needs = needs(&misses, intervals, uses.references());
        let lifetimes = [ws, lru, vmin, opt, fifo, two_q, timer]
            .into_iter()
            .map(thinned)
            .collect();
        Ok(Self {
            lifetimes,
            knees,
            service: wanted.service,
            space_time,
            claims,
            lru_needs,
        })
    }

    /// A curve by its policy's name.
    pub fn named(&self, policy: &str) -> Option<&Lifetime> {
        self.lifetimes.iter().find(|curve| curve.policy == policy)
    }
}

/// Mean pages in memory of a policy that loads on demand into so much room: it is full from the first use of as many
/// different pages on.
struct Space {
    sums: Vec<f64>,
}

impl Space {
    fn of(uses: &Uses) -> Self {
        let mut sum = 0.0;
        let time = uses.time() as f64;
        let grown = uses.first_uses().into_iter().map(|first| {
            sum += (uses.end() - first) as f64 / time;
            sum
        });
        Self {
            sums: std::iter::once(0.0).chain(grown).collect(),
        }
    }

    fn mean(&self, room: usize) -> f64 {
        self.sums[room.min(self.sums.len() - 1)]
    }
}

/// Room for a mean size.
fn room(size: f64) -> usize {
    (size.round() as usize).max(1)
}

/// Windows from a thousandth of a per cent of the time to a tenth of it, and VMIN's size at each.
fn ladder(ws: &Lifetime, vmin: &Lifetime, time: u64) -> Vec<(Point, f64)> {
    let least = (time as f64 / 1e5).max(10.0);
    let most = (time as f64 / 10.0).max(11.0);
    let mut ladder: Vec<(Point, f64)> = Vec::new();
    for step in 0..LADDER {
        let theta = least * (most / least).powf(step as f64 / (LADDER - 1) as f64);
        let at = ws
            .points
            .partition_point(|point| (point.parameter as f64) < theta);
        if let (Some(point), Some(other)) = (ws.points.get(at), vmin.points.get(at)) {
            if ladder
                .last()
                .is_none_or(|last| last.0.parameter < point.parameter)
            {
                ladder.push((*point, other.size));
            }
        }
    }
    ladder
}

/// A policy of fixed room, run at each size.
fn fixed(uses: &Uses, name: &str, capacities: &[usize], space: &Space) -> Result<Lifetime, Error> {
    let choice = Choice::parse(name)?;
    if name == "opt" {
        uses.trace().next_uses();
    }
    let run = |capacity: &usize| -> Result<(u64, f64, f64), Error> {
        let score = choice.spec.run(uses.trace(), *capacity, &choice.options)?;
        Ok((*capacity as u64, space.mean(*capacity), score.misses as f64))
    };
    let points = capacities
        .par_iter()
        .map(run)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Lifetime::new(name, uses.time(), points.into_iter()))
}

/// The half-life at which a timer has each working set's mean size, by halving, and its faults there.
fn timer(uses: &Uses, ladder: &[(Point, f64)]) -> Lifetime {
    let lives = ladder
        .iter()
        .flat_map(|(point, _)| [1, 4].map(|times| point.parameter.saturating_mul(times)));
    let mut lives: Vec<u64> = lives
        .filter(|life| *life <= uses.time())
        .chain([uses.time()])
        .collect();
    lives.sort_unstable();
    lives.dedup();
    let run = |life: &u64| {
        let (faults, size) = half_life(uses, *life);
        (*life, size, faults as f64)
    };
    let points: Vec<(u64, f64, f64)> = lives.par_iter().map(run).collect();
    Lifetime::new("half-life", uses.time(), points.into_iter())
}

/// Faults with so much room, or the curve's next larger.
fn faults(curve: &Lifetime, room: usize) -> f64 {
    let at = curve
        .points
        .partition_point(|point| point.parameter < room as u64);
    curve
        .points
        .get(at)
        .or(curve.points.last())
        .map_or(f64::NAN, |point| point.misses)
}

fn over_services(curve: &Lifetime) -> Vec<SpaceTime> {
    let least = |service: f64| {
        let knees = curve.knees(service)?;
        Some(SpaceTime {
            policy: curve.policy.clone(),
            service,
            least: knees.space_time,
            value: knees.least,
        })
    };
    SERVICES.into_iter().filter_map(least).collect()
}

/// The ratio of references that fault, LRU's pages for it, and the working set's window.
fn needs(misses: &[f64], intervals: &Intervals, references: u64) -> Vec<(f64, u64, u64)> {
    let windows = intervals.windows();
    let need = |ratio: f64| {
        let most = ratio * references as f64;
        let pages = misses.iter().position(|misses| *misses <= most)?;
        let window = windows.iter().find(|window| window.misses as f64 <= most)?;
        Some((ratio, pages as u64, window.theta))
    };
    [1e-2, 1e-3, 1e-4].into_iter().filter_map(need).collect()
}

/// Evenly by the logarithm of the size, the first and last kept.
fn thinned(mut curve: Lifetime) -> Lifetime {
    let Some((first, last)) = curve.points.first().zip(curve.points.last()) else {
        return curve;
    };
    let low = first.size.max(0.1).ln();
    let high = last.size.max(0.2).ln();
    let place = |point: &Point| {
        ((point.size.max(0.1).ln() - low) / (high - low).max(1e-9) * KEPT as f64) as i64
    };
    let end = curve.points.len() - 1;
    let mut before = i64::MIN;
    let mut at = 0;
    curve.points.retain(|point| {
        let keep = place(point) != before || at == end;
        before = place(point);
        at += 1;
        keep
    });
    curve
}
