//! The trace as a whole: what backs its pages, how much memory it needs, and what floor would
//! protect it.

use super::curves::Curves;
use super::window::{AtWindow, knee};
use crate::trace::Visibility;
use crate::{Clock, Uses};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

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

/// The memory that is needed for a ratio of references that fault.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Need {
    /// Faults per reference.
    pub ratio: f64,
    /// Pages that LRU needs.
    pub lru_pages: u64,
    /// The window of a working set with as few faults.
    pub theta: u64,
    /// Mean pages of that working set.
    pub ws_pages: f64,
}

/// What a floor such as `memory.low` should keep of the program's memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Floor {
    /// Pages: enough for the working set in 95 % of the time.
    pub pages: u64,
    /// The same in bytes.
    pub bytes: u64,
    /// The working set's window.
    pub theta: u64,
}

/// A stretch of time, and how far its pages are from those of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Move {
    /// When it begins.
    pub from: u64,
    /// 0: the same pages; 1: none in common; above 0.5 it is a transition.
    pub distance: f64,
}

/// The trace as a whole.
#[derive(Debug, Clone, Serialize)]
pub struct Program {
    /// The trace's name.
    pub name: String,
    /// The program's command line.
    pub command: String,
    /// What was left out at the start: `the first 1000000 references`.
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
    /// When the trace began, in its time.
    pub start: u64,
    /// How long the trace is, in its time.
    pub time: u64,
    /// What the trace shows.
    pub visibility: Visibility,
    /// The shortest time of which the trace can tell; `None` if it shows every reference.
    pub resolution: Option<u64>,
    /// Threads and processes.
    pub tasks: u64,
    /// What backs the pages, the largest first.
    pub regions: Vec<RegionUse>,
    /// The memory needed, by falling ratio of faults.
    pub needs: Vec<Need>,
    /// `None` if the trace does not show every reference, or shows no locality.
    pub floor: Option<Floor>,
}

impl Program {
    pub(super) fn of(
        name: &str,
        uses: &Uses,
        resolution: Option<u64>,
        curves: Option<&Curves>,
        windows: &[AtWindow],
    ) -> Self {
        let about = uses.about();
        let parameter = |name| {
            let found = about.parameters.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        Self {
            name: name.to_owned(),
            command: about.program.clone(),
            left_out: parameter("left out"),
            cut: parameter("cut"),
            references: uses.references(),
            uses: uses.len() as u64,
            pages: uses.pages() as u64,
            page_size: about.page_size,
            clock: about.clock,
            start: uses.start(),
            time: uses.time(),
            visibility: about.visibility.clone(),
            resolution,
            tasks: about.tasks.len() as u64,
            regions: regions(uses),
            needs: curves.map(|curves| needs(uses, curves)).unwrap_or_default(),
            floor: curves.and_then(|curves| floor(curves, windows, about.page_size)),
        }
    }
}

fn needs(uses: &Uses, curves: &Curves) -> Vec<Need> {
    let ws = curves.named("ws");
    let points = ws.map(|curve| curve.points.as_slice()).unwrap_or_default();
    let last = points.len().saturating_sub(1);
    let mut needs = Vec::new();
    for (ratio, lru_pages, theta) in &curves.lru_needs {
        let at = points.partition_point(|point| point.parameter < *theta);
        let point = points.get(at.min(last));
        needs.push(Need {
            ratio: *ratio,
            lru_pages: *lru_pages,
            theta: *theta,
            ws_pages: point.map_or(uses.pages() as f64, |point| point.size),
        });
    }
    needs
}

/// The floor at the window nearest to that of the greatest lifetime for each page.
fn floor(curves: &Curves, windows: &[AtWindow], page_size: u64) -> Option<Floor> {
    let (_, knees) = curves.knees.iter().find(|(policy, _)| policy == "ws")?;
    let knee = knee(knees)?;
    let nearest = windows
        .iter()
        .min_by_key(|window| window.theta.abs_diff(knee));
    let window = nearest?;
    Some(Floor {
        pages: window.enough,
        bytes: window.enough * page_size,
        theta: window.theta,
    })
}

/// What backs each page: `unknown` if the trace has no mapping for it.
pub(super) fn named(uses: &Uses, pages: &[u64]) -> Vec<String> {
    let mut known: Vec<&(u64, u64, String)> = uses.about().regions.iter().collect();
    known.sort();
    let mut names = Vec::with_capacity(pages.len());
    for page in pages {
        let behind = known.partition_point(|(first, ..)| first <= page);
        let region = behind.checked_sub(1).map(|at| known[at]);
        names.push(match region {
            Some((_, last, name)) if last >= page => name.clone(),
            _ => "unknown".to_owned(),
        });
    }
    names
}

/// Pages and uses by what backs them.
fn regions(uses: &Uses) -> Vec<RegionUse> {
    let mut counts = vec![0_u64; uses.pages()];
    for page in uses.trace().refs() {
        counts[*page as usize] += 1;
    }
    let names = named(uses, uses.trace().names());
    let mut regions: BTreeMap<String, RegionUse> = BTreeMap::new();
    for (name, count) in names.into_iter().zip(counts) {
        let region = regions.entry(name.clone()).or_insert(RegionUse {
            name,
            pages: 0,
            uses: 0,
        });
        region.pages += 1;
        region.uses += count;
    }
    let mut all: Vec<RegionUse> = regions.into_values().collect();
    // The sort is stable: of equal sizes the names are in order.
    all.sort_by_key(|region| Reverse(region.pages));
    all
}
