//! A unit that has been held at its `memory.high` for too long, with no headroom to raise it, is
//! signalled; its user is asked first where one can answer.
//!
//! - Law: it has been at its limit for `throttle-for`, memory that it cannot free has grown all that
//!   time, there is hardly any cache in it, and headroom is within a quarter of the reserve.

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::decision::Reason;
use crate::distress::{Extent, Pick, Severity, join_family};
use crate::groups::Throttled;
use crate::scan::{Candidate, Signal};
use units::Span;

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    for cgroup in &view.sample.groups.throttled {
        let is_full = view.outlook.expected_headroom() <= cgroup.reserve.scaled(5, 4);
        if !is_full || view.is_frozen(cgroup.id) {
            continue;
        }
        let Some(since) = view.at_limit_long(cgroup) else {
            continue;
        };
        let Some(pick) = pick_in(view, cgroup) else {
            continue;
        };
        if view.severity < Severity::Kill {
            if let Some((action, why)) = view.question(&pick) {
                return Proposal::Ask(pick, action, why);
            }
        }
        let why = Reason::AtLimit {
            since,
            headroom: view.outlook.headroom,
        };
        return Proposal::Signal(pick, signal(view, &pick), why, None);
    }
    Proposal::Nothing
}

/// `cgroup.kill` kills a whole unit at once and knows no SIGTERM.
fn signal(view: &View<'_>, pick: &Pick) -> Signal {
    let knows_sigterm = pick.extent != Extent::Unit;
    if knows_sigterm && view.config.term_ahead > Span::default() {
        Signal::Term
    } else {
        Signal::Kill
    }
}

/// The process to kill in a throttled unit that keeps growing and holds hardly any cache. Of many alike
/// it is one leaf, or all of them.
fn pick_in(view: &View<'_>, cgroup: &Throttled) -> Option<Pick> {
    let growth = view.growing_long(cgroup)?;
    let candidate = view.largest_in(cgroup.id)?;
    if !has_hardly_any_cache(candidate) {
        return None;
    }
    let alone = Pick::alone(view.inputs(), candidate, growth);
    let mut joined = alone;
    join_family(view.inputs(), &mut joined);
    let leaf = joined.candidate.group;
    let is_inside = leaf.is_some_and(|group| group.id == cgroup.id);
    Some(if is_inside { joined } else { alone })
}

/// Whether hardly any of its unit's memory is cache, which it would give up before it takes more.
fn has_hardly_any_cache(candidate: &Candidate) -> bool {
    candidate
        .group
        .is_some_and(|group| group.used.less(group.unreclaimable()) <= group.used.scaled(1, 8))
}
