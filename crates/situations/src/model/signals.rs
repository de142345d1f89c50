//! What a decision does to the machine.

use super::Model;
use super::scan::VictimState;
use ::pressure::config::Guard;
use ::pressure::decision::{Action, Decision};
use ::pressure::distress::{Extent, exemption};
use ::pressure::scan::{Candidate, Signal, Victim};

/// Processes and units that an action met.
#[derive(Debug, Default, Clone)]
pub(crate) struct Targets {
    /// For each: its name, and each part of its cgroup's path.
    pub(crate) names: Vec<Vec<String>>,
}

impl Model {
    /// What a process can be called in a text: its name, and every part of its cgroup's path.
    pub(super) fn names(&self, index: usize) -> Vec<String> {
        let program = &self.text.programs[self.processes[index].program];
        let mut names = vec![program.name.clone()];
        names.extend(program.called.clone());
        names.extend(unit_names(&program.unit));
        names
    }

    /// Carries out every step of a decision. Returns the steps that met something, with what they met.
    pub(crate) fn apply(&mut self, decision: &Decision, guard: &Guard) -> Vec<(Action, Targets)> {
        let mut done = Vec::new();
        for step in &decision.steps {
            match step.action {
                Action::Set { knob, to, .. } => self.knobs.set(knob, to),
                Action::PutBack { knob, to, .. } => self.knobs.put_back(knob, to),
                Action::Group(action) => {
                    if let Some(unit) = self.act_on_group(&action) {
                        let names = unit_names(&self.units[unit].path);
                        done.push((step.action, Targets { names: vec![names] }));
                    }
                }
                Action::Kill { .. } => {
                    if let Some(targets) = self.signal(&step.action, guard) {
                        done.push((step.action, targets));
                    }
                }
                // Compaction and one-shot reclaim do not decide about anybody; nothing is locked here.
                Action::Compact { .. }
                | Action::Reclaim { .. }
                | Action::Protect(_)
                | Action::Recall { .. }
                | Action::Squeeze { .. } => {}
            }
        }
        done
    }

    /// Sends a signal; `None` if the process is gone.
    fn signal(&mut self, action: &Action, guard: &Guard) -> Option<Targets> {
        let Action::Kill {
            identity,
            name,
            signal,
            extent,
            size,
            ..
        } = *action
        else {
            return None;
        };
        let index = (0..self.processes.len()).find(|index| self.identity(*index) == identity)?;
        if self.processes[index]
            .ends_at
            .is_some_and(|at| at <= self.now)
        {
            return None;
        }
        let hit = self.hit(index, signal, extent, guard);
        let names = hit.iter().map(|index| self.names(*index)).collect();
        for index in &hit {
            self.deliver(*index, signal);
        }
        let victim = Victim {
            identity,
            name,
            size,
            signal,
            at: self.at(),
            gone: None,
            kin: match extent {
                Extent::Family | Extent::Ancestor => self.kin(index),
                Extent::Process | Extent::Unit => 0,
            },
        };
        let pids = hit.iter().map(|index| self.processes[*index].pid).collect();
        self.scan
            .victims
            .retain(|one| one.victim.identity != identity);
        if self.scan.victims.len() == ::pressure::scan::MAX_VICTIMS {
            self.scan.victims.remove(0);
        }
        self.scan.victims.push(VictimState { victim, pids });
        Some(Targets { names })
    }

    /// The processes that a signal meets.
    fn hit(&self, index: usize, signal: Signal, extent: Extent, guard: &Guard) -> Vec<usize> {
        let unit = self.programs[self.processes[index].program].unit;
        match (extent, unit) {
            // `cgroup.kill` knows no SIGTERM, and kills what is below the unit, too.
            (Extent::Unit, Some(unit)) if signal == Signal::Kill && self.is_writable(unit) => (0
                ..self.processes.len())
                .filter(|other| {
                    let program = self.processes[*other].program;
                    self.programs[program].limits.contains(&unit)
                })
                .collect(),
            (Extent::Family | Extent::Ancestor, _) => {
                let ancestor = (extent == Extent::Ancestor)
                    .then(|| self.programs[self.processes[index].program].parent)
                    .flatten();
                let kin = self.kin(index);
                let program = &self.text.programs[self.processes[index].program].name;
                (0..self.processes.len())
                    .filter(|other| {
                        let own = self.processes[*other].program;
                        let name = &self.text.programs[own].name;
                        let is_member = self.kin(*other) == kin && name == program;
                        is_member || ancestor == Some(own)
                    })
                    .filter(|other| {
                        let member = Candidate {
                            group: None,
                            ..self.candidate_alone(*other, guard)
                        };
                        exemption(&member, guard).is_none()
                    })
                    .collect()
            }
            _ => vec![index],
        }
    }

    fn deliver(&mut self, index: usize, signal: Signal) {
        let program = self.processes[index].program;
        let text = &self.text.programs[program];
        let ends = match signal {
            Signal::Kill => self.end_after_kill(text),
            // A frozen process handles no signal but SIGKILL.
            Signal::Term if self.is_frozen(index) => None,
            Signal::Term => self.end_after_term(text),
        };
        let process = &mut self.processes[index];
        // It sleeps in the kernel, and takes no more.
        process.is_halted |= text.stuck;
        process.ends_at = match (process.ends_at, ends) {
            (Some(before), Some(now)) => Some(before.min(now)),
            (before, now) => before.or(now),
        };
    }

    /// Whether a process of this name is there, and how many.
    pub(crate) fn living(&self, name: &str) -> usize {
        let is_it = |index: &usize| {
            !self.processes[*index].is_ending() && self.names(*index).iter().any(|one| one == name)
        };
        (0..self.processes.len()).filter(is_it).count()
    }

    /// The most memory that one process of this name has.
    pub(crate) fn largest_of(&self, name: &str) -> u64 {
        let is_it = |index: &usize| self.names(*index).iter().any(|one| one == name);
        (0..self.processes.len())
            .filter(is_it)
            .map(|index| {
                self.weight(index)
                    .max(self.processes[index].other.total as u64)
            })
            .max()
            .unwrap_or(0)
    }

    /// Processes that the other guard killed.
    pub(crate) fn rival_kills(&self) -> u32 {
        self.rival_kills
    }
}

/// A cgroup's path, and every part of it.
fn unit_names(path: &str) -> Vec<String> {
    path.split('/')
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}
