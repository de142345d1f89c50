//! For which orders tasks compact memory themselves: the kernel's tracepoint of direct compaction, counted by order.
//!
//! It is on as long as the holder runs. It costs nothing until a task has to wait for a block.

use crate::layout::{self, Field, Layout};
use crate::ring::{Rings, Said, Sources, Wanted};
use pressure::protect::OrderStalls;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Pages of the ring of each CPU: 170 waits between two reads. What a full ring drops is not counted.
const PAGES: usize = 2;
/// Least time between two reads: a storm of waits must not make the holder busy.
const APART: Duration = Duration::from_millis(200);

/// The tracepoint, and where it has the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Point {
    id: u16,
    order: Field,
}

/// Waits for blocks, counted by order.
#[derive(Debug)]
pub(crate) struct Compactions {
    point: Point,
    rings: Rings,
    counts: OrderStalls,
    drained: Instant,
}

impl Compactions {
    /// Begins to count. Some kernels want a right for that which is given up afterwards.
    pub(crate) fn begin(root: &Path) -> io::Result<Self> {
        let Some(events) = layout::group(root, "compaction") else {
            return Err(io::Error::other("no tracepoints of compaction"));
        };
        let path = events.join("mm_compaction_try_to_compact_pages/format");
        let point = layout::read_with(&path, Point::parse)?;
        let wanted = Wanted {
            filter: None,
            wakes: true,
        };
        let sources = Rc::new(Sources::open(&[point.id], wanted)?);
        Ok(Self {
            point,
            rings: Rings::of_size(&sources, PAGES)?,
            counts: OrderStalls::zero(),
            drained: Instant::now(),
        })
    }

    /// What becomes readable when a task waits; nothing during [`Compactions::rest`].
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let rests = self.rest().is_some();
        self.rings.descriptors().filter(move |_| !rests)
    }

    /// After it was read there is a rest; so much of it is left.
    pub(crate) fn rest(&self) -> Option<Duration> {
        let left = APART.checked_sub(self.drained.elapsed())?;
        (left > Duration::ZERO).then_some(left)
    }

    /// Counts what came; true if there was something.
    pub(crate) fn drain(&mut self) -> bool {
        let before = self.counts;
        let Self {
            point,
            rings,
            counts,
            ..
        } = self;
        rings.drain(&mut |said| {
            if let Said::Record(_, record) = said {
                if let Some(order) = point.order(record) {
                    counts.count(order);
                }
            }
        });
        let is_more = self.counts != before;
        if is_more {
            self.drained = Instant::now();
        }
        is_more
    }

    /// The counts since the beginning.
    pub(crate) fn counts(&self) -> OrderStalls {
        self.counts
    }
}

impl Point {
    fn parse(text: &str) -> Option<Self> {
        let layout = Layout::parse(text)?;
        let order = layout.field("order")?;
        let id = layout.id;
        Some(Self { id, order })
    }

    fn order(self, record: &[u8]) -> Option<u32> {
        if layout::id_of(record)? != u64::from(self.id) {
            return None;
        }
        self.order.of(record)?.try_into().ok()
    }
}

/// Returns true if this is the layout of the tracepoint of direct compaction, and the record is one of its events.
pub fn tells_a_compaction(layout: &str, record: &[u8]) -> bool {
    Point::parse(layout).is_some_and(|point| point.order(record).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.12 on x86-64 has it.
    const FORMAT: &str = "name: mm_compaction_try_to_compact_pages
ID: 617
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int order;\toffset:8;\tsize:4;\tsigned:1;
\tfield:unsigned long gfp_mask;\toffset:16;\tsize:8;\tsigned:0;
\tfield:int prio;\toffset:24;\tsize:4;\tsigned:1;

print fmt: \"order=%d gfp_mask=%s priority=%d\"
";

    #[test]
    fn the_order_is_read_by_the_kernels_own_layout() {
        let point = Point::parse(FORMAT).unwrap();
        let mut record = vec![0; 28];
        record[..2].copy_from_slice(&617_u16.to_ne_bytes());
        record[8..12].copy_from_slice(&4_u32.to_ne_bytes());
        assert_eq!(point.order(&record), Some(4));
        assert_eq!(point.order(&record[..10]), None, "cut short");
        record[0] ^= 1;
        assert_eq!(point.order(&record), None, "another tracepoint");
        assert_eq!(
            Point::parse(&FORMAT.replace("int order", "int level")),
            None
        );
    }

    #[test]
    fn counts_stay_where_no_kernel_has_such_an_order() {
        let mut counts = OrderStalls::zero();
        counts.count(3);
        counts.count(u32::MAX);
        assert_eq!(counts.of(3), Some(1));
        assert_eq!(counts.of(u32::MAX), None);
    }
}
