//! What a policy of objects is given, and what it answers.

use crate::policy::Options;
use crate::{Error, Page};

/// What a policy is made for.
#[derive(Debug, Clone, Copy)]
pub struct ObjectSetup<'a> {
    /// Bytes of the cache, at least one.
    pub capacity: u64,
    /// Different objects of the trace. They are numbered from 0 on.
    pub objects: usize,
    /// The values of the policy's options.
    pub options: &'a Options,
}

impl ObjectSetup<'_> {
    /// An option's value.
    pub fn option(&self, name: &str) -> f64 {
        self.options.get(name)
    }

    /// A share of the cache, in whole bytes.
    pub fn share(&self, share: f64) -> u64 {
        (self.capacity as f64 * share) as u64
    }
}

/// A policy for objects that have sizes.
///
/// For each reference there is a call of [`hit`](Self::hit), or one of [`admits`](Self::admits). If
/// the object is let in, [`evict`](Self::evict) is called until there is room, and then
/// [`insert`](Self::insert). Sizes are at least 1.
pub trait ObjectPolicy: Sized {
    /// The policy with an empty cache.
    fn new(setup: &ObjectSetup<'_>) -> Result<Self, Error>;

    /// An object of the cache is used.
    fn hit(&mut self, object: Page, size: u32);

    /// Returns true if an object that is not in the cache is to be let in. `free` bytes are.
    ///
    /// Objects larger than the cache are asked for, too, and stay out whatever is answered.
    #[inline]
    fn admits(&mut self, _object: Page, _size: u32, _free: u64) -> bool {
        true
    }

    /// Puts an object into the cache, which has room for it.
    fn insert(&mut self, object: Page, size: u32);

    /// Takes the object out that leaves next. It is called only if there is one.
    ///
    /// A policy that compares the new object with the others may answer the new one: it stays out.
    fn evict(&mut self) -> Page;

    /// Takes an object out that leaves for another reason: its size has changed.
    fn remove(&mut self, object: Page);

    /// An object of the cache has another size from now on; a hit follows.
    #[inline]
    fn resize(&mut self, _object: Page, _size: u32) {}
}
