//! Files that were named by hand (`warmset hold`, `protect.files`): held whether memory is short or not.
//!
//! - Law: `amount = min(Σ size, budget)`. The holder locks the files whole, in the order of their names, as far as that
//!   goes. What is left of the budget is for files that show that they need it.
//! - Source: they are a person's word, as `mlock` is a program's. So they come before what was measured, and are not
//!   lent.
//! - Cost: O(1): the holder reports sums, so their number is not limited by the places of a sample.
//! - Limit: more is not read in while memory is about to run out. What is held then stays, and makes a kill more
//!   likely, by a tenth of memory at most.

use crate::decide::draft::Draft;
use crate::protect::{Act, Why};
use units::{Bytes, Pages};

impl Draft<'_> {
    /// Orders as much of the named files as the budget allows. Returns how much may then be locked.
    pub(super) fn hold_named(&mut self) -> Pages {
        let asked = self.named_asked();
        // Unknown while the holder looks for them.
        let Some(size) = self.sample.warm.sums.named else {
            return asked;
        };
        let page_size = self.history.page_size;
        let budget = self.hold_budget(self.sample.groups.kept());
        let wanted = size.to_pages(page_size).min(budget);
        let must_wait = wanted > asked && self.runs_out().is_some();
        if wanted == asked || must_wait {
            return asked;
        }
        let why = if size == Bytes::ZERO {
            Why::Unnamed
        } else {
            Why::Named {
                size,
                budget: budget.to_bytes(page_size),
            }
        };
        let amount = wanted.to_bytes(page_size);
        self.protection_step(Act::HoldNamed { amount }, why);
        wanted
    }

    /// Unlocks the named files.
    pub(super) fn release_named(&mut self, why: Why) {
        if self.named_asked() > Pages::ZERO {
            let amount = Bytes::ZERO;
            self.protection_step(Act::HoldNamed { amount }, why);
        }
    }

    /// The most that may be locked of the named files now.
    pub(super) fn named_asked(&self) -> Pages {
        self.sample
            .warm
            .sums
            .named_asked
            .unwrap_or(Bytes::ZERO)
            .to_pages(self.history.page_size)
    }
}
