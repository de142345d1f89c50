//! Moves between localities: how far the pages of a stretch of time are from those of the one before.
//!
//! - Law: 1 − |A∩B| / |A∪B| of the pages used in two neighbouring stretches of equal length; above one half is a
//!   transition, and what is between two is a phase.
//! - Cost: O(uses), 4 B for each page.
//! - Source: Dhodapkar, Smith, MICRO 2003; as `phases::signatures`, by time.

use super::phases::Step;
use crate::Uses;

/// Distances of so many stretches, each from the one before; the first has none.
pub fn moves(uses: &Uses, stretches: usize) -> Vec<Step> {
    let stretches = stretches.clamp(1, usize::try_from(uses.time()).unwrap_or(usize::MAX)) as u64;
    let wide = uses.time().div_ceil(stretches);
    let mut seen: Vec<u32> = vec![0; uses.pages()];
    let mut steps = Vec::new();
    let mut before = 0_usize;
    let mut own = 1_u32;
    let mut size = 0_usize;
    let mut common = 0_usize;
    let mut close = |own: u32, size: usize, common: usize| {
        if own > 1 {
            let union = size + before - common;
            let distance = if union == 0 {
                0.0
            } else {
                1.0 - common as f64 / union as f64
            };
            steps.push(Step {
                from: uses.start() + u64::from(own - 1) * wide,
                distance,
            });
        }
        before = size;
    };
    for one in uses {
        let stretch = ((one.from - uses.start()) / wide) as u32 + 1;
        while own < stretch {
            close(own, size, common);
            own += 1;
            size = 0;
            common = 0;
        }
        let last = std::mem::replace(&mut seen[one.page as usize], own);
        if last != own {
            size += 1;
            common += usize::from(last > 0 && last + 1 == own);
        }
    }
    close(own, size, common);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;
    use crate::measure::phases::signatures;

    #[test]
    fn by_references_they_are_the_signatures() {
        let mut dice = crate::dice::Dice::new(4);
        let pages: Vec<u64> = (0..20_000)
            .map(|at| dice.below(10) + at / 5000 * 10)
            .collect();
        let trace = Trace::of(&pages).unwrap();
        // No page is used twice in a row here, so that no use goes over the end of a stretch.
        let mut apart = pages.clone();
        apart.dedup();
        let apart = Trace::of(&apart).unwrap();
        let stretches = 40;
        let steps = moves(&Uses::of(&apart, false).unwrap(), stretches);
        assert_eq!(steps, signatures(&apart, apart.len().div_ceil(stretches)));
        let far = moves(&Uses::of(&trace, false).unwrap(), stretches)
            .into_iter()
            .filter(Step::is_transition);
        assert_eq!(
            far.map(|step| step.from).collect::<Vec<_>>(),
            [5000, 10_000, 15_000]
        );
    }
}
