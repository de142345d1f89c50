//! What becomes of a frozen unit.
//!
//! ```text
//! frozen ─► kill ───────────────────────────────► SIGKILL
//!        ├► go on ──────────────────────────────► thawed, and not asked about again for a while
//!        ├► keep, or no answer in time ─────────► headroom again? thawed : stays frozen, or SIGKILL
//!        └► memory still runs out ──────────────► SIGKILL at once
//! ```

use crate::decide::guard::view::View;
use crate::decision::Reason;
use crate::distress::Severity;
use crate::groups::{Answer, Frozen};
use std::time::Duration;
use units::Span;

/// Growth is measured over two seconds, so for this long it still shows what is frozen now.
pub(super) const SETTLED: Duration = Duration::from_millis(2500);

/// What becomes of a frozen unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Kill,
    Thaw,
}

/// What to do with a frozen unit now; `None` if it stays frozen.
pub(super) fn fate(view: &View<'_>, frozen: &Frozen) -> Option<(Fate, Reason)> {
    let since = Span::new(view.since(frozen.since));
    let headroom = view.outlook.headroom;
    let is_short = view.severity >= Severity::Kill
        || (view.severity >= Severity::Term && since.get() >= SETTLED);
    let enough = view.reserve().max(frozen.headroom).scaled(2, 1);
    let is_ample = view.outlook.headroom_in_ram() >= enough;
    let is_over = since >= view.config.ask_for;
    let answered = |answer| Reason::Answered {
        answer,
        after: since,
    };
    match frozen.answer {
        Some(Answer::Kill) => Some((Fate::Kill, answered(Answer::Kill))),
        Some(Answer::GoOn) => Some((Fate::Thaw, answered(Answer::GoOn))),
        _ if is_short || view.hopeless().is_some() => {
            Some((Fate::Kill, Reason::StillShort { since, headroom }))
        }
        Some(Answer::Keep) if is_ample => Some((Fate::Thaw, Reason::Eased { headroom })),
        None if is_over && is_ample => Some((Fate::Thaw, Reason::Eased { headroom })),
        None if is_over => Some((Fate::Kill, Reason::Unanswered { since, headroom })),
        Some(Answer::Keep) | None => None,
    }
}
