//! Linux's lists and generations, CLOCK-Pro and Random, beside models that are simple enough to be
//! seen right: see `models.rs`.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod common;

use common::{List, references, same, same_on};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use workingset::rng::Rng;
use workingset::{About, Batch, Loader, Page, Trace};

fn random(c: usize) -> impl FnMut(Page) -> bool {
    let mut frames = Vec::new();
    let mut rng = Rng::new(1);
    move |page| {
        if frames.contains(&page) {
            return true;
        }
        if frames.len() < c {
            frames.push(page);
        } else {
            frames[rng.below(c as u64) as usize] = page;
        }
        false
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Hot,
    Cold,
    Remembered,
}

#[derive(Clone, Copy)]
struct Entry {
    page: Page,
    place: Place,
    in_test: bool,
    used: bool,
}

/// CLOCK-Pro's list, the newest page first. Each hand is at the last entry of its kind, so it needs
/// no place of its own.
struct Clock {
    list: Vec<Entry>,
    /// The target for cold pages in memory.
    target: usize,
    least: usize,
    most: usize,
    c: usize,
    again: bool,
}

impl Clock {
    fn count(&self, place: Place) -> usize {
        self.list
            .iter()
            .filter(|entry| entry.place == place)
            .count()
    }

    fn at(&self, page: Page) -> Option<usize> {
        self.list.iter().position(|entry| entry.page == page)
    }

    fn last(&self, place: Place) -> Option<usize> {
        self.list.iter().rposition(|entry| entry.place == place)
    }

    fn put_first(&mut self, page: Page, place: Place, in_test: bool) {
        self.list.retain(|entry| entry.page != page);
        let used = false;
        self.list.insert(
            0,
            Entry {
                page,
                place,
                in_test,
                used,
            },
        );
    }

    fn end_test(&mut self, at: usize) {
        let entry = self.list[at];
        if !entry.in_test {
            return;
        }
        if entry.used {
            self.target = (self.target + 1).min(self.most);
        } else {
            self.target = (self.target - 1).max(self.least);
        }
        self.list[at].in_test = false;
        if entry.place == Place::Remembered {
            self.list.remove(at);
        }
    }

    /// The hot hand goes on to the oldest hot page. Returns false if it meets `until` on its way.
    fn pass_cold(&mut self, until: Option<Page>) -> bool {
        loop {
            let Some(hot) = self.last(Place::Hot) else {
                return true;
            };
            let in_test = |entry: &Entry| entry.in_test || Some(entry.page) == until;
            let Some(at) = self.list.iter().rposition(in_test) else {
                return true;
            };
            if at < hot {
                return true;
            }
            if Some(self.list[at].page) == until {
                return false;
            }
            self.end_test(at);
        }
    }

    fn run_hot(&mut self, until: Page) -> bool {
        while let Some(at) = self.last(Place::Hot) {
            let entry = self.list[at];
            if !entry.used {
                self.put_first(entry.page, Place::Cold, false);
                self.pass_cold(None);
                return true;
            }
            self.put_first(entry.page, Place::Hot, false);
            if !self.pass_cold(Some(until)) {
                self.pass_cold(None);
                return false;
            }
        }
        false
    }

    fn makes_room(&mut self, page: Page) -> bool {
        let in_test = |clock: &Self| clock.at(page).is_some_and(|at| clock.list[at].in_test);
        if !in_test(self) {
            return false;
        }
        self.target = (self.target + 1).min(self.most);
        let at = self.at(page).unwrap();
        self.list[at].used = false;
        while self.count(Place::Hot) >= self.c - self.target {
            if !in_test(self) || !self.run_hot(page) {
                return false;
            }
        }
        true
    }

    fn run_cold(&mut self) {
        let at = self.last(Place::Cold).unwrap();
        let entry = self.list[at];
        if entry.used && self.makes_room(entry.page) {
            self.put_first(entry.page, Place::Hot, false);
            self.pass_cold(None);
        } else if entry.used && self.again {
            self.put_first(entry.page, Place::Cold, true);
        } else {
            let at = self.at(entry.page).unwrap();
            if self.list[at].in_test {
                self.list[at].place = Place::Remembered;
                self.list[at].used = false;
            } else {
                self.list.remove(at);
            }
            while self.count(Place::Remembered) > self.c {
                let oldest = self.list.iter().rposition(|entry| entry.in_test);
                self.end_test(oldest.unwrap());
            }
        }
    }
}

fn clock_pro(c: usize, cold: f64, most: f64, again: bool) -> impl FnMut(Page) -> bool {
    let share = |share: f64| (c as f64 * share) as usize;
    let least = share(cold).max(2).min(c);
    let mut clock = Clock {
        list: Vec::new(),
        target: least,
        least,
        most: share(most).min(c - least).max(least),
        c,
        again,
    };
    let mut last = None;
    move |page| {
        if last.replace(page) == Some(page) {
            return true;
        }
        let at = clock.at(page);
        if let Some(at) = at.filter(|at| clock.list[*at].place != Place::Remembered) {
            clock.list[at].used = true;
            return true;
        }
        let resident = |clock: &Clock| clock.list.len() - clock.count(Place::Remembered);
        let free = c - resident(&clock);
        if free > least {
            clock.put_first(page, Place::Hot, false);
        } else if free > 0 {
            clock.put_first(page, Place::Cold, true);
        } else {
            while resident(&clock) == c {
                clock.run_cold();
            }
            let place = if clock.makes_room(page) {
                Place::Hot
            } else {
                Place::Cold
            };
            clock.put_first(page, place, place == Place::Cold);
        }
        clock.pass_cold(None);
        false
    }
}

/// le9's floors.
#[derive(Clone, Copy, Default)]
struct Floors {
    /// Anonymous pages that are protected.
    anon: usize,
    /// Clean file pages that are protected.
    clean: usize,
    /// The largest share of memory to which refaults raise a floor of clean file pages.
    adapts: Option<f64>,
}

/// Anonymous is kind 0, file kind 1; the newest in front.
struct Lists {
    inactive: [List; 2],
    active: [List; 2],
    young: BTreeSet<Page>,
    referenced: BTreeSet<Page>,
    shadow: BTreeMap<Page, usize>,
    age: usize,
    cost: [f64; 2],
    credit: [f64; 2],
    learnt: f64,
    quiet: usize,
    floors: Floors,
    c: usize,
}

impl Lists {
    fn size(&self, kind: usize) -> usize {
        self.inactive[kind].len() + self.active[kind].len()
    }

    fn cool(&mut self, kind: usize) -> bool {
        let Some(page) = self.active[kind].pop_back() else {
            return false;
        };
        self.young.remove(&page);
        self.referenced.remove(&page);
        self.inactive[kind].push_front(page);
        true
    }

    fn enter(&mut self, page: Page, kind: usize) {
        let mut hot = false;
        if let Some(left) = self.shadow.remove(&page) {
            let distance = self.age - left;
            self.cost[kind] += 1.0;
            if self.cost[0] + self.cost[1] > (self.inactive[0].len() + self.c / 4) as f64 {
                self.cost = self.cost.map(|cost| cost / 2.0);
            }
            hot = distance
                <= self.active[kind].len()
                    + if kind == 1 {
                        self.size(0)
                    } else {
                        self.size(1)
                    };
            self.age += usize::from(hot);
            if let Some(most) = self
                .floors
                .adapts
                .filter(|_| kind == 1 && distance <= self.c)
            {
                self.learnt = (self.learnt + 1.0).min(most * self.c as f64);
                self.quiet = 0;
            }
        }
        self.young.insert(page);
        self.referenced.remove(&page);
        let lists = if hot {
            &mut self.active
        } else {
            &mut self.inactive
        };
        lists[kind].push_front(page);
    }

    /// The kind that gives a page, by a swappiness of 60 and the cost of refaults.
    fn choose_kind(&mut self) -> Option<usize> {
        let anon = self.size(0);
        let file = self.size(1);
        let may_anon = anon > self.floors.anon;
        let learnt = self.learnt >= 1.0 && file as f64 <= self.learnt;
        let may_file = file > 0
            && (self.floors.clean == 0 || file > self.floors.clean)
            && !(may_anon && learnt);
        match (may_anon, may_file) {
            (true, true) => {
                let all = self.cost[0] + self.cost[1];
                for (kind, share) in [(0, 60.0), (1, 140.0)] {
                    self.credit[kind] += share * (2.0 * all + 1.0) / (all + self.cost[kind] + 1.0);
                }
                let kind = usize::from(self.credit[1] >= self.credit[0]);
                self.credit[1 - kind] -= self.credit[0].min(self.credit[1]);
                self.credit[kind] = 0.0;
                Some(kind)
            }
            (true, false) => Some(0),
            (false, true) => Some(1),
            (false, false) => None,
        }
    }

    fn evict(&mut self) -> bool {
        let Some(kind) = self.choose_kind() else {
            return false;
        };
        for _ in 0..32 {
            if self.inactive[kind].len() >= self.active[kind].len() || !self.cool(kind) {
                break;
            }
        }
        loop {
            if self.inactive[kind].is_empty() {
                self.cool(kind);
            }
            let page = self.inactive[kind].pop_back().unwrap();
            if !self.young.remove(&page) {
                self.shadow.insert(page, self.age);
                self.age += 1;
                break;
            }
            if self.referenced.insert(page) {
                self.inactive[kind].push_front(page);
            } else {
                self.active[kind].push_front(page);
                self.age += 1;
            }
        }
        self.quiet += 1;
        if self.quiet * 8 > self.c {
            self.learnt *= 7.0 / 8.0;
            self.quiet = 0;
        }
        true
    }
}

fn linux(c: usize, floors: Floors, kind: impl Fn(Page) -> usize) -> impl FnMut(Page) -> bool {
    let mut lists = Lists {
        inactive: Default::default(),
        active: Default::default(),
        young: BTreeSet::new(),
        referenced: BTreeSet::new(),
        shadow: BTreeMap::new(),
        age: 0,
        cost: [0.0; 2],
        credit: [0.0; 2],
        learnt: 0.0,
        quiet: 0,
        floors,
        c,
    };
    move |page| {
        let own = kind(page);
        if lists.inactive[own].contains(&page) || lists.active[own].contains(&page) {
            lists.young.insert(page);
            return true;
        }
        if lists.size(0) + lists.size(1) == c {
            assert!(lists.evict(), "something may always go");
        }
        lists.enter(page, own);
        false
    }
}

/// Of mapped file pages alone, as generations by number: no tiers, no balance.
fn mglru(c: usize) -> impl FnMut(Page) -> bool {
    let mut generations: BTreeMap<usize, List> = BTreeMap::new();
    let mut youngest = 2;
    let mut oldest = 0;
    let mut young = BTreeSet::new();
    move |page| {
        if generations.values().any(|list| list.contains(&page)) {
            young.insert(page);
            return true;
        }
        while generations.values().map(List::len).sum::<usize>() == c {
            if oldest + 2 > youngest {
                // A walk: used pages join the youngest generation, and a new one opens.
                for generation in oldest..youngest {
                    let list = generations.remove(&generation).unwrap_or_default();
                    let (used, rest): (List, List) =
                        list.into_iter().partition(|page| young.contains(page));
                    used.iter().for_each(|page| {
                        generations.entry(youngest).or_default().push_front(*page);
                    });
                    generations.insert(generation, rest);
                }
                young.clear();
                youngest += 1;
            }
            let Some(victim) = generations.entry(oldest).or_default().pop_back() else {
                oldest += 1;
                continue;
            };
            if young.remove(&victim) {
                generations.entry(youngest).or_default().push_front(victim);
            }
        }
        generations.entry(youngest).or_default().push_front(page);
        false
    }
}

/// Even pages are anonymous, odd ones of a file.
fn two_kinds(pages: &[u64]) -> Trace {
    let mut loader = Loader::default();
    loader
        .push(&Batch {
            page: pages.to_vec(),
            ..Batch::default()
        })
        .unwrap();
    let region = |page: u64| {
        (
            page,
            page,
            if page % 2 == 0 {
                "heap".to_owned()
            } else {
                "/file".to_owned()
            },
        )
    };
    loader
        .finish(About {
            regions: (0..24).map(region).collect(),
            ..About::default()
        })
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn clock_pro_and_random_and_linux(pages in references(), capacity in 1..20_usize) {
        let c = capacity.min(Trace::of(&pages).unwrap().pages());
        same("random", &pages, c, random(c))?;
        same("clockpro", &pages, c, clock_pro(c, 0.01, 0.99, true))?;
        let fixed = "clockpro:cold=0.3,most=0.3,again=0";
        same(fixed, &pages, c, clock_pro(c, 0.3, 0.3, false))?;
        same("linux", &pages, c, linux(c, Floors::default(), |_| 1))?;
        same("mglru", &pages, c, mglru(c))?;
    }

    #[test]
    fn of_two_kinds(pages in references(), capacity in 4..20_usize) {
        let trace = two_kinds(&pages);
        let c = capacity.min(trace.pages());
        let names = trace.names().to_vec();
        let kind = |page: Page| (names[page as usize] % 2) as usize;
        let share = |percent: usize| (percent as f64 / 100.0 * c as f64) as usize;
        same_on(&trace, "linux", c, linux(c, Floors::default(), kind))?;
        let fixed = Floors { anon: share(30), clean: share(40), adapts: None };
        same_on(&trace, "le9:anon_min=30,clean_min=40", c, linux(c, fixed, kind))?;
        let learnt = Floors { adapts: Some(0.5), ..Floors::default() };
        same_on(&trace, "le9-adaptive", c, linux(c, learnt, kind))?;
    }
}
