//! A process that was signalled may still free enough: nothing else is signalled meanwhile. One that
//! ignored SIGTERM, and has no more time, gets SIGKILL.
//!
//! - What a killed process holds counts as headroom until it shows as free. Where memory runs out all the
//!   same, that was too little, and the next is not waited for.

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::decision::Reason;
use crate::distress::{Extent, Growth, Pick, Severity};
use crate::scan::{Candidate, Signal, Victim};
use std::time::Duration;
use units::Span;

/// A process that handles SIGTERM needs at least this long for it.
const GRACE_AT_LEAST: Duration = Duration::from_millis(200);
/// SIGKILL if memory is still running out this long after SIGTERM, however much time is left.
const SIGTERM_WAIT: Duration = Duration::from_secs(8);

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    let Some(victim) = view.pending_victim() else {
        return if view.is_kill_pending() && !is_too_little(view) {
            Proposal::Wait
        } else {
            Proposal::Nothing
        };
    };
    if victim.signal == Signal::Kill {
        let is_fresh = view.since(victim.at) < GRACE_AT_LEAST;
        return if is_fresh || !is_too_little(view) {
            Proposal::Wait
        } else {
            Proposal::Nothing
        };
    }
    if !is_overdue(view, &victim) {
        return Proposal::Wait;
    }
    let why = Reason::SigtermIgnored {
        asked: Span::new(view.since(victim.at)),
        headroom: view.outlook.headroom,
    };
    Proposal::Signal(again(view, &victim), Signal::Kill, why, None)
}

/// Whether memory runs out even though what was killed frees all that it held: that counts as headroom.
fn is_too_little(view: &View<'_>) -> bool {
    view.severity == Severity::Kill
}

/// The same process once more.
fn again(view: &View<'_>, victim: &Victim) -> Pick {
    let known = view.sample.scan.find(victim.identity).copied();
    let candidate = known.unwrap_or(Candidate {
        identity: victim.identity,
        name: victim.name,
        resident: victim.size,
        ..Candidate::default()
    });
    Pick {
        candidate,
        extent: Extent::Process,
        growth: Growth::default(),
        family: None,
        again_after: None,
    }
}

/// Whether SIGTERM has had its time. The severity is judged without the victim's own memory in flight,
/// for it seems not to come.
fn is_overdue(view: &View<'_>, victim: &Victim) -> bool {
    let without_it = view.outlook.without_in_flight(victim.size);
    let patience = match view.severity_of(&without_it) {
        Severity::Kill => GRACE_AT_LEAST,
        Severity::Term => view.config.term_grace.get(),
        Severity::Warn => SIGTERM_WAIT,
        // It grows no more only because it is throttled, so it still has to exit.
        Severity::Alert | Severity::Calm if is_victim_at_limit(view, victim) => {
            2 * view.config.term_grace.get()
        }
        // Nothing grows, and the machine still thrashes.
        Severity::Alert | Severity::Calm if view.thrash().is_some() => SIGTERM_WAIT,
        Severity::Alert | Severity::Calm => return false,
    };
    view.since(victim.at) >= patience
}

fn is_victim_at_limit(view: &View<'_>, victim: &Victim) -> bool {
    view.sample
        .scan
        .find(victim.identity)
        .is_some_and(|candidate| view.is_at_limit(candidate))
}
