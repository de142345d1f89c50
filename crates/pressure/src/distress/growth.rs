//! How fast each process grows, followed from census to census.

use crate::scan::{Candidate, Identity, ProcessScan};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Rate, Span};

/// Processes and units followed, at most.
const FOLLOWED: usize = 24;
/// Sizes kept of each.
const SIZES: usize = 12;
/// Two sizes are at least this far apart.
const SPACING: Duration = Duration::from_millis(180);
/// Growth is told over at least this time.
const LEAST: Duration = Duration::from_millis(350);
/// And over about this time, if it is known for so long.
const WINDOW: Duration = Duration::from_secs(2);
/// Who was not seen for this long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(5);
/// The whole life of a process younger than this is its growth.
const YOUNG: Duration = Duration::from_secs(10);

/// Who is followed: a process, or a whole unit by its folder's inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Key {
    Process(Identity),
    Unit(u64),
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

/// How one party grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// How fast; zero if it shrinks.
    pub rate: Rate,
    /// For how long it has not shrunk, as far as is known.
    pub rising: Span,
}

impl Growths {
    /// Nobody yet, and room for all.
    pub(crate) fn new() -> Self {
        Self {
            followed: Vec::with_capacity(FOLLOWED),
        }
    }

    /// Takes a census in.
    pub(crate) fn push(&mut self, scan: &ProcessScan) {
        if scan.candidates.is_empty() {
            return;
        }
        let now = scan.at;
        self.followed
            .retain(|one| age(now, one.sizes.last().map_or(now, |(at, _)| *at)) < FORGOTTEN);
        for candidate in &scan.candidates {
            self.follow(Key::Process(candidate.identity), now, candidate.size());
            if let Some(group) = candidate.group {
                self.follow(Key::Unit(group.id), now, group.anon + group.swapped);
            }
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
        // A page or two given back is no turn.
        if size + size.scaled(1, 100) < before {
            one.rising_since = now;
        }
        if one.sizes.is_full() {
            one.sizes.remove(0);
        }
        one.sizes.push((now, size));
    }

    fn forget_the_stalest(&mut self) {
        let seen = |one: &Followed| one.sizes.last().map(|(at, _)| *at);
        if let Some((index, _)) = self
            .followed
            .iter()
            .enumerate()
            .min_by_key(|(_, one)| seen(one))
        {
            self.followed.remove(index);
        }
    }

    /// How a process grows; `None` if it was seen but once and is no young one.
    pub(crate) fn of(&self, candidate: &Candidate) -> Option<Growth> {
        let young = (LEAST..YOUNG).contains(&candidate.age.get());
        let life = || {
            let rate = young
                .then(|| Rate::over(candidate.size(), candidate.age.get()))
                .flatten()?;
            Some(Growth {
                rate,
                rising: candidate.age,
            })
        };
        self.look(Key::Process(candidate.identity)).or_else(life)
    }

    /// How its whole unit grows, where that is a unit of its own.
    pub(crate) fn of_unit(&self, candidate: &Candidate) -> Option<Growth> {
        self.look(Key::Unit(candidate.group?.id))
    }

    fn look(&self, key: Key) -> Option<Growth> {
        let one = self.followed.iter().find(|one| one.key == key)?;
        let &(now, size) = one.sizes.last()?;
        let old_enough = |(at, _): &&(Span, Bytes)| age(now, *at) >= WINDOW;
        let &(then, before) = one
            .sizes
            .iter()
            .rev()
            .find(old_enough)
            .or(one.sizes.first())?;
        let over = age(now, then);
        let rate = (over >= LEAST)
            .then(|| Rate::over(size.less(before), over))
            .flatten()?;
        Some(Growth {
            rate,
            rising: Span::new(age(now, one.rising_since)),
        })
    }
}

fn age(now: Span, then: Span) -> Duration {
    now.get().saturating_sub(then.get())
}
