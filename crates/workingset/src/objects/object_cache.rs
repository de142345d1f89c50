//! Runs a policy of objects over a trace, and counts.

use super::contract::{ObjectPolicy, ObjectSetup};
use super::sized::{Objects, Resized};
use crate::policy::{Access, Options};
use crate::{Error, Page};
use serde::{Deserialize, Serialize};

/// The counts of a run. Ratios of all references are [`miss_ratio`](Self::miss_ratio) and
/// [`byte_miss_ratio`](Self::byte_miss_ratio).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectScore {
    /// Bytes of the cache.
    pub capacity: u64,
    /// References with a size.
    pub references: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// References to an object that was not in the cache, or that had another size there.
    pub misses: u64,
    /// Bytes of these.
    pub missed_bytes: u64,
    /// Misses of an object that is larger than the cache.
    pub too_large: u64,
    /// Further misses of an object that the policy did not let in.
    pub not_admitted: u64,
    /// Mean number of bytes in the cache after each reference, from the empty cache on.
    pub mean_bytes: f64,
    /// The options that were given, as `name=value`.
    pub options: String,
}

impl ObjectScore {
    /// Misses per reference.
    pub fn miss_ratio(&self) -> f64 {
        self.misses as f64 / self.references.max(1) as f64
    }

    /// Missed bytes per byte of the references.
    pub fn byte_miss_ratio(&self) -> f64 {
        self.missed_bytes as f64 / self.bytes.max(1) as f64
    }
}

/// What became of a reference with a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectStep {
    /// Whether it was a hit.
    pub access: Access,
    /// Bytes in the cache afterwards.
    pub used: u64,
}

/// A cache under one policy.
struct ObjectCache<P> {
    policy: P,
    capacity: u64,
    used: u64,
    /// For each object its bytes in the cache; 0 if it is not there.
    held: Vec<u32>,
    resized_are: Resized,
    misses: u64,
    missed_bytes: u64,
    too_large: u64,
    not_admitted: u64,
}

impl<P: ObjectPolicy> ObjectCache<P> {
    fn new(objects: &Objects<'_>, setup: &ObjectSetup<'_>) -> Result<Self, Error> {
        Ok(Self {
            policy: P::new(setup)?,
            capacity: setup.capacity,
            used: 0,
            held: vec![0; objects.numbers()],
            resized_are: objects.resized_are,
            misses: 0,
            missed_bytes: 0,
            too_large: 0,
            not_admitted: 0,
        })
    }

    #[inline]
    fn access(&mut self, object: Page, size: u32) -> Access {
        let held = self.held[object as usize];
        if held == size {
            self.policy.hit(object, size);
            return Access::Hit;
        }
        if held > 0 && self.keeps(size) {
            self.resize(object, held, size);
            return Access::Hit;
        }
        if held > 0 {
            self.policy.remove(object);
            self.left(object);
        }
        self.misses += 1;
        self.missed_bytes += u64::from(size);
        self.let_in(object, size);
        Access::Miss
    }

    /// Returns true if an object of the cache stays there with another size.
    fn keeps(&self, size: u32) -> bool {
        self.resized_are == Resized::Hit && u64::from(size) <= self.capacity
    }

    fn resize(&mut self, object: Page, held: u32, size: u32) {
        self.policy.resize(object, size);
        self.policy.hit(object, size);
        self.used = self.used - u64::from(held) + u64::from(size);
        self.held[object as usize] = size;
        while self.used > self.capacity {
            let evicted = self.policy.evict();
            self.left(evicted);
        }
    }

    fn let_in(&mut self, object: Page, size: u32) {
        let bytes = u64::from(size);
        let is_admitted = self.policy.admits(object, size, self.capacity - self.used);
        if bytes > self.capacity {
            self.too_large += 1;
            return;
        }
        if !is_admitted {
            self.not_admitted += 1;
            return;
        }
        while self.used + bytes > self.capacity {
            let evicted = self.policy.evict();
            if evicted == object {
                self.not_admitted += 1;
                return;
            }
            self.left(evicted);
        }
        self.policy.insert(object, size);
        self.held[object as usize] = size;
        self.used += bytes;
    }

    fn left(&mut self, object: Page) {
        let bytes = std::mem::take(&mut self.held[object as usize]);
        self.used -= u64::from(bytes);
    }
}

/// Runs a policy over the whole trace, with a cache of `capacity` bytes that is empty at first. A policy of your own is run
/// by it as the built-in ones are.
///
/// Errors: a capacity of zero, and what the policy refuses.
pub fn run<P: ObjectPolicy>(
    objects: &Objects<'_>,
    capacity: u64,
    options: &Options,
) -> Result<ObjectScore, Error> {
    let setup = setup(objects, capacity, options)?;
    let mut cache = ObjectCache::<P>::new(objects, &setup)?;
    let mut sum = 0_u128;
    for (object, size) in objects.each() {
        if size > 0 {
            cache.access(object, size);
            sum += u128::from(cache.used);
        }
    }
    Ok(ObjectScore {
        capacity,
        references: objects.references,
        bytes: objects.bytes,
        misses: cache.misses,
        missed_bytes: cache.missed_bytes,
        too_large: cache.too_large,
        not_admitted: cache.not_admitted,
        mean_bytes: sum as f64 / objects.references as f64,
        options: options.told(),
    })
}

pub(super) fn steps<P: ObjectPolicy>(
    objects: &Objects<'_>,
    capacity: u64,
    options: &Options,
) -> Result<Vec<ObjectStep>, Error> {
    let setup = setup(objects, capacity, options)?;
    let mut cache = ObjectCache::<P>::new(objects, &setup)?;
    let mut steps = Vec::with_capacity(objects.references as usize);
    for (object, size) in objects.each() {
        if size > 0 {
            steps.push(ObjectStep {
                access: cache.access(object, size),
                used: cache.used,
            });
        }
    }
    Ok(steps)
}

fn setup<'a>(
    objects: &Objects<'_>,
    capacity: u64,
    options: &'a Options,
) -> Result<ObjectSetup<'a>, Error> {
    if capacity == 0 {
        return Err(Error::Unfit("a cache needs a byte of memory".to_owned()));
    }
    Ok(ObjectSetup {
        capacity,
        objects: objects.numbers(),
        options,
    })
}
