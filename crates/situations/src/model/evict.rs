//! Eviction: memory of programs to swap, or of mapped files to nowhere.

use super::Model;
use crate::text::Kind;

/// Which memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Only idle memory.
    Idle,
    /// Whatever is in RAM.
    Any,
}

/// What it is that gives way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Anonymous and shared memory, which goes to swap.
    Swappable,
    /// Mapped files, which are read again.
    Files,
}

impl Model {
    /// How much there is.
    pub(super) fn evictable(&self, what: What, which: Which) -> f64 {
        let processes: f64 = (0..self.processes.len())
            .map(|index| self.evictable_of(index, what, which))
            .sum();
        if what == What::Files {
            return processes;
        }
        let mounts: f64 = self.mounts.iter().map(|mount| mount.store.resident()).sum();
        processes + mounts
    }

    /// How much of one process.
    pub(super) fn evictable_of(&self, index: usize, what: What, which: Which) -> f64 {
        let process = &self.processes[index];
        if process.is_ending() {
            return 0.0;
        }
        let kind = self.kind(process.program);
        let in_use = if which == Which::Idle {
            self.in_use(index)
        } else {
            0.0
        };
        match what {
            What::Files if kind == Kind::File => process.other.idle(in_use),
            What::Files => 0.0,
            What::Swappable => match kind {
                Kind::Shared | Kind::Memfd => process.anon.idle(0.0) + process.other.idle(in_use),
                Kind::File => process.anon.idle(0.0),
                _ => process.anon.idle(in_use),
            },
        }
    }

    /// Takes the share `part` of all that there is away.
    pub(super) fn take_away(&mut self, what: What, which: Which, part: f64) {
        for index in 0..self.processes.len() {
            self.take_from(index, what, which, part);
        }
        if what == What::Swappable {
            for mount in &mut self.mounts {
                mount.store.away += mount.store.resident() * part;
            }
        }
    }

    /// Takes a share of what one process has away.
    pub(super) fn take_from(&mut self, index: usize, what: What, which: Which, part: f64) {
        if self.processes[index].is_ending() {
            return;
        }
        let in_use = if which == Which::Idle {
            self.in_use(index)
        } else {
            0.0
        };
        let kind = self.kind(self.processes[index].program);
        let process = &mut self.processes[index];
        match what {
            What::Files if kind == Kind::File => {
                process.other.away += process.other.idle(in_use) * part;
            }
            What::Files => {}
            What::Swappable => match kind {
                Kind::Shared | Kind::Memfd => {
                    process.anon.away += process.anon.idle(0.0) * part;
                    process.other.away += process.other.idle(in_use) * part;
                }
                Kind::File => process.anon.away += process.anon.idle(0.0) * part,
                _ => process.anon.away += process.anon.idle(in_use) * part,
            },
        }
    }
}
