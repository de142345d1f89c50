//! How fast each process, family and unit grows, followed from scan to scan.

use crate::scan::{Candidate, Family, Identity, MAX_CANDIDATES, MAX_FAMILIES, Name, ProcessScan};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Rate, Span};

/// Followed at most: the families of one scan, and three times its candidates, for each may bring its
/// unit and its huge pages.
const FOLLOWED: usize = 3 * MAX_CANDIDATES + MAX_FAMILIES;
/// Sizes kept of each. At [`SPACING`] they reach back a little longer than [`WINDOW`].
const SIZES: usize = 12;
/// Least time between two sizes of one process: more often would push the older ones out.
const SPACING: Duration = Duration::from_millis(180);
/// Growth is measured over at least this time. Shorter, one allocation looks like growth.
const LEAST: Duration = Duration::from_millis(350);
/// Growth is measured over about this time once it is known for so long. Longer reacts later.
const WINDOW: Duration = Duration::from_secs(2);
/// A process that was in no scan for this long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(5);
/// A process younger than this, seen once, is taken to have grown steadily since its start.
const YOUNG: Duration = Duration::from_secs(10);

/// What is followed: a process, a whole unit by the inode of its directory, or a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Key {
    Process(Identity),
    Unit(u64),
    Family(u32, Name),
    /// Huge pages of a process, apart: a pool that was made before costs nothing more when it is used.
    Huge(Identity),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Followed {
    key: Key,
    sizes: ArrayVec<(Span, Bytes), SIZES>,
    /// Since when it has not shrunk.
    rising_since: Span,
}

/// All that are followed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Growths {
    followed: Vec<Followed>,
}

/// How a process or unit grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// How fast; zero if it shrinks.
    pub rate: Rate,
    /// For how long it has not shrunk, as far as is known.
    pub rising: Span,
}

impl Growths {
    /// Follows nothing yet; has storage for all.
    pub(crate) fn new() -> Self {
        Self {
            followed: Vec::with_capacity(FOLLOWED),
        }
    }

    /// Takes a scan in.
    pub(crate) fn push(&mut self, scan: &ProcessScan) {
        if scan.candidates.is_empty() {
            return;
        }
        let now = scan.at;
        self.followed.retain(|one| {
            let last = one.sizes.last().map_or(now, |(at, _)| *at);
            age(now, last) < FORGOTTEN
        });
        for candidate in &scan.candidates {
            self.follow(Key::Process(candidate.identity), now, held(candidate));
            if candidate.hugetlb > Bytes::ZERO {
                self.follow(Key::Huge(candidate.identity), now, candidate.hugetlb);
            }
            if let Some(group) = candidate.group {
                self.follow(Key::Unit(group.id), now, group.held());
            }
        }
        for family in &scan.families {
            self.follow(Key::Family(family.kin, family.name), now, family.size);
        }
    }

    fn follow(&mut self, key: Key, now: Span, size: Bytes) {
        let Some(one) = self.followed.iter_mut().find(|one| one.key == key) else {
            let fresh = Followed {
                key,
                sizes: [(now, size)].into_iter().collect(),
                rising_since: now,
            };
            if self.followed.len() == FOLLOWED {
                self.forget_the_stalest();
            }
            return self.followed.push(fresh);
        };
        let Some(&(last, before)) = one.sizes.last() else {
            return;
        };
        if age(now, last) < SPACING {
            return;
        }
        // A few pages freed do not end the growth.
        if size + size.scaled(1, 100) < before {
            one.rising_since = now;
        }
        if one.sizes.is_full() {
            one.sizes.remove(0);
        }
        one.sizes.push((now, size));
    }

    fn forget_the_stalest(&mut self) {
        let last_seen = self
            .followed
            .iter()
            .map(|one| one.sizes.last().map(|(at, _)| *at));
        let stalest = last_seen
            .enumerate()
            .min_by_key(|(_, last)| *last)
            .map(|(index, _)| index);
        if let Some(index) = stalest {
            self.followed.remove(index);
        }
    }

    /// How a process grows; `None` if it was seen only once and is not young.
    pub(crate) fn of(&self, candidate: &Candidate) -> Option<Growth> {
        self.look(Key::Process(candidate.identity))
            .or_else(|| growth_since_start(candidate))
    }

    /// How the huge pages of a process grow; `None` if it has none, or they were seen only once.
    pub(crate) fn of_huge(&self, candidate: &Candidate) -> Option<Growth> {
        self.look(Key::Huge(candidate.identity))
    }

    /// How the unit of a process grows; `None` if it was seen only once.
    pub(crate) fn of_unit(&self, candidate: &Candidate) -> Option<Growth> {
        self.look(Key::Unit(candidate.group?.id))
    }

    /// How a family grows; `None` if it was seen only once.
    pub(crate) fn of_family(&self, family: &Family) -> Option<Growth> {
        self.look(Key::Family(family.kin, family.name))
    }

    fn look(&self, key: Key) -> Option<Growth> {
        let one = self.followed.iter().find(|one| one.key == key)?;
        let &(now, size) = one.sizes.last()?;
        let begin = one
            .sizes
            .iter()
            .rev()
            .find(|(at, _)| age(now, *at) >= WINDOW);
        let &(then, before) = begin.or(one.sizes.first())?;
        let over = age(now, then);
        if over < LEAST {
            return None;
        }
        Some(Growth {
            rate: Rate::over(size.less(before), over)?,
            rising: Span::new(age(now, one.rising_since)),
        })
    }
}

/// Growth of a young process: all that it holds, over its age.
fn growth_since_start(candidate: &Candidate) -> Option<Growth> {
    let age = candidate.age.get();
    if !(LEAST..YOUNG).contains(&age) {
        return None;
    }
    Some(Growth {
        rate: Rate::over(held(candidate), age)?,
        rising: candidate.age,
    })
}

/// Memory that there is because of this process: what its end frees, and the tmpfs files that it writes.
fn held(candidate: &Candidate) -> Bytes {
    candidate.size() + candidate.written
}

fn age(now: Span, then: Span) -> Duration {
    now.get().saturating_sub(then.get())
}
