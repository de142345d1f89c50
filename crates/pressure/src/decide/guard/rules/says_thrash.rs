//! Users are told that the machine thrashes, whether or not a process grows.
//!
//! - Source: rfjakob/earlyoom#269, systemd/systemd#36434: all tasks wait, swap is half free, and no
//!   guard says a word.

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::decision::Notice;
use std::time::Duration;
use units::Span;

/// Stalls of one moment are nothing to tell: time lost is measured over four seconds.
const AFTER: Span = Span::secs(2);
/// Minimum time between two such notices.
const EVERY: Duration = Duration::from_secs(10);

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    let Some(thrash) = view.thrash().filter(|thrash| thrash.since >= AFTER) else {
        return Proposal::Nothing;
    };
    let is_new = view.is_first_since(AFTER, thrash.since);
    if !is_new && !view.history.enters_slot(EVERY) {
        return Proposal::Nothing;
    }
    let pick = view.contributor();
    Proposal::Tell(Notice::Thrashing {
        since: thrash.since,
        stalled: thrash.stalled,
        unit: thrash.unit,
        headroom: view.outlook.headroom_in_ram(),
        largest: pick.map(|pick| pick.candidate.name),
    })
}
