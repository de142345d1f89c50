//! Prefix sums that change (Fenwick, Software: Practice and Experience 24(3), 1994): O(log n) for
//! each.

/// Numbers by place, and their sums.
#[derive(Debug)]
pub(super) struct Fenwick {
    sums: Vec<i64>,
    all: i64,
}

impl Fenwick {
    /// Zeros.
    pub(super) fn new(size: usize) -> Self {
        Self {
            sums: vec![0; size + 1],
            all: 0,
        }
    }

    /// Ones.
    pub(super) fn ones(size: usize) -> Self {
        // A sum of ones is as long as its place's lowest bit.
        Self {
            sums: (0..=size as i64)
                .map(|place| place & place.wrapping_neg())
                .collect(),
            all: size as i64,
        }
    }

    /// Places.
    pub(super) fn size(&self) -> usize {
        self.sums.len() - 1
    }

    /// Adds to the number at a place, which counts from 0.
    pub(super) fn add(&mut self, at: usize, value: i64) {
        self.all += value;
        let mut place = at + 1;
        while place < self.sums.len() {
            self.sums[place] += value;
            place += place & place.wrapping_neg();
        }
    }

    /// The sum behind a place.
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
