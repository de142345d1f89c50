//! LHD, least hit density: the object leaves that promises the fewest hits for the bytes and the
//! time that it will take.
//!
//! - Rule: objects are in classes by the time between their last two uses. For each class and age
//!   there is the number of hits and of evictions seen, which fade. The hit density of an age is the
//!   number of hits expected from then on, divided by the time that an object will stay, and by its
//!   bytes. Of some objects drawn at random, and of the last ones that came with a low density, the
//!   lowest leaves. A few explorers stay in any case, so that hits at high ages are seen.
//! - Cost: 32 draws for each eviction; 4 B for each object, 40 B for each in the cache, and 4 MB.
//! - Source: Beckmann, Chen, Cidon, NSDI 2018, and the constants of its authors' program, which
//!   libCacheSim has. It is here, and not LRB, because it needs no library for machine learning, and
//!   its program can be compared draw by draw.
//! - Limits: densities are found anew after each `period` of references, 2^20 in the program. Until
//!   then an object leaves by size and age alone.

use super::contract::{ObjectPolicy, ObjectSetup};
use super::lehmer::Lehmer;
use super::object_spec::ObjectSpec;
use crate::{Error, NONE, Page};

pub(super) const SPEC: ObjectSpec = ObjectSpec::of::<Lhd>(
    "lhd",
    "the object with the fewest expected hits for its bytes and time leaves",
    "Beckmann, Chen, Cidon, NSDI 2018",
)
.with(&[
    (
        "period",
        1_048_576.0,
        "references after which the densities are found anew; the authors' program has 2^20",
    ),
    ("draws", 32.0, "objects of which one leaves"),
]);

// The numbers are those of the authors' program, in lhd.hpp.

/// Ages that are told apart; what is older is of the last one.
const AGES: usize = 20_000;
/// Classes of objects by their last ages. The program has as many for each of 16 applications.
const CLASSES: usize = 16;
/// The first rank of the first class. Objects are those of the program's second application.
const FIRST_RANK: usize = CLASSES + 1;
/// Objects that came last with a low density, which are candidates in any case.
const NEWEST: usize = 8;
/// One of so many references makes an explorer.
const EXPLORES: u64 = 32;
/// The share of the cache for explorers.
const EXPLORERS: f32 = 0.01;
/// Periods in which there are explorers, and until which fewer objects are drawn.
const EARLY: u32 = 50;
/// Objects that are drawn until then.
const EARLY_DRAWS: u64 = 8;
/// What stays of a count after a period.
const FADES: f32 = 0.9;
/// The periods after which the unit of age is fitted to the number of objects.
const FITTED: [u32; 2] = [5, 25];
/// What was counted before a fit counts so many times, so that the next fit changes little.
const HEAVIER: f32 = 8.0;
/// An age should be at most this share of the time that the objects need to be used once.
const TOLERANCE: f32 = 0.01;
/// The number of references in the first unit of age, as a power of two.
const FIRST_SHIFT: u32 = 10;
/// Fewer events say nothing of an age.
const TOO_FEW: f32 = 1e-5;

/// What is known of an object in the cache.
#[derive(Debug, Clone)]
struct Tag {
    object: Page,
    size: f32,
    used: u64,
    /// The ages at its last uses.
    last_age: usize,
    age_before: usize,
    is_explorer: bool,
}

/// What was seen of a class, by age.
#[derive(Debug)]
struct Class {
    hits: Vec<f32>,
    evictions: Vec<f32>,
    density: Vec<f32>,
}

impl Class {
    /// A class that is preferred to those before it, and to older objects of its own.
    fn new(number: usize) -> Self {
        let density = (0..AGES).map(|age| (FIRST_RANK + number) as f32 / (age + 1) as f32);
        Self {
            hits: vec![0.0; AGES],
            evictions: vec![0.0; AGES],
            density: density.collect(),
        }
    }

    fn fade(&mut self) {
        for count in self.hits.iter_mut().chain(&mut self.evictions) {
            *count *= FADES;
        }
    }

    /// Finds the densities: hits at each age and later, by the time that is spent from there on.
    fn model(&mut self) {
        let oldest = AGES - 1;
        let mut hits = self.hits[oldest];
        let mut events = hits + self.evictions[oldest];
        let mut time = events;
        for age in (0..oldest).rev() {
            hits += self.hits[age];
            events += self.hits[age] + self.evictions[age];
            time += events;
            self.density[age] = if events > TOO_FEW { hits / time } else { 0.0 };
        }
    }

    /// Counts in a unit of age that is larger by a power of two.
    fn compress(&mut self, by: u32) {
        for counts in [&mut self.hits, &mut self.evictions] {
            let kept = AGES >> by;
            for age in 0..kept {
                let from = age << by;
                counts[age] = counts[from..from + (1 << by)].iter().sum();
            }
            counts[kept..AGES - 1].fill(0.0);
        }
    }

    /// Counts in a unit of age that is smaller by a power of two.
    fn stretch(&mut self, by: u32) {
        for counts in [&mut self.hits, &mut self.evictions] {
            for age in AGES >> by..AGES - 1 {
                counts[AGES - 1] += counts[age];
            }
            for age in (0..AGES - 1).rev() {
                counts[age] = counts[age >> by] / (1 << by) as f32;
            }
        }
    }
}

struct Lhd {
    tags: Vec<Tag>,
    /// Each object's place among the tags.
    place: Vec<u32>,
    classes: Vec<Class>,
    draws: u64,
    random: Lehmer,
    now: u64,
    shift: u32,
    period: u64,
    left_of_period: u64,
    periods: u32,
    newest: [Page; NEWEST],
    newest_at: usize,
    /// The density of what leaves, faded.
    victims: f32,
    /// Bytes that further explorers may have.
    explorers: i64,
    /// The number of objects, faded, and its weight.
    objects: f32,
    weight: f32,
}

impl ObjectPolicy for Lhd {
    fn new(setup: &ObjectSetup<'_>) -> Result<Self, Error> {
        let period = setup.option("period");
        let draws = setup.option("draws");
        if period < 1.0 || draws < 1.0 {
            return Err(Error::Unfit(format!(
                "lhd: a period is 1 reference or more, not {period}, and of 1 object or more one leaves, not of {draws}"
            )));
        }
        Ok(Self {
            tags: Vec::new(),
            place: vec![NONE; setup.objects],
            classes: (0..CLASSES).map(Class::new).collect(),
            draws: draws as u64,
            random: Lehmer::new(),
            now: 0,
            shift: FIRST_SHIFT,
            period: period as u64,
            left_of_period: period as u64,
            periods: 0,
            newest: [NONE; NEWEST],
            newest_at: 0,
            victims: 0.0,
            explorers: (setup.capacity as f32 * EXPLORERS) as i64,
            objects: 0.0,
            weight: 0.0,
        })
    }

    fn hit(&mut self, object: Page, size: u32) {
        let at = self.place[object as usize] as usize;
        let age = self.age(&self.tags[at]);
        let class = class_of(&self.tags[at]);
        self.classes[class].hits[age] += 1.0;
        self.give_back(at);
        let tag = &mut self.tags[at];
        tag.age_before = tag.last_age;
        tag.last_age = age;
        self.used(at, size);
        self.pass();
    }

    fn insert(&mut self, object: Page, size: u32) {
        let at = self.tags.len();
        self.place[object as usize] = at as u32;
        self.tags.push(Tag {
            object,
            size: 0.0,
            used: 0,
            last_age: 0,
            age_before: AGES,
            is_explorer: false,
        });
        let explores = self.used(at, size);
        if !explores && self.density(&self.tags[at]) < self.victims {
            self.newest[self.newest_at % NEWEST] = object;
            self.newest_at += 1;
        }
        self.pass();
    }

    fn evict(&mut self) -> Page {
        let Some(at) = self.lowest() else {
            return NONE;
        };
        let tag = &self.tags[at];
        let age = self.age(tag);
        let object = tag.object;
        self.classes[class_of(tag)].evictions[age] += 1.0;
        self.remove(object);
        object
    }

    fn remove(&mut self, object: Page) {
        let at = std::mem::replace(&mut self.place[object as usize], NONE) as usize;
        self.give_back(at);
        self.tags.swap_remove(at);
        if let Some(moved) = self.tags.get(at) {
            self.place[moved.object as usize] = at as u32;
        }
    }
}

impl Lhd {
    fn age(&self, tag: &Tag) -> usize {
        let age = (self.now - tag.used) >> self.shift;
        age.min(AGES as u64 - 1) as usize
    }

    fn density(&self, tag: &Tag) -> f32 {
        let age = self.age(tag);
        if age == AGES - 1 {
            return f32::MIN;
        }
        let density = self.classes[class_of(tag)].density[age] / tag.size;
        if tag.is_explorer {
            density + 1.0
        } else {
            density
        }
    }

    /// Notes a use, and draws whether the object explores from now on. Returns true if it was drawn,
    /// even if there were no bytes for it.
    fn used(&mut self, at: usize, size: u32) -> bool {
        let explores = self.random.below(EXPLORES) == 0;
        let tag = &mut self.tags[at];
        tag.used = self.now;
        tag.size = size as f32;
        tag.is_explorer = explores && self.explorers > 0 && self.periods < EARLY;
        if tag.is_explorer {
            self.explorers = (self.explorers as f32 - tag.size) as i64;
        }
        explores
    }

    /// The bytes of an explorer are for others.
    fn give_back(&mut self, at: usize) {
        let tag = &self.tags[at];
        if tag.is_explorer {
            self.explorers = (self.explorers as f32 + tag.size) as i64;
        }
    }

    /// The place of the object that leaves.
    fn lowest(&mut self) -> Option<usize> {
        if self.tags.is_empty() {
            return None;
        }
        let draws = if self.periods > EARLY {
            self.draws
        } else {
            self.draws.min(EARLY_DRAWS)
        };
        let mut victim = 0;
        let mut lowest = f32::INFINITY;
        for _ in 0..draws {
            let at = self.random.below(self.tags.len() as u64) as usize;
            let density = self.density(&self.tags[at]);
            if density < lowest {
                victim = at;
                lowest = density;
            }
        }
        for object in self.newest {
            let Some(at) = self.place_of(object) else {
                continue;
            };
            let density = self.density(&self.tags[at]);
            if density < lowest {
                victim = at;
                lowest = density;
            }
        }
        self.victims = FADES * self.victims + (1.0 - FADES) * lowest;
        Some(victim)
    }

    fn place_of(&self, object: Page) -> Option<usize> {
        let place = self.place.get(object as usize)?;
        (*place != NONE).then_some(*place as usize)
    }

    /// A reference has passed; at the end of a period the densities are found anew.
    fn pass(&mut self) {
        self.now += 1;
        self.left_of_period -= 1;
        if self.left_of_period > 0 {
            return;
        }
        for class in &mut self.classes {
            class.fade();
        }
        self.fit_unit_of_age();
        for class in &mut self.classes {
            class.model();
        }
        self.left_of_period = self.period;
        self.periods += 1;
    }

    fn fit_unit_of_age(&mut self) {
        self.objects = self.objects * FADES + self.tags.len() as f32;
        self.weight = self.weight * FADES + 1.0;
        if !FITTED.contains(&self.periods) {
            return;
        }
        let wanted = self.objects / self.weight / (TOLERANCE * AGES as f32);
        let mut shift = 1;
        while ((1_u64 << shift) as f32) < wanted {
            shift += 1;
        }
        for class in &mut self.classes {
            if shift > self.shift {
                class.compress(shift - self.shift);
            } else if shift < self.shift {
                class.stretch(self.shift - shift);
            }
        }
        self.shift = shift;
        self.objects *= HEAVIER;
        self.weight *= HEAVIER;
    }
}

/// A class by the two last ages: the younger, the higher.
fn class_of(tag: &Tag) -> usize {
    let age = tag.last_age + tag.age_before;
    if age == 0 {
        return CLASSES - 1;
    }
    let mut class = 0;
    while age << class < AGES && class < CLASSES - 1 {
        class += 1;
    }
    class
}
