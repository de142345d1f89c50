//! What is held in memory.

use super::{Share, text};
use serde::{Deserialize, Serialize};
use units::{Percent, Span};

/// Programs by which a user can log in: they must answer while memory is short.
const PROGRAMS: [&str; 6] = [
    "/usr/sbin/sshd",
    "/usr/lib/systemd/systemd",
    "/usr/lib/systemd/systemd-logind",
    "/usr/bin/dbus-daemon",
    "/usr/bin/dbus-broker",
    "/usr/sbin/agetty",
];

/// Services by which a user can log in, and the desktop itself.
const UNITS: [&str; 11] = [
    "ssh.service",
    "sshd.service",
    "dbus.service",
    "dbus-broker.service",
    "systemd-logind.service",
    "display-manager.service",
    "gdm.service",
    "lightdm.service",
    "sddm.service",
    "greetd.service",
    "session.slice",
];

/// Whether memory may be kept for a unit of this name. A slice may hold any program that is started in it, and so one
/// that makes memory run out; only the desktop's own slice is taken.
pub fn is_protected(unit: &str) -> bool {
    const DESKTOP: &str = "session.slice";
    let name = unit.strip_suffix('*').unwrap_or(unit);
    let is_slice = unit.as_bytes().ends_with(b".slice");
    unit == DESKTOP || (!name.is_empty() && !is_slice && !unit.contains(".."))
}

/// Most paths that can be named: a list that a person reads.
pub const MOST_NAMED: usize = 256;
/// Most bytes of such a path: it goes to the holder in one message with its number.
const MOST_NAMED_BYTES: usize = 3072;

/// Why a path cannot be named to be held; nothing for one that can.
pub fn named_fault(path: &str) -> Option<&'static str> {
    if !path.starts_with('/') {
        return Some("it is no absolute path");
    }
    if path.len() > MOST_NAMED_BYTES {
        return Some("it has more than 3072 bytes");
    }
    let is_plain = |part: &str| part != "." && part != "..";
    if path.contains('\0') || !path.split('/').all(is_plain) {
        return Some("it has a part that is . or .., or a zero byte");
    }
    None
}

/// Memory that reclaim shall leave: files that thrash, and programs that must answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Protect {
    /// Most that is held: bytes, or a share of memory, in no case more than 25 %. More leaves less for everything else, and the
    /// kernel kills sooner.
    #[serde(with = "text")]
    pub budget: Share,
    /// Most that stays with `units`, in all: bytes, or a share of memory, of 2.5 GiB at most. With what is locked it is
    /// never more than a quarter of memory.
    #[serde(with = "text")]
    pub floors: Share,
    /// A file is worth its memory if its pages refault within this time. More holds colder files.
    #[serde(with = "text")]
    pub reuse: Span,
    /// Executables of programs that must answer: what they run from is held while memory is short, up to half of the budget.
    pub programs: Vec<String>,
    /// Files, and directories with the files in them, that are held all the time, the first first: absolute paths without
    /// symbolic links. What they take of the budget is not there for files that thrash.
    pub files: Vec<String>,
    /// Units that must answer: what they use stays with them (`memory.min`) while memory is short. A service of the
    /// system, `session.slice` for the desktop itself, or a control group by its path; a star at the end stands for
    /// anything.
    pub units: Vec<String>,
    /// Without use for so long, or without a shortage, a file is let go. More holds through longer pauses.
    #[serde(with = "text")]
    pub release_after: Span,
}

impl Default for Protect {
    fn default() -> Self {
        Self {
            budget: Share::Percent(Percent::new(10)),
            floors: Share::Percent(Percent::new(10)),
            reuse: Span::secs(60),
            files: Vec::new(),
            units: UNITS.map(str::to_owned).to_vec(),
            programs: PROGRAMS.map(str::to_owned).to_vec(),
            release_after: Span::secs(60),
        }
    }
}
