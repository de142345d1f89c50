//! Why DAMON cannot be used, and what to do about it.

use crate::ui::hinted::Hinted;
use inspect::tracee::NoDamon;
use std::io::ErrorKind;

/// Adds a hint: what is missing, or what to use `instead`.
pub(crate) fn explained(no: NoDamon, instead: &str) -> anyhow::Error {
    let hint = match &no {
        NoDamon::Absent | NoDamon::Without(..) => {
            format!("a kernel with that option has it, such as Debian 13's; {instead}")
        }
        NoDamon::InUse => {
            format!("list its users: ls /sys/kernel/mm/damon/admin/kdamonds; {instead}")
        }
        NoDamon::Untold(place) => format!("mount -t tracefs nodev {}", place.display()),
        NoDamon::Nobody(_) => "give the process's number, as ps prints it".to_owned(),
        NoDamon::Refused(_, error) if error.kind() == ErrorKind::PermissionDenied => {
            "only root may use DAMON".to_owned()
        }
        NoDamon::Refused(..) => format!("nothing is left of the attempt; {instead}"),
    };
    Hinted::new(no, hint).into()
}
