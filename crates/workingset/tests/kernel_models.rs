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
    Test,
}

/// The ring as a list. A hand is the place that it examines next.
struct Ring {
    pages: Vec<(Page, Place, bool)>,
    hot: usize,
    cold: usize,
    test: usize,
    /// The target for cold pages in memory.
    cold_target: usize,
    c: usize,
}

impl Ring {
    fn count(&self, place: Place) -> usize {
        self.pages.iter().filter(|entry| entry.1 == place).count()
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) % self.pages.len()
    }

    fn enter(&mut self, page: Page, place: Place) {
        let was_hot = self.hot;
        self.pages.insert(was_hot, (page, place, false));
        if self.pages.len() == 1 {
            return;
        }
        for hand in [&mut self.hot, &mut self.test, &mut self.cold] {
            *hand += usize::from(*hand >= was_hot);
        }
        // The cold hand, where it stood with the hot one, looks at the new page.
        if self.cold == self.hot {
            self.cold = was_hot;
        }
    }

    /// Hands at the page move to the page before it.
    fn remove(&mut self, at: usize) {
        self.pages.remove(at);
        let last = self.pages.len().saturating_sub(1);
        for hand in [&mut self.hot, &mut self.cold, &mut self.test] {
            if *hand > at {
                *hand -= 1;
            } else if *hand == at {
                *hand = if at == 0 { last } else { at - 1 };
            }
        }
    }

    fn run_test(&mut self) {
        if self.pages[self.test].1 == Place::Test {
            self.remove(self.test);
            self.cold_target = (self.cold_target - 1).max(1);
        }
        self.test = self.next(self.test);
    }

    fn run_hot(&mut self) {
        if self.hot == self.test {
            self.run_test();
        }
        let entry = &mut self.pages[self.hot];
        if entry.1 == Place::Hot {
            if !entry.2 {
                entry.1 = Place::Cold;
            }
            entry.2 = false;
        }
        self.hot = self.next(self.hot);
    }

    fn run_cold(&mut self) {
        let entry = &mut self.pages[self.cold];
        if entry.1 == Place::Cold {
            entry.1 = if entry.2 { Place::Hot } else { Place::Test };
            entry.2 = false;
            while self.count(Place::Test) > self.c {
                self.run_test();
            }
        }
        self.cold = self.next(self.cold);
        while self.count(Place::Hot) > self.c - self.cold_target {
            self.run_hot();
        }
    }

    fn evict_if_full(&mut self) {
        while self.count(Place::Hot) + self.count(Place::Cold) >= self.c {
            self.run_cold();
        }
    }
}

fn clock_pro(c: usize) -> impl FnMut(Page) -> bool {
    let mut ring = Ring {
        pages: Vec::new(),
        hot: 0,
        cold: 0,
        test: 0,
        cold_target: c,
        c,
    };
    move |page| {
        match ring.pages.iter().position(|entry| entry.0 == page) {
            Some(at) if ring.pages[at].1 != Place::Test => {
                ring.pages[at].2 = true;
                return true;
            }
            Some(at) => {
                ring.cold_target = (ring.cold_target + 1).min(c);
                ring.remove(at);
                ring.evict_if_full();
                ring.enter(page, Place::Hot);
            }
            None => {
                ring.evict_if_full();
                ring.enter(page, Place::Cold);
            }
        }
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
        same("clockpro", &pages, c, clock_pro(c))?;
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
