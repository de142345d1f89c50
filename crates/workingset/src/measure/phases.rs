//! Phases: when a program stays in a locality, and when it moves.
//!
//! - Bounded locality intervals at level c: maximal runs of references in which none misses in an
//!   LRU stack of c pages, and all of its top c pages are used again. A phase at level c is a
//!   locality of c pages; the references between phases are transitions.
//! - Signature distance: windows of equal length, 1 − |A∩B| / |A∪B| of the pages used in two
//!   neighbours; above one half is a transition.
//! - Cost: bounded localities O(n·depth) at small levels, since the stack is kept as a list;
//!   signatures O(n), 8 B for each page.
//! - Source: Madison, Batson, CACM 19(5), 1976; Dhodapkar, Smith, MICRO 2003.

use crate::{Page, Trace};
use serde::Serialize;

/// A time in one locality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// Pages of the locality.
    pub level: usize,
    /// The first reference.
    pub from: u64,
    /// One behind the last reference.
    pub to: u64,
}

/// The phases of a level that have at least `shortest` references.
pub fn localities(trace: &Trace, level: usize, shortest: u64) -> Vec<Phase> {
    let mut stack: Vec<Page> = Vec::with_capacity(level + 1);
    // For each of the stack's pages, whether it was used again since the run began.
    let mut again: Vec<bool> = Vec::with_capacity(level + 1);
    let mut phases = Vec::new();
    let mut from = 0_u64;
    let mut close = |from: u64, to: u64, again: &[bool], full: bool| {
        if full && to - from >= shortest && again.iter().all(|used| *used) {
            phases.push(Phase { level, from, to });
        }
    };
    for (at, page) in trace.refs().iter().enumerate() {
        match stack.iter().position(|on| on == page) {
            Some(depth) => {
                stack[..=depth].rotate_right(1);
                again[..=depth].rotate_right(1);
                again[0] = true;
            }
            None => {
                close(from, at as u64, &again, stack.len() == level);
                if stack.len() == level {
                    stack.pop();
                    again.pop();
                    // From here on it is another locality.
                    again.fill(false);
                    from = at as u64;
                }
                stack.insert(0, *page);
                again.insert(0, false);
            }
        }
    }
    close(from, trace.len() as u64, &again, stack.len() == level);
    phases
}

/// How far the pages of a window are from those of the window before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// The window's first reference.
    pub from: u64,
    /// 0: the same pages; 1: none in common.
    pub distance: f64,
}

impl Step {
    /// Returns true if this is a move to another locality.
    pub fn is_transition(&self) -> bool {
        self.distance > 0.5
    }
}

/// Distances between neighbouring windows of so many references; the first has none.
pub fn signatures(trace: &Trace, window: usize) -> Vec<Step> {
    let mut seen: Vec<u32> = vec![0; trace.pages()];
    let mut steps = Vec::new();
    let mut before = 0_usize;
    let window = window.max(1);
    for (number, refs) in trace.refs().chunks(window).enumerate() {
        let own = number as u32 + 1;
        let last = number as u32;
        let mut size = 0_usize;
        let mut common = 0_usize;
        for page in refs {
            let seen = &mut seen[*page as usize];
            if *seen != own {
                size += 1;
                if *seen == last && last > 0 {
                    common += 1;
                }
                *seen = own;
            }
        }
        if number > 0 {
            let union = size + before - common;
            let distance = 1.0 - common as f64 / union.max(1) as f64;
            steps.push(Step {
                from: (number * window) as u64,
                distance,
            });
        }
        before = size;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phased() -> Trace {
        let mut rng = crate::rng::Rng::new(4);
        let pages: Vec<u64> = (0..20_000)
            .map(|at| rng.below(10) + at / 5000 * 10)
            .collect();
        Trace::of(&pages).unwrap()
    }

    #[test]
    fn phases_are_found_where_they_were_made() {
        let phases = localities(&phased(), 10, 1000);
        assert_eq!(phases.len(), 4, "{phases:?}");
        for (number, phase) in phases.iter().enumerate() {
            let made = number as u64 * 5000;
            assert!(
                phase.from.abs_diff(made) < 200 && phase.to.abs_diff(made + 5000) < 200,
                "{phase:?}"
            );
        }
        assert!(
            localities(&phased(), 5, 1000).is_empty(),
            "five pages are no locality of ten"
        );
    }

    #[test]
    fn signatures_jump_at_transitions() {
        let moves: Vec<u64> = signatures(&phased(), 500)
            .iter()
            .filter(|step| step.is_transition())
            .map(|step| step.from)
            .collect();
        assert_eq!(moves, [5000, 10_000, 15_000]);
    }

    #[test]
    fn two_localities_in_a_short_trace() {
        let trace = Trace::of(&[1, 2, 1, 2, 1, 3, 4, 3, 4]).unwrap();
        let phases = localities(&trace, 2, 2);
        assert_eq!(
            phases.first(),
            Some(&Phase {
                level: 2,
                from: 0,
                to: 5
            })
        );
        assert_eq!(phases.last().map(|phase| phase.to), Some(9));
    }
}
