//! The other processes of a candidate's unit. A unit with an exempt process is not killed, frozen or throttled as a whole,
//! however small that process is: a compositor beside what was started in it, a shell as root beside a build. Nor is one that
//! runs many programs, or has a terminal.
//!
//! Cost: some files of each member, at most once a second for each unit while candidates are looked at, and never more than
//! one part in seventeen of the time.

use super::handle::{MEMBERS, by_texts};
use super::program::program;
use super::table::{self, Kind};
use super::{Processes, REST};
use crate::parse::process;
use crate::system::clock::monotonic;
use arrayvec::ArrayVec;
use pressure::distress::exemption;
use pressure::scan::{Candidate, Life, Name, PathName, Place};
use rustix::fd::AsFd;
use std::time::Duration;
use units::Span;

/// Between two looks into one unit, at least; longer where a look takes long.
const PACE: Duration = Duration::from_secs(1);
/// Units remembered, at most.
pub(super) const UNITS: usize = pressure::scan::MAX_CANDIDATES;

/// Different programs that are told apart in one unit; more make no difference.
const PROGRAMS: usize = 16;
/// A member with this `oom_score_adj` or less exempts its unit: services that others depend on ask for it.
const PROTECTED: i16 = -900;

/// What was seen in a unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    id: u64,
    /// When it is looked into again.
    next: Duration,
    beside: Beside,
}

/// What the processes of a unit are.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Beside {
    pub(super) exempt: u32,
    /// How many programs run in it; `None` if none was seen.
    pub(super) programs: Option<u32>,
    /// How many have a terminal.
    pub(super) terminals: u32,
}

impl Processes {
    /// What the processes in a candidate's unit are, by a look at most [`PACE`] ago, or longer if looks are slow.
    pub(super) fn beside(&mut self, at: Span, candidate: &Candidate, has_terminal: bool) -> Beside {
        let Some(group) = candidate.group else {
            return Beside::default();
        };
        if group.processes <= 1 {
            return Beside {
                exempt: 0,
                programs: Some(1),
                terminals: u32::from(has_terminal),
            };
        }
        let is_fresh = |unit: &Unit| unit.id == group.id && at.get() < unit.next;
        if let Some(unit) = self.units.iter().find(|unit| is_fresh(unit)) {
            return unit.beside;
        }
        let begun = monotonic();
        let beside = self.look_beside(candidate);
        self.units.retain(|unit| unit.id != group.id);
        if self.units.is_full() {
            self.units.remove(0);
        }
        let took = monotonic().saturating_sub(begun);
        self.units.push(Unit {
            id: group.id,
            next: at.get() + PACE.max(took * REST),
            beside,
        });
        beside
    }

    /// Looks at each process of a candidate's unit.
    fn look_beside(&self, candidate: &Candidate) -> Beside {
        let handle = self
            .handles
            .iter()
            .find(|handle| handle.identity == candidate.identity);
        let members: ArrayVec<u32, MEMBERS> = handle
            .map(super::CandidateHandle::members)
            .unwrap_or_default();
        let mut beside = Beside::default();
        let mut programs = ArrayVec::<PathName, PROGRAMS>::new();
        for pid in members {
            let Some((member, has_terminal)) = self.member(pid, candidate) else {
                continue;
            };
            let is_protected = member.oom_score_adj <= PROTECTED;
            if is_protected || exemption(&member, &self.rules).is_some() {
                beside.exempt += 1;
            }
            if has_terminal {
                beside.terminals += 1;
            }
            let program = called(&member);
            if !programs.is_full() && !programs.contains(&program) {
                programs.push(program);
            }
        }
        let seen = u32::try_from(programs.len()).ok();
        beside.programs = seen.filter(|seen| *seen > 0);
        beside
    }

    /// A process of a candidate's unit, as far as exemption needs it, and whether it has a terminal; `None` if it is gone
    /// or exiting.
    pub(super) fn member(&self, pid: u32, like: &Candidate) -> Option<(Candidate, bool)> {
        let Kind::Process(entry) = table::entry(&self.proc, pid)? else {
            return None;
        };
        if entry.life == Life::Dying {
            return None;
        }
        let directory = table::directory(&self.proc, pid)?;
        // The user matters in services only: there users' processes are told from the service itself.
        let is_service = like.place == Place::Service;
        let status = is_service.then(|| table::status(&self.proc, pid)).flatten();
        let mut buffer = [0; 32];
        let adjusted = table::read_at(&self.proc, pid, "oom_score_adj", &mut buffer)
            .and_then(process::adjustment)?;
        let program = program(&self.root, directory.as_fd());
        let cgroup = like.cgroup.as_bytes();
        let texts = by_texts(&self.root, directory.as_fd(), program, &self.rules, cgroup);
        let member = Candidate {
            identity: entry.identity(),
            name: Name::from(&entry.name).unwrap_or_default(),
            program,
            script: texts.script,
            commands: texts.commands,
            exe: texts.exe,
            foreign_code: false,
            user: status.and_then(|status| status.user).unwrap_or(u32::MAX),
            oom_score_adj: adjusted,
            life: entry.life,
            ..*like
        };
        Some((member, entry.has_terminal))
    }
}

/// What a process runs: its script, else the base name of its file, else what it calls itself.
fn called(member: &Candidate) -> PathName {
    let file = member.exe.rsplit('/').next().unwrap_or_default();
    let name = match &member.script {
        Some(script) => script.as_str(),
        None if file.is_empty() => member.name.as_str(),
        None => file,
    };
    PathName::from(name).unwrap_or_default()
}
