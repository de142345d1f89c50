//! Moves between localities: how far the pages of a stretch of time are from those of the one
//! before.
//!
//! - Rule: the distance is 1 − |A∩B| / |A∪B| of the pages A and B used in two neighbouring
//!   stretches of equal length. Above one half it is a transition, and what is between two is a
//!   phase.
//! - Cost: O(uses), 4 B for each page.
//! - Source: Dhodapkar, Smith, MICRO 2003; as `phases::signatures`, but by time.

use super::phases::Step;
use crate::Uses;

/// Distances of so many stretches, each from the one before; the first has none.
pub fn moves(uses: &Uses, stretches: usize) -> Vec<Step> {
    let longest = usize::try_from(uses.time()).unwrap_or(usize::MAX);
    let stretches = stretches.clamp(1, longest) as u64;
    let length = uses.time().div_ceil(stretches);
    let mut seen = vec![0; uses.pages()];
    let mut steps = Steps {
        start: uses.start(),
        length,
        own: 1,
        size: 0,
        common: 0,
        before: 0,
        done: Vec::new(),
    };
    for one in uses {
        let stretch = ((one.from - uses.start()) / length) as u32 + 1;
        while steps.own < stretch {
            steps.close();
        }
        let own = steps.own;
        let last = std::mem::replace(&mut seen[one.page as usize], own);
        if last != own {
            steps.size += 1;
            if last > 0 && last + 1 == own {
                steps.common += 1;
            }
        }
    }
    steps.close();
    steps.done
}

/// The stretch that is being counted, and the distances of those before it.
struct Steps {
    start: u64,
    /// How long a stretch is.
    length: u64,
    /// The number of the stretch, from 1.
    own: u32,
    /// Pages used in it.
    size: usize,
    /// Pages used in it and in the one before.
    common: usize,
    /// Pages used in the one before.
    before: usize,
    done: Vec<Step>,
}

impl Steps {
    /// Ends the stretch and begins the next.
    fn close(&mut self) {
        if self.own > 1 {
            let union = self.size + self.before - self.common;
            let distance = if union == 0 {
                0.0
            } else {
                1.0 - self.common as f64 / union as f64
            };
            self.done.push(Step {
                from: self.start + u64::from(self.own - 1) * self.length,
                distance,
            });
        }
        self.own += 1;
        self.before = self.size;
        self.size = 0;
        self.common = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;
    use crate::measure::phases::signatures;

    #[test]
    fn by_references_they_are_the_signatures() {
        let mut rng = crate::rng::Rng::new(4);
        let pages: Vec<u64> = (0..20_000)
            .map(|at| rng.below(10) + at / 5000 * 10)
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
