//! What a rule proposes.

use crate::decision::{Notice, Proposed, Reason};
use crate::distress::Pick;
use crate::groups::{CgroupAction, MAX_THROTTLED};
use crate::scan::Signal;
use arrayvec::ArrayVec;

/// What a rule proposes for this tick.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Proposal {
    /// It does not apply.
    Nothing,
    /// Users and administrators should know this. Goes beside everything else.
    Tell(Notice),
    /// These limits change, which harms no one. Goes beside everything else.
    Ease(ArrayVec<(CgroupAction, Reason), MAX_THROTTLED>),
    /// Nothing may be signalled or limited yet: what was done before has not shown its effect.
    Wait,
    /// A unit may not take more.
    Throttle(Pick, CgroupAction, Reason),
    /// A unit is frozen, and its user is asked.
    Ask(Pick, CgroupAction, Reason),
    /// A process, its family or its unit is signalled. The last: a frozen unit that thaws for it.
    Signal(Pick, Signal, Reason, Option<CgroupAction>),
}

impl Proposal {
    /// What it proposes, and for which process; `None` if it does nothing to any.
    pub(super) fn target(&self) -> Option<(Proposed, &Pick)> {
        match self {
            Self::Throttle(pick, ..) => Some((Proposed::Throttle, pick)),
            Self::Ask(pick, ..) => Some((Proposed::Ask, pick)),
            Self::Signal(pick, Signal::Term, ..) => Some((Proposed::Term, pick)),
            Self::Signal(pick, Signal::Kill, ..) => Some((Proposed::Kill, pick)),
            Self::Nothing | Self::Tell(_) | Self::Ease(_) | Self::Wait => None,
        }
    }
}
