//! The other processes of a candidate's unit. A unit with an exempt process is not killed, frozen or throttled as a whole,
//! however small that process is: a compositor beside what was started in it, a shell as root beside a build.
//!
//! Cost: some files of each member, at most once a second for each unit while candidates are looked at, and never more than
//! one part in seventeen of the time.

use super::handle::MEMBERS;
use super::program::program;
use super::table::{self, Kind};
use super::{Processes, REST};
use crate::parse::process;
use crate::system::clock::monotonic;
use arrayvec::ArrayVec;
use pressure::distress::exemption;
use pressure::scan::{Candidate, Life, Name, Place};
use rustix::fd::AsFd;
use std::time::Duration;
use units::Span;

/// Between two looks into one unit, at least; longer where a look takes long.
const PACE: Duration = Duration::from_secs(1);
/// Units remembered, at most.
pub(super) const UNITS: usize = pressure::scan::MAX_CANDIDATES;

/// What was seen in a unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    id: u64,
    /// When it is looked into again.
    next: Duration,
    exempt: u32,
}

impl Processes {
    /// How many processes in a candidate's unit are exempt, by a look at most [`PACE`] ago, or longer if looks are slow.
    pub(super) fn exempt_beside(&mut self, at: Span, candidate: &Candidate) -> u32 {
        let Some(group) = candidate.group.filter(|group| group.processes > 1) else {
            return 0;
        };
        let is_fresh = |unit: &Unit| unit.id == group.id && at.get() < unit.next;
        if let Some(unit) = self.units.iter().find(|unit| is_fresh(unit)) {
            return unit.exempt;
        }
        let begun = monotonic();
        let handle = self
            .handles
            .iter()
            .find(|handle| handle.identity == candidate.identity);
        let members: ArrayVec<u32, MEMBERS> = handle
            .map(super::CandidateHandle::members)
            .unwrap_or_default();
        let is_exempt = |pid: &u32| {
            self.member(*pid, candidate)
                .is_some_and(|it| exemption(&it, &self.rules).is_some())
        };
        let exempt =
            u32::try_from(members.iter().filter(|pid| is_exempt(pid)).count()).unwrap_or(u32::MAX);
        self.units.retain(|unit| unit.id != group.id);
        if self.units.is_full() {
            self.units.remove(0);
        }
        let took = monotonic().saturating_sub(begun);
        self.units.push(Unit {
            id: group.id,
            next: at.get() + PACE.max(took * REST),
            exempt,
        });
        exempt
    }

    /// A process of a candidate's unit, as far as exemption needs it; `None` if it is gone or exiting.
    fn member(&self, pid: u32, like: &Candidate) -> Option<Candidate> {
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
        Some(Candidate {
            identity: entry.identity(),
            name: Name::from(&entry.name).unwrap_or_default(),
            program: program(&self.root, directory.as_fd()),
            user: status.and_then(|status| status.user).unwrap_or(u32::MAX),
            oom_score_adj: adjusted,
            life: entry.life,
            ..*like
        })
    }
}
