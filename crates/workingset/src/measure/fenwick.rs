//! Prefix sums that change (Fenwick, Software: Practice and Experience 24(3), 1994): O(log n) for
//! each.

/// Numbers by place, and sums of them.
#[derive(Debug)]
pub(super) struct Fenwick {
    sums: Vec<i64>,
    all: i64,
}

impl Fenwick {
    /// A tree of zeros.
    pub(super) fn new(size: usize) -> Self {
        Self {
            sums: vec![0; size + 1],
            all: 0,
        }
    }

    /// A tree of ones.
    pub(super) fn ones(size: usize) -> Self {
        // Each sum covers as many places as its own place's lowest bit says.
        let all = size as i64;
        let sums = (0..=all).map(|place| place & place.wrapping_neg());
        Self {
            sums: sums.collect(),
            all,
        }
    }

    /// The number of places.
    pub(super) fn size(&self) -> usize {
        self.sums.len() - 1
    }

    /// Adds to the number at a place, counted from 0.
    pub(super) fn add(&mut self, at: usize, value: i64) {
        self.all += value;
        let mut place = at + 1;
        while place < self.sums.len() {
            self.sums[place] += value;
            place += place & place.wrapping_neg();
        }
    }

    /// The sum of the numbers behind a place.
    pub(super) fn after(&self, at: usize) -> i64 {
        let mut place = at + 1;
        let mut sum = 0;
        while place > 0 {
            sum += self.sums[place];
            place -= place & place.wrapping_neg();
        }
        self.all - sum
    }
}
