//! Memory is used up within a moment, many processes grow, and none of them stands out: the fastest of
//! them gets SIGKILL, before the kernel chooses by size alone.
//!
//! - Not where memory of the kernel or a tmpfs grows, or an exempt process does: no kill helps then.
//! - Nor where the fastest holds next to nothing: its end gives no time, and the kernel kills once more.

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::distress::{Severity, fastest};
use crate::scan::Signal;

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    if view.severity < Severity::Kill || view.choice.pick.is_some() {
        return Proposal::Nothing;
    }
    let outlook = &view.outlook;
    let by_processes = outlook.anon_growth.get() >= outlook.growth.get() / 2;
    let Some(pick) = fastest(view.inputs()).filter(|_| by_processes) else {
        return Proposal::Nothing;
    };
    let why = view.runs_away(&pick);
    Proposal::Signal(pick, Signal::Kill, why, None)
}
