//! Caches of dentries and inodes: a cap on negative dentries, and a preference, both on request.
//!
//! Mainline kernels have no limit on negative dentries. They have a count (`dentry-state`, since 5.0), a
//! switch for one source of them (`fs.dentry-negative`), and a weight for the whole cache
//! (`vm.vfs_cache_pressure`). So the cap is held by these, and released at half of it.

use super::draft::Draft;
use crate::config::{NegativeDentries, Prefer};
use crate::decision::Reason;
use crate::knob::Knob;
use crate::sums::objects;
use std::time::Duration;
use units::Bytes;

/// Memory of one directory entry: `sizeof(struct dentry)` on 64-bit kernels.
const DENTRY: u64 = 192;
/// Memory that was short within this time still counts as short here: the caches change slowly.
const SHORT: Duration = Duration::from_secs(60);
const PRESSURE: Knob = Knob::VfsCachePressure;

impl Draft<'_> {
    /// Watches and, on request, steers the caches.
    pub(super) fn object_caches(&mut self) {
        match self.config.caches.negative_dentries {
            NegativeDentries::Ignore => self.preference(),
            NegativeDentries::Watch | NegativeDentries::Limit => self.negative_dentries(),
        }
    }

    fn negative_dentries(&mut self) {
        let memory = &self.sample.memory;
        let reclaimable = [
            memory.active_file,
            memory.inactive_file,
            memory.slab_reclaimable,
            memory.free,
        ];
        let reclaimable: Bytes = reclaimable.into_iter().flatten().sum();
        let cap = self.config.caches.negative_cap.of(reclaimable).get() / DENTRY;
        let Some(count) = self.sample.caches.negative else {
            return self.preference();
        };
        let why = Reason::NegativeDentries { count, cap };
        if self.config.caches.negative_dentries == NegativeDentries::Watch {
            return self.preference();
        }
        if let Some(limit) = self.drivable(Knob::NegativeDentryLimit) {
            let thousandths = (self.config.caches.negative_cap.get() / 10).clamp(1, 100);
            if limit != thousandths {
                self.drive(Knob::NegativeDentryLimit, thousandths, why);
            }
        } else if count > cap {
            self.drive(Knob::DentryNegative, 1, why);
            self.drive(PRESSURE, self.weight(200), why);
        } else if count < cap / 2 {
            self.release(Knob::DentryNegative, why);
            self.preference();
        }
    }

    /// Moves the weight of dentries and inodes against file contents, only while memory is short.
    fn preference(&mut self) {
        let Some(count) = objects(self.sample) else {
            return;
        };
        let per_second = self.history.latest.object_slope.unwrap_or(0);
        let why = Reason::ObjectCache {
            objects: count,
            per_second,
        };
        let short = self
            .history
            .calm(self.sample.at)
            .is_some_and(|calm| calm < SHORT);
        match self.config.caches.prefer {
            Prefer::Objects if short && per_second < 0 => {
                self.drive(PRESSURE, self.weight(50), why);
            }
            Prefer::Pages if short && per_second > 0 => self.drive(PRESSURE, self.weight(200), why),
            _ if !short => self.release(PRESSURE, why),
            _ => {}
        }
    }

    /// `percent` of the kernel's neutral weight, which newer kernels can rescale.
    fn weight(&self, percent: u64) -> u64 {
        let neutral = self
            .sample
            .knobs
            .now
            .of(Knob::VfsCachePressureDenom)
            .unwrap_or(100);
        neutral.saturating_mul(percent) / 100
    }
}
