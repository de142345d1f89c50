//! tmpfs and shared memory that fill memory are named: no kill frees the files of a tmpfs, and people
//! can delete them.
//!
//! - Law: said while headroom is used up within `warn-ahead` or the machine thrashes, if a quarter of
//!   memory's growth is shared, or a quarter of memory is held so, and no process owns it.
//! - Source: rfjakob/earlyoom#208, hakavlad/nohang#95.

use crate::decide::guard::proposal::Proposal;
use crate::decide::guard::view::View;
use crate::decision::Notice;
use crate::distress::Severity;
use crate::scan::Mount;
use std::time::Duration;
use units::{Bytes, Percent};

/// Less than this share of the growth or of memory is not what fills it.
const PART: Percent = Percent::new(25);
/// Minimum time between two such notices.
const EVERY: Duration = Duration::from_secs(10);

pub(in crate::decide::guard) fn propose(view: &View<'_>) -> Proposal {
    let is_short = view.severity >= Severity::Warn || view.thrash().is_some();
    if !is_short || !fills(view) || !view.history.enters_slot(EVERY) {
        return Proposal::Nothing;
    }
    let mount = fullest(view);
    let writer = mount.and_then(|mount| mount.writer);
    let writer = writer.and_then(|identity| view.sample.scan.find(identity));
    Proposal::Tell(Notice::SharedFills {
        held: view.sample.memory.shmem.unwrap_or_default(),
        growth: view.outlook.shared_growth,
        mount: mount.map(|mount| mount.path),
        writer: writer.map(|candidate| candidate.name),
    })
}

fn fills(view: &View<'_>) -> bool {
    let outlook = &view.outlook;
    let growth = Bytes::new(outlook.growth.get());
    let shared_growth = Bytes::new(outlook.shared_growth.get());
    let grows = shared_growth > Bytes::ZERO && shared_growth >= PART.of(growth);
    let unowned = view.inputs().unowned();
    let is_much = unowned >= PART.of(outlook.managed);
    unowned > Bytes::ZERO && (grows || is_much)
}

fn fullest<'a>(view: &View<'a>) -> Option<&'a Mount> {
    let mounts = view.sample.scan.mounts.iter();
    mounts.max_by_key(|mount| mount.used)
}
