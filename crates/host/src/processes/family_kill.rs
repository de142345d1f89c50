//! Signals to all of a family: a parallel build, a fork storm.
//!
//! `/proc` is gone through twice, as a member may start another one meanwhile. Each is signalled by a pidfd, after its
//! start time was compared, and at most once. Members that are exempt are left out; one in another cgroup is judged by
//! that. What starts them goes first, where that is asked for.
//!
//! Cost: some files of each process and some more of each member: 60 members among 600 processes take about 10 ms.

use super::Processes;
use super::families::belongs;
use super::handle::CandidateHandle;
use super::table::{self, Comm, Entry, Kind};
use crate::applied::Missed;
use crate::parse::lines::number;
use crate::parse::process;
use pressure::distress::exemption;
use pressure::scan::{Ancestor, Candidate, Family, Identity};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::mem::MaybeUninit;
use units::Bytes;

/// Times that `/proc` is gone through. What starts after the second has few left that could start it.
const PASSES: usize = 2;
/// Buffer for directory entries: about 150 of `/proc`.
const DIRECTORIES: usize = 4096;

/// Which processes are signalled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Members {
    pub(super) kin: u32,
    name: Comm,
    /// What starts them, if it goes with them. Copies of it that have not run their program yet go, too.
    pub(super) ancestor: Option<Ancestor>,
    /// The member that was signalled first; what is true of its unit is true of theirs.
    first: Candidate,
}

impl Members {
    /// Whether this is their family.
    pub(super) fn are_of(&self, family: &Family) -> bool {
        family.kin == self.kin && family.name.as_str() == self.name.as_str()
    }

    /// Whether a process is one of them, or a copy of what starts them.
    fn have(&self, entry: &Entry) -> bool {
        let is_called = |name: &str| belongs(entry, self.kin, name);
        let mut ancestor = self.ancestor.iter();
        is_called(&self.name) || ancestor.any(|ancestor| is_called(&ancestor.name))
    }
}

impl Processes {
    /// The family of a process, by the last scan; `None` if it has none.
    pub(super) fn family_of(&mut self, identity: Identity) -> Option<Members> {
        let entry = *self.table.find(identity.pid)?;
        if entry.identity() != identity || entry.kin == 0 {
            return None;
        }
        let handle = self
            .handles
            .iter()
            .find(|handle| handle.identity == identity);
        let reading = super::Reading {
            entry,
            anon: Bytes::ZERO,
            user: u32::MAX,
        };
        let first = handle.map(|handle| handle.candidate(&reading, self.page_size));
        Some(Members {
            kin: entry.kin,
            name: entry.name,
            ancestor: None,
            first: first.unwrap_or_default(),
        })
    }

    /// Signals what starts a family, if that goes with it, and every other member. One that the kernel does not let us
    /// signal is passed over.
    pub(super) fn signal_family(&mut self, members: &Members, signal: Signal) {
        if let Some(ancestor) = members.ancestor {
            let _ = signal_one(&self.proc, ancestor.identity, signal);
        }
        // Lent by the table for its storage, so that nothing is taken on the way.
        let mut signalled = std::mem::take(&mut self.table.order);
        signalled.clear();
        for _ in 0..PASSES {
            self.signal_members(members, signal, &mut signalled);
            signalled.sort_unstable();
        }
        self.table.order = signalled;
    }

    /// Goes through `/proc` once. `signalled` is in order at first; new ones come behind.
    fn signal_members(&self, members: &Members, signal: Signal, signalled: &mut Vec<u32>) {
        let known = signalled.len();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // The scan goes on where it was in its own descriptor.
        let Ok(proc) = rustix::fs::openat(&self.proc, ".", flags, Mode::empty()) else {
            return;
        };
        let mut buffer = [MaybeUninit::uninit(); DIRECTORIES];
        let mut directories = RawDir::new(&proc, &mut buffer);
        while let Some(Ok(directory)) = directories.next() {
            let pid = number(directory.file_name().to_bytes());
            let Some(pid) = pid.and_then(|pid| u32::try_from(pid).ok()) else {
                continue;
            };
            let is_new = signalled[..known].binary_search(&pid).is_err();
            if !is_new || signalled.len() >= table::MOST {
                continue;
            }
            if let Some(entry) = self.member_to_signal(pid, members) {
                let _ = signal_one(&self.proc, entry.identity(), signal);
                signalled.push(pid);
            }
        }
    }

    /// The process with this number, if it is another member that may be signalled.
    fn member_to_signal(&self, pid: u32, members: &Members) -> Option<Entry> {
        if pid <= 1 || self.is_own(pid) || pid == members.first.identity.pid {
            return None;
        }
        let Kind::Process(entry) = table::entry(&self.proc, pid)? else {
            return None;
        };
        if !members.have(&entry) {
            return None;
        }
        let member = if self.shares_cgroup(pid, &members.first) {
            self.member(pid, &members.first)?.0
        } else {
            self.member_elsewhere(&entry)?
        };
        let is_same = member.identity == entry.identity();
        let is_exempt = exemption(&member, &self.rules).is_some();
        (is_same && !is_exempt).then_some(entry)
    }

    /// A member in another cgroup, which says what unit it is of and whether that is exempt.
    fn member_elsewhere(&self, entry: &Entry) -> Option<Candidate> {
        let handle = CandidateHandle::open(&self.root, &self.proc, entry, &self.rules)?;
        let status = table::status(&self.proc, entry.pid)?;
        let reading = super::Reading {
            entry: *entry,
            anon: Bytes::ZERO,
            user: status.user?,
        };
        Some(handle.candidate(&reading, self.page_size))
    }
}

/// Signals one process, if the number still is its own.
pub(super) fn signal_one(proc: &OwnedFd, identity: Identity, signal: Signal) -> Result<(), Missed> {
    let pid = i32::try_from(identity.pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(Missed::Gone)?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(missed)?;
    // Read after the pidfd was had by the number: if it still is the process that was seen, so is the pidfd's.
    let mut buffer = [0; 1024];
    let text = table::read_at(proc, identity.pid, "stat", &mut buffer);
    let stat = text.and_then(process::stat).ok_or(Missed::Gone)?;
    if stat.start != identity.start {
        return Err(Missed::Gone);
    }
    pidfd_send_signal(&pidfd, signal).map_err(missed)
}

fn missed(errno: Errno) -> Missed {
    match errno {
        Errno::SRCH => Missed::Gone,
        Errno::NOSYS => Missed::NoMeans,
        other => Missed::Refused(other),
    }
}
