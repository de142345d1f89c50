//! A replacement policy of your own, in Rust: segmented LRU (Karedla, Love, Wherry, Computer 27(3), 1994), which is not among the
//! built-in ones.
//!
//! ```sh
//! cargo run --release -p warmset-workingset --example my_policy
//! ```
//!
//! A policy is a type that says hit or miss; the engine counts, in the same way for all. It is compiled for the policy, so
//! nothing is dispatched at a reference. Pages are numbered from 0 on without gaps, so what a policy knows of them is in arrays,
//! and [`Links`] are lists of pages in one array.
//!
//! Caches of objects with sizes have a trait of their own, [`workingset::objects::ObjectPolicy`], and
//! [`workingset::objects::run`].
#![allow(clippy::print_stdout, reason = "a program's output")]

use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use workingset::links::Links;
use workingset::policy::{Access, Evictions, Options, Setup, run_made};
use workingset::synth::{Kind, Recipe, Synth};
use workingset::{Batch, Loader, POLICIES, Page, Policy, Trace};

const PROBATION: usize = 0;
const PROTECTED: usize = 1;
const NOWHERE: u8 = 2;
/// The share of memory for pages that were used again: Caffeine's, in its main part.
const PROTECTED_SHARE: f64 = 0.8;

/// A page comes into probation, and is protected from its second use on. What is no longer protected has a second chance there.
struct SegmentedLru {
    lists: Links<2>,
    /// Each page's list.
    list: Vec<u8>,
    capacity: usize,
    protected: usize,
}

impl Policy for SegmentedLru {
    fn new(setup: &Setup<'_>) -> Result<Self, workingset::Error> {
        Ok(Self {
            lists: Links::new(setup.pages()),
            list: vec![NOWHERE; setup.pages()],
            capacity: setup.capacity,
            protected: (setup.capacity as f64 * PROTECTED_SHARE) as usize,
        })
    }

    fn access(&mut self, page: Page, _now: u64, evicted: &mut impl Evictions) -> Access {
        match usize::from(self.list[page as usize]) {
            PROTECTED => {
                self.lists.to_front(PROTECTED, page);
                Access::Hit
            }
            PROBATION => {
                self.protect(page);
                Access::Hit
            }
            _ => {
                if self.resident() == self.capacity {
                    self.evict(evicted);
                }
                self.put(PROBATION, page);
                Access::Miss
            }
        }
    }

    fn resident(&self) -> usize {
        self.lists.len(PROBATION) + self.lists.len(PROTECTED)
    }
}

impl SegmentedLru {
    fn put(&mut self, list: usize, page: Page) {
        self.lists.push_front(list, page);
        self.list[page as usize] = list as u8;
    }

    fn protect(&mut self, page: Page) {
        self.lists.remove(PROBATION, page);
        self.put(PROTECTED, page);
        if self.lists.len(PROTECTED) > self.protected {
            if let Some(oldest) = self.lists.pop_back(PROTECTED) {
                self.put(PROBATION, oldest);
            }
        }
    }

    /// Evicts the oldest page in probation. If none is there, all are protected.
    fn evict(&mut self, evicted: &mut impl Evictions) {
        let oldest = self.lists.pop_back(PROBATION);
        if let Some(page) = oldest.or_else(|| self.lists.pop_back(PROTECTED)) {
            self.list[page as usize] = NOWHERE;
            evicted.note(page);
        }
    }
}

/// A trace by Zipf's law.
fn zipf(pages: u64, references: u64) -> Result<Trace, Box<dyn Error>> {
    let mut synth = Synth::new(Recipe {
        processes: vec![Kind::parse(&format!("zipf:pages={pages},alpha=1"))?],
        quantum: 1,
        references,
        writes: 0.0,
        seed: 1,
    })?;
    let mut loader = Loader::default();
    let mut batch = Batch::default();
    while synth.fill(&mut batch, 1 << 16) {
        // Without operations write-backs are not counted.
        batch.op.clear();
        batch.task.clear();
        loader.push(&batch)?;
    }
    Ok(loader.finish(synth.about())?)
}

/// CPU time of this process, in nanoseconds.
fn cpu_time() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

fn main() -> Result<(), Box<dyn Error>> {
    const RUNS: usize = 5;
    let trace = zipf(100_000, 5_000_000)?;
    let options = Options::default();
    let setup = Setup {
        capacity: 10_000,
        trace: &trace,
        options: &options,
    };
    let lru = POLICIES.iter().find(|spec| spec.name == "lru");
    let lru = lru.ok_or("no policy lru")?;
    println!("policy      misses  ns a reference");
    let mut least = [f64::INFINITY; 2];
    let mut misses = [0; 2];
    for _ in 0..RUNS {
        let began = cpu_time();
        misses[0] = lru.run(&trace, setup.capacity, &lru.defaults())?.misses;
        let between = cpu_time();
        let mut mine = SegmentedLru::new(&setup)?;
        misses[1] = run_made(&mut mine, &setup).misses;
        let ended = cpu_time();
        least[0] = least[0].min(between - began);
        least[1] = least[1].min(ended - between);
    }
    for (name, at) in [("lru", 0), ("segmented", 1)] {
        let each = least[at] / trace.len() as f64;
        println!("{name:<9} {:>8} {each:>15.1}", misses[at]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// The same rule in two lists that are searched from end to end.
    #[test]
    fn it_is_two_lists() {
        const MEMORY: usize = 20;
        let trace = zipf(100, 5_000).unwrap();
        let options = Options::default();
        let setup = Setup {
            capacity: MEMORY,
            trace: &trace,
            options: &options,
        };
        let mut probation: VecDeque<Page> = VecDeque::new();
        let mut protected: VecDeque<Page> = VecDeque::new();
        let mut misses = 0;
        for page in trace.refs() {
            if let Some(at) = protected.iter().position(|known| known == page) {
                protected.remove(at);
                protected.push_front(*page);
                continue;
            }
            if let Some(at) = probation.iter().position(|known| known == page) {
                probation.remove(at);
                protected.push_front(*page);
                if protected.len() > MEMORY * 4 / 5 {
                    probation.extend(protected.pop_back());
                    probation.rotate_right(1);
                }
                continue;
            }
            misses += 1;
            if probation.len() + protected.len() == MEMORY && probation.pop_back().is_none() {
                protected.pop_back();
            }
            probation.push_front(*page);
        }
        let score = run_made(&mut SegmentedLru::new(&setup).unwrap(), &setup);
        assert_eq!(score.misses, misses);
        assert!(misses < trace.len() as u64 / 2);
    }
}
