//! A frozen unit is killed when its user says so, when no answer came in time and there is no headroom
//! for it, or when memory still runs out.
//!
//! - One unit at a time: first one that its user gave up, and others only while no other kill is
//!   pending.
//! - A frozen unit takes no more, so another process makes memory run out then. The frozen one still
//!   frees the most.
//! - A frozen process cannot handle SIGTERM, so it gets SIGKILL.

use super::fate::{Fate, SETTLED, fate};
use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::decision::Reason;
use crate::distress::{Growth, Pick};
use crate::groups::Frozen;
use crate::scan::Signal;

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    let mut is_settling = false;
    let mut due: Option<(&Frozen, Reason)> = None;
    for frozen in view.frozen() {
        match fate(view, frozen) {
            Some((Fate::Thaw, _)) => {}
            Some((Fate::Kill, why)) => {
                let comes_first = match &due {
                    None => true,
                    Some((_, other)) => is_given_up(&why) && !is_given_up(other),
                };
                if comes_first {
                    due = Some((frozen, why));
                }
            }
            None => is_settling |= view.since(frozen.since) < SETTLED,
        }
    }
    let waits = if is_settling {
        Proposal::Wait
    } else {
        Proposal::Nothing
    };
    let Some((frozen, why)) = due else {
        return waits;
    };
    if !is_given_up(&why) && view.is_kill_pending() {
        return waits;
    }
    killed(view, frozen, why).unwrap_or(waits)
}

/// The kill of what holds the most in the unit, or of the whole unit; the rest thaws. `None` if no process
/// of it was scanned: it stays frozen until one is, or there is headroom.
fn killed(view: &View<'_>, frozen: &Frozen, why: Reason) -> Option<Proposal> {
    let candidate = view.largest_in(frozen.id)?;
    let pick = Pick::alone(view.inputs(), candidate, Growth::default());
    Some(Proposal::Signal(
        pick,
        Signal::Kill,
        why,
        Some(frozen.thaw()),
    ))
}

/// Whether the unit's user said what to do with it.
fn is_given_up(why: &Reason) -> bool {
    matches!(why, Reason::Answered { .. })
}
