//! Policies beside each other, at equal mean size of memory.

use super::wanted::Wanted;
use crate::measure::lifetime::{Knees, Lifetime, Point, sizes};
use crate::measure::timed::half_life;
use crate::measure::{Intervals, MissCurve};
use crate::policy::Choice;
use crate::{Error, Uses};
use rayon::prelude::*;
use serde::Serialize;

/// Points of a curve that are kept: a picture does not show more.
const KEPT: usize = 160;
/// Windows at which the policies are compared. Each costs a run of three policies.
const LADDER: usize = 8;
/// Fault services, in the trace's time, at which space-time is shown: from none to a slow disk's,
/// if time is instructions.
const SERVICES: [f64; 5] = [0.0, 1e3, 1e4, 1e5, 1e6];
/// Ratios of references that fault, for which the memory needed is reported.
const RATIOS: [f64; 3] = [1e-2, 1e-3, 1e-4];

/// Faults of all policies at the mean size of a working set.
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
    /// Faults of LRU with that mean size, rounded, as its memory; so for the next three.
    pub lru: f64,
    /// Faults of Belady's optimum.
    pub opt: f64,
    /// Faults of FIFO.
    pub fifo: f64,
    /// Faults of 2Q.
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
    /// The point of the least space-time.
    pub least: Point,
    /// The least space-time, in pages × time.
    pub value: f64,
}

/// The curves of all policies, by mean pages in memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curves {
    /// Working set, LRU, VMIN, OPT, FIFO, 2Q, half-life: thinned for pictures.
    pub lifetimes: Vec<Lifetime>,
    /// The knees of the working set and LRU, at the fault service of the analysis.
    pub knees: Vec<(String, Knees)>,
    /// The fault service of the analysis.
    pub service: f64,
    /// The space-time of the working set and LRU, at several fault services.
    pub space_time: Vec<SpaceTime>,
    /// The policies at the sizes of working sets, by rising window.
    pub claims: Vec<Claim>,
    /// For [`super::Need`]: a ratio of references that fault, LRU's pages for it, and the working
    /// set's window for it.
    pub(super) lru_needs: Vec<(f64, u64, u64)>,
}

impl Curves {
    pub(super) fn of(uses: &Uses, intervals: &Intervals, wanted: &Wanted) -> Result<Self, Error> {
        let time = uses.time();
        let misses = MissCurve::of(uses.trace()).all();
        let ws = Lifetime::of_working_set(intervals);
        let vmin = Lifetime::of_vmin(intervals);
        let space = Space::of(uses);
        let lru_points = (1..misses.len()).map(|c| (c as u64, space.mean(c), misses[c]));
        let lru = Lifetime::new("lru", time, lru_points);
        let ladder = ladder(&ws, &vmin, time);
        let capacities = capacities(&ladder, uses.pages(), wanted.points);
        let opt = fixed(uses, "opt", &capacities, &space)?;
        let fifo = fixed(uses, "fifo", &capacities, &space)?;
        let two_q = fixed(uses, "2q", &capacities, &space)?;
        let timer = timer(uses, &ladder);
        let mut claims = Vec::new();
        for (point, vmin_size) in &ladder {
            let capacity = capacity(point.size);
            claims.push(Claim {
                theta: point.parameter,
                size: point.size,
                vmin_size: *vmin_size,
                ws: point.misses,
                lru: faults(&lru, capacity),
                opt: faults(&opt, capacity),
                fifo: faults(&fifo, capacity),
                two_q: faults(&two_q, capacity),
                half_life: timer.misses_at(point.size).unwrap_or(f64::NAN),
            });
        }
        let mut knees = Vec::new();
        let mut space_time = Vec::new();
        for curve in [&ws, &lru] {
            if let Some(found) = curve.knees(wanted.service) {
                knees.push((curve.policy.clone(), found));
            }
            space_time.extend(over_services(curve));
        }
        let lru_needs = needs(&misses, intervals, uses.references());
        let mut lifetimes = Vec::new();
        for curve in [ws, lru, vmin, opt, fifo, two_q, timer] {
            lifetimes.push(thinned(curve));
        }
        Ok(Self {
            lifetimes,
            knees,
            service: wanted.service,
            space_time,
            claims,
            lru_needs,
        })
    }

    /// The curve of a policy.
    pub fn named(&self, policy: &str) -> Option<&Lifetime> {
        self.lifetimes.iter().find(|curve| curve.policy == policy)
    }
}

/// Mean pages in memory of a policy that loads pages on demand, by its capacity: memory is full
/// from the first use of as many different pages on.
struct Space {
    /// The mean at each capacity, from 0.
    means: Vec<f64>,
}

impl Space {
    fn of(uses: &Uses) -> Self {
        let time = uses.time() as f64;
        let mut mean = 0.0;
        let mut means = vec![mean];
        for first in uses.first_uses() {
            mean += (uses.end() - first) as f64 / time;
            means.push(mean);
        }
        Self { means }
    }

    fn mean(&self, capacity: usize) -> f64 {
        self.means[capacity.min(self.means.len() - 1)]
    }
}

/// The capacity for a mean size.
fn capacity(size: f64) -> usize {
    (size.round() as usize).max(1)
}

/// The capacities at which policies are run: those of the ladder's sizes, and `points` others.
fn capacities(ladder: &[(Point, f64)], pages: usize, points: usize) -> Vec<usize> {
    let mut capacities = sizes(pages, points);
    for (point, _) in ladder {
        capacities.push(capacity(point.size));
    }
    capacities.retain(|size| *size <= pages);
    capacities.sort_unstable();
    capacities.dedup();
    capacities
}

/// Windows from a thousandth of a per cent of the time to a tenth of it, and VMIN's size at each.
fn ladder(ws: &Lifetime, vmin: &Lifetime, time: u64) -> Vec<(Point, f64)> {
    let least = (time as f64 / 1e5).max(10.0);
    let most = (time as f64 / 10.0).max(11.0);
    let mut ladder: Vec<(Point, f64)> = Vec::new();
    for step in 0..LADDER {
        let share = step as f64 / (LADDER - 1) as f64;
        let theta = least * (most / least).powf(share);
        let at = ws
            .points
            .partition_point(|point| (point.parameter as f64) < theta);
        let Some((point, vmin_point)) = ws.points.get(at).zip(vmin.points.get(at)) else {
            continue;
        };
        let last = ladder.last().map(|(last, _)| last.parameter);
        if last.is_none_or(|last| last < point.parameter) {
            ladder.push((*point, vmin_point.size));
        }
    }
    ladder
}

/// The curve of a policy of fixed memory, run at each capacity.
fn fixed(uses: &Uses, name: &str, capacities: &[usize], space: &Space) -> Result<Lifetime, Error> {
    let choice = Choice::parse(name)?;
    if name == "opt" {
        // Computed before the runs, which would wait for each other.
        uses.trace().next_uses();
    }
    let run = |capacity: &usize| -> Result<(u64, f64, f64), Error> {
        let score = choice.spec.run(uses.trace(), *capacity, &choice.options)?;
        Ok((*capacity as u64, space.mean(*capacity), score.misses as f64))
    };
    let points: Result<Vec<_>, _> = capacities.par_iter().map(run).collect();
    Ok(Lifetime::new(name, uses.time(), points?.into_iter()))
}

/// The curve of a timer: faults and mean size at half-lives of once and four times each window.
fn timer(uses: &Uses, ladder: &[(Point, f64)]) -> Lifetime {
    let mut lives = vec![uses.time()];
    for (point, _) in ladder {
        for times in [1, 4] {
            let life = point.parameter.saturating_mul(times);
            if life <= uses.time() {
                lives.push(life);
            }
        }
    }
    lives.sort_unstable();
    lives.dedup();
    let run = |life: &u64| {
        let (faults, size) = half_life(uses, *life);
        (*life, size, faults as f64)
    };
    let points: Vec<(u64, f64, f64)> = lives.par_iter().map(run).collect();
    Lifetime::new("half-life", uses.time(), points.into_iter())
}

/// Faults at a capacity, or at the curve's next larger one.
fn faults(curve: &Lifetime, capacity: usize) -> f64 {
    let points = &curve.points;
    let at = points.partition_point(|point| point.parameter < capacity as u64);
    let point = points.get(at).or(points.last());
    point.map_or(f64::NAN, |point| point.misses)
}

fn over_services(curve: &Lifetime) -> Vec<SpaceTime> {
    let mut all = Vec::new();
    for service in SERVICES {
        if let Some(knees) = curve.knees(service) {
            all.push(SpaceTime {
                policy: curve.policy.clone(),
                service,
                least: knees.space_time,
                value: knees.least,
            });
        }
    }
    all
}

/// For each ratio of references that fault, LRU's pages and the working set's window.
fn needs(misses: &[f64], intervals: &Intervals, references: u64) -> Vec<(f64, u64, u64)> {
    let windows = intervals.windows();
    let mut needs = Vec::new();
    for ratio in RATIOS {
        let most = ratio * references as f64;
        let pages = misses.iter().position(|misses| *misses <= most);
        let window = windows.iter().find(|window| window.misses as f64 <= most);
        if let Some((pages, window)) = pages.zip(window) {
            needs.push((ratio, pages as u64, window.theta));
        }
    }
    needs
}

/// A curve with about [`KEPT`] of its points, even by the logarithm of the size. The first and the
/// last are kept.
fn thinned(mut curve: Lifetime) -> Lifetime {
    let Some((first, last)) = curve.points.first().zip(curve.points.last()) else {
        return curve;
    };
    let low = first.size.max(0.1).ln();
    let high = last.size.max(0.2).ln();
    let place = |point: &Point| {
        let share = (point.size.max(0.1).ln() - low) / (high - low).max(1e-9);
        (share * KEPT as f64) as i64
    };
    let end = curve.points.len() - 1;
    let mut before = i64::MIN;
    let mut at = 0;
    curve.points.retain(|point| {
        let own = place(point);
        let keep = own != before || at == end;
        before = own;
        at += 1;
        keep
    });
    curve
}
