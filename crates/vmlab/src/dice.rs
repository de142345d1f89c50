//! Numbers that come again: what fills files and memory, chooses keys, and resamples.
//!
//! xorshift64* (Marsaglia 2003, with Vigna's multiplier, 2016). Not for secrets.

/// A generator; the same seed gives the same numbers everywhere.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// From a number, which need not look random.
    pub fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// From a name, by FNV-1a.
    pub fn named(name: &[u8]) -> Self {
        let hash = |state: u64, byte: &u8| (state ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        Self(name.iter().fold(0x9e37_79b9_7f4a_7c15, hash) | 1)
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below this, evenly.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.roll()) * u128::from(end)) >> 64) as u64
    }

    /// Fills whole words of eight bytes; nothing compresses them.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        bytes
            .chunks_exact_mut(8)
            .for_each(|word| word.copy_from_slice(&self.roll().to_le_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_are_even_and_come_again() {
        let mut counts = [0_u32; 8];
        let mut dice = Dice::seeded(7);
        (0..8000).for_each(|_| counts[dice.below(8) as usize] += 1);
        assert!(
            counts.iter().all(|count| (850..1150).contains(count)),
            "{counts:?}"
        );
        assert_eq!(Dice::seeded(7).roll(), Dice::seeded(7).roll());
        assert_ne!(Dice::seeded(0).roll(), Dice::seeded(1).roll());
    }
}
