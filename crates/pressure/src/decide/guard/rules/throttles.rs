//! What fills memory and has a unit of its own is throttled first: the unit may have all but the
//! reserve, and the kernel slows it down where it takes more (`memory.high`). So it harms itself instead
//! of all others, and there is time for SIGTERM.
//!
//! - Law: `memory.high = max(used, anonymous and shared + (headroom in RAM − reserve)⁺)`, for the unit's cache is a
//!   part of the headroom. The reserve is the headroom at which SIGTERM would be sent.
//! - With swap only while time is lost, or within ten minutes after a signal: then always before the next.
//! - Source: `memory.high` alone protects all other working sets, but a runaway never ends by it. So it
//!   gains time and does not replace the kill.
//! - Limit: a process of a session or a terminal has no unit of its own, and is killed without this.

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::decision::Reason;
use crate::distress::Severity;
use units::{Bytes, Percent, Span};

/// A forecast of seconds means nothing while half of memory is left: few loads grow that far.
const NEAR: Percent = Percent::new(50);
/// With swap, no unit is throttled while less time than this is lost: idle pages may be swapped out.
const LOST: Percent = Percent::new(10);

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    let Some(left) = time_to_throttle(view) else {
        return Proposal::Nothing;
    };
    let Some(pick) = view.choice.pick else {
        return Proposal::Nothing;
    };
    let headroom = view.outlook.headroom_in_ram();
    let reserve = view.reserve();
    let Some(group) = view.limitable_unit(&pick.candidate) else {
        return Proposal::Nothing;
    };
    let most = group.unreclaimable() + headroom.less(reserve);
    let memory_high = group.used.max(most);
    let Some(action) = view.limit(&pick.candidate, &group, memory_high) else {
        return Proposal::Nothing;
    };
    let why = Reason::Fills {
        growth: pick.growth.rate,
        headroom,
        reserve,
        left,
    };
    Proposal::Throttle(pick, action, why)
}

/// Time until memory is full, if it is time to throttle.
fn time_to_throttle(view: &View<'_>) -> Option<Span> {
    let outlook = &view.outlook;
    let headroom = outlook.headroom_in_ram();
    let left = Span::new(outlook.pace().time_for(headroom)?);
    let is_costly = outlook.swap == Bytes::ZERO
        || outlook.stalled.is_some_and(|stalled| stalled >= LOST)
        || view.is_wary();
    // `memory.high` knows nothing of pools of huge pages.
    let is_by_pools = outlook.huge_growth.get() > outlook.growth.get() / 2;
    let is_time = left <= view.config.throttle_ahead
        && !is_by_pools
        && is_costly
        && view.severity < Severity::Kill
        && headroom <= NEAR.of(outlook.managed);
    if is_time { Some(left) } else { None }
}
