//! Memory of the kernel that fills memory is named: no kill frees it, and whoever runs the machine can look
//! for the driver.
//!
//! - Law: said while headroom is used up within `warn-ahead`, if half of memory's growth is the kernel's.

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::decision::Notice;
use crate::distress::Severity;
use crate::sums::kernels_own;
use std::time::Duration;
use units::Rate;

/// Minimum time between two such notices.
const EVERY: Duration = Duration::from_secs(5);

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    let growth = view.outlook.kernel_growth;
    let is_half = growth > Rate::ZERO && growth.get() >= view.outlook.growth.get() / 2;
    if view.severity < Severity::Warn || !is_half || !view.history.enters_slot(EVERY) {
        return Proposal::Nothing;
    }
    Proposal::Tell(Notice::KernelFills {
        held: kernels_own(view.sample),
        growth,
    })
}
