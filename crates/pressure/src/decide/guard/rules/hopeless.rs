//! There has been no headroom and nearly all time was lost, for long: the largest contributor gets
//! SIGKILL, although no process grows. SIGTERM would need memory and time to be handled.

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::distress::Severity;
use crate::scan::Signal;

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    let Some(why) = view.hopeless() else {
        return Proposal::Nothing;
    };
    if view.severity >= Severity::Term {
        return Proposal::Nothing;
    }
    match view.contributor() {
        Some(pick) => Proposal::Signal(pick, Signal::Kill, why, None),
        None => Proposal::Nothing,
    }
}
