//! Swap areas.

use super::{DT, Model};
use crate::text::{Swap, SwapKind};

/// A swap area in use.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) text: Swap,
    pub(super) used: f64,
    /// What may still be written in this step.
    budget: f64,
}

impl Device {
    pub(super) fn new(text: &Swap) -> Self {
        Self {
            text: *text,
            used: text.used.bytes(),
            budget: 0.0,
        }
    }

    /// Memory that it takes itself: compressed pages are kept in RAM.
    pub(super) fn cost(&self) -> f64 {
        if self.text.kind == SwapKind::Zram {
            self.used / self.text.ratio.max(1.0)
        } else {
            0.0
        }
    }

    /// What a byte written to it frees.
    fn gain(&self) -> f64 {
        if self.text.kind == SwapKind::Zram {
            1.0 - 1.0 / self.text.ratio.max(1.0)
        } else {
            1.0
        }
    }

    pub(super) fn left(&self) -> f64 {
        (self.text.size.bytes() - self.used).max(0.0)
    }
}

impl Model {
    /// Gives every area its budget of one step.
    pub(super) fn renew_swap_budgets(&mut self) {
        for device in &mut self.swaps {
            device.budget = device.text.speed.per_second() * DT;
        }
    }

    /// How much could be freed by writing to swap in this step, if so much memory is there to write.
    pub(super) fn swap_gain(&self, there: f64) -> f64 {
        let mut there = there;
        let mut gain = 0.0;
        for device in &self.swaps {
            let written = device.left().min(device.budget).min(there);
            gain += written * device.gain();
            there -= written;
        }
        gain
    }

    /// Free swap that gains anything.
    pub(super) fn useful_swap(&self) -> f64 {
        let useful = self.swaps.iter().filter(|device| device.gain() > 0.01);
        useful.map(Device::left).sum()
    }

    /// Writes to swap until `want` is freed or `there` is written. Returns what was written and freed.
    pub(super) fn write_to_swap(&mut self, want: f64, there: f64) -> (f64, f64) {
        let mut written = 0.0;
        let mut freed = 0.0;
        for device in &mut self.swaps {
            let gain = device.gain();
            if gain <= 0.0 || freed >= want {
                continue;
            }
            let part = ((want - freed) / gain)
                .min(device.left())
                .min(device.budget)
                .min(there - written)
                .max(0.0);
            device.used += part;
            device.budget -= part;
            written += part;
            freed += part * gain;
        }
        self.tallies.swapped_out(written, self.page());
        (written, freed)
    }

    /// Memory left swap: it was read back, or its process ended.
    pub(super) fn swap_freed(&mut self, amount: f64) {
        let mut left = amount;
        for device in self.swaps.iter_mut().rev() {
            let own = device.used.min(left);
            device.used -= own;
            left -= own;
        }
    }

    /// How fast pages are read from swap.
    pub(super) fn swap_speed(&self) -> f64 {
        let used: f64 = self.swaps.iter().map(|device| device.used).sum();
        let weighted: f64 = self
            .swaps
            .iter()
            .map(|device| device.used * device.text.speed.per_second())
            .sum();
        if used > 0.0 {
            weighted / used
        } else {
            f64::MAX
        }
    }
}
