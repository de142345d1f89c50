//! What is known of one candidate, and the files that are held open to kill it.

use super::Reading;
use super::foreign::runs_foreign_code;
use super::program::{LONGEST_PATH, Running, exe, program, running};
use super::table::{self, Entry, read};
use super::{command, script};
use crate::cgroups::directory::Directory;
use crate::parse::lines::number;
use crate::parse::process::{self, printable, printable_end};
use crate::system::clock::boot_time;
use crate::writes::CGROUP_KILL;
use arrayvec::ArrayVec;
use pressure::config::Guard;
use pressure::place::place;
use pressure::scan::{Candidate, Group, Identity, Mark, Name, PathName, Place, UnitName};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::{Bytes, Span};

/// Clock ticks in a second, as the kernel counts them for programs on every architecture.
const TICKS: u64 = 100;
/// Processes of one unit that are looked at, at most. One exempt process is enough to exempt a unit, and of a fork bomb
/// all are alike.
pub(super) const MEMBERS: usize = 256;
/// The beginning of `memory.stat`, in which the amounts stand.
const STAT: usize = 512;
/// The text of `/proc/PID/cgroup`, at most.
pub(super) const GROUPS: usize = 4096;

/// A process's directory and every file that a kill may need, open.
#[derive(Debug)]
pub(super) struct CandidateHandle {
    pub(super) identity: Identity,
    /// Was it among the largest at the last look?
    pub(super) wanted: bool,
    pub(super) hold: Hold,
    adjustment: Option<OwnedFd>,
    /// Which groups it is in, and what that said when this was opened.
    groups: Option<OwnedFd>,
    home: Vec<u8>,
    /// Its directory in `/proc`, and the file it ran when this was opened.
    directory: OwnedFd,
    runs: Option<Running>,
    program: Option<Name>,
    exe: PathName,
    script: Option<Name>,
    /// Rules that match by texts that are not kept, one bit each.
    commands: u64,
    /// Whether it runs code that is not root's; `None` until that was of interest.
    foreign_code: Option<bool>,
    unit: UnitName,
    place: Place,
    mark: Mark,
    group: Option<GroupFiles>,
}

/// What is needed to kill a process, and to see that it is gone.
#[derive(Debug)]
pub(super) struct Hold {
    /// `None` on a recorded machine, or a kernel without pidfd (before 5.3).
    pub(super) pidfd: Option<OwnedFd>,
    pub(super) stat: OwnedFd,
    /// The unit's `cgroup.kill`, since 5.14, if we may write to it.
    pub(super) unit: Option<OwnedFd>,
    /// The unit's `cgroup.events`: whether it is empty.
    pub(super) events: Option<OwnedFd>,
}

/// Files of a unit of its own.
#[derive(Debug)]
struct GroupFiles {
    id: u64,
    path: PathBuf,
    used: Option<OwnedFd>,
    stat: Option<OwnedFd>,
    swap: Option<OwnedFd>,
    processes: Option<OwnedFd>,
    members: Option<OwnedFd>,
    high: Option<OwnedFd>,
    oom_group: Option<OwnedFd>,
}

impl CandidateHandle {
    /// Opens everything; `None` if the process is gone, or its number has passed to another.
    pub(super) fn open(root: &Path, proc: &OwnedFd, entry: &Entry, rules: &Guard) -> Option<Self> {
        let directory = table::directory(proc, entry.pid)?;
        let stat = file(&directory, "stat")?;
        let live = root == Path::new("/");
        let pid = i32::try_from(entry.pid).ok().and_then(Pid::from_raw)?;
        let pidfd = live
            .then(|| pidfd_open(pid, PidfdFlags::empty()).ok())
            .flatten();
        // The directory is of one process for ever. If it still is of the one that was seen, after the pidfd was had by
        // the number, the pidfd is of that one too.
        let mut buffer = [0; 1024];
        if process::stat(read(&stat, &mut buffer)?)?.start != entry.start {
            return None;
        }
        let groups = file(&directory, "cgroup");
        let home = groups.as_ref().map(home_of).unwrap_or_default();
        let found = place(&home);
        let own = found
            .place
            .is_of_its_own()
            .then(|| Directory::of(root, found.directory))
            .flatten();
        let unit = own.as_ref().filter(|_| live).and_then(|directory| {
            let file = CGROUP_KILL.open_at(&directory.file, "cgroup.kill", OFlags::empty());
            file.ok()
        });
        let events = unit
            .as_ref()
            .and_then(|_| file(&own.as_ref()?.file, "cgroup.events"));
        let program = program(root, directory.as_fd());
        let texts = by_texts(root, directory.as_fd(), program, rules, &home);
        Some(Self {
            identity: entry.identity(),
            wanted: true,
            hold: Hold {
                pidfd,
                stat,
                unit,
                events,
            },
            adjustment: file(&directory, "oom_score_adj"),
            runs: running(directory.as_fd()),
            program,
            script: texts.script,
            commands: texts.commands,
            foreign_code: None,
            exe: texts.exe,
            directory,
            unit: printable(found.unit),
            place: found.place,
            mark: own
                .as_ref()
                .map_or(Mark::None, |directory| mark(&directory.file)),
            group: own.and_then(GroupFiles::open),
            groups,
            home,
        })
    }

    /// The path of its cgroup; empty if it is not known, or not text.
    pub(super) fn home(&self) -> &str {
        std::str::from_utf8(&self.home).unwrap_or_default()
    }

    /// Returns true if it has moved to another cgroup since, or runs another program: a unit is judged, and killed, by
    /// the processes in it now, and a process by the program that it is now.
    pub(super) fn has_changed(&self) -> bool {
        let mut buffer = [0; GROUPS];
        let text = self
            .groups
            .as_ref()
            .and_then(|file| read(file, &mut buffer));
        text.is_some_and(|text| process::cgroup(text).unwrap_or(b"/") != self.home)
            || running(self.directory.as_fd()) != self.runs
    }

    /// The processes of its unit, as far as one read goes; empty if it has none.
    pub(super) fn members(&self) -> ArrayVec<u32, MEMBERS> {
        let mut buffer = [0; 8 * MEMBERS];
        let file = self.group.as_ref().and_then(|group| group.members.as_ref());
        let text = file
            .and_then(|file| read(file, &mut buffer))
            .unwrap_or_default();
        // What is cut off behind the last line is no number.
        let whole = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let numbers = text[..whole]
            .split(|byte| *byte == b'\n')
            .filter_map(number);
        numbers
            .filter_map(|pid| u32::try_from(pid).ok())
            .take(MEMBERS)
            .collect()
    }

    /// Where its unit's directory is, if that is this one.
    pub(super) fn group_path(&self, id: u64) -> Option<&Path> {
        self.group
            .as_ref()
            .filter(|group| group.id == id)
            .map(|group| group.path.as_path())
    }

    /// Whether it runs code that is not root's. That is looked at once, as it takes long.
    pub(super) fn runs_foreign_code(&mut self, root: &Path) -> bool {
        let directory = self.directory.as_fd();
        *self
            .foreign_code
            .get_or_insert_with(|| runs_foreign_code(root, directory))
    }

    /// The candidate as it is now.
    pub(super) fn candidate(&self, reading: &Reading, page_size: Bytes) -> Candidate {
        let entry = &reading.entry;
        let started = Duration::from_millis(entry.start.saturating_mul(1000 / TICKS));
        let mut buffer = [0; 32];
        let adjusted = self
            .adjustment
            .as_ref()
            .and_then(|file| process::adjustment(read(file, &mut buffer)?));
        Candidate {
            identity: self.identity,
            age: Span::new(boot_time().saturating_sub(started)),
            name: Name::from(&entry.name).unwrap_or_default(),
            program: self.program,
            unit: self.unit,
            place: self.place,
            user: reading.user,
            resident: reading.anon,
            mapped: Some(entry.resident.to_bytes(page_size)),
            swapped: entry.told.swapped.bytes(),
            // What cannot be read protects: the kernel itself would not kill at −1000.
            oom_score_adj: adjusted.unwrap_or(-1000),
            mark: self.mark,
            group: self.group.as_ref().map(|group| Group {
                one_by_one: self.hold.unit.is_none(),
                ..group.read()
            }),
            life: entry.life,
            shared: entry.shared(),
            written: entry.written.bytes(),
            tables: entry.told.tables.bytes(),
            hugetlb: entry.told.hugetlb.bytes(),
            kin: entry.kin,
            exe: self.exe,
            script: self.script,
            cgroup: printable_end(&self.home),
            commands: self.commands,
            foreign_code: self.foreign_code.unwrap_or(false),
            ..Candidate::default()
        }
    }
}

impl GroupFiles {
    fn open(directory: Directory) -> Option<Self> {
        let Directory {
            file: open,
            path,
            inode: id,
        } = directory;
        let [used, stat, swap, processes, members, high, oom_group] = [
            "memory.current",
            "memory.stat",
            "memory.swap.current",
            "pids.current",
            "cgroup.procs",
            "memory.high",
            "memory.oom.group",
        ]
        .map(|name| file(&open, name));
        stat.is_some().then_some(Self {
            id,
            path,
            used,
            stat,
            swap,
            processes,
            members,
            high,
            oom_group,
        })
    }

    fn read(&self) -> Group {
        let one = |file: &Option<OwnedFd>| {
            let mut buffer = [0; 64];
            file.as_ref()
                .and_then(|file| number(read(file, &mut buffer)?.trim_ascii()))
        };
        let mut buffer = [0; STAT];
        let stat = self.stat.as_ref().and_then(|file| read(file, &mut buffer));
        let of_stat = |key: &[u8]| stat.and_then(|text| keyed(text, key)).unwrap_or(0);
        Group {
            id: self.id,
            used: Bytes::new(one(&self.used).unwrap_or(0)),
            anon: Bytes::new(of_stat(b"anon ")),
            shmem: Bytes::new(of_stat(b"shmem ")),
            swapped: Bytes::new(one(&self.swap).unwrap_or(0)),
            processes: one(&self.processes)
                .and_then(|count| u32::try_from(count).ok())
                .unwrap_or(1),
            high: one(&self.high).map(Bytes::new),
            oom_group: one(&self.oom_group).map(|value| value == 1),
            ..Group::default()
        }
    }
}

/// What the command line and paths of a process tell.
pub(super) struct FromTexts {
    /// The script of root's that it runs.
    pub(super) script: Option<Name>,
    /// The path of the file that it runs, whoever owns it; empty if that is not told. Of a long path, the end.
    pub(super) exe: PathName,
    /// Rules that match by texts that are not kept, one bit each.
    pub(super) commands: u64,
}

/// Reads what the command line and paths tell. The command line is read only if that matters.
pub(super) fn by_texts(
    root: &Path,
    process: BorrowedFd<'_>,
    program: Option<Name>,
    rules: &Guard,
    cgroup: &[u8],
) -> FromTexts {
    let interpreter = program.filter(|program| script::is_interpreter(program));
    let is_asked_for = command::is_asked_for(rules);
    let mut buffer = [0; script::LONGEST];
    let line = if interpreter.is_some() || is_asked_for {
        script::command(process, &mut buffer).unwrap_or_default()
    } else {
        &[]
    };
    let script = interpreter.and_then(|program| script::script(root, &program, line));
    let asked = if is_asked_for { line } else { &[] };
    let mut path = [std::mem::MaybeUninit::uninit(); LONGEST_PATH];
    let exe = exe(process, &mut path);
    FromTexts {
        script,
        exe: printable_end(exe),
        commands: command::matching(rules, asked, exe, cgroup),
    }
}

/// The number of a line `KEY number`.
fn keyed(text: &[u8], key: &[u8]) -> Option<u64> {
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.find_map(|line| number(line.strip_prefix(key)?))
}

/// The path of the group that a process is in.
fn home_of(groups: &OwnedFd) -> Vec<u8> {
    let mut buffer = [0; GROUPS];
    read(groups, &mut buffer)
        .and_then(process::cgroup)
        .unwrap_or(b"/")
        .to_vec()
}

/// A file below an open directory; never through a link.
fn file(directory: impl AsFd, name: &str) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(directory, name, flags, Mode::empty()).ok()
}

/// What the unit's attributes ask for, and whether root says so: root and the directory's owner may set them.
fn mark(directory: &OwnedFd) -> Mark {
    let mut buffer = [0; 8];
    let mut has = |names: [&str; 2]| {
        names.iter().any(|name| {
            let length = rustix::fs::fgetxattr(directory, *name, &mut buffer).unwrap_or(0);
            buffer.get(..length) == Some(b"1")
        })
    };
    let omit = has(["user.oomd_omit", "trusted.oomd_omit"]);
    let avoid = has(["user.oomd_avoid", "trusted.oomd_avoid"]);
    let is_roots = rustix::fs::fstat(directory).is_ok_and(|meta| meta.st_uid == 0);
    match (omit, avoid) {
        (false, false) => Mark::None,
        _ if !is_roots => Mark::Own,
        (true, _) => Mark::Omit,
        (false, true) => Mark::Avoid,
    }
}
