//! The programs that do a part of our work, and how their processes are recognised.
//!
//! A process is known by one of three spellings:
//!
//! - the name that the kernel has for it, cut to 15 bytes, also as NixOS wraps it (`.nohang-wrapped`);
//! - the script that its interpreter runs (`python3 /usr/sbin/nohang`, `env python3 …`);
//! - the unit that it runs in (`nohang-desktop.service`).
//!
//! Only processes of the system's users count: anyone may call a process `earlyoom`.

use super::RivalKind;
use crate::parse::process::{self, cgroup};
use pressure::distress::is_a_persons;
use pressure::place::place;
use pressure::scan::Place;
use std::fs;
use std::path::Path;

/// The kernel keeps so many bytes of a process's name.
const NAME: usize = 15;
/// Programs that run a script. Versions follow the name, as in `python3.12`.
const INTERPRETERS: [&str; 9] = [
    "python", "pypy", "perl", "ruby", "node", "bash", "dash", "sh", "env",
];

/// A program that does a part of our work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) kind: RivalKind,
    /// What it does and what we do about it, if its kind does not say enough.
    pub(super) about: Option<&'static str>,
}

const fn program(name: &'static str, kind: RivalKind) -> Program {
    Program {
        name,
        kind,
        about: None,
    }
}

const fn other(name: &'static str, kind: RivalKind, about: &'static str) -> Program {
    Program {
        name,
        kind,
        about: Some(about),
    }
}

/// All that are known. To add one, write a line here; what it sets or kills is in [`super::rival`].
pub(super) const PROGRAMS: &[Program] = &[
    program("tuned", RivalKind::Tuner),
    program("adaptivemmd", RivalKind::Tuner),
    program("memoptimizer", RivalKind::Tuner),
    program("earlyoom", RivalKind::Guard),
    program("nohang", RivalKind::Guard),
    program("systemd-oomd", RivalKind::Guard),
    program("oomd", RivalKind::Guard),
    program("bustd", RivalKind::Guard),
    program("kubelet", RivalKind::Guard),
    other(
        "low-memory-monitor",
        RivalKind::Neighbour,
        "tells programs that memory is low; Warmset tells the users, and leaves the bus name to it",
    ),
    other(
        "memavaild",
        RivalKind::Limiter,
        "moves memory of some cgroups to swap; Warmset leaves its limits alone",
    ),
    other(
        "thrash-protect",
        RivalKind::Limiter,
        "stops processes for moments while memory is short; Warmset continues none of them",
    ),
    other(
        "senpai",
        RivalKind::Limiter,
        "lowers memory.high of some cgroups; Warmset leaves its limits alone",
    ),
    other(
        "uresourced",
        RivalKind::Protector,
        "protects memory of the active user by memory.low; Warmset never lowers that",
    ),
    other(
        "prelockd",
        RivalKind::Protector,
        "locks files of programs in memory; a file that Warmset holds too takes its memory once",
    ),
    other(
        "preload",
        RivalKind::Protector,
        "reads files of programs ahead; Warmset leaves it alone",
    ),
    other(
        "ananicy-cpp",
        RivalKind::Neighbour,
        "sets priorities and oom_score_adj by its rules; Warmset heeds oom_score_adj",
    ),
    other(
        "ananicy",
        RivalKind::Neighbour,
        "sets priorities and oom_score_adj by its rules; Warmset heeds oom_score_adj",
    ),
    other(
        "psi-notify",
        RivalKind::Neighbour,
        "tells users of pressure; Warmset tells them, too",
    ),
];

/// A process of a known program.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) program: &'static Program,
    pub(super) pid: u32,
    /// Its unit, if that is a service of the system.
    pub(super) unit: Option<String>,
    /// Its arguments, the name first; without the interpreter if it runs in one.
    pub(super) arguments: Vec<String>,
}

/// All processes of known programs, each program once. Walks `/proc`.
pub(super) fn find(root: &Path) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for entry in fs::read_dir(root.join("proc"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(process) = look_at(&entry.path(), pid) {
            found.push(process);
        }
    }
    // The main process is older than its children; numbers that came round again make no harm.
    found.sort_by_key(|process| process.pid);
    let mut once: Vec<Found> = Vec::new();
    for process in found {
        let is_known = once
            .iter()
            .any(|other| other.program.name == process.program.name && other.unit == process.unit);
        if !is_known {
            once.push(process);
        }
    }
    once
}

fn look_at(directory: &Path, pid: u32) -> Option<Found> {
    let comm = fs::read(directory.join("comm")).ok()?;
    let comm = comm.trim_ascii_end();
    let groups = fs::read(directory.join("cgroup")).unwrap_or_default();
    let found = place(cgroup(&groups).unwrap_or(b"/"));
    if found.place == Place::Container {
        return None;
    }
    let unit = std::str::from_utf8(found.unit)
        .ok()
        .filter(|_| found.place == Place::Service)
        .map(str::to_owned);
    let by_name = PROGRAMS
        .iter()
        .find(|program| is_called(comm, program.name));
    // The command line is read only where it says more than the name, as reading it may wait for the process.
    let is_interpreter = INTERPRETERS.iter().any(|name| is_version_of(comm, name));
    let by_unit = PROGRAMS.iter().find(|program| {
        unit.as_deref()
            .is_some_and(|unit| is_unit_of(unit, program.name))
    });
    if by_name.is_none() && by_unit.is_none() && !is_interpreter {
        return None;
    }
    let arguments = script(arguments(directory));
    let by_script = arguments.first().and_then(|first| {
        PROGRAMS
            .iter()
            .find(|program| is_file_of(first, program.name))
    });
    let program = by_name.or(by_script).or(by_unit)?;
    is_a_system_users(directory).then_some(Found {
        program,
        pid,
        unit,
        arguments,
    })
}

/// Whether the kernel would call a process of `program` so.
fn is_called(comm: &[u8], program: &str) -> bool {
    let cut = |name: &str| {
        name.as_bytes()
            .get(..NAME)
            .unwrap_or(name.as_bytes())
            .to_vec()
    };
    comm == cut(program)
        || comm == cut(&format!("{program}.py"))
        || comm == cut(&format!(".{program}-wrapped"))
}

/// Whether `comm` is `name` with a version after it.
fn is_version_of(comm: &[u8], name: &str) -> bool {
    comm.strip_prefix(name.as_bytes()).is_some_and(|rest| {
        rest.iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'.')
    })
}

/// Whether `unit` is the service of `program`, or a variant of it such as `nohang-desktop.service`.
fn is_unit_of(unit: &str, program: &str) -> bool {
    let Some(stem) = unit.strip_suffix(".service") else {
        return false;
    };
    stem == program || stem.strip_prefix(program) == Some("-desktop")
}

/// Whether the file at `path` is `program`.
fn is_file_of(path: &str, program: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_suffix(".py").unwrap_or(name);
    let wrapped = name
        .strip_prefix('.')
        .and_then(|name| name.strip_suffix("-wrapped"));
    wrapped.unwrap_or(name) == program
}

fn arguments(directory: &Path) -> Vec<String> {
    let text = fs::read(directory.join("cmdline")).unwrap_or_default();
    let mut words = Vec::new();
    for word in text.split(|byte| *byte == 0) {
        words.push(String::from_utf8_lossy(word).into_owned());
    }
    // Each argument ends with a zero, so the last piece is empty.
    words.pop();
    words
}

/// The arguments without the interpreters before them and the options of these.
fn script(mut words: Vec<String>) -> Vec<String> {
    while let Some(first) = words.first() {
        let name = first.rsplit('/').next().unwrap_or(first);
        let is_interpreter = INTERPRETERS
            .iter()
            .any(|known| is_version_of(name.as_bytes(), known));
        if !is_interpreter {
            break;
        }
        words.remove(0);
        // `-m MODULE` names what runs; of `env`, `NAME=VALUE` comes before the program.
        while let Some(option) = words.first() {
            if option == "-m" {
                words.remove(0);
                break;
            }
            if !option.starts_with('-') && !option.contains('=') {
                break;
            }
            words.remove(0);
        }
    }
    words
}

/// Returns true if the process runs as a system user: any user may call a process `earlyoom`.
fn is_a_system_users(directory: &Path) -> bool {
    let status = fs::read(directory.join("status")).unwrap_or_default();
    process::status(&status)
        .user
        .is_some_and(|user| !is_a_persons(user))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_cut_wrapped_and_with_a_version() {
        assert!(is_called(b"low-memory-moni", "low-memory-monitor"));
        assert!(is_called(b"thrash-protect.", "thrash-protect"));
        assert!(is_called(b".nohang-wrapped", "nohang"));
        assert!(is_called(b".earlyoom-wrapp", "earlyoom"));
        assert!(!is_called(b"earlyoom2", "earlyoom"));
        assert!(is_version_of(b"python3.12", "python"));
        assert!(!is_version_of(b"shred", "sh"));
    }

    #[test]
    fn the_script_is_found_behind_its_interpreters() {
        for line in [
            "python3 /usr/sbin/nohang --monitor",
            "/usr/bin/env python3 -u -E /usr/sbin/nohang --monitor",
            "env -i LANG=C python3 /usr/sbin/nohang --monitor",
            "nohang --monitor",
        ] {
            let words = script(line.split(' ').map(str::to_owned).collect());
            assert!(is_file_of(&words[0], "nohang"), "{line}: {words:?}");
            assert_eq!(words[1..], ["--monitor"], "{line}");
        }
        let module = script(["python3", "-m", "nohang"].map(str::to_owned).to_vec());
        assert_eq!(module, ["nohang"]);
        assert_eq!(script(Vec::new()), Vec::<String>::new());
        assert!(!is_file_of("/home/u/nohang.txt", "nohang"));
    }
}
