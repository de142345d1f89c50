//! Pseudo-random numbers that are the same in every run: for the contents of files and memory, and for keys.
//!
//! xorshift64* (Marsaglia 2003, with Vigna's multiplier, 2016). Not for secrets.

/// A generator; the same seed gives the same numbers everywhere.
#[derive(Debug, Clone)]
pub struct Dice(u64);

/// 2^64 divided by the golden ratio: it spreads neighbouring seeds over all 64 bits (Knuth, TAOCP 3, 6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// The prime of FNV-1a with 64 bits.
const FNV_PRIME: u64 = 0x100_0000_01b3;
/// Vigna's multiplier.
const MULTIPLIER: u64 = 0x2545_f491_4f6c_dd1d;

impl Dice {
    /// From a number, which need not look random.
    pub fn seeded(seed: u64) -> Self {
        let spread = seed.wrapping_add(1).wrapping_mul(GOLDEN);
        // The state must not be zero: the generator would stay there.
        Self(spread | 1)
    }

    /// From a name, hashed by FNV-1a.
    pub fn named(name: &[u8]) -> Self {
        let mut state = GOLDEN;
        for byte in name {
            state ^= u64::from(*byte);
            state = state.wrapping_mul(FNV_PRIME);
        }
        Self(state | 1)
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(MULTIPLIER)
    }

    /// A number below `end`, evenly: the high half of a product (Lemire 2019).
    pub fn below(&mut self, end: u64) -> u64 {
        let product = u128::from(self.roll()) * u128::from(end);
        (product >> 64) as u64
    }

    /// Fills whole words of eight bytes, with bytes that do not compress.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_exact_mut(8) {
            word.copy_from_slice(&self.roll().to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_are_even_and_the_same_each_time() {
        let mut counts = [0_u32; 8];
        let mut dice = Dice::seeded(7);
        for _ in 0..8000 {
            counts[dice.below(8) as usize] += 1;
        }
        assert!(
            counts.iter().all(|count| (850..1150).contains(count)),
            "{counts:?}"
        );
        assert_eq!(Dice::seeded(7).roll(), Dice::seeded(7).roll());
        assert_ne!(Dice::seeded(0).roll(), Dice::seeded(1).roll());
    }
}
