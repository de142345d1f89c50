//! What the tests of the models share.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "a test may; each file of tests takes what it needs"
)]

use proptest::prelude::*;
use std::collections::VecDeque;
use workingset::policy::Choice;
use workingset::{Access, Page, Trace};

/// A list of pages, the newest in front.
pub(crate) type List = VecDeque<Page>;

/// Takes a page out of a list. Returns true if it was there.
pub(crate) fn take(list: &mut List, page: Page) -> bool {
    let at = list.iter().position(|on| *on == page);
    at.and_then(|at| list.remove(at)).is_some()
}

/// Compares a policy with a model: whether each reference hits.
pub(crate) fn same(
    name: &str,
    pages: &[u64],
    capacity: usize,
    model: impl FnMut(Page) -> bool,
) -> Result<(), TestCaseError> {
    same_on(&Trace::of(pages).unwrap(), name, capacity, model)
}

/// The same on a trace with more than pages.
pub(crate) fn same_on(
    trace: &Trace,
    name: &str,
    capacity: usize,
    mut model: impl FnMut(Page) -> bool,
) -> Result<(), TestCaseError> {
    let choice = Choice::parse(name).unwrap();
    let steps = choice.spec.steps(trace, capacity, &choice.options).unwrap();
    for (at, (step, page)) in steps.iter().zip(trace.refs()).enumerate() {
        prop_assert_eq!(
            step.access == Access::Hit,
            model(*page),
            "{} of {} pages at reference {}",
            name,
            capacity,
            at
        );
    }
    Ok(())
}

pub(crate) fn references() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![4 => 0..6_u64, 3 => 0..24_u64], 1..300)
}
