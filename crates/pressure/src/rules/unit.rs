//! Rules that name a unit.
//!
//! A user names their own units, and may call one `postgresql.service`. So what names a unit of the
//! system never names a user's unit, and the other way round.

use super::pattern::{matches_cut, matches_text};
use crate::scan::{Candidate, Place};
use std::fmt::Write as _;

/// Below this path users name the cgroups, with their own managers.
const USERS: &str = "/user.slice/";

/// The suffix of a unit that has others in it.
const SLICE: &str = ".slice";
/// Suffixes of units that hold processes: below them their own programs name the cgroups.
const HOLD: [&str; 2] = [".service", ".scope"];

/// How container runtimes begin the names of cgroups.
const RUNTIMES: [&str; 8] = [
    "docker-",
    "libpod-",
    "crio-",
    "cri-containerd-",
    "machine-",
    "lxc.payload.",
    "nspawn-",
    "buildkit-",
];

/// The name of a unit, and the other name that the same container may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnitRule {
    pattern: Box<str>,
    /// `systemd-nspawn@box.service` started by its unit is `machine-box.scope` started by hand.
    alias: Option<Box<str>>,
    is_slice: bool,
}

impl UnitRule {
    pub(super) fn new(pattern: &str) -> Self {
        Self {
            pattern: pattern.into(),
            alias: alias(pattern).map(String::into_boxed_str),
            is_slice: pattern.ends_with(SLICE),
        }
    }

    pub(super) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Whether a candidate is in such a unit of the system.
    pub(super) fn names_the_systems(&self, candidate: &Candidate) -> bool {
        // A slice is never the innermost unit, and the slices of users are root's, too.
        if self.is_slice && self.is_one_of(roots_parts(&candidate.cgroup)) {
            return true;
        }
        if is_a_users(candidate) {
            return false;
        }
        if self.is(whole_unit(candidate), candidate.unit.capacity()) {
            return true;
        }
        // A container has units of its own inside.
        candidate.place == Place::Container && self.is_one_of(roots_parts(&candidate.cgroup))
    }

    /// Whether a candidate is in such a unit of a user's.
    pub(super) fn names_a_users(&self, candidate: &Candidate) -> bool {
        is_a_users(candidate) && self.is(whole_unit(candidate), candidate.unit.capacity())
    }

    fn is_one_of<'p>(&self, mut parts: impl Iterator<Item = &'p str>) -> bool {
        parts.any(|part| self.is(part, usize::MAX))
    }

    fn is(&self, unit: &str, capacity: usize) -> bool {
        if matches_cut(&self.pattern, unit, capacity) {
            return true;
        }
        let alias = self.alias.as_deref();
        alias.is_some_and(|alias| matches_text(alias, unit))
    }
}

/// Whether a user named the unit.
fn is_a_users(candidate: &Candidate) -> bool {
    match candidate.place {
        Place::App | Place::Desktop => true,
        Place::Container => candidate.cgroup.starts_with(USERS),
        Place::Unknown | Place::Service | Place::Session => false,
    }
}

/// The unit's name; where the scan cut it, as the cgroup's path has it.
fn whole_unit(candidate: &Candidate) -> &str {
    let unit = candidate.unit.as_str();
    if candidate.unit.remaining_capacity() > 0 {
        return unit;
    }
    let mut parts = candidate.cgroup.split('/');
    parts.find(|part| part.starts_with(unit)).unwrap_or(unit)
}

/// The parts of a cgroup's path that root names: those down to the first service, scope or container.
/// What is below, its own programs name.
///
/// Of a path that was cut nobody knows where it begins; of that none is root's for certain, but for
/// a container's own.
fn roots_parts(path: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    let is_whole = path.starts_with('/');
    path.split('/').filter(move |part| {
        if is_inside {
            return false;
        }
        let is_container = is_container(part);
        is_inside = is_container || HOLD.iter().any(|suffix| part.ends_with(suffix));
        is_container || (is_whole && !part.is_empty())
    })
}

/// Whether a part of a path is a container, by the way its runtime names it.
fn is_container(part: &str) -> bool {
    let is_number = part.len() == 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number || RUNTIMES.iter().any(|prefix| part.starts_with(prefix))
}

/// The other name of a container of systemd-nspawn: by the unit that starts it, or by the scope that
/// is made for one started by hand.
fn alias(pattern: &str) -> Option<String> {
    let between = |prefix: &str, suffix: &str| {
        let name = pattern.strip_prefix(prefix)?.strip_suffix(suffix)?;
        // A lone star would name virtual machines, too.
        (name != "*").then_some(name)
    };
    if let Some(name) = between("systemd-nspawn@", ".service") {
        return Some(format!("machine-{}.scope", escaped(name)));
    }
    let name = between("machine-", ".scope")?;
    Some(format!("systemd-nspawn@{}.service", unescaped(name)))
}

/// A machine's name as systemd writes it in a unit's: what is no letter, digit, colon, dot or
/// underscore as `\xHH`.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b":_.*\\".contains(&byte);
        if is_plain {
            text.push(char::from(byte));
        } else {
            // Writing to a text never fails.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

fn unescaped(name: &str) -> String {
    let mut text = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("\\x") {
        text.push_str(before);
        let byte = after
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .filter(u8::is_ascii);
        match byte {
            Some(byte) => {
                text.push(char::from(byte));
                rest = &after[2..];
            }
            None => {
                text.push_str("\\x");
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_of_nspawn_has_two_names() {
        for (one, other) in [
            ("systemd-nspawn@box.service", "machine-box.scope"),
            ("systemd-nspawn@my-box.service", "machine-my\\x2dbox.scope"),
            ("systemd-nspawn@db*.service", "machine-db*.scope"),
        ] {
            assert_eq!(alias(one).as_deref(), Some(other));
            assert_eq!(alias(other).as_deref(), Some(one));
        }
        assert_eq!(alias("systemd-nspawn@*.service"), None);
        assert_eq!(alias("machine.slice"), None);
        assert_eq!(unescaped("a\\xzz\\x2"), "a\\xzz\\x2");
    }

    #[test]
    fn root_names_what_is_above_a_manager_or_a_container() {
        let parts = |path| roots_parts(path).collect::<Vec<_>>();
        assert_eq!(
            parts("/user.slice/user-1000.slice/user@1000.service/machine-a.scope"),
            ["user.slice", "user-1000.slice", "user@1000.service"]
        );
        assert_eq!(
            parts("/machine.slice/machine-box.scope/payload/system.slice/a.service"),
            ["machine.slice", "machine-box.scope"]
        );
        assert_eq!(
            parts("ine.slice/machine-box.scope/payload/a.service"),
            ["machine-box.scope"]
        );
    }
}
