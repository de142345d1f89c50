//! The last snapshot of a kdamond, from its lines as they come.

use crate::Region;
use std::time::Duration;

/// How many bytes each target used in it.
#[derive(Debug)]
pub struct Snapshot {
    /// Aggregation interval.
    every: Duration,
    /// Targets, at most.
    most: usize,
    /// The beginning of a line that has not come whole.
    rest: Vec<u8>,
    at: u64,
    used: Vec<u64>,
}

impl Snapshot {
    /// None yet, of at most so many targets, from a kdamond with this aggregation interval.
    pub fn every(every: Duration, most: usize) -> Self {
        Self {
            every,
            most,
            rest: Vec::new(),
            at: 0,
            used: Vec::new(),
        }
    }

    /// Takes lines as they come, in pieces of any length.
    pub fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let whole = self
            .rest
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        for line in lines.split(|byte| *byte == b'\n') {
            // Other lines, such as a note on lost ones, are no regions.
            if let Ok(Some(region)) = Region::of(line) {
                self.add(&region);
            }
        }
    }

    /// Its time in ns, by the clock of the kernel's trace; 0 before the first.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Bytes that each target used, by its number.
    pub fn used(&self) -> &[u64] {
        &self.used
    }

    fn add(&mut self, region: &Region) {
        // The lines of one snapshot are written within moments.
        if u128::from(region.at.saturating_sub(self.at)) > self.every.as_nanos() / 2 {
            self.at = region.at;
            self.used.clear();
        }
        let target = usize::try_from(region.target).unwrap_or(usize::MAX);
        if target >= self.most {
            return;
        }
        if self.used.len() <= target {
            self.used.resize(target + 1, 0);
        }
        if region.accesses > 0 {
            let size = region.span.1.saturating_sub(region.span.0);
            self.used[target] = self.used[target].saturating_add(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: u64, target: u32, span: (u32, u32), accesses: u32) -> String {
        let (from, to) = span;
        format!(
            " kdamond.0-77 [000] ..... {at}.5: damon_aggregated: target_id={target} nr_regions=9 {from}-{to}: {accesses} 3\n"
        )
    }

    #[test]
    fn lines_of_one_time_are_one_snapshot() {
        let mut snapshot = Snapshot::every(Duration::from_secs(5), 64);
        let first = [
            line(10, 0, (0, 4096), 2),
            line(10, 1, (0, 8192), 0),
            line(10, 1, (8192, 65536), 1),
            line(10, 64, (0, 4096), 1),
        ]
        .concat();
        // In pieces, as a pipe gives it.
        let (a, b) = first.as_bytes().split_at(100);
        snapshot.take(a);
        snapshot.take(b);
        assert_eq!(snapshot.used(), [4096, 56 * 1024]);
        snapshot.take(b"CPU:0 [LOST 12 EVENTS]\n");
        snapshot.take(line(15, 1, (0, 4096), 7).as_bytes());
        assert_eq!(snapshot.used(), [0, 4096], "the last one only");
        assert_eq!(snapshot.at(), 15_500_000_000);
    }
}
