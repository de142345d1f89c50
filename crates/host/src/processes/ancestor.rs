//! What starts a family: the nearest process above all its members, if that may be ended with them.
//!
//! It must be in their cgroup and of their user, and not be exempt. A shell at which a person sits stays, as the next
//! command is the person's.

use super::Processes;
use super::families::{Found, is_kin};
use super::handle::GROUPS;
use super::table::{self, Entry, Kind, ProcessTable};
use crate::parse::process::{self, printable_end};
use arrayvec::ArrayVec;
use pressure::distress::exemption;
use pressure::scan::{Ancestor, Candidate, Family, MAX_FAMILIES, Name};

/// Generations looked at: a build has `make`, a shell and a compiler driver above each compiler.
const GENERATIONS: usize = 8;

/// The ancestors of the families of one scan.
pub(super) type Ancestors = ArrayVec<(u32, Ancestor), MAX_FAMILIES>;

impl ProcessTable {
    /// The nearest process above all of a family; `None` if some of them start others, or it is the first process.
    pub(super) fn above(&self, members: &[u32]) -> Option<u32> {
        let mut members = members.iter().map(|place| &self.entries[*place as usize]);
        let first = members.next()?;
        let mut line: ArrayVec<u32, GENERATIONS> = self.line_of(first).collect();
        for member in members {
            let parent = self.find(member.parent);
            if parent.is_some_and(|parent| is_kin(parent, member)) {
                return None;
            }
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
        let Kind::Process(entry) = table::entry(&self.proc, pid)? else {
            return None;
        };
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

    /// The ancestor of a family by the last scan.
    pub(super) fn ancestor_of(&self, family: u32) -> Option<Ancestor> {
        let mut known = self.ancestors.iter();
        let (_, ancestor) = known.find(|(kin, _)| *kin == family)?;
        Some(*ancestor)
    }

    /// Keeps it for a signal, and tells it.
    pub(super) fn keep_ancestor(&mut self, family: &mut Family, ancestor: Option<Ancestor>) {
        family.ancestor = ancestor;
        if let Some(ancestor) = ancestor {
            let _ = self.ancestors.try_push((family.kin, ancestor));
        }
    }

    /// Whether it is in the cgroup of `like`, and of the same user.
    fn lives_beside(&self, pid: u32, like: &Candidate) -> bool {
        let user = table::status(&self.proc, pid).and_then(|status| status.user);
        let mut buffer = [0; GROUPS];
        let text = table::read_at(&self.proc, pid, "cgroup", &mut buffer);
        let home = text.map(|text| process::cgroup(text).unwrap_or(b"/"));
        let home = home.map(printable_end::<96>);
        user == Some(like.user) && home == Some(like.cgroup)
    }
}
