//! The machine thrashes, whether or not a process grows: the largest contributor is throttled, and gets
//! SIGTERM if that does not help.
//!
//! - Law: all tasks, or all of a protected unit, have stalled for `stall-limit` of the time, and hardly any
//!   headroom is left in RAM.
//!   The contributor is what grows, if something does, and else what holds the most. Throttled to 7/8 of
//!   its memory after [`THROTTLE_AFTER`]; SIGTERM after `stall-for`.
//! - Never by the pressure of one cgroup at its own limit: the rest of the machine has headroom then.
//! - Source: `DefaultMemoryPressureLimit=` and `DefaultMemoryPressureDurationSec=` of oomd.conf(5),
//!   which are 60 % and 30 s; distributions set 50 % and 20 s for users' units.

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::{Thrash, View};
use crate::decision::Reason;
use crate::distress::{Extent, Pick, Severity};
use crate::scan::Signal;
use units::Span;

/// A unit is throttled when the machine has thrashed for so long: shorter hits a job that only starts.
const THROTTLE_AFTER: Span = Span::secs(5);

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    let Some(thrash) = view.thrash() else {
        return Proposal::Nothing;
    };
    let Some(pick) = view.contributor() else {
        return Proposal::Nothing;
    };
    let group = pick.candidate.group;
    if view.severity >= Severity::Term || group.is_some_and(|group| view.is_frozen(group.id)) {
        return Proposal::Nothing;
    }
    let why = Reason::Contributes {
        since: thrash.since,
        stalled: thrash.stalled,
        unit: thrash.unit,
        holds: pick.size(),
    };
    if is_due(view, &thrash) {
        return signal(view, &pick, why);
    }
    if thrash.since >= THROTTLE_AFTER {
        return squeezed(view, &pick, why).unwrap_or(Proposal::Nothing);
    }
    Proposal::Nothing
}

fn is_due(view: &View<'_>, thrash: &Thrash) -> bool {
    let after = view.config.stall_for;
    after > Span::default() && thrash.since >= after
}

fn signal(view: &View<'_>, pick: &Pick, why: Reason) -> Proposal {
    if let Some((action, why)) = view.question(pick) {
        return Proposal::Ask(*pick, action, why);
    }
    // `cgroup.kill` kills a whole unit at once and knows no SIGTERM; there is time to ask one process.
    let one = Pick {
        extent: Extent::Process,
        ..*pick
    };
    Proposal::Signal(one, Signal::Term, why, None)
}

/// Its unit, limited to less than it has: it waits for its own pages, and the others get theirs.
fn squeezed(view: &View<'_>, pick: &Pick, why: Reason) -> Option<Proposal> {
    let group = view.limitable_unit(&pick.candidate)?;
    let memory_high = group.used.scaled(7, 8);
    let action = view.limit(&pick.candidate, &group, memory_high)?;
    Some(Proposal::Throttle(*pick, action, why))
}
