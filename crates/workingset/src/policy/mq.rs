//! MQ, multi-queue: LRU queues by the logarithm of a page's uses. A page that is not used for a
//! time moves down a queue.
//!
//! - Rule: queue = log2(uses), at most `queues` − 1. A page that is not used for `life` references
//!   moves down one queue. The LRU page of the lowest queue is evicted, and its count is remembered
//!   for `out`·c pages.
//! - Cost: O(queues) for each reference, 17 B for each page.
//! - Source: Zhou, Philbin, Li, USENIX ATC 2001, figure 5. Its clock ticks before it looks for pages
//!   whose life is over, so a page goes down at the `life`-th reference after its own.
//! - Limits: the paper measures the life while it runs; here it is a multiple of memory.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::links::Links;
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<Mq>(
    "mq",
    "LRU queues by log2 of uses",
    "Zhou, Philbin, Li, USENIX ATC 2001",
)
.with(&[
    ("queues", 8.0, "1 to 8"),
    (
        "life",
        4.0,
        "references before a page goes down, as a multiple of memory",
    ),
    ("out", 4.0, "pages remembered, as a multiple of memory"),
]);

const OUT: usize = 8;
const NOWHERE: u8 = 9;

struct Mq {
    lists: Links<9>,
    home: Vec<u8>,
    uses: Vec<u32>,
    expires: Vec<u32>,
    queues: usize,
    capacity: usize,
    resident: usize,
    life: u32,
    out: usize,
    clock: u32,
}

impl Policy for Mq {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let queues = setup.option("queues") as usize;
        if !(1..=OUT).contains(&queues) {
            return Err(Error::Unfit(format!(
                "mq: queues are 1 to {OUT}, not {queues}"
            )));
        }
        let pages = setup.pages();
        let times = |name: &str| setup.capacity as f64 * setup.option(name);
        Ok(Self {
            lists: Links::new(pages),
            home: vec![NOWHERE; pages],
            uses: vec![0; pages],
            expires: vec![0; pages],
            queues,
            capacity: setup.capacity,
            resident: 0,
            life: times("life") as u32,
            out: times("out") as usize,
            clock: 0,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        self.clock += 1;
        let home = usize::from(self.home[page as usize]);
        let hit = home < OUT;
        if home <= OUT {
            self.lists.remove(home, page);
        } else {
            self.uses[page as usize] = 0;
        }
        if !hit {
            if self.resident == self.capacity {
                self.evict(evicted);
            } else {
                self.resident += 1;
            }
        }
        self.uses[page as usize] += 1;
        let queue = (self.uses[page as usize].ilog2() as usize).min(self.queues - 1);
        // The page's life begins before the clock ticks, as in the paper.
        self.put(queue, page, self.clock - 1);
        self.adjust();
        if hit { Access::Hit } else { Access::Miss }
    }

    fn resident(&self) -> usize {
        self.resident
    }
}

impl Mq {
    fn put(&mut self, queue: usize, page: Page, from: u32) {
        self.lists.push_front(queue, page);
        self.home[page as usize] = queue as u8;
        self.expires[page as usize] = from.saturating_add(self.life);
    }

    fn evict(&mut self, evicted: &mut impl Evictions) {
        let Some(victim) = (0..self.queues).find_map(|queue| self.lists.pop_back(queue)) else {
            return;
        };
        evicted.note(victim);
        self.home[victim as usize] = NOWHERE;
        if self.out == 0 {
            return;
        }
        if self.lists.len(OUT) == self.out {
            if let Some(forgotten) = self.lists.pop_back(OUT) {
                self.home[forgotten as usize] = NOWHERE;
            }
        }
        self.lists.push_front(OUT, victim);
        self.home[victim as usize] = OUT as u8;
    }

    /// Moves each queue's last page down if its life is over.
    fn adjust(&mut self) {
        for queue in 1..self.queues {
            if let Some(page) = self.lists.back(queue) {
                if self.expires[page as usize] < self.clock {
                    self.lists.remove(queue, page);
                    self.put(queue - 1, page, self.clock);
                }
            }
        }
    }
}
