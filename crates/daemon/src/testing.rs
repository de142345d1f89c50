//! What this crate's tests share.

use pressure::decision::{Action, Reason, Step};
use pressure::distress::Extent;
use pressure::sample::Wall;
use pressure::scan::{Identity, Name, Signal, UnitName};
use pressure::status::Status;
use units::Bytes;

/// A status with a quote in the kernel's name, which a label of a metric has to escape.
pub(crate) fn status() -> Status {
    let mut status = testsupport::status();
    status.started = Wall(0);
    status.facts.kernel = "6.12.0-\"test\"".to_owned();
    status.tally.samples = 7;
    status
}

/// SIGKILL to process 77, "hog", of 3 MiB, in this unit.
pub(crate) fn kill_step(unit: &str) -> Step {
    Step {
        action: Action::Kill {
            identity: Identity { pid: 77, start: 1 },
            name: Name::from("hog").unwrap(),
            unit: UnitName::from(unit).unwrap(),
            signal: Signal::Kill,
            extent: Extent::Process,
            size: Bytes::mib(3),
        },
        why: Reason::Stop,
    }
}
