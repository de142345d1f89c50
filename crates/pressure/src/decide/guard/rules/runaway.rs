//! What makes memory run out within seconds is signalled: SIGTERM while there is time, then SIGKILL.
//!
//! - Law: SIGTERM when headroom is used up within `term-ahead` and is no more than the reserve; SIGKILL
//!   within `kill-ahead`. A unit that was throttled has `throttle-for` first. Where SIGTERM is due, the
//!   unit is frozen instead if its user can be asked.
//! - With swap, SIGTERM comes earlier for one process that holds much, has grown for long, and costs
//!   much time.
//! - Of many alike processes one leaf is signalled, then all, and what starts them if they come again
//!   (`join_family` in `distress/choice/family.rs`).

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::decision::Reason;
use crate::distress::{Extent, Pick, Severity, thrashes};
use crate::scan::Signal;

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    if view.severity < Severity::Warn {
        return Proposal::Nothing;
    }
    let Some(pick) = view.choice.pick else {
        return Proposal::Nothing;
    };
    let group = pick.candidate.group;
    if group.is_some_and(|group| view.is_frozen(group.id)) {
        return Proposal::Nothing;
    }
    let why = reason(view, &pick);
    if view.severity == Severity::Kill {
        return Proposal::Signal(pick, Signal::Kill, why, None);
    }
    let is_due = view.severity == Severity::Term || thrashes(&view.outlook, &pick);
    if !is_due || view.has_respite(&pick.candidate) {
        return Proposal::Nothing;
    }
    if let Some((action, why)) = view.question(&pick) {
        return Proposal::Ask(pick, action, why);
    }
    // `cgroup.kill` kills a whole unit at once and knows no SIGTERM.
    if pick.extent == Extent::Unit {
        return Proposal::Nothing;
    }
    Proposal::Signal(pick, Signal::Term, why, None)
}

fn reason(view: &View<'_>, pick: &Pick) -> Reason {
    let outlook = &view.outlook;
    match (pick.family, pick.again_after) {
        (Some(family), Some(after)) => Reason::Again {
            processes: family.processes,
            after,
            ancestor: family.ancestor.filter(|_| pick.extent == Extent::Ancestor),
            growth: pick.growth.rate,
            headroom: outlook.headroom,
        },
        (Some(family), None) => Reason::Family {
            processes: family.processes,
            growth: pick.growth.rate,
            of: outlook.growth,
            headroom: outlook.headroom,
            left: outlook.left,
        },
        (None, _) => view.runs_away(pick),
    }
}
