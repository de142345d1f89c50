//! Users are told that memory runs out: at most every few seconds, and not while it lasts.

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::decision::Notice;
use crate::distress::Severity;

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    let Some(left) = view.outlook.left else {
        return Proposal::Nothing;
    };
    let is_due = view.history.distress.warned == Some(view.sample.at);
    if view.severity < Severity::Warn || !is_due {
        return Proposal::Nothing;
    }
    Proposal::Tell(Notice::Distress {
        headroom: view.outlook.headroom,
        growth: view.outlook.growth,
        left,
    })
}
