//! Administrators are told that memory runs out and that no process that may be killed causes it.

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::decision::Notice;
use crate::distress::Severity;
use std::time::Duration;

/// Minimum time between two such notices.
const EVERY: Duration = Duration::from_secs(1);

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    let is_time = view.severity >= Severity::Term && !view.sample.scan.candidates.is_empty();
    if !is_time || view.choice.pick.is_some() || view.is_kill_pending() {
        return Proposal::Nothing;
    }
    let is_new = view.history.distress.term_since == Some(view.sample.at);
    if !is_new && !view.history.enters_slot(EVERY) {
        return Proposal::Nothing;
    }
    Proposal::Tell(Notice::NoCulprit {
        growth: view.outlook.growth,
        headroom: view.outlook.headroom,
    })
}
