//! Limits of cgroups, as the kernel keeps them: `memory.high` slows down, `memory.max` ends growth.

use super::evict::{What, Which};
use super::{DT, Model};

/// What the kernel charges at once: `MEMCG_CHARGE_BATCH`, 64 pages of 4 KiB.
const BATCH: f64 = 256.0 * 1024.0;
/// The kernel's wait for one batch is `64 · (overage / high)²` seconds: `MEMCG_DELAY_SCALING_SHIFT` of
/// `calculate_high_delay()` in `mm/memcontrol.c`.
const DELAY: f64 = 64.0;
/// No wait is longer: `MEMCG_MAX_HIGH_DELAY_JIFFIES`.
const LONGEST: f64 = 2.0;

impl Model {
    /// How much of what it wants a process may take, by the limits of its units.
    pub(super) fn allowed(&mut self, index: usize, wanted: f64) -> f64 {
        if wanted <= 0.0 {
            return 0.0;
        }
        let mut allowed = wanted;
        let limits = self.programs[self.processes[index].program].limits.clone();
        for unit in limits {
            if let Some(max) = self.units[unit].max {
                allowed = self.allowed_by_max(index, unit, max, allowed);
            }
            if let Some(high) = self.units[unit].high {
                allowed = self.allowed_by_high(unit, high, allowed);
            }
        }
        allowed
    }

    fn allowed_by_high(&mut self, unit: usize, high: f64, wanted: f64) -> f64 {
        let over = self.units[unit].used + wanted - high;
        if over <= 0.0 {
            self.units[unit].used += wanted;
            return wanted;
        }
        self.units[unit].pushes += 1 + (wanted / BATCH) as u64;
        let freed = self.reclaim_in(unit, over);
        let below = (wanted - over + freed).max(0.0);
        let overage = ((self.units[unit].used - high) / high).max(0.0001);
        let delay = (DELAY * overage * overage).min(LONGEST);
        // Waits below 10 ms are not waited, so the first per cent above the limit costs nothing.
        let slowed = if delay < 0.01 {
            wanted
        } else {
            BATCH / delay * DT
        };
        let allowed = wanted.min(below + slowed);
        self.units[unit].used += allowed;
        allowed
    }

    fn allowed_by_max(&mut self, index: usize, unit: usize, max: f64, wanted: f64) -> f64 {
        let over = self.units[unit].used + wanted - max;
        if over <= 0.0 {
            return wanted;
        }
        let freed = self.reclaim_in(unit, over);
        let allowed = (wanted - over + freed).clamp(0.0, wanted);
        if allowed < wanted * 0.01 && freed <= 0.0 {
            self.kill_in(unit, index);
        }
        allowed
    }

    /// Reclaims inside a unit: its cache, its mapped files, then its memory to swap.
    fn reclaim_in(&mut self, unit: usize, want: f64) -> f64 {
        let clean = (self.idle - self.dirty).max(0.0);
        let cache = self.units[unit].cache.min(want).min(clean);
        self.units[unit].cache -= cache;
        self.idle -= cache;
        self.free += cache;
        let mut freed = cache;
        for what in [What::Files, What::Swappable] {
            if freed < want {
                freed += self.evict_in(unit, what, want - freed);
            }
        }
        self.units[unit].used -= freed;
        freed
    }

    fn evict_in(&mut self, unit: usize, what: What, want: f64) -> f64 {
        let members: Vec<usize> = (0..self.processes.len())
            .filter(|index| {
                let program = self.processes[*index].program;
                self.programs[program].limits.contains(&unit)
            })
            .collect();
        let there: f64 = members
            .iter()
            .map(|index| self.evictable_of(*index, what, Which::Any))
            .sum();
        if there <= 0.0 {
            return 0.0;
        }
        let (gone, freed) = match what {
            What::Files => {
                let gone = want.min(there);
                (gone, gone)
            }
            What::Swappable => self.write_to_swap(want, there),
        };
        for index in members {
            self.take_from(index, what, Which::Any, gone / there);
        }
        self.free += freed;
        freed
    }
}
