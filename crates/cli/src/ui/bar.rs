//! Memory as a bar of text.

use pressure::sample::Memory;
use units::Bytes;

/// Most characters between the brackets: with the brackets and a label it fits 80 columns.
const WIDTH: u64 = 64;

/// Parts of memory. In the bar, pressure takes them from the right: free memory first, programs last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) total: Bytes,
    /// Anonymous and shared memory: reclaim needs swap for it.
    pub(crate) programs: Bytes,
    /// Files and kernel caches, which reclaim can take without swap.
    pub(crate) caches: Bytes,
    pub(crate) free: Bytes,
}

impl Parts {
    /// `None` if the kernel does not say enough.
    pub(crate) fn of(memory: &Memory) -> Option<Self> {
        let shared = memory.shmem.unwrap_or_default();
        let files = memory.cached? + memory.buffers.unwrap_or_default();
        let kernel = memory
            .kernel_reclaimable
            .or(memory.slab_reclaimable)
            .unwrap_or_default();
        let programs = memory.anon? + shared;
        Some(Self {
            total: memory.total?,
            programs,
            caches: files.less(shared) + kernel,
            free: memory.free?,
        })
    }

    /// Memory of the kernel, of huge page pools and of drivers: what is in no other part.
    pub(crate) fn rest(self) -> Bytes {
        self.total.less(self.programs + self.caches + self.free)
    }

    /// `[####kkk====....]`: programs, the rest, caches, free; at most `columns` wide.
    pub(crate) fn bar(self, columns: usize) -> String {
        let width = (columns as u64).saturating_sub(2).min(WIDTH);
        let mut bar = String::from("[");
        let parts = [
            (self.programs, '#'),
            (self.rest(), 'k'),
            (self.caches, '='),
            (self.free, '.'),
        ];
        let mut sum = Bytes::ZERO;
        let mut drawn = 0;
        for (part, mark) in parts {
            sum += part;
            // Marks end where the sum ends, so rounding never leaves a hole.
            let end = match sum.share_of(self.total) {
                Some(share) => (share.get() * width / 10_000).min(width),
                None => 0,
            };
            bar.extend(std::iter::repeat_n(mark, (end - drawn) as usize));
            drawn = end;
        }
        bar.extend(std::iter::repeat_n(' ', (width - drawn) as usize));
        bar + "]"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(programs: u64, caches: u64, free: u64) -> Parts {
        let [total, programs, caches, free] = [1000, programs, caches, free].map(Bytes::mib);
        Parts {
            total,
            programs,
            caches,
            free,
        }
    }

    #[test]
    fn the_bar_is_always_as_wide() {
        for (parts, expected) in [
            (
                parts(0, 0, 1000),
                "[................................................................]",
            ),
            (
                parts(500, 250, 250),
                "[################################================................]",
            ),
            (
                parts(250, 250, 250),
                "[################kkkkkkkkkkkkkkkk================................]",
            ),
            (
                parts(900, 900, 900),
                "[#########################################################=======]",
            ),
        ] {
            assert_eq!(parts.bar(80), expected);
        }
        let nothing = Parts {
            total: Bytes::ZERO,
            ..parts(1, 1, 1)
        };
        assert_eq!(nothing.bar(80).len(), 66);
        assert_eq!(parts(500, 250, 250).bar(10), "[####==..]");
    }

    #[test]
    fn a_kernel_that_does_not_say_gives_no_bar() {
        assert_eq!(Parts::of(&Memory::default()), None);
    }
}
