//! What starts a family: the nearest process above all its members, if that may be ended with them.
//!
//! It must be in their cgroup and of their user, and not be exempt. A shell at which a person sits stays, as the next
//! command is the person's.

use super::Processes;
use super::families::{Found, is_kin};
use super::family_kill::Members;
use super::handle::GROUPS;
use super::table::{self, Entry, ProcessTable};
use crate::parse::process::{self, printable_end};
use arrayvec::ArrayVec;
use pressure::distress::exemption;
use pressure::scan::{Ancestor, Candidate, Identity, Name};

/// Generations looked at: a build has `make`, a shell and a compiler driver above each compiler.
const GENERATIONS: usize = 8;

impl ProcessTable {
    /// The nearest process above all of a family; `None` if some of them start others, or it is the first process.
    pub(super) fn above(&self, members: &[u32]) -> Option<u32> {
        let members = || members.iter().map(|place| &self.entries[*place as usize]);
        let is_started_by_one = |member: &Entry| {
            let parent = self.find(member.parent);
            parent.is_some_and(|parent| is_kin(parent, member))
        };
        if members().any(is_started_by_one) {
            return None;
        }
        let mut line: ArrayVec<u32, GENERATIONS> = self.line_of(members().next()?).collect();
        for member in members() {
            let meets = self
                .line_of(member)
                .find_map(|pid| line.iter().position(|known| *known == pid));
            line.drain(..meets?);
        }
        line.first().copied()
    }

    /// The processes above one, the nearest first, the first process left out.
    fn line_of(&self, entry: &Entry) -> impl Iterator<Item = u32> {
        let next = |pid: u32| (pid > 1).then_some(pid);
        std::iter::successors(next(entry.parent), move |pid| next(self.find(*pid)?.parent))
            .take(GENERATIONS)
    }
}

impl Processes {
    /// What starts a family; `like` is a member of it.
    pub(super) fn ancestor(&self, found: &Found, like: &Candidate) -> Option<Ancestor> {
        let pid = found.above?;
        if self.is_own(pid) {
            return None;
        }
        let entry = self.table.find(pid)?;
        let is_login_shell = entry.leads_session && entry.has_terminal;
        if is_login_shell || !self.lives_beside(pid, like) {
            return None;
        }
        let (member, _) = self.member(pid, like)?;
        let is_same = member.identity == entry.identity();
        if !is_same || exemption(&member, &self.rules).is_some() {
            return None;
        }
        Some(Ancestor {
            identity: entry.identity(),
            name: Name::from(&entry.name).unwrap_or_default(),
        })
    }

    /// The family of a process, and what starts it as the last scan told.
    pub(super) fn family_and_ancestor_of(&mut self, identity: Identity) -> Option<Members> {
        let mut members = self.family_of(identity)?;
        let mut families = self.families.iter();
        let family = families.find(|family| members.are_of(family));
        members.ancestor = family.and_then(|family| family.ancestor);
        Some(members)
    }

    /// Whether it is in the cgroup of `like`, and of the same user.
    fn lives_beside(&self, pid: u32, like: &Candidate) -> bool {
        let user = table::status(&self.proc, pid).and_then(|status| status.user);
        user == Some(like.user) && self.shares_cgroup(pid, like)
    }

    /// Whether it is in the cgroup of `like`.
    pub(super) fn shares_cgroup(&self, pid: u32, like: &Candidate) -> bool {
        let mut buffer = [0; GROUPS];
        let text = table::read_at(&self.proc, pid, "cgroup", &mut buffer);
        let home = text.map(|text| process::cgroup(text).unwrap_or(b"/"));
        let home = home.map(printable_end::<96>);
        home == Some(like.cgroup)
    }
}
