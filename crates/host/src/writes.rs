//! Every file that the guard, `warmset-hold` and the command may open for writing, in one table.
//!
//! A kernel file is opened for writing here and nowhere else: by [`Entry::open`] or [`Entry::open_at`], which take a
//! line of the table and refuse a path that the line does not name. A file of our own is made by [`create_new`], which
//! refuses a path where something is already, so it can never open a file of the kernel's. The test
//! `nothing_is_opened_for_writing_elsewhere` reads the sources and fails if another place does either.
//!
//! `warmsetd --list-writes` prints the table.

use pressure::knob::{KNOBS, Knob};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

/// What kind of thing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A knob of [`pressure::knob::KNOBS`].
    Knob,
    /// A limit of a control group.
    Limit,
    /// A request that the kernel carries out once, and that leaves no setting behind.
    Request,
    /// Accessed bits of a process's pages.
    AccessedBits,
    /// A setting of this process itself.
    OwnProcess,
    /// A signal through a pidfd; no file is opened for writing.
    Signal,
    /// A file of our own.
    OwnFile,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Knob => "knob",
            Self::Limit => "cgroup limit",
            Self::Request => "request",
            Self::AccessedBits => "accessed bits",
            Self::OwnProcess => "own process",
            Self::Signal => "signal",
            Self::OwnFile => "own file",
        })
    }
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The path from the machine's root, without the slash before it; `*` stands for any characters, `/` among them.
    pub pattern: &'static str,
    /// What kind of thing it is.
    pub kind: Kind,
    /// What undoes the write.
    pub undone_by: &'static str,
    /// What is written, by which program, and when.
    pub what: &'static str,
}

/// Nothing is left to undo.
const NOTHING: &str = "nothing to undo";
/// The undo log, at the end of the guard or at the start of the next one.
const UNDO_LOG: &str = "the undo log";

const fn entry(
    pattern: &'static str,
    kind: Kind,
    undone_by: &'static str,
    what: &'static str,
) -> Entry {
    Entry {
        pattern,
        kind,
        undone_by,
        what,
    }
}

/// Memory of a protected cgroup that reclaim leaves.
pub const MEMORY_MIN: Entry = entry(
    "sys/fs/cgroup/*/memory.min",
    Kind::Limit,
    UNDO_LOG,
    "warmsetd: memory that reclaim leaves to a unit of [protect] and to the cgroups above it, while it refaults",
);
/// The limit beyond which the tasks of a throttled cgroup are slowed down.
pub const MEMORY_HIGH: Entry = entry(
    "sys/fs/cgroup/*/memory.high",
    Kind::Limit,
    UNDO_LOG,
    "warmsetd: throttles a runaway unit before it is killed",
);
/// Whether a cgroup is frozen.
pub const CGROUP_FREEZE: Entry = entry(
    "sys/fs/cgroup/*/cgroup.freeze",
    Kind::Limit,
    "the undo log; warmset-hold --thaw if the guard dies",
    "warmsetd: freezes a unit until its user has answered",
);
/// Kills all processes of a cgroup.
pub const CGROUP_KILL: Entry = entry(
    "sys/fs/cgroup/*/cgroup.kill",
    Kind::Request,
    "cannot be undone",
    "warmsetd: SIGKILL to all processes of a unit when memory runs out",
);
/// Compacts a node.
pub const NODE_COMPACT: Entry = entry(
    "sys/devices/system/node/node*/compact",
    Kind::Request,
    NOTHING,
    "warmsetd: compacts a node, at most once a minute",
);
/// Reclaims from a node.
pub const NODE_RECLAIM: Entry = entry(
    "sys/devices/system/node/node*/reclaim",
    Kind::Request,
    NOTHING,
    "warmsetd: reclaims from a node when the gap is raised, at most once a second",
);
/// Registers a trigger.
pub const PRESSURE_TRIGGER: Entry = entry(
    "proc/pressure/memory",
    Kind::Request,
    "the kernel, when the descriptor is closed",
    "warmsetd: asks to be woken when tasks stall for memory",
);
/// Takes the accessed bits of a process back.
pub const CLEAR_REFS: Entry = entry(
    "proc/*/clear_refs",
    Kind::AccessedBits,
    "the next use of each page",
    "warmset top, warmset trace: takes the accessed bits of a process back to see which pages it uses",
);
/// Marks pages as idle.
pub const PAGE_IDLE: Entry = entry(
    "sys/kernel/mm/page_idle/bitmap",
    Kind::AccessedBits,
    "the next use of each page",
    "warmset trace: marks the pages of a process as idle to see which it uses",
);
/// How readily the kernel kills this process for want of memory.
pub const OOM_SCORE_ADJ: Entry = entry(
    "proc/self/oom_score_adj",
    Kind::OwnProcess,
    "the end of the process",
    "warmsetd: -900, so that the kernel does not OOM-kill the guard first; warmset-hold: 0 for a hook",
);
/// The setup of DAMON.
pub const DAMON: Entry = entry(
    "sys/kernel/mm/damon/admin/kdamonds/*",
    Kind::Request,
    "warmset at its end, or the next one",
    "warmset trace, warmset top: one kdamond of its own, if no other program has one",
);
/// Switches DAMON's trace event on.
pub const DAMON_EVENT: Entry = entry(
    "sys/kernel/tracing/instances/warmset-*/events/damon/damon_aggregated/enable",
    Kind::Request,
    "warmset at its end, or the next one",
    "warmset trace, warmset top: what DAMON finds, in a trace instance of its own",
);
/// Switches memory control on below the probe's own cgroup.
pub const PROBE_CONTROL: Entry = entry(
    "sys/fs/cgroup/warmset-probe-*/cgroup.subtree_control",
    Kind::Limit,
    "the cgroup is removed",
    "warmset-hold --probe: memory control in a cgroup of its own",
);
/// Moves the probe into its own cgroup and back.
pub const PROBE_MOVE: Entry = entry(
    "sys/fs/cgroup/*cgroup.procs",
    Kind::Request,
    "warmset-hold moves itself back",
    "warmset-hold --probe: moves itself into a cgroup of its own for a moment",
);
/// The floor under test.
pub const PROBE_MIN: Entry = entry(
    "sys/fs/cgroup/warmset-probe-*/kept/memory.min",
    Kind::Limit,
    "the cgroup is removed",
    "warmset-hold --probe: tries whether the kernel honours a floor",
);
/// The limits under test: set to what they are, and a cgroup that is empty.
pub const PROBE_LIMITS: Entry = entry(
    "sys/fs/cgroup/warmset-probe-*/kept/memory.high",
    Kind::Limit,
    "the cgroup is removed",
    "warmset-hold --probe: tries whether a limit can be set",
);
/// The freezer under test.
pub const PROBE_FREEZE: Entry = entry(
    "sys/fs/cgroup/warmset-probe-*/kept/cgroup.freeze",
    Kind::Limit,
    "the cgroup is removed",
    "warmset-hold --probe: freezes and thaws an empty cgroup of its own",
);
/// Reclaims from the probe's own cgroup.
pub const PROBE_RECLAIM: Entry = entry(
    "sys/fs/cgroup/warmset-probe-*/memory.reclaim",
    Kind::Request,
    NOTHING,
    "warmset-hold --probe: reclaims from a cgroup of its own",
);
/// Takes memory from a unit.
pub const MEMORY_RECLAIM: Entry = entry(
    "sys/fs/cgroup/*/memory.reclaim",
    Kind::Request,
    NOTHING,
    "warmset size, warmsetd: takes the coldest memory of a unit that is sized or named in squeeze.units, in small steps; the unit reads again what it misses",
);
/// The lock of the only guard.
pub const LOCK: Entry = entry(
    "run/warmset/lock",
    Kind::OwnFile,
    "removed at the end",
    "warmsetd, warmset restore: only one runs at a time",
);

/// Everything but the knobs, in the order of the list.
const OTHERS: &[Entry] = &[
    MEMORY_MIN,
    MEMORY_HIGH,
    CGROUP_FREEZE,
    CGROUP_KILL,
    NODE_COMPACT,
    NODE_RECLAIM,
    PRESSURE_TRIGGER,
    CLEAR_REFS,
    PAGE_IDLE,
    OOM_SCORE_ADJ,
    DAMON,
    DAMON_EVENT,
    PROBE_CONTROL,
    PROBE_MOVE,
    PROBE_MIN,
    PROBE_LIMITS,
    PROBE_FREEZE,
    PROBE_RECLAIM,
    MEMORY_RECLAIM,
    entry(
        "pidfd",
        Kind::Signal,
        "cannot be undone",
        "warmsetd: SIGTERM, then SIGKILL, to the processes that exhaust memory; SIGKILL to its hooks that take too long; warmset top: SIGTERM to the process that was chosen",
    ),
    LOCK,
    entry(
        "run/warmset/*",
        Kind::OwnFile,
        "removed at the end; gone at the next boot",
        "warmsetd: undo log, sockets, metrics; warmset spare, protect, hold: rules.toml",
    ),
    entry(
        "var/lib/warmset/*",
        Kind::OwnFile,
        "kept within [recording]",
        "warmsetd: recordings",
    ),
    entry(
        "var/tmp/warmset-probe-*",
        Kind::OwnFile,
        "removed at once",
        "warmset-hold --probe: 4 MiB of page cache to reclaim",
    ),
    entry(
        "dev/null",
        Kind::OwnFile,
        NOTHING,
        "warmsetd: output of the processes that it starts",
    ),
];

/// The line of a knob.
pub fn knob(knob: Knob) -> Entry {
    let spec = knob.spec();
    entry(spec.path, Kind::Knob, UNDO_LOG, spec.name)
}

/// The whole table: the knobs, then everything else.
pub fn all() -> impl Iterator<Item = Entry> {
    let knobs = KNOBS.iter().map(|spec| knob(spec.knob));
    knobs.chain(OTHERS.iter().copied())
}

/// The table as `warmsetd --list-writes` prints it: a line for each entry, its pattern, kind, what undoes it and what it
/// is, with tabs between.
pub fn list() -> String {
    let mut list = String::new();
    for entry in all() {
        list.push_str(&entry.to_string());
        list.push('\n');
    }
    list
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.kind == Kind::Signal { "" } else { "/" };
        write!(
            f,
            "{slash}{}\t{}\t{}\t{}",
            self.pattern, self.kind, self.undone_by, self.what
        )
    }
}

impl Entry {
    /// Opens the kernel file at `path` for writing. Never through a symbolic link, and never creates one.
    ///
    /// `path` may begin with the directory of a recorded machine. `more` are further flags.
    pub fn open(&self, path: &Path, more: OFlags) -> io::Result<File> {
        if !self.names(path) {
            return Err(not_listed(path));
        }
        Ok(File::from(open_at(CWD, path, more)?))
    }

    /// Opens the kernel file `name` in an open directory for writing, as [`Entry::open`] does.
    ///
    /// Only the last component of the path can be checked here.
    pub fn open_at(&self, directory: impl AsFd, name: &str, more: OFlags) -> io::Result<OwnedFd> {
        let last = self.pattern.rsplit('/').next();
        if last != Some(name) {
            return Err(not_listed(Path::new(name)));
        }
        open_at(directory, Path::new(name), more)
    }

    /// Returns true if the pattern matches `path`, or its end: before that may stand the root of a recorded machine.
    pub fn names(&self, path: &Path) -> bool {
        let path = path.to_string_lossy();
        let climbs = path.split('/').any(|part| part == "..");
        !climbs && matches(&format!("*/{}", self.pattern), &path)
    }
}

fn open_at(directory: impl AsFd, path: &Path, more: OFlags) -> io::Result<OwnedFd> {
    let access = if more.contains(OFlags::RDWR) {
        OFlags::empty()
    } else {
        OFlags::WRONLY
    };
    let flags = access | more | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, path, flags, Mode::empty())?)
}

fn not_listed(path: &Path) -> io::Error {
    io::Error::other(format!(
        "{}: not opened, because the table of writes (warmsetd --list-writes) does not name it",
        path.display()
    ))
}

/// Makes a file of our own, open for reading and writing. Refuses a path where something is already.
pub fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    create_new_at(CWD, path, mode)
}

/// As [`create_new`], in an open directory.
pub fn create_new_at(directory: impl AsFd, name: &Path, mode: u32) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::from_raw_mode(mode))?;
    Ok(File::from(file))
}

/// Opens the lock file in our run directory, or makes it.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::from_raw_mode(0o600))?;
    Ok(File::from(file))
}

/// Returns true if `text` is `pattern`, in which each `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests;
