//! GDSF, greedy dual size with frequency: the object leaves that saves least for its bytes.
//!
//! - Rule: an object's value is `L + uses · cost / size` as of its last use. The lowest leaves, the
//!   oldest of equals first, and `L` becomes its value: so what is not used ages. A new object that
//!   is worth less than what would leave for it stays out, and nothing leaves.
//! - Cost: O(log n) for each reference in the cache; 24 B for each object, and about 40 B for
//!   each in the cache.
//! - Source: Cherkasova, HP Laboratories HPL-98-69, 1998. In libCacheSim's program each new object
//!   enters, and leaves at once if it is the lowest after others have left: `enters` of 1.
//! - Limits: with a cost of 1 it saves misses, not bytes: large objects leave first.

use super::contract::{ObjectPolicy, ObjectSetup};
use super::object_spec::ObjectSpec;
use crate::{Error, NONE, Page};
use std::collections::BTreeSet;

pub(super) const SPEC: ObjectSpec = ObjectSpec::of::<Gdsf>(
    "gdsf",
    "the object with the fewest uses for its bytes leaves, and values age",
    "Cherkasova, HPL-98-69, 1998",
)
.with(&[
    (
        "packets",
        0.0,
        "1: a miss costs 2 packets and one for 536 bytes, the paper's GDSF-packets; 0: each miss costs the same",
    ),
    (
        "enters",
        0.0,
        "1: a new object enters before others leave, as in libCacheSim; 0 is the paper",
    ),
]);

/// What a miss costs. A unit of its own, as in libCacheSim: so that sums are rounded as there.
const COST: f64 = 1e6;
/// Bytes of a packet, in the paper.
const PACKET: f64 = 536.0;

/// An object's place in the order of leaving: value, time of last use.
///
/// Values are positive, so their bits are in the order of the values.
type Rank = (u64, u64);

struct Gdsf {
    order: BTreeSet<(Rank, Page)>,
    rank: Vec<Rank>,
    uses: Vec<u32>,
    size: Vec<u32>,
    /// The value of what left last.
    floor: f64,
    now: u64,
    capacity: u64,
    counts_packets: bool,
    enters: bool,
}

impl ObjectPolicy for Gdsf {
    fn new(setup: &ObjectSetup<'_>) -> Result<Self, Error> {
        Ok(Self {
            order: BTreeSet::new(),
            rank: vec![(0, 0); setup.objects],
            uses: vec![0; setup.objects],
            size: vec![0; setup.objects],
            floor: 0.0,
            now: 0,
            capacity: setup.capacity,
            counts_packets: setup.option("packets") >= 1.0,
            enters: setup.option("enters") >= 1.0,
        })
    }

    fn hit(&mut self, object: Page, size: u32) {
        self.now += 1;
        self.remove(object);
        self.uses[object as usize] += 1;
        self.put(object, size);
    }

    fn admits(&mut self, object: Page, size: u32, free: u64) -> bool {
        self.now += 1;
        let bytes = u64::from(size);
        if bytes > self.capacity {
            return false;
        }
        self.uses[object as usize] = 1;
        self.put(object, size);
        if self.enters || bytes <= free || self.is_worth_it(object, bytes - free) {
            return true;
        }
        self.remove(object);
        false
    }

    /// It is among the others since it was let in.
    fn insert(&mut self, _: Page, _: u32) {}

    fn evict(&mut self) -> Page {
        let Some((rank, object)) = self.order.pop_first() else {
            return NONE;
        };
        self.floor = f64::from_bits(rank.0);
        object
    }

    fn remove(&mut self, object: Page) {
        self.order.remove(&(self.rank[object as usize], object));
    }
}

impl Gdsf {
    /// Puts an object among the others, with its value as of now.
    fn put(&mut self, object: Page, size: u32) {
        let uses = f64::from(self.uses[object as usize]);
        let value = self.floor + uses * self.cost(size) / f64::from(size);
        let rank = (value.to_bits(), self.now);
        self.rank[object as usize] = rank;
        self.size[object as usize] = size;
        self.order.insert((rank, object));
    }

    fn cost(&self, size: u32) -> f64 {
        if self.counts_packets {
            COST * (2.0 + f64::from(size) / PACKET)
        } else {
            COST
        }
    }

    /// Returns true if the objects below this one have as many bytes as are wanted.
    fn is_worth_it(&self, object: Page, wanted: u64) -> bool {
        let mut below = 0;
        for (_, other) in &self.order {
            if *other == object {
                return false;
            }
            below += u64::from(self.size[*other as usize]);
            if below >= wanted {
                return true;
            }
        }
        false
    }
}
