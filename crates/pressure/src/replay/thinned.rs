//! Many values in bounded memory, for their median.

/// Values kept, at most. As many samples take a day and a half of the guard at its fastest, so that a usual recording is
/// not thinned.
const MOST: usize = 1 << 20;

/// Values of which every second is forgotten when there are too many, again and again.
#[derive(Debug)]
pub(super) struct Thinned<T> {
    kept: Vec<T>,
    seen: u64,
    /// One of so many is kept.
    stride: u64,
}

impl<T> Default for Thinned<T> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            seen: 0,
            stride: 1,
        }
    }
}

impl<T: Ord + Copy> Thinned<T> {
    pub(super) fn push(&mut self, value: T) {
        if self.kept.len() == MOST {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
        if self.seen % self.stride == 0 {
            self.kept.push(value);
        }
        self.seen += 1;
    }

    /// Number of values pushed.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// The median of those kept; `None` without a value.
    pub(super) fn median(&self) -> Option<T> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_values_every_second_is_kept() {
        let mut values = Thinned::default();
        for value in 0..3 * MOST as u64 {
            values.push(value);
        }
        assert_eq!(values.seen(), 3 * MOST as u64);
        assert!(values.kept.len() <= MOST);
        assert!(values.kept.iter().all(|value| value % 4 == 0));
        let median = values.median().unwrap();
        assert_eq!(median / 4, 3 * MOST as u64 / 8);
    }
}
