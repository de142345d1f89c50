//! Unused memory of units that the configuration names is taken, before anybody needs it.
//!
//! - Law: at each reading of a unit that does not rest, one step ([`crate::squeeze`] has its size, and when a
//!   unit rests). Nothing is taken while memory runs out: then what is taken competes with what is needed.
//! - Cost: O(squeezed units).
//! - Limit: without swap only files are taken. `memory.reclaim` needs Linux 5.19.

use super::draft::Draft;
use crate::decision::{Action, Notice, Reason};

impl Draft<'_> {
    /// Has a step taken of each unit that was read just now and does not rest.
    pub(super) fn squeeze(&mut self) {
        let sample = self.sample;
        let squeezes = &self.history.squeezes;
        let budget = squeezes.budget();
        self.forecast.squeezed = squeezes.away();
        for one in &sample.groups.squeezed {
            let Some(unit) = squeezes.of(one, sample.at) else {
                continue;
            };
            if let Some(answer) = unit.answer() {
                self.notify(Notice::SqueezeRests {
                    unit: one.unit,
                    away: unit.away(),
                    taken: answer.lately.taken,
                    back: answer.lately.back,
                    waited: answer.lately.waited,
                    is_empty: answer.is_empty,
                    rest: answer.rest,
                });
            }
            if unit.rests(sample.at) || self.distressed {
                continue;
            }
            let step = unit.step(one.used, budget, self.history.page_size);
            if let (Some(amount), Some(lately)) = (step, unit.lately()) {
                let action = Action::Squeeze {
                    id: one.id,
                    unit: one.unit,
                    amount,
                };
                let why = Reason::Unused {
                    used: one.used,
                    taken: lately.taken,
                    back: lately.back,
                    waited: lately.waited,
                    budget,
                };
                self.step(action, why);
            }
        }
    }
}
