//! Direct compactions by order: tasks that waited for a block of that order to be made.
//!
//! `/proc/vmstat` counts them all together (`compact_stall`). The holder reads the order of each from the kernel's
//! tracepoint `mm_compaction_try_to_compact_pages` (mm/compaction.c), which is where a task begins to wait.

use crate::sample::MAX_ORDERS;
use crate::section::{Field, Section};
use serde::{Deserialize, Serialize};

/// How often tasks began to compact for a block of each order, since the holder started; unknown while nobody counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderStalls([Option<u64>; MAX_ORDERS]);

impl OrderStalls {
    /// Counts from zero: from now on somebody counts.
    pub fn zero() -> Self {
        Self([Some(0); MAX_ORDERS])
    }

    /// Counts one of `order`; an order that no kernel has is left out.
    pub fn count(&mut self, order: u32) {
        if let Some(Some(count)) = self.0.get_mut(order as usize) {
            *count += 1;
        }
    }

    /// Those of `order`.
    pub fn of(&self, order: u32) -> Option<u64> {
        *self.0.get(order as usize)?
    }
}

impl Section for OrderStalls {
    fn fields(&self) -> &'static [Field] {
        const FIELDS: [Field; MAX_ORDERS] = Field::counts([
            "o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8", "o9", "o10", "o11", "o12", "o13",
            "o14", "o15",
        ]);
        &FIELDS
    }

    fn get(&self, index: usize) -> Option<u64> {
        *self.0.get(index)?
    }

    fn set(&mut self, index: usize, value: Option<u64>) {
        if let Some(count) = self.0.get_mut(index) {
            *count = value;
        }
    }
}
