//! Policies that count or have clocks, beside models that are simple enough to be seen right: see
//! `models.rs`.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod common;

use common::{List, references, same, take};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use workingset::{Page, Trace};

/// Bansal and Modha's figure 2, line by line. The front of a clock is where pages enter.
fn car(c: usize, whole: bool) -> impl FnMut(Page) -> bool {
    let [mut t1, mut t2]: [VecDeque<(Page, bool)>; 2] = [VecDeque::new(), VecDeque::new()];
    let mut b1 = List::new();
    let mut b2 = List::new();
    let mut p = 0.0_f64;
    move |page| {
        if let Some(entry) = t1.iter_mut().chain(&mut t2).find(|entry| entry.0 == page) {
            entry.1 = true;
            return true;
        }
        let in_b1 = b1.contains(&page);
        let in_b2 = b2.contains(&page);
        if t1.len() + t2.len() == c {
            loop {
                let from_t1 = t1.len() as f64 >= p.max(1.0) || t2.is_empty();
                let (seen, used) = if from_t1 {
                    t1.pop_back().unwrap()
                } else {
                    t2.pop_back().unwrap()
                };
                if used {
                    t2.push_front((seen, false));
                    continue;
                }
                if from_t1 {
                    b1.push_front(seen);
                } else {
                    b2.push_front(seen);
                }
                break;
            }
            if !in_b1 && !in_b2 {
                if t1.len() + b1.len() == c {
                    b1.pop_back();
                } else if t1.len() + t2.len() + b1.len() + b2.len() >= 2 * c {
                    b2.pop_back();
                }
            }
        }
        if in_b1 || in_b2 {
            let ratio = |one: usize, other: usize| {
                let ratio = (one as f64 / other as f64).max(1.0);
                if whole { ratio.trunc() } else { ratio }
            };
            p = if in_b1 {
                (p + ratio(b2.len(), b1.len())).min(c as f64)
            } else {
                (p - ratio(b1.len(), b2.len())).max(0.0)
            };
            take(if in_b1 { &mut b1 } else { &mut b2 }, page);
            t2.push_front((page, false));
        } else {
            t1.push_front((page, false));
        }
        false
    }
}

/// Zhou, Philbin and Li's figure 5, line by line.
fn mq(c: usize) -> impl FnMut(Page) -> bool {
    let mut queues: Vec<List> = vec![List::new(); 8];
    let mut out = List::new();
    let mut uses: BTreeMap<Page, u32> = BTreeMap::new();
    let mut expires: BTreeMap<Page, usize> = BTreeMap::new();
    let mut now = 0;
    move |page| {
        let hit = queues.iter_mut().any(|queue| take(queue, page));
        let remembered = take(&mut out, page);
        if !hit && !remembered {
            uses.insert(page, 0);
        }
        if !hit && queues.iter().map(VecDeque::len).sum::<usize>() == c {
            let victim = queues.iter_mut().find_map(VecDeque::pop_back).unwrap();
            out.push_front(victim);
            out.truncate(4 * c);
        }
        *uses.get_mut(&page).unwrap() += 1;
        queues[(uses[&page].ilog2() as usize).min(7)].push_front(page);
        expires.insert(page, now + 4 * c);
        now += 1;
        for at in 1..8 {
            if let Some(old) = queues[at].back().copied().filter(|old| expires[old] < now) {
                queues[at].pop_back();
                queues[at - 1].push_front(old);
                expires.insert(old, now + 4 * c);
            }
        }
        hit
    }
}

fn tiny_lfu(c: usize) -> impl FnMut(Page) -> bool {
    let window_most = c - (c as f64 * 0.99) as usize;
    let protected_most = ((c - window_most) as f64 * 0.8) as usize;
    let mut window = List::new();
    let mut probation = List::new();
    let mut protected = List::new();
    let mut count: BTreeMap<Page, u32> = BTreeMap::new();
    let mut references = 0;
    move |page| {
        let own = count.entry(page).or_default();
        *own = (*own + 1).min(15);
        references += 1;
        if references == 10 * c {
            references = 10 * c / 2;
            count.values_mut().for_each(|count| *count /= 2);
        }
        if take(&mut window, page) {
            window.push_front(page);
            return true;
        }
        if take(&mut protected, page) {
            protected.push_front(page);
            return true;
        }
        if take(&mut probation, page) {
            protected.push_front(page);
            if protected.len() > protected_most {
                probation.push_front(protected.pop_back().unwrap());
            }
            return true;
        }
        window.push_front(page);
        if window.len() > window_most {
            let candidate = window.pop_back().unwrap();
            if window.len() + probation.len() + protected.len() < c {
                probation.push_front(candidate);
            } else {
                let admits = |victim: &Page| count[&candidate] > count[victim];
                if probation.back().is_some_and(admits) {
                    probation.pop_back();
                    probation.push_front(candidate);
                }
            }
        }
        false
    }
}

/// Frames in a ring: a page, its bit, and its age.
fn nfu(c: usize) -> impl FnMut(Page) -> bool {
    let mut ring: Vec<(Page, bool, u8)> = Vec::new();
    let mut hand: usize = 0;
    let mut left: usize = c;
    move |page| {
        if left == 0 {
            left = c;
            for (_, used, age) in &mut ring {
                *age = *age >> 1 | u8::from(std::mem::take(used)) << 7;
            }
        }
        left -= 1;
        if let Some(entry) = ring.iter_mut().find(|entry| entry.0 == page) {
            entry.1 = true;
            return true;
        }
        if ring.len() < c {
            ring.push((page, true, 0));
        } else {
            let at = (0..c)
                .map(|step| (hand + step) % c)
                .min_by_key(|at| (ring[*at].1, ring[*at].2))
                .unwrap();
            ring[at] = (page, true, 0);
            hand = (at + 1) % c;
        }
        false
    }
}

fn ws_clock(c: usize) -> impl FnMut(Page) -> bool {
    let mut ring: Vec<(Page, bool, usize)> = Vec::new();
    let mut hand: usize = 0;
    let mut now: usize = 0;
    move |page| {
        now += 1;
        let at = now - 1;
        if let Some(entry) = ring.iter_mut().find(|entry| entry.0 == page) {
            entry.1 = true;
            return true;
        }
        if ring.len() < c {
            ring.push((page, false, at));
            return false;
        }
        let mut found = None;
        for place in (0..c).map(|step| (hand + step) % c) {
            let (_, used, stamp) = &mut ring[place];
            if std::mem::take(used) {
                *stamp = at;
            }
            if at - *stamp > 8 * c {
                found = Some(place);
                break;
            }
        }
        let oldest = || {
            (0..c)
                .map(|step| (hand + step) % c)
                .min_by_key(|place| ring[*place].2)
                .unwrap()
        };
        let place = found.unwrap_or_else(oldest);
        ring[place] = (page, false, at);
        hand = (place + 1) % c;
        false
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn of_counts_and_clocks(pages in references(), capacity in 1..20_usize) {
        let trace = Trace::of(&pages).unwrap();
        let c = capacity.min(trace.pages());
        same("car", &pages, c, car(c, false))?;
        same("car:whole=1", &pages, c, car(c, true))?;
        same("mq", &pages, c, mq(c))?;
        same("wtinylfu", &pages, c, tiny_lfu(c))?;
        same("nfu", &pages, c, nfu(c))?;
        same("wsclock", &pages, c, ws_clock(c))?;
    }
}
