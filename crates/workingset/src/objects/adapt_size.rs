//! AdaptSize: LRU behind a filter that lets small objects in more often, fitted to the trace.
//!
//! - Rule: a missed object enters with the probability `exp(−size/c)`. After each interval, `c` is
//!   set to the value with the most hits by a model of the objects seen: each is used at random
//!   times at its own rate, enters with its probability, and stays in an LRU for a time that is the
//!   same for all, and that fills the cache. Rates of before count 0.3.
//! - Cost: O(1) for each reference; 25 B for each object. Fitting looks about 500 times at each
//!   object seen.
//! - Source: Berger, Sitaraman, Harchol-Balter, NSDI 2017, and the constants of its authors'
//!   simulator, webcachesim. libCacheSim has other ones: `interval=30000,wait=1000`.
//! - Limits: what is fitted is the object miss ratio; bytes may be missed more often than by LRU.

use super::contract::{ObjectPolicy, ObjectSetup};
use super::lehmer::Lehmer;
use super::object_spec::ObjectSpec;
use crate::links::Links;
use crate::{Error, NONE, Page};

pub(super) const SPEC: ObjectSpec = ObjectSpec::of::<AdaptSize>(
    "adaptsize",
    "LRU behind a filter that prefers small objects, fitted by a model",
    "Berger, Sitaraman, Harchol-Balter, NSDI 2017",
)
.with(&[
    (
        "interval",
        500_000.0,
        "references after which the filter is fitted anew",
    ),
    (
        "wait",
        10_000.0,
        "references until the next look if less than three times the cache's bytes were seen",
    ),
]);

const QUEUE: usize = 0;
/// The size at which one of e objects enters, before the first fit: the authors'.
const FIRST_SCALE: f64 = 32_768.0;
/// The part of a rate that counts in the next interval.
const KEPT: f64 = 0.3;
/// Objects with fewer uses are forgotten.
const FORGOTTEN: f64 = 0.1;
/// A draw is one of so many, as in libCacheSim.
const DRAWS: u64 = 10_000_000;
/// The search: each fourth power of two, and then as many golden sections.
const COARSE: usize = 4;
const SECTIONS: u32 = 15;
const GOLDEN: f64 = 0.618_033_99;
const PRECISE: f64 = 3.0e-8;
/// Steps in which the time in the cache is found.
const STEPS: u32 = 20;
/// So many uses in that time are a hit; `exp` would overflow.
const SURE: f64 = 150.0;
/// A time in the cache above this is one without an end.
const ENDLESS: f64 = 1e70;

struct AdaptSize {
    queue: Links<1>,
    /// Uses in this interval, and faded ones of before.
    recent: Vec<u32>,
    rate: Vec<f64>,
    /// Whether there is a rate of before.
    is_known: Vec<bool>,
    size: Vec<u32>,
    /// Bytes of all objects that were seen and are not forgotten.
    seen: u64,
    capacity: u64,
    /// `c`, the size at which one of e objects enters.
    scale: f64,
    interval: u64,
    wait: u64,
    left_of_interval: u64,
    random: Lehmer,
}

impl ObjectPolicy for AdaptSize {
    fn new(setup: &ObjectSetup<'_>) -> Result<Self, Error> {
        let interval = setup.option("interval");
        let wait = setup.option("wait");
        if interval < 1.0 || wait < 1.0 {
            return Err(Error::Unfit(format!(
                "adaptsize: an interval of {interval} and a wait of {wait}: 1 reference or more is meant"
            )));
        }
        Ok(Self {
            queue: Links::new(setup.objects),
            recent: vec![0; setup.objects],
            rate: vec![0.0; setup.objects],
            is_known: vec![false; setup.objects],
            size: vec![0; setup.objects],
            seen: 0,
            capacity: setup.capacity,
            scale: FIRST_SCALE,
            interval: interval as u64,
            wait: wait as u64,
            left_of_interval: interval as u64,
            random: Lehmer::new(),
        })
    }

    fn hit(&mut self, object: Page, size: u32) {
        self.queue.to_front(QUEUE, object);
        self.learn(object, size);
    }

    fn admits(&mut self, object: Page, size: u32, _: u64) -> bool {
        self.learn(object, size);
        let draw = self.random.below(DRAWS) as f64 / DRAWS as f64;
        draw < (-f64::from(size) / self.scale).exp()
    }

    fn insert(&mut self, object: Page, _: u32) {
        self.queue.push_front(QUEUE, object);
    }

    fn evict(&mut self) -> Page {
        self.queue.pop_back(QUEUE).unwrap_or(NONE)
    }

    fn remove(&mut self, object: Page) {
        self.queue.remove(QUEUE, object);
    }
}

/// An object as the model has it.
struct Seen {
    rate: f64,
    size: f64,
}

impl AdaptSize {
    fn learn(&mut self, object: Page, size: u32) {
        self.left_of_interval -= 1;
        if self.left_of_interval == 0 {
            self.end_interval();
        }
        let at = object as usize;
        if self.recent[at] > 0 || self.is_known[at] {
            self.seen -= u64::from(self.size[at]);
        }
        self.seen += u64::from(size);
        self.size[at] = size;
        self.recent[at] += 1;
    }

    fn end_interval(&mut self) {
        if self.seen <= 3 * self.capacity {
            self.left_of_interval = self.wait;
            return;
        }
        self.left_of_interval = self.interval;
        let objects = self.gather();
        let model = Model {
            objects: &objects,
            capacity: self.capacity as f64,
        };
        if let Some(logarithm) = model.best() {
            self.scale = logarithm.exp2();
        }
    }

    /// Fades the rates, and returns the objects that are not forgotten.
    fn gather(&mut self) -> Vec<Seen> {
        let mut objects = Vec::new();
        for at in 0..self.rate.len() {
            let uses = f64::from(std::mem::take(&mut self.recent[at]));
            if self.is_known[at] {
                self.rate[at] = self.rate[at] * KEPT + (1.0 - KEPT) * uses;
            } else if uses > 0.0 {
                self.rate[at] = uses;
                self.is_known[at] = true;
            } else {
                continue;
            }
            if self.rate[at] < FORGOTTEN {
                self.is_known[at] = false;
                self.seen -= u64::from(self.size[at]);
                continue;
            }
            objects.push(Seen {
                rate: self.rate[at],
                size: f64::from(self.size[at]),
            });
        }
        objects
    }
}

/// The hits that are to be expected.
struct Model<'o> {
    objects: &'o [Seen],
    capacity: f64,
}

impl Model<'_> {
    /// The logarithm to base 2 of the scale with the most hits; `None` if there is no such number.
    fn best(&self) -> Option<f64> {
        let top = self.capacity.log2();
        let mut most = 0.0;
        let mut near = top;
        for logarithm in (2..top.ceil() as usize).step_by(COARSE) {
            let hits = self.hits(logarithm as f64);
            if hits > most {
                most = hits;
                near = logarithm as f64;
            }
        }
        self.search(near, most, top)
    }

    /// The golden section in the larger part of 0 to `top` beside a value that is near.
    fn search(&self, near: f64, hits_there: f64, top: f64) -> Option<f64> {
        let rest = 1.0 - GOLDEN;
        let mut from = 0.0;
        let mut to = top;
        let mut low = near;
        let mut hits_low = hits_there;
        let mut high = near;
        let mut hits_high = hits_there;
        if to - near > near - from {
            high = near + rest * (to - near);
            hits_high = self.hits(high);
        } else {
            low = from + rest * (near - from);
            hits_low = self.hits(low);
        }
        for _ in 0..SECTIONS {
            let is_found = to - from <= PRECISE * (low + high);
            if is_found || hits_low.is_nan() || hits_high.is_nan() {
                break;
            }
            if hits_high > hits_low {
                from = low;
                low = high;
                hits_low = hits_high;
                high = GOLDEN * low + rest * to;
                hits_high = self.hits(high);
            } else {
                to = high;
                high = low;
                hits_high = hits_low;
                low = GOLDEN * high + rest * from;
                hits_low = self.hits(low);
            }
        }
        if hits_low.is_nan() || hits_high.is_nan() {
            return None;
        }
        Some(if hits_low > hits_high { low } else { high })
    }

    /// Hits in an interval at a scale.
    fn hits(&self, logarithm: f64) -> f64 {
        let scale = logarithm.exp2();
        let mut entering = Vec::with_capacity(self.objects.len());
        let mut first = 0.0;
        for object in self.objects {
            let enters = (-object.size / scale).exp();
            first += object.rate * enters * object.size;
            entering.push(enters);
        }
        if first <= 0.0 {
            return 0.0;
        }
        let time = self.time_in_cache(&entering, self.capacity / first);
        let mut hits = 0.0;
        for (object, enters) in self.objects.iter().zip(&entering) {
            hits += object.rate * hit_ratio(time, object.rate, *enters);
        }
        hits
    }

    /// The time that an object stays without a use, at which the objects fill the cache.
    fn time_in_cache(&self, entering: &[f64], first: f64) -> f64 {
        let mut time = first;
        for _ in 0..STEPS {
            if time > ENDLESS {
                break;
            }
            let mut filled = 0.0;
            for (object, enters) in self.objects.iter().zip(entering) {
                let uses = object.rate * time;
                if uses > SURE {
                    filled += object.size;
                } else {
                    let odds = enters * (uses.exp() - 1.0);
                    filled += object.size * (odds / (1.0 + odds));
                }
            }
            time = self.capacity * time / filled;
        }
        time
    }
}

/// The hit ratio of an object with a rate that enters with a probability: the authors' approximation.
fn hit_ratio(time: f64, rate: f64, enters: f64) -> f64 {
    let uses = rate * time;
    let above = uses * enters * (840.0 + 60.0 * uses + 20.0 * uses.powi(2) + uses.powi(3));
    let below = 840.0
        + 120.0 * uses * (-3.0 + 7.0 * enters)
        + 60.0 * uses.powi(2) * (1.0 + enters)
        + 4.0 * uses.powi(3) * (-1.0 + 5.0 * enters)
        + uses.powi(4) * enters;
    if above != 0.0 && below == 0.0 {
        return 0.0;
    }
    (above / below).clamp(0.0, 1.0)
}
