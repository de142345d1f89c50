//! What happens to the machine by itself: the disk, a balloon, memory that goes away.

use super::{DT, Model};

/// Programs that write wait once this share of free memory and cache is dirty: `vm.dirty_ratio`.
const DIRTY_RATIO: f64 = 0.2;

impl Model {
    /// Writes dirty pages, and slows programs down that make too many.
    pub(super) fn use_disk(&mut self) {
        let speed = self.text.machine.disk_writes.per_second();
        self.dirty = (self.dirty - speed * DT).max(0.0).min(self.idle);
        let most = DIRTY_RATIO * (self.free.max(0.0) + self.idle + self.hot);
        let wanted: f64 = self
            .processes
            .iter()
            .map(|process| self.text.programs[process.program].writes.per_second())
            .sum();
        self.write_share = if self.dirty > most && wanted > speed {
            speed / wanted
        } else {
            1.0
        };
    }

    /// Charges streamed files to the units of the programs that read them, and marks what was written.
    pub(super) fn charge_streams(&mut self, share: f64) {
        for index in 0..self.processes.len() {
            let process = &self.processes[index];
            if process.is_ending() || self.is_frozen(index) {
                continue;
            }
            let program = &self.text.programs[process.program];
            let read = program.streams.per_second() * DT * process.runs * share;
            let written =
                program.writes.per_second() * DT * process.runs * share * self.write_share;
            self.dirty += written;
            if let Some(unit) = self.programs[process.program].unit {
                self.units[unit].cache += read + written;
            }
        }
        self.dirty = self.dirty.min(self.idle);
    }

    /// Moves the balloon, and takes memory that goes away.
    pub(super) fn change_machine(&mut self) {
        let machine = &self.text.machine;
        if let Some(unplug) = machine.unplug {
            let is_now = self.now == unplug.at.millis();
            if is_now {
                self.total -= unplug.amount.bytes();
            }
        }
        if let Some(balloon) = machine.balloon {
            let to = balloon.to.bytes().max(balloon.size.bytes());
            let wanted = balloon.grows.per_second() * DT;
            let room = (self.free - self.marks().min).max(0.0);
            let grown = wanted.min(to - self.balloon).min(room).max(0.0);
            self.balloon += grown;
        }
    }
}
