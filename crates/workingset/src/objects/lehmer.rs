//! The draws of policies that choose at random.

/// Lehmer's generator of 128 bits (L'Ecuyer 1999). libCacheSim draws by it from this seed, so that a
/// run can be compared with its own draw by draw; elsewhere the crate has [`Rng`](crate::rng::Rng).
#[derive(Debug)]
pub(super) struct Lehmer(u128);

impl Lehmer {
    pub(super) fn new() -> Self {
        Self(0xdead_beef)
    }

    /// A number in `0..below`, by the remainder as in that program.
    #[inline]
    pub(super) fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0xda94_2042_e4dd_58b5);
        (self.0 >> 64) as u64 % below
    }
}
