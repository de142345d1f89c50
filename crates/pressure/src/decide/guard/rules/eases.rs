//! Limits that are no longer needed are undone, and others raised to the headroom that there is.
//!
//! - Undone: when there is twice the reserve, when the unit is at its limit without growth (it reads
//!   files), or has not been at its limit for [`IDLE`]. Not while the machine thrashes, nor for [`IDLE`]
//!   after that: a unit was limited for that, too, and does not grow. The end of a process ends that wait.
//! - Memory that a signalled process is to give back does not count: until it has, it may take more.
//! - Raised: a unit that has been at its limit for `throttle-for` and grows gets the headroom that there
//!   is by then, to see whether the job fits.

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::decision::Reason;
use crate::groups::{CgroupAction, Throttled};
use arrayvec::ArrayVec;
use std::time::Duration;
use units::{Bytes, Span};

/// A limit stands at least this long: it shows after a second or so whether the unit meets it.
const AT_LEAST: Duration = Duration::from_secs(3);
/// A unit that has not been at its limit for this long has what it wants. So long after the machine
/// thrashed, a unit that does not grow keeps its limit.
const IDLE: Duration = Duration::from_secs(30);
/// A smaller raise is not worth a write.
const LEAST_RAISE: Bytes = Bytes::mib(1);

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    let headroom = view.outlook.headroom_in_ram_now();
    let mut actions = ArrayVec::new();
    for cgroup in &view.sample.groups.throttled {
        // A frozen unit takes nothing, so it would lose its limit and thaw without one.
        if view.is_frozen(cgroup.id) {
            continue;
        }
        let eased = if needs_no_limit(view, cgroup) {
            Some((cgroup.free(), Reason::Eased { headroom }))
        } else if headroom > cgroup.reserve.scaled(5, 4) {
            raised(view, cgroup, headroom)
        } else {
            None
        };
        if let Some(eased) = eased {
            let _ = actions.try_push(eased);
        }
    }
    if actions.is_empty() {
        return Proposal::Nothing;
    }
    Proposal::Ease(actions)
}

fn needs_no_limit(view: &View<'_>, cgroup: &Throttled) -> bool {
    let age = view.since(cgroup.since);
    if age < AT_LEAST || has_just_thrashed(view) {
        return false;
    }
    let headroom = view.outlook.headroom_in_ram_now();
    let left = view.outlook.pace().time_for(headroom);
    let fills_soon = left.is_some_and(|left| left <= 2 * view.config.throttle_ahead.get());
    let is_ample = headroom >= cgroup.reserve.scaled(2, 1) && !fills_soon;
    let only_reads = view.at_limit_long(cgroup).is_some()
        && view.growing_long(cgroup).is_none()
        && !has_just_ended(view);
    let is_idle = age >= IDLE && view.at_limit(cgroup.id).is_none();
    is_ample || only_reads || is_idle
}

/// Whether the machine thrashed a while ago, and no process has ended for it since.
fn has_just_thrashed(view: &View<'_>) -> bool {
    let Some(thrashed) = view.history.distress.thrashed else {
        return false;
    };
    let ended = view.sample.scan.last_end();
    let is_relieved = ended.is_some_and(|gone| gone > thrashed);
    view.since(thrashed) < IDLE && !is_relieved
}

/// Whether a process ended so lately that its unit, which shrank, cannot have grown for long since.
fn has_just_ended(view: &View<'_>) -> bool {
    let ended = view.ago(view.sample.scan.last_end());
    ended.is_some_and(|ago| ago <= view.config.throttle_for.get())
}

/// The limit raised to the remaining headroom.
fn raised(view: &View<'_>, cgroup: &Throttled, headroom: Bytes) -> Option<(CgroupAction, Reason)> {
    let since: Span = view.at_limit_long(cgroup)?;
    view.growing_long(cgroup)?;
    let memory_high = cgroup.used + headroom.less(cgroup.reserve);
    if memory_high < cgroup.memory_high + LEAST_RAISE {
        return None;
    }
    let action = CgroupAction::Throttle {
        id: cgroup.id,
        unit: cgroup.unit,
        used: cgroup.used,
        memory_high,
        reserve: cgroup.reserve,
    };
    Some((action, Reason::AtLimit { since, headroom }))
}
