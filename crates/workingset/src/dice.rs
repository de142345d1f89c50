//! Chance with a seed: the same numbers on every machine.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): 64 bits of state, period 2^64.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The row of numbers that belongs to a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `0..below`; 0 if `below` is.
    pub fn below(&mut self, below: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(below)) >> 64) as u64
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// What a page draws: samples and classes of pages are chosen by it, so that they are the same everywhere.
pub fn lot(page: u64) -> u64 {
    mix(page ^ 0x5bd1_e995_97f4_a7c5)
}

/// Spreads the bits of a number over all 64: SplitMix64's finaliser, a bijection.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
