//! The trace as a whole: what its pages are, how much memory it needs, and what floor would protect
//! it.

use super::curves::Curves;
use super::window::{AtWindow, knee};
use crate::trace::Visibility;
use crate::{Clock, Uses};
use serde::Serialize;

/// A kind of memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegionUse {
    /// A file, `[heap]`, `[stack]`, `[anonymous]`, or `unknown`.
    pub name: String,
    /// Pages that were used.
    pub pages: u64,
    /// Uses of them.
    pub uses: u64,
}

/// Memory for a share of references that fault.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Need {
    /// Faults for each reference.
    pub ratio: f64,
    /// Pages that LRU needs.
    pub lru_pages: u64,
    /// Window of a working set with as few.
    pub theta: u64,
    /// Its mean pages.
    pub ws_pages: f64,
}

/// What a floor such as `memory.low` should keep of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Floor {
    /// Pages: enough for the working set in 95 % of the time.
    pub pages: u64,
    /// The same.
    pub bytes: u64,
    /// The working set's window.
    pub theta: u64,
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Move {
    /// When it begins.
    pub from: u64,
    /// How far its pages are from those of the one before: 0 the same, 1 none in common, above 0.5
    /// a transition.
    pub distance: f64,
}

/// The trace as a whole.
#[derive(Debug, Clone, Serialize)]
pub struct Program {
    /// What the trace is called.
    pub name: String,
    /// What was run.
    pub command: String,
    /// What of its start was left out: `the first 1000000 references`.
    pub left_out: Option<String>,
    /// Why the trace does not show the whole run.
    pub cut: Option<String>,
    /// References.
    pub references: u64,
    /// Uses: references to one page one after the other are one.
    pub uses: u64,
    /// Different pages.
    pub pages: u64,
    /// Bytes of a page.
    pub page_size: u64,
    /// What time counts.
    pub clock: Clock,
    /// When it began, in its time.
    pub start: u64,
    /// How long it is, in its time.
    pub time: u64,
    /// What it shows.
    pub visibility: Visibility,
    /// Threads and processes.
    pub tasks: u64,
    /// By pages, the largest first.
    pub regions: Vec<RegionUse>,
    /// By falling ratio.
    pub needs: Vec<Need>,
    /// `None` where the trace does not show every reference, or shows no locality.
    pub floor: Option<Floor>,
}

impl Program {
    pub(super) fn of(
        name: &str,
        uses: &Uses,
        curves: Option<&Curves>,
        windows: &[AtWindow],
    ) -> Self {
        let about = uses.about();
        let told = |name| {
            about
                .parameters
                .iter()
                .find(|parameter| parameter.0 == name)
                .map(|parameter| parameter.1.clone())
        };
        Self {
            name: name.to_owned(),
            command: about.program.clone(),
            left_out: told("left out"),
            cut: told("cut"),
            references: uses.references(),
            uses: uses.len() as u64,
            pages: uses.pages() as u64,
            page_size: about.page_size,
            clock: if uses.about().clock == Clock::References {
                Clock::References
            } else {
                about.clock
            },
            start: uses.start(),
            time: uses.time(),
            visibility: about.visibility.clone(),
            tasks: about.tasks.len() as u64,
            regions: regions(uses),
            needs: curves.map(|curves| needs(uses, curves)).unwrap_or_default(),
            floor: curves.and_then(|curves| floor(curves, windows, about.page_size)),
        }
    }
}

fn needs(uses: &Uses, curves: &Curves) -> Vec<Need> {
    let ws = curves.named("ws");
    let size = |theta: u64| {
        let points = ws.map(|curve| curve.points.as_slice()).unwrap_or_default();
        let at = points
            .partition_point(|point| point.parameter < theta)
            .min(points.len().saturating_sub(1));
        points
            .get(at)
            .map_or(uses.pages() as f64, |point| point.size)
    };
    let need = |(ratio, lru_pages, theta): &(f64, u64, u64)| Need {
        ratio: *ratio,
        lru_pages: *lru_pages,
        theta: *theta,
        ws_pages: size(*theta),
    };
    curves.lru_needs.iter().map(need).collect()
}

/// At the window nearest to that where the lifetime for each page is greatest.
fn floor(curves: &Curves, windows: &[AtWindow], page_size: u64) -> Option<Floor> {
    let knee = knee(&curves.knees.iter().find(|(policy, _)| policy == "ws")?.1)?;
    let window = windows
        .iter()
        .min_by_key(|window| window.theta.abs_diff(knee))?;
    Some(Floor {
        pages: window.enough,
        bytes: window.enough * page_size,
        theta: window.theta,
    })
}

/// What is at each page: `unknown` where no mapping was told.
pub(super) fn named(uses: &Uses, pages: &[u64]) -> Vec<String> {
    let mut known: Vec<&(u64, u64, String)> = uses.about().regions.iter().collect();
    known.sort();
    let name = |page: &u64| {
        let at = known.partition_point(|region| region.0 <= *page);
        let region = at
            .checked_sub(1)
            .map(|at| known[at])
            .filter(|region| region.1 >= *page);
        region.map_or_else(|| "unknown".to_owned(), |region| region.2.clone())
    };
    pages.iter().map(name).collect()
}

/// Pages and uses by what is there.
fn regions(uses: &Uses) -> Vec<RegionUse> {
    let mut counts = vec![0_u64; uses.pages()];
    uses.trace()
        .refs()
        .iter()
        .for_each(|page| counts[*page as usize] += 1);
    let mut regions: std::collections::BTreeMap<String, (u64, u64)> =
        std::collections::BTreeMap::new();
    for (name, count) in named(uses, uses.trace().names()).into_iter().zip(counts) {
        let sum = regions.entry(name).or_default();
        *sum = (sum.0 + 1, sum.1 + count);
    }
    let all = regions
        .into_iter()
        .map(|(name, (pages, uses))| RegionUse { name, pages, uses });
    let mut all: Vec<RegionUse> = all.collect();
    all.sort_by(|one, other| other.pages.cmp(&one.pages).then(one.name.cmp(&other.name)));
    all
}
