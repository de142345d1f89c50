//! Faults: what can happen to a guard on a machine. Each is a script that runs in a machine and reports whether the
//! guard withstood it.
//!
//! Nothing may crash, no bystander may be killed, and everything must be as it was afterwards, also after `kill -9`. The
//! machine has no systemd: units are cgroups with systemd's names. A file that is cut short or replaced while it is
//! locked is in the tests of `warmset-hold`.

use std::fmt::Write as _;
use units::Bytes;

/// Functions that all scripts use.
const PRELUDE: &str = include_str!("faults/prelude.sh");

/// One fault.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// Its name, as `warmset-lab test protect NAME` takes it.
    pub name: &'static str,
    /// What happens, in a few words.
    pub what: &'static str,
    script: &'static str,
    /// Memory that its machine has.
    pub memory: Bytes,
    /// Most seconds it may take without KVM.
    pub seconds: u64,
    /// Modules of the kernel that it needs.
    pub modules: &'static [&'static str],
}

macro_rules! faults {
    ($($name:ident $mib:literal $seconds:literal $what:literal $($module:literal)*;)*) => {
        /// Every fault, those with the same kind of machine next to each other.
        pub const FAULTS: &[Fault] = &[$(Fault {
            name: stringify!($name),
            what: $what,
            script: include_str!(concat!("faults/", stringify!($name), ".sh")),
            memory: Bytes::mib($mib),
            seconds: $seconds,
            modules: &[$($module),*],
        }),*];
    };
}

faults! {
    bare 512 240 "no tracefs, no control groups, read-only /proc/sys, a user namespace, a full /run, two guards, an old configuration";
    throttles 512 180 "a runaway with a unit of its own is throttled, then killed, and the limit undone";
    keeps 512 180 "a critical service's memory is kept for it and in the cgroups above it, and put back";
    killed 512 180 "kill -9 of the guard while it holds memory.min and memory.high: the next one puts both back";
    upgrade 512 240 "kill -9 of an older guard while it holds a knob and a limit: the present one puts both back";
    writes 512 400 "a guard that does all it can do opens nothing for writing but what it lists";
    asks 512 240 "a runaway is frozen and its user asked, and the user gives no answer";
    answers 512 240 "a user answers, and leaves";
    thaws 512 180 "kill -9 of the guard while a unit is frozen: it is thawed within a second";
    hooks 512 240 "hooks are run; one that hangs, or that anyone may write to, does no harm";
    swapin 512 240 "a critical service's swap is read back once there is headroom";
    sigterm 512 180 "a process ignores SIGTERM";
    vanishing 512 180 "a unit goes while it is throttled, amid processes that are gone at once";
    frozen 512 180 "a process is frozen";
    stuck 512 180 "a process is in a sleep that no signal ends";
    names 512 180 "a process and its unit have hostile names";
    observes 512 240 "a guard at work is told to only observe";
    forks 512 180 "a fork bomb";
    flood 512 240 "ever more processes fill memory, beside a bystander";
    pidreuse 512 180 "a hog gets the number of a process that was exempt";
    denied 512 180 "permission is lost while something is held";
    uses 512 240 "a runaway takes all of memory, beside a file that is read all the time" "btrfs";
    subvolumes 512 400 "a file thrashes on Btrfs, beside another of its inode number, and one below an overlay" "btrfs" "overlay";
    crowd 4096 1800 "ten thousand processes";
}

impl Fault {
    /// All of its script, after lines that set variables for it.
    pub fn script(&self, variables: &[(&str, String)]) -> String {
        let mut script = String::new();
        for (name, value) in variables {
            // In single quotes only a single quote means something to the shell.
            let quoted = value.replace('\'', r"'\''");
            let _ = writeln!(script, "{name}='{quoted}'");
        }
        format!("{script}{PRELUDE}\n{}", self.script)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_reaches_the_script_as_it_is() {
        let fault = FAULTS.first().unwrap();
        let value = "/sys/*/it's $HOME".to_owned();
        let script = fault.script(&[("left_out", value)]);
        let first = script.lines().next().unwrap();
        assert_eq!(first, r"left_out='/sys/*/it'\''s $HOME'");
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = FAULTS.iter().map(|fault| fault.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FAULTS.len());
    }
}
