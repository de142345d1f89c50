//! Pseudo-random numbers from a seed: the same on every machine.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): 64 bits of state, a period of 2^64.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// The generator that starts from a seed.
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
        let product = u128::from(self.bits()) * u128::from(below);
        (product >> 64) as u64
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        // A double holds 53 bits exactly.
        let bits = self.bits() >> 11;
        bits as f64 / (1_u64 << 53) as f64
    }
}

/// The hash of a page by which samples and classes of pages are chosen.
///
/// It depends on the page number alone, so that every machine chooses the same pages.
pub fn page_hash(page: u64) -> u64 {
    mix(page ^ 0x5bd1_e995_97f4_a7c5)
}

/// Spreads the bits of a number over all 64: SplitMix64's finaliser, a bijection. Its constants are
/// the paper's.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
