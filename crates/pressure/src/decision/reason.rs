//! Why a step is taken.

use super::Event;
use crate::groups::Answer;
use crate::protect::Why;
use serde::{Deserialize, Serialize};
use units::{Bytes, Percent, Rate, Span};

/// Why a step is taken: the numbers that decided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "because")]
pub enum Reason {
    /// Demand in a window exceeds what the gap holds.
    Demand {
        /// The window.
        window: Span,
        /// Demand in such a window that is exceeded with probability one less the quantile.
        demand: Bytes,
        /// What kswapd frees meanwhile.
        reclaimed: Bytes,
        /// The gap now.
        gap: Bytes,
    },
    /// The kernel had to stall someone: the gap was too small.
    Stalls {
        /// Allocations that reclaimed for themselves since the last sample.
        allocation: u64,
        /// Allocations that compacted for themselves.
        compaction: u64,
        /// Times kswapd fell back below low at once.
        hit_quickly: u64,
        /// The gap now.
        gap: Bytes,
    },
    /// Quiet for long enough: memory is given back.
    Quiet {
        /// For how long.
        calm: Span,
    },
    /// Quiet, and refaults above target: the price of the gap is too high.
    Refaults {
        /// Pages read again per second.
        per_second: u64,
        /// What is accepted.
        target: u64,
    },
    /// Programs wait for their own pages to be read again: what is held free is a part of what they miss.
    Thrash {
        /// Such waits per second, the mean of some seconds.
        per_second: u64,
        /// What is accepted.
        target: u64,
    },
    /// Somebody is about to have all of memory: what is held free is a part of what is left.
    RunsOut {
        /// Room that is left, swap not counted.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// A change made things worse: undone.
    Worse {
        /// Refaults and stalls per second before, as time lost.
        before: Span,
        /// And after.
        after: Span,
    },
    /// The watermarks were raised, so the boost is kept to its bytes of before.
    BoostKept {
        /// High watermark as found, all zones.
        high_found: Bytes,
        /// High watermark to come.
        high: Bytes,
    },
    /// The budget or another guard's threshold bounds what may be held.
    Budget {
        /// The gap wanted.
        wanted: Bytes,
        /// The gap allowed.
        allowed: Bytes,
    },
    /// The machine's size changed, so the same gap needs another factor.
    Resized {
        /// Managed memory now.
        managed: Bytes,
    },
    /// Huge pages are asked for faster than blocks are there.
    Blocks {
        /// Their order.
        order: u32,
        /// Requests that could be served.
        free: u64,
        /// Requests expected.
        needed: u64,
    },
    /// Requests for huge pages are served again.
    BlocksEnough {
        /// Their order.
        order: u32,
        /// Requests that could be served.
        free: u64,
    },
    /// A raised low watermark wakes kswapd only at the next slow allocation; this starts it now.
    Ahead {
        /// Free in the node.
        free: Bytes,
        /// Its low watermark to come.
        low: Bytes,
    },
    /// Names that do not exist fill the directory cache.
    NegativeDentries {
        /// How many.
        count: u64,
        /// How many are accepted.
        cap: u64,
    },
    /// The object cache grows or shrinks against the configured preference.
    ObjectCache {
        /// Directory entries and inodes.
        objects: u64,
        /// Change per second, negative when shrinking.
        per_second: i64,
    },
    /// One kind of page comes back more than the other.
    Balance {
        /// Of files, a second.
        file: u64,
        /// Anonymous, a second.
        anon: u64,
    },
    /// How much of what is read from swap ahead of its use is used.
    ReadAhead {
        /// Pages a second.
        ahead: u64,
        /// Of these, used.
        used: u64,
    },
    /// Everything waits for memory that comes back.
    Lags {
        /// Share of the last 10 s.
        stalled: Percent,
        /// Pages that came back, a second.
        per_second: u64,
    },
    /// Memory is about to run out, and the kernel is not to choose who ends.
    Verge {
        /// Room that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// The configuration asks for it, at start or after an event.
    Configured {
        /// After which.
        on: Event,
    },
    /// The founding design's rule for reclaim.
    ClassicReclaim {
        /// Pages per second lost, by least squares.
        falling: u64,
        /// Pages per second reclaimed.
        reclaimed: u64,
        /// Time until the high watermark is reached.
        exhausted_in: Span,
    },
    /// The founding design's rule for compaction.
    ClassicCompaction {
        /// The order that runs out.
        order: u32,
        /// When.
        exhausted_in: Span,
    },
    /// The founding design's rule for backing off: free memory rises.
    ClassicRising {
        /// Pages per second gained, by least squares.
        rising: u64,
    },
    /// It makes memory run out.
    Runaway {
        /// How fast it grows.
        growth: Rate,
        /// How fast all memory that cannot be given back grows.
        of: Rate,
        /// Room that is left for it.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// When that is used up.
        left: Option<Span>,
        /// Share of the last seconds in which all tasks stalled.
        stalled: Option<Percent>,
    },
    /// It was asked to end, did not, and there is no more time.
    Deaf {
        /// How long ago it was asked.
        asked: Span,
        /// Room that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// There is no room at all, all tasks stall, nobody grows: the largest has to go.
    Hopeless {
        /// For how long.
        since: Span,
        /// Share of the last seconds in which all tasks stalled.
        stalled: Percent,
    },
    /// It is what makes memory run out, and has a unit of its own: it may have all but the reserve.
    Fills {
        /// How fast it grows.
        growth: Rate,
        /// Room that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// Of it, what everyone else is left with.
        reserve: Bytes,
        /// When room is used up, if it grows on.
        left: Span,
    },
    /// It has been held up at its ceiling, and there is no room to raise that.
    Pushes {
        /// For how long.
        since: Span,
        /// Room that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// It would have to end; the person whose it is can say what becomes of it.
    Ask {
        /// How fast it grows.
        growth: Rate,
        /// Room that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// That person has said so.
    Answered {
        /// What.
        answer: Answer,
        /// After which time.
        after: Span,
    },
    /// Nobody has said anything, and there is no room for it.
    Unanswered {
        /// For how long it has stood still.
        since: Span,
        /// Room that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// It stands still, and memory runs out all the same.
    StillShort {
        /// For how long it has stood still.
        since: Span,
        /// Room that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// There is room again, or it takes no more: nobody is to be slowed down.
    Eased {
        /// Room that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// Why something is held, or let go.
    Protect(Why),
    /// Someone said stop: the kill switch, a rival, or the end of the run.
    Stop,
}
