//! Each policy beside a model that is simple enough to be seen right: lists in vectors, searched
//! from end to end.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod common;

use common::{List, references, same, take};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use workingset::policy::Choice;
use workingset::{Page, Trace};

/// A list with the uses of each page.
type Counted = VecDeque<(Page, u32)>;

fn fifo(capacity: usize) -> impl FnMut(Page) -> bool {
    let mut list = List::new();
    move |page| {
        let hit = list.contains(&page);
        if !hit {
            list.push_front(page);
            list.truncate(capacity);
        }
        hit
    }
}

fn lru(capacity: usize) -> impl FnMut(Page) -> bool {
    let mut list = List::new();
    move |page| {
        let hit = take(&mut list, page);
        list.push_front(page);
        list.truncate(capacity);
        hit
    }
}

/// CLOCK is GCLOCK with one bit.
fn gclock(capacity: usize, max: u32) -> impl FnMut(Page) -> bool {
    let mut list: VecDeque<(Page, u32)> = VecDeque::new();
    move |page| {
        if let Some(entry) = list.iter_mut().find(|entry| entry.0 == page) {
            entry.1 = (entry.1 + 1).min(max);
            return true;
        }
        while list.len() == capacity {
            let (oldest, count) = list.pop_back().unwrap();
            if count > 0 {
                list.push_front((oldest, count - 1));
            }
        }
        list.push_front((page, 0));
        false
    }
}

fn sieve(capacity: usize) -> impl FnMut(Page) -> bool {
    // Newest first; the hand is a place in it, counted from the old end.
    let mut list: Vec<(Page, bool)> = Vec::new();
    let mut hand: usize = 0;
    move |page| {
        if let Some(entry) = list.iter_mut().find(|entry| entry.0 == page) {
            entry.1 = true;
            return true;
        }
        while list.len() == capacity {
            hand %= list.len();
            let at = list.len() - 1 - hand;
            if list[at].1 {
                list[at].1 = false;
                hand += 1;
            } else {
                list.remove(at);
            }
        }
        // Past the newest, the hand begins again at the oldest.
        hand = if hand > list.len() || (hand == list.len() && hand > 0) {
            0
        } else {
            hand
        };
        list.insert(0, (page, false));
        false
    }
}

fn lfu(capacity: usize) -> impl FnMut(Page) -> bool {
    // Page: uses, and when that count was reached.
    let mut set: BTreeMap<Page, (u64, u64)> = BTreeMap::new();
    let mut now: u64 = 0;
    move |page| {
        now += 1;
        if let Some(entry) = set.get_mut(&page) {
            *entry = (entry.0 + 1, now);
            return true;
        }
        if set.len() == capacity {
            let victim = *set.iter().min_by_key(|entry| *entry.1).unwrap().0;
            set.remove(&victim);
        }
        set.insert(page, (1, now));
        false
    }
}

/// O'Neil, O'Neil and Weikum's figure 2.1, line by line: HIST and LAST of each page.
fn lru_k(capacity: usize, k: usize, correlated: u64, retained: u64) -> impl FnMut(Page) -> bool {
    let mut uses: BTreeMap<Page, (Vec<u64>, u64)> = BTreeMap::new();
    let mut set: List = List::new();
    let mut now: u64 = 0;
    move |page| {
        now += 1;
        if set.contains(&page) {
            let (hist, last) = uses.get_mut(&page).unwrap();
            if now - *last > correlated {
                let took = *last - hist[hist.len() - 1];
                hist.iter_mut().for_each(|used| *used += took);
                hist.push(now);
            }
            *last = now;
            return true;
        }
        if set.len() == capacity {
            let kth = |page: &Page| {
                let (hist, last) = &uses[page];
                let kth = hist.len().checked_sub(k).map_or(0, |at| hist[at]);
                (kth, *last)
            };
            let may_leave = |page: &&Page| now - uses[page].1 > correlated;
            let by_distance = set.iter().filter(may_leave).min_by_key(|page| kth(page));
            let oldest = set.iter().min_by_key(|page| uses[page].1);
            let victim = *by_distance.or(oldest).unwrap();
            take(&mut set, victim);
        }
        set.push_front(page);
        let (hist, last) = uses.entry(page).or_default();
        if now - *last > retained {
            hist.clear();
        }
        hist.push(now);
        *last = now;
        false
    }
}

/// Johnson and Shasha's figure 2, line by line.
fn two_q(capacity: usize) -> impl FnMut(Page) -> bool {
    let kin = capacity / 4;
    let kout = capacity / 2;
    let mut a1in = List::new();
    let mut a1out = List::new();
    let mut am = List::new();
    move |page| {
        if take(&mut am, page) {
            am.push_front(page);
            return true;
        }
        if a1in.contains(&page) {
            return true;
        }
        let remembered = take(&mut a1out, page);
        if a1in.len() + am.len() == capacity {
            if a1in.len() > kin || am.is_empty() {
                a1out.push_front(a1in.pop_back().unwrap());
                a1out.truncate(kout);
            } else {
                am.pop_back();
            }
        }
        if remembered {
            am.push_front(page);
        } else {
            a1in.push_front(page);
        }
        false
    }
}

/// Megiddo and Modha's figure 4, line by line.
fn arc(capacity: usize, whole: bool) -> impl FnMut(Page) -> bool {
    let [mut t1, mut t2, mut b1, mut b2] = [const { List::new() }; 4];
    let mut p = 0.0_f64;
    move |page| {
        let c = capacity;
        let replace =
            |t1: &mut List, t2: &mut List, b1: &mut List, b2: &mut List, p: f64, in_b2: bool| {
                let size = t1.len() as f64;
                let from_t1 = !t1.is_empty();
                if from_t1 && ((in_b2 && size == p) || size > p) {
                    b1.push_front(t1.pop_back().unwrap());
                } else if let Some(victim) = t2.pop_back() {
                    b2.push_front(victim);
                } else if let Some(victim) = t1.pop_back() {
                    b1.push_front(victim);
                }
            };
        let ratio = |one: usize, other: usize| {
            if whole {
                (one / other) as f64
            } else {
                one as f64 / other as f64
            }
        };
        if take(&mut t1, page) || take(&mut t2, page) {
            t2.push_front(page);
            return true;
        }
        let in_b1 = b1.contains(&page);
        let in_b2 = b2.contains(&page);
        if in_b1 || in_b2 {
            p = if in_b1 {
                (p + ratio(b2.len(), b1.len()).max(1.0)).min(c as f64)
            } else {
                (p - ratio(b1.len(), b2.len()).max(1.0)).max(0.0)
            };
            replace(&mut t1, &mut t2, &mut b1, &mut b2, p, in_b2);
            take(if in_b1 { &mut b1 } else { &mut b2 }, page);
            t2.push_front(page);
            return false;
        }
        let all = t1.len() + t2.len() + b1.len() + b2.len();
        if t1.len() + b1.len() == c {
            if t1.len() < c {
                b1.pop_back();
                replace(&mut t1, &mut t2, &mut b1, &mut b2, p, false);
            } else {
                t1.pop_back();
            }
        } else if all >= c {
            if all == 2 * c {
                b2.pop_back();
            }
            replace(&mut t1, &mut t2, &mut b1, &mut b2, p, false);
        }
        t1.push_front(page);
        false
    }
}

/// What is not in the paper's artifact: the main FIFO's warm-up, and algorithm 1 to the letter.
#[derive(Clone, Copy, PartialEq)]
enum S3 {
    Artifact,
    Fills,
    Strict,
}

fn s3_fifo(capacity: usize, threshold: u32, variant: S3) -> impl FnMut(Page) -> bool {
    let small_share = capacity / 10;
    let ghosts = (capacity as f64 * 0.9) as usize;
    let mut small = Counted::new();
    let mut main = Counted::new();
    let mut ghost = List::new();
    let mut has_evicted = false;
    let evict_main = |main: &mut Counted| {
        while let Some((oldest, uses)) = main.pop_back() {
            if uses == 0 {
                break;
            }
            main.push_front((oldest, uses - 1));
        }
    };
    move |page| {
        let mut resident = small.iter_mut().chain(&mut main);
        if let Some(entry) = resident.find(|entry| entry.0 == page) {
            entry.1 = (entry.1 + 1).min(3);
            return true;
        }
        let was_remembered = variant != S3::Strict && take(&mut ghost, page);
        while small.len() + main.len() >= capacity {
            has_evicted = true;
            if small.is_empty() || main.len() > capacity - small_share {
                evict_main(&mut main);
                continue;
            }
            while let Some((oldest, uses)) = small.pop_back() {
                if uses < threshold {
                    ghost.push_front(oldest);
                    ghost.truncate(ghosts);
                    break;
                }
                main.push_front((oldest, 0));
                if variant == S3::Strict && main.len() > capacity - small_share {
                    evict_main(&mut main);
                }
            }
        }
        let remembered = was_remembered || take(&mut ghost, page);
        let fills = variant == S3::Fills && !has_evicted && small.len() >= small_share;
        if remembered || fills {
            main.push_front((page, 0));
        } else {
            small.push_front((page, 0));
        }
        false
    }
}

/// Inter-reference recency, by looking back each time.
fn lirs(capacity: usize) -> impl FnMut(Page) -> bool {
    let limit = capacity.saturating_sub((capacity / 100).max(2));
    // The stack, newest first: page, whether LIR. The queue of resident HIR pages, newest first.
    let mut stack: VecDeque<(Page, bool)> = VecDeque::new();
    let mut queue: List = List::new();
    let mut last: Option<Page> = None;
    move |page| {
        if last.replace(page) == Some(page) {
            return true;
        }
        let is_lir = stack.iter().any(|entry| *entry == (page, true));
        let lirs = stack.iter().filter(|entry| entry.1).count();
        let hit = is_lir || queue.contains(&page);
        if !hit && lirs + queue.len() == capacity {
            queue.pop_back();
        }
        let was_in_stack = stack.iter().any(|entry| entry.0 == page);
        stack.retain(|entry| entry.0 != page);
        take(&mut queue, page);
        let becomes = is_lir || (!hit && lirs < limit) || (was_in_stack && limit > 0);
        stack.push_front((page, becomes));
        if becomes && !is_lir && lirs + 1 > limit {
            let oldest = stack.iter().rposition(|entry| entry.1).unwrap();
            let (demoted, _) = stack.remove(oldest).unwrap();
            queue.push_front(demoted);
        }
        if !becomes {
            queue.push_front(page);
        }
        while stack.back().is_some_and(|entry| !entry.1) {
            stack.pop_back();
        }
        hit
    }
}

fn opt(pages: &[Page], capacity: usize) -> impl FnMut(Page) -> bool + use<> {
    let future: Vec<Page> = pages.to_vec();
    let mut at: usize = 0;
    let mut set: List = List::new();
    move |page| {
        at += 1;
        let hit = set.contains(&page);
        if !hit {
            if set.len() == capacity {
                let next = |page: &Page| {
                    future[at..]
                        .iter()
                        .position(|next| next == page)
                        .unwrap_or(usize::MAX)
                };
                let victim = *set.iter().max_by_key(|page| next(page)).unwrap();
                take(&mut set, victim);
            }
            set.push_front(page);
        }
        hit
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn of_fixed_size(pages in references(), capacity in 1..20_usize) {
        let trace = Trace::of(&pages).unwrap();
        let c = capacity.min(trace.pages());
        same("fifo", &pages, c, fifo(c))?;
        same("lru", &pages, c, lru(c))?;
        same("clock", &pages, c, gclock(c, 1))?;
        same("gclock", &pages, c, gclock(c, 3))?;
        same("sieve", &pages, c, sieve(c))?;
        same("lfu", &pages, c, lfu(c))?;
        same("lru-k", &pages, c, lru_k(c, 2, 0, u64::MAX))?;
        same("lru-k:k=3", &pages, c, lru_k(c, 3, 0, u64::MAX))?;
        same("lru-k:correlated=5", &pages, c, lru_k(c, 2, 5, u64::MAX))?;
        same("lru-k:k=3,correlated=2,retained=30", &pages, c, lru_k(c, 3, 2, 30))?;
        same("lru-k:retained=1", &pages, c, lru_k(c, 2, 0, 1))?;
        same("2q", &pages, c, two_q(c))?;
        same("arc", &pages, c, arc(c, false))?;
        same("arc-int-p", &pages, c, arc(c, true))?;
        same("arc:whole=1", &pages, c, arc(c, true))?;
        same("s3fifo", &pages, c, s3_fifo(c, 2, S3::Artifact))?;
        same("s3fifo(thr1)", &pages, c, s3_fifo(c, 1, S3::Artifact))?;
        same("s3fifo(fill)", &pages, c, s3_fifo(c, 2, S3::Fills))?;
        same("s3fifo:strict=1", &pages, c, s3_fifo(c, 2, S3::Strict))?;
        same("lirs", &pages, c, lirs(c))?;
    }

    /// Ties between pages that are never used again do not change what OPT misses.
    #[test]
    fn of_the_optimum(pages in references(), capacity in 1..20_usize) {
        let trace = Trace::of(&pages).unwrap();
        let c = capacity.min(trace.pages());
        let mut model = opt(trace.refs(), c);
        let missed = trace.refs().iter().filter(|page| !model(**page)).count() as u64;
        let choice = Choice::parse("opt").unwrap();
        prop_assert_eq!(choice.spec.run(&trace, c, &choice.options).unwrap().misses, missed);
    }

    #[test]
    fn of_variable_size(pages in references(), window in 1..80_u64) {
        let trace = Trace::of(&pages).unwrap();
        let last = |at: usize| trace.refs()[..at].iter().rposition(|page| *page == trace.refs()[at]);
        let told = |name: &str, option: &str| Choice::parse(name).unwrap().spec.defaults().with(option, window as f64).told();
        let mut at = 0;
        let mut loads = BTreeMap::new();
        same(&format!("ws:{}", told("ws", "theta")), &pages, 1, |_| {
            at += 1;
            last(at - 1).is_some_and(|seen| (at - 1 - seen) as u64 <= window)
        })?;
        at = 0;
        same(&format!("vmin:{}", told("vmin", "t")), &pages, 1, |_| {
            at += 1;
            last(at - 1).is_some_and(|seen| (at - 1 - seen) as u64 <= window)
        })?;
        at = 0;
        same(&format!("half-life:{}", told("half-life", "h")), &pages, 1, |page| {
            at += 1;
            let hit = loads.get(&page).is_some_and(|load| at as u64 - load < window);
            if !hit {
                loads.insert(page, at as u64);
            }
            hit
        })?;
        let mut set = List::new();
        let mut used = BTreeMap::new();
        let mut fault = 0;
        let mut now = 0;
        same(&format!("pff:{}", told("pff", "p")), &pages, 1, |page| {
            let hit = set.contains(&page);
            if !hit {
                if now - fault >= window {
                    set.retain(|page| used[page] >= fault);
                }
                set.push_front(page);
                fault = now;
            }
            used.insert(page, now);
            now += 1;
            hit
        })?;
    }
}
