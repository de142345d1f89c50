//! The process scan, as the host makes it: the largest processes, families, tmpfs mounts.

use super::groups::inode;
use super::{BOOT, Model};
use crate::text::{Kind, Program};
use ::pressure::config::Guard;
use ::pressure::distress::exemption;
use ::pressure::rules::Texts;
use ::pressure::scan::{
    Ancestor, Candidate, Family, Group, Identity, Life, MAX_CANDIDATES, MAX_FAMILIES, MAX_MOUNTS,
    Mark, Mount, Name, PathName, Place, ProcessScan, UnitName, Victim, unwrapped,
};
use arrayvec::ArrayString;
use std::collections::BTreeMap;
use units::{Bytes, Span};

/// Minimum time between two scans, as in the host.
const PACE: u64 = 180;
/// A family has at least so many processes, as in the host.
const FAMILY: usize = 4;
/// Time for which a process that is gone stays in the sample.
const REMEMBERED: u64 = 10_000;
/// Time for which one that does not end stays.
const WATCHED: u64 = 60_000;
/// A member with this `oom_score_adj` or less keeps its unit from being taken whole.
const KEPT: i16 = -900;
/// A mount with less than this share of memory is not told, one in so many parts.
const SMALL_MOUNT: f64 = 100.0;
/// Clock ticks a second.
const TICKS: u64 = 100;

/// What is remembered between two scans.
#[derive(Debug, Default)]
pub(super) struct ScanState {
    last: Option<u64>,
    pub(super) victims: Vec<VictimState>,
}

/// A process that was signalled, and what has to be gone with it.
#[derive(Debug)]
pub(super) struct VictimState {
    pub(super) victim: Victim,
    pub(super) pids: Vec<u32>,
}

/// A text cut to what fits, with control characters replaced as the host does.
pub(super) fn shown<const N: usize>(text: &str, most: usize) -> ArrayString<N> {
    let mut shown = ArrayString::new();
    for character in text.chars() {
        let character = if character.is_control() {
            '?'
        } else {
            character
        };
        let is_full = shown.len() + character.len_utf8() > most.min(N);
        if is_full {
            break;
        }
        shown.push(character);
    }
    shown
}

/// The end of a path, as far as it fits.
fn end_of_path(text: &str) -> PathName {
    let mut start = text.len().saturating_sub(96);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    shown(&text[start..], 96)
}

fn bytes(amount: f64) -> Bytes {
    Bytes::new(amount.max(0.0) as u64)
}

impl Model {
    /// Reads the processes, unless that was done a moment ago.
    pub(super) fn look(&mut self, guard: &Guard, scan: &mut ProcessScan) {
        let is_fresh = self.scan.last.is_some_and(|last| self.now < last + PACE);
        if is_fresh {
            return;
        }
        self.scan.last = Some(self.now);
        scan.at = self.at();
        scan.candidates.clear();
        scan.families.clear();
        scan.mounts.clear();
        if !self.text.machine.processes_visible {
            return;
        }
        scan.processes = Some(self.processes.len() as u32);
        self.read_families(guard, scan);
        self.read_mounts(scan);
        for index in self.largest(scan) {
            let mut candidate = self.candidate(index, guard);
            if let Some(mut group) = candidate.group {
                self.read_members(index, &candidate, guard, &mut group);
                candidate.group = Some(group);
            }
            scan.candidates.push(candidate);
        }
    }

    /// Forgets the scan; victims are still watched.
    pub(super) fn rest(&mut self, scan: &mut ProcessScan) {
        scan.clear();
        self.scan.last = None;
    }

    /// The largest processes, and of each family the largest and the youngest; the largest first.
    fn largest(&self, scan: &ProcessScan) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.processes.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(self.weight(*index)));
        let mut chosen: Vec<usize> = Vec::new();
        for family in &scan.families {
            let members: Vec<usize> = order
                .iter()
                .copied()
                .filter(|index| self.is_in(*index, family))
                .collect();
            chosen.extend(members.first());
            chosen.extend(members.iter().max_by_key(|index| {
                let process = &self.processes[**index];
                (process.born, process.pid)
            }));
        }
        chosen.dedup();
        for index in order {
            if chosen.len() >= MAX_CANDIDATES {
                break;
            }
            if !chosen.contains(&index) {
                chosen.push(index);
            }
        }
        chosen.sort_by_key(|index| std::cmp::Reverse(self.weight(*index)));
        chosen.dedup();
        chosen.truncate(MAX_CANDIDATES);
        chosen
    }

    fn is_in(&self, index: usize, family: &Family) -> bool {
        self.kin(index) == family.kin && self.name(index) == family.name
    }

    /// What a kill of it frees.
    pub(super) fn weight(&self, index: usize) -> u64 {
        let process = &self.processes[index];
        let other = match self.kind(process.program) {
            Kind::Shared | Kind::Memfd | Kind::PageTables => process.other.total,
            _ => 0.0,
        };
        (process.anon.total + other) as u64
    }

    fn name(&self, index: usize) -> Name {
        shown(&self.text.programs[self.processes[index].program].name, 15)
    }

    /// Its process group: its own, or that of the alike ones it was started with.
    pub(super) fn kin(&self, index: usize) -> u32 {
        let process = &self.processes[index];
        let program = &self.text.programs[process.program];
        let is_of_several =
            program.count > 1 || program.forks.is_some() || program.family.is_some();
        if is_of_several {
            self.programs[process.program].kin
        } else {
            process.pid
        }
    }

    pub(super) fn identity(&self, index: usize) -> Identity {
        let process = &self.processes[index];
        Identity {
            pid: process.pid,
            start: process.born * TICKS / 1000,
        }
    }

    /// One process as the host reads it.
    fn candidate(&self, index: usize, guard: &Guard) -> Candidate {
        let process = &self.processes[index];
        let kind = self.text.programs[process.program].memory;
        let alone = self.candidate_alone(index, guard);
        let shared = match kind {
            // The blocks of a memfd count whether they are in RAM or in swap.
            Kind::Memfd => process.other.total,
            Kind::Shared => process.other.resident(),
            _ => 0.0,
        };
        let tables = if kind == Kind::PageTables {
            process.other.total
        } else {
            // Eight bytes for each page.
            process.anon.total / 512.0
        };
        let hugetlb = if kind == Kind::Hugetlb {
            process.other.total
        } else {
            0.0
        };
        let has_own = alone.place.is_of_its_own();
        Candidate {
            age: Span::millis((BOOT + self.now).saturating_sub(process.born)),
            resident: bytes(process.anon.resident()),
            mapped: Some(bytes(self.resident(index))),
            swapped: bytes(process.anon.away),
            group: has_own.then(|| self.group(index)).flatten(),
            shared: bytes(shared),
            written: self.written(index),
            tables: bytes(tables),
            hugetlb: bytes(hugetlb),
            kin: self.kin(index),
            left_to_rival: self.is_left_to_rival(index),
            ..alone
        }
    }

    fn written(&self, index: usize) -> Bytes {
        let process = &self.processes[index];
        if self.kind(process.program) == Kind::Tmpfs {
            bytes(process.other.total)
        } else {
            Bytes::ZERO
        }
    }

    fn life(&self, index: usize) -> Life {
        let process = &self.processes[index];
        let is_freeing = process.ends_at.is_some_and(|at| at <= self.now);
        if is_freeing {
            Life::Dying
        } else if self.text.programs[process.program].stuck {
            Life::Stuck
        } else {
            // A frozen process sleeps: the freezer of version 2 shows no state of its own.
            Life::Alive
        }
    }

    fn is_left_to_rival(&self, index: usize) -> bool {
        let unit = &self.text.programs[self.processes[index].program].unit;
        let rival = self.text.machine.rival.as_ref();
        rival.is_some_and(|rival| {
            rival
                .cgroups
                .iter()
                .any(|path| unit.starts_with(path.as_str()))
        })
    }

    fn group(&self, index: usize) -> Option<Group> {
        let unit = self.programs[self.processes[index].program].unit?;
        let state = &self.units[unit];
        let mut anon = 0.0;
        let mut shmem = 0.0;
        let mut swapped = 0.0;
        let mut processes = 0;
        for other in self.members(unit) {
            let process = &self.processes[other];
            anon += process.anon.resident();
            let kind = self.kind(process.program);
            if matches!(kind, Kind::Shared | Kind::Memfd | Kind::Tmpfs) {
                shmem += process.other.resident();
            }
            swapped += self.swapped(other);
            processes += 1;
        }
        Some(Group {
            id: inode(unit),
            used: bytes(state.used),
            anon: bytes(anon),
            swapped: bytes(swapped),
            processes,
            high: state.high.map(bytes),
            exempt: 0,
            one_by_one: !self.is_writable(unit),
            oom_group: Some(state.oom_group),
            programs: None,
            terminals: 0,
            shmem: bytes(shmem),
        })
    }

    /// The processes of a unit.
    pub(super) fn members(&self, unit: usize) -> impl Iterator<Item = usize> {
        (0..self.processes.len()).filter(move |index| {
            let program = self.processes[*index].program;
            self.programs[program].unit == Some(unit)
        })
    }

    /// What the host finds out about the other processes of a unit.
    fn read_members(&self, index: usize, like: &Candidate, guard: &Guard, group: &mut Group) {
        let Some(unit) = self.programs[self.processes[index].program].unit else {
            return;
        };
        // All processes of a program are exempt, or none is: each is looked at once.
        let mut programs: BTreeMap<usize, u32> = BTreeMap::new();
        let mut exempt = 0;
        for other in self.members(unit) {
            let program = self.processes[other].program;
            group.terminals += u32::from(self.text.programs[program].terminal);
            let is_exempt = *programs.entry(program).or_insert_with(|| {
                let member = Candidate {
                    group: like.group,
                    life: Life::Alive,
                    ..self.candidate_alone(other, guard)
                };
                let is_exempt = exemption(&member, guard).is_some() || member.oom_score_adj <= KEPT;
                u32::from(is_exempt)
            });
            if self.life(other) != Life::Dying {
                exempt += is_exempt;
            }
        }
        let names: std::collections::BTreeSet<&str> = programs
            .keys()
            .map(|program| self.text.programs[*program].name.as_str())
            .collect();
        group.programs = Some(names.len() as u32);
        group.exempt = if group.processes > 1 { exempt } else { 0 };
    }

    /// A candidate without what its memory and its unit say.
    pub(super) fn candidate_alone(&self, index: usize, guard: &Guard) -> Candidate {
        let program = &self.text.programs[self.processes[index].program];
        let unit = self.programs[self.processes[index].program].unit;
        let unit = unit.map(|unit| &self.units[unit]);
        let exe = program.exe();
        let base = exe.rsplit('/').next().unwrap_or_default();
        Candidate {
            identity: self.identity(index),
            name: self.name(index),
            program: program.is_roots().then(|| unwrapped_name(base)),
            unit: unit.map_or_else(UnitName::new, |unit| shown(&unit.name, 64)),
            place: unit.map_or(Place::Unknown, |unit| unit.place),
            user: program.uid(),
            oom_score_adj: program.oom_score_adj,
            mark: unit.map_or(Mark::None, |unit| unit.mark),
            life: self.life(index),
            exe: end_of_path(&exe),
            script: program.script.as_deref().map(|script| shown(script, 32)),
            cgroup: end_of_path(&program.unit),
            commands: commands_of(program, guard),
            foreign_code: program.foreign_code,
            ..Candidate::default()
        }
    }

    fn read_families(&self, guard: &Guard, scan: &mut ProcessScan) {
        let mut families: BTreeMap<(u32, Name), (usize, f64)> = BTreeMap::new();
        for index in 0..self.processes.len() {
            let key = (self.kin(index), self.name(index));
            let family = families.entry(key).or_default();
            family.0 += 1;
            family.1 += self.weight(index) as f64;
        }
        let mut large: Vec<Family> = families
            .into_iter()
            .filter(|(_, (count, _))| *count >= FAMILY)
            .map(|((kin, name), (count, size))| Family {
                kin,
                name,
                processes: count as u32,
                size: bytes(size),
                ancestor: self.ancestor(kin, guard),
            })
            .collect();
        large.sort_by_key(|family| std::cmp::Reverse(family.size));
        scan.families.extend(large.into_iter().take(MAX_FAMILIES));
    }

    /// What starts the processes of this kin, if it may be ended.
    fn ancestor(&self, kin: u32, guard: &Guard) -> Option<Ancestor> {
        let member = (0..self.processes.len()).find(|index| self.kin(*index) == kin)?;
        let parent = self.programs[self.processes[member].program].parent?;
        let mut all = 0..self.processes.len();
        let starter = all.find(|index| {
            let process = &self.processes[*index];
            process.program == parent && !process.is_ending()
        })?;
        let candidate = self.candidate_alone(starter, guard);
        let is_exempt = exemption(&candidate, guard).is_some();
        if is_exempt {
            return None;
        }
        Some(Ancestor {
            identity: candidate.identity,
            name: candidate.name,
        })
    }

    fn read_mounts(&self, scan: &mut ProcessScan) {
        let mut mounts: Vec<Mount> = self
            .mounts
            .iter()
            .filter(|mount| mount.store.total >= self.total / SMALL_MOUNT)
            .map(|mount| Mount {
                path: end_of_path(&mount.path),
                used: bytes(mount.store.total),
                writer: self.writer_of(&mount.path),
            })
            .collect();
        mounts.sort_by_key(|mount| std::cmp::Reverse(mount.used));
        scan.mounts.extend(mounts.into_iter().take(MAX_MOUNTS));
    }

    /// The living process that wrote most to a mount.
    fn writer_of(&self, path: &str) -> Option<Identity> {
        let writes = |index: &usize| {
            let process = &self.processes[*index];
            let program = &self.text.programs[process.program];
            program.mount.as_deref() == Some(path) && !process.is_ending()
        };
        (0..self.processes.len())
            .filter(writes)
            .max_by_key(|index| self.written(*index))
            .map(|index| self.identity(index))
    }

    /// Puts what became of signalled processes into the scan.
    pub(super) fn watch(&mut self, scan: &mut ProcessScan) {
        let now = self.at();
        let since = |then: Span| now.get().saturating_sub(then.get()).as_millis() as u64;
        let alive: Vec<u32> = self.processes.iter().map(|process| process.pid).collect();
        self.scan.victims.retain(|one| match one.victim.gone {
            Some(gone) => since(gone) < REMEMBERED,
            None => since(one.victim.at) < WATCHED,
        });
        scan.victims.clear();
        for one in &mut self.scan.victims {
            let is_gone = !one.pids.iter().any(|pid| alive.contains(pid));
            if one.victim.gone.is_none() && is_gone {
                one.victim.gone = Some(now);
            }
            let _ = scan.victims.try_push(one.victim);
        }
    }
}

/// The bits of the rules that go by the command line and by whole paths.
fn commands_of(program: &Program, guard: &Guard) -> u64 {
    let exe = program.exe();
    let command = program.command.as_deref().unwrap_or(&exe);
    guard.bits(&Texts {
        command: command.as_bytes(),
        exe: exe.as_bytes(),
        cgroup: program.unit.as_bytes(),
    })
}

/// The name of a program's file, as the host reads it.
fn unwrapped_name(base: &str) -> Name {
    let name = String::from_utf8_lossy(unwrapped(base.as_bytes()));
    shown(&name, 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_and_made_harmless() {
        let name: Name = shown("\u{1b}[31mred and very long", 15);
        assert_eq!(name.as_str(), "?[31mred and ve");
        assert_eq!(
            unwrapped_name(".kwin_wayland-wrapped").as_str(),
            "kwin_wayland"
        );
        assert_eq!(unwrapped_name("kwin_wayland").as_str(), "kwin_wayland");
    }
}
