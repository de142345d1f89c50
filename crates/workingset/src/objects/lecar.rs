//! LeCaR: LRU and LFU take turns at random, by weights that are learnt from what each did wrong.
//!
//! - Rule: LRU or LFU is drawn by its weight, and its choice leaves. Each has a history of what it
//!   made leave, of half the cache's bytes. If an object is missed that is in one's history, that
//!   one's weight is multiplied by `exp(−learning · 0.005^(t/N))`, and both are made to add up to 1:
//!   `t` is the number of references since, and `N` the number of objects in the cache. Of equally
//!   often used objects, LFU takes the one that has been so longest.
//! - Cost: O(log n) for each reference in the cache; 37 B for each object, and about 40 B for each
//!   in the cache.
//! - Source: Vietri et al., HotStorage 2018, for pages of one size. libCacheSim's program has the
//!   bytes of the cache for `N`: `bytes` of 1.
//! - Limits: it does not look at sizes; weights, not objects, are what adapts.

use super::contract::{ObjectPolicy, ObjectSetup};
use super::lehmer::Lehmer;
use super::object_spec::ObjectSpec;
use crate::links::Links;
use crate::{Error, NONE, Page};
use std::collections::BTreeSet;

pub(super) const SPEC: ObjectSpec = ObjectSpec::of::<Lecar>(
    "lecar",
    "LRU or LFU chooses, drawn by learnt weights",
    "Vietri et al., HotStorage 2018, in bytes",
)
.with(&[
    ("learning", 0.45, "rate at which the weights are learnt"),
    ("lru", 0.5, "weight of LRU at first"),
    (
        "bytes",
        0.0,
        "1: what was done wrong fades by the bytes of the cache, as in libCacheSim; 0: by its objects, as in the paper",
    ),
]);

const LRU: usize = 0;
const LFU: usize = 1;
/// The list of objects in the cache, by their last use; before it the two histories.
const CACHE: usize = 2;
/// What is left of a fault after as many references as there are objects in the cache.
const DISCOUNT: f64 = 0.005;
/// A weight never is 0, or it would stay there. The number is libCacheSim's.
const LEAST: f64 = 1e-10;
/// A draw is one of so many, as in libCacheSim.
const DRAWS: u64 = 100;

struct Lecar {
    lists: Links<3>,
    /// Each object's history, or [`CACHE`], or [`NOWHERE`].
    list: Vec<u8>,
    /// Uses, and the time since which there are as many.
    frequency: Vec<(u32, u64)>,
    order: BTreeSet<(u32, u64, Page)>,
    size: Vec<u32>,
    left_at: Vec<u64>,
    history: [u64; 2],
    most: u64,
    weight: [f64; 2],
    learning: f64,
    /// The cache's bytes, if faults fade by them.
    bytes: Option<f64>,
    random: Lehmer,
    now: u64,
}

const NOWHERE: u8 = 3;

impl ObjectPolicy for Lecar {
    fn new(setup: &ObjectSetup<'_>) -> Result<Self, Error> {
        let lru = setup.option("lru");
        if lru > 1.0 {
            return Err(Error::Unfit(format!(
                "lecar: lru is a weight of 0 to 1, not {lru}"
            )));
        }
        let fades_by_bytes = setup.option("bytes") >= 1.0;
        Ok(Self {
            lists: Links::new(setup.objects),
            list: vec![NOWHERE; setup.objects],
            frequency: vec![(0, 0); setup.objects],
            order: BTreeSet::new(),
            size: vec![0; setup.objects],
            left_at: vec![0; setup.objects],
            history: [0; 2],
            most: setup.capacity / 2,
            weight: [lru, 1.0 - lru],
            learning: setup.option("learning"),
            bytes: fades_by_bytes.then_some(setup.capacity as f64),
            random: Lehmer::new(),
            now: 0,
        })
    }

    fn hit(&mut self, object: Page, _: u32) {
        self.now += 1;
        self.lists.to_front(CACHE, object);
        let (uses, since) = self.frequency[object as usize];
        self.order.remove(&(uses, since, object));
        self.count(object, uses + 1);
    }

    fn admits(&mut self, object: Page, _: u32, _: u64) -> bool {
        self.now += 1;
        let list = usize::from(self.list[object as usize]);
        if list == LRU || list == LFU {
            self.learn(list, object);
            self.forget(list, object);
        }
        true
    }

    fn insert(&mut self, object: Page, size: u32) {
        self.size[object as usize] = size;
        self.list[object as usize] = CACHE as u8;
        self.lists.push_front(CACHE, object);
        self.count(object, 1);
    }

    fn evict(&mut self) -> Page {
        let oldest = self.lists.back(CACHE);
        let rarest = self.order.first().map(|(_, _, object)| *object);
        let (Some(oldest), Some(rarest)) = (oldest, rarest) else {
            return NONE;
        };
        if oldest == rarest {
            // Both would do the same, and neither learns from it.
            self.remove(oldest);
            return oldest;
        }
        let draw = self.random.below(DRAWS) as f64 / DRAWS as f64;
        let by = if draw < self.weight[LRU] { LRU } else { LFU };
        let evicted = if by == LRU { oldest } else { rarest };
        self.remove(evicted);
        self.remember(by, evicted);
        evicted
    }

    fn remove(&mut self, object: Page) {
        self.lists.remove(CACHE, object);
        self.list[object as usize] = NOWHERE;
        let (uses, since) = self.frequency[object as usize];
        self.order.remove(&(uses, since, object));
    }

    fn resize(&mut self, object: Page, size: u32) {
        self.size[object as usize] = size;
    }
}

impl Lecar {
    fn count(&mut self, object: Page, uses: u32) {
        self.frequency[object as usize] = (uses, self.now);
        self.order.insert((uses, self.now, object));
    }

    fn remember(&mut self, list: usize, object: Page) {
        self.lists.push_front(list, object);
        self.list[object as usize] = list as u8;
        self.left_at[object as usize] = self.now;
        self.history[list] += u64::from(self.size[object as usize]);
        while self.history[list] > self.most {
            let Some(oldest) = self.lists.back(list) else {
                return;
            };
            self.forget(list, oldest);
        }
    }

    fn forget(&mut self, list: usize, object: Page) {
        self.lists.remove(list, object);
        self.list[object as usize] = NOWHERE;
        self.history[list] -= u64::from(self.size[object as usize]);
    }

    /// The one that made this object leave has less weight from now on.
    fn learn(&mut self, by: usize, object: Page) {
        let since = (self.now - self.left_at[object as usize]) as f64;
        let objects = self.lists.len(CACHE).max(1) as f64;
        let fault = DISCOUNT
            .powf(1.0 / self.bytes.unwrap_or(objects))
            .powf(since);
        let other = 1 - by;
        let reduced = self.weight[by] * (-self.learning * fault).exp() + LEAST;
        let kept = self.weight[other] + LEAST;
        self.weight[by] = reduced / (reduced + kept);
        self.weight[other] = kept / (reduced + kept);
    }
}
