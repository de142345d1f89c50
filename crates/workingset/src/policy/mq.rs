//! MQ: several LRU queues by the logarithm of how often a page was used, and time moves a page down that was not.
//!
//! - Law: queue = log2(uses), at most `queues` − 1; a page not used for `life` references goes down one; the lowest
//!   queue's LRU page leaves, and its count is remembered for `out`·c pages.
//! - Cost: O(queues), 17 B for each page.
//! - Source: Zhou, Philbin, Li, USENIX ATC 2001, figure 5; the life there is measured, here it is a share of memory.

use super::{Access, Gone, Policy, Room, Spec};
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
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let queues = room.option("queues") as usize;
        if !(1..=OUT).contains(&queues) {
            return Err(Error::Unfit(format!(
                "mq: queues are 1 to {OUT}, not {queues}"
            )));
        }
        let pages = room.pages();
        let times = |name: &str| {
            room.capacity as f64 * room.option(name)
        };
        Ok(Self {
            lists: Links::new(pages),
            home: vec![NOWHERE; pages],
            uses: vec![0; pages],
            expires: vec![0; pages],
            queues,
            capacity: room.capacity,
            resident: 0,
            life: times("life") as u32,
            out: times("out") as usize,
            clock: 0,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, gone: &mut impl Gone) -> Access {
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
                self.evict(gone);
            } else {
                self.resident += 1;
            }
        }
        self.uses[page as usize] += 1;
        let queue = (self.uses[page as usize].ilog2() as usize).min(self.queues - 1);
        self.put(queue, page);
        self.adjust();
        if hit { Access::Hit } else { Access::Miss }
    }

    fn resident(&self) -> usize {
        self.resident
    }
}

impl Mq {
    fn put(&mut self, queue: usize, page: Page) {
        self.lists.push_front(queue, page);
        self.home[page as usize] = queue as u8;
        self.expires[page as usize] = self.clock.saturating_add(self.life);
    }

    fn evict(&mut self, gone: &mut impl Gone) {
        let Some(victim) = (0..self.queues).find_map(|queue| self.lists.pop_back(queue)) else {
            return;
        };
        gone.gone(victim);
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

    fn adjust(&mut self) {
        for queue in 1..self.queues {
            if let Some(page) = self.lists.back(queue) {
                if self.expires[page as usize] < self.clock {
                    self.lists.remove(queue, page);
                    self.put(queue - 1, page);
                }
            }
        }
    }
}
