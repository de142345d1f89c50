//! Why a step is taken.

use crate::event::Event;
use crate::groups::Answer;
use crate::protect::Why;
use crate::scan::{Ancestor, UnitName};
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
        /// Demand in such a window, at the forecast's quantile.
        demand: Bytes,
        /// What kswapd frees meanwhile.
        reclaimed: Bytes,
        /// The gap now.
        gap: Bytes,
    },
    /// Allocations stalled: the gap was too small.
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
        /// Refaults per second.
        per_second: u64,
        /// The configured limit.
        target: u64,
    },
    /// Programs wait for refaults of their own pages: memory that is held free is memory they miss.
    Thrash {
        /// Such waits per second, the mean of some seconds.
        per_second: u64,
        /// The configured limit.
        target: u64,
    },
    /// Most of demand is for pages that had been evicted: memory that is held free evicts more of them.
    ReadAgain {
        /// What is read again, the mean of some seconds.
        again: Rate,
        /// All demand.
        demand: Rate,
        /// The largest burst of processes, or what was found: so much the gap may be.
        burst: Bytes,
    },
    /// One process is about to fill memory: memory that is held free is a part of what is left.
    RunsOut {
        /// Headroom that is left, swap not counted.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// The last raise made things worse and is undone.
    Worse {
        /// Time that tasks lost per second before.
        before: Span,
        /// Time that tasks lost per second after.
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
    /// Negative dentries fill the dentry cache.
    NegativeDentries {
        /// How many.
        count: u64,
        /// How many are accepted.
        cap: u64,
    },
    /// The object cache grows or shrinks against the configured preference.
    ObjectCache {
        /// Dentries and inodes.
        objects: u64,
        /// Change per second, negative when shrinking.
        per_second: i64,
    },
    /// One kind of page refaults more than the other.
    Balance {
        /// Refaults of file pages per second.
        file: u64,
        /// Refaults of anonymous pages per second.
        anon: u64,
    },
    /// How much of what is read from swap ahead of its use is used.
    ReadAhead {
        /// Pages read ahead per second.
        ahead: u64,
        /// Of these, used.
        used: u64,
    },
    /// A unit does not use all of its memory. What was taken lately is over some seconds.
    Unused {
        /// What it has.
        used: Bytes,
        /// What was taken lately.
        taken: Bytes,
        /// What it read again meanwhile.
        back: Bytes,
        /// Share of that time in which all of its tasks waited.
        waited: Percent,
        /// The most that this may be.
        budget: Percent,
    },
    /// All tasks wait for memory that refaults.
    Lags {
        /// Share of the last 10 s in which all tasks waited.
        stalled: Percent,
        /// Refaults per second.
        per_second: u64,
    },
    /// Memory is about to run out: `min_ttl_ms` is restored, so that the kernel does not OOM-kill.
    #[serde(rename = "verge")]
    NearOom {
        /// Headroom that is left.
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
    /// This process makes memory run out.
    Runaway {
        /// How fast it grows.
        growth: Rate,
        /// How fast all memory that cannot be reclaimed grows.
        of: Rate,
        /// Headroom that is left for it.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// Time until that is used up.
        left: Option<Span>,
        /// Share of the last seconds in which all tasks stalled.
        stalled: Option<Percent>,
    },
    /// It and processes like it make memory run out together.
    Family {
        /// How many they are, as far as is known.
        processes: u32,
        /// How fast they grow together.
        growth: Rate,
        /// How fast all memory that cannot be reclaimed grows.
        of: Rate,
        /// Headroom that is left for it.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// Time until that is used up.
        left: Option<Span>,
    },
    /// They were all ended a moment ago, and came again.
    Again {
        /// How many they are, as far as is known.
        processes: u32,
        /// Time since they were ended.
        after: Span,
        /// What starts them and goes with them; `None` if that is unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ancestor: Option<Ancestor>,
        /// How fast they grow together.
        growth: Rate,
        /// Headroom that is left for them.
        headroom: Bytes,
    },
    /// All tasks stall for memory, or all of a protected unit, and it contributes most.
    Contributes {
        /// For how long.
        since: Span,
        /// Share of the last seconds in which they stalled.
        stalled: Percent,
        /// The protected unit; `None` for the whole machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<UnitName>,
        /// What it holds.
        holds: Bytes,
    },
    /// It ignored SIGTERM, and there is no more time.
    #[serde(rename = "deaf")]
    SigtermIgnored {
        /// Time since SIGTERM was sent.
        asked: Span,
        /// Headroom that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// There is no headroom, all tasks stall, and no process grows: the largest is killed.
    Hopeless {
        /// For how long.
        since: Span,
        /// Share of the last seconds in which all tasks stalled.
        stalled: Percent,
    },
    /// It makes memory run out and has a unit of its own: that unit is throttled above the reserve.
    Fills {
        /// How fast it grows.
        growth: Rate,
        /// Headroom that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// Part of the headroom that is reserved for all others.
        reserve: Bytes,
        /// Time until headroom is used up, at this growth.
        left: Span,
    },
    /// It has been throttled at its `memory.high` and still grows.
    #[serde(rename = "pushes")]
    AtLimit {
        /// For how long.
        since: Span,
        /// Headroom that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// It would be killed; its user can say what to do instead.
    #[serde(rename = "ask")]
    AskUser {
        /// How fast it grows.
        growth: Rate,
        /// Headroom that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// Its user answered.
    Answered {
        /// The answer.
        answer: Answer,
        /// Time from the question to the answer.
        after: Span,
    },
    /// No answer came in time, and there is not enough headroom for it.
    Unanswered {
        /// For how long it has been frozen.
        since: Span,
        /// Headroom that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// It is frozen, and memory still runs out.
    StillShort {
        /// For how long it has been frozen.
        since: Span,
        /// Headroom that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// There is headroom again, or the unit takes no more: no limit is needed.
    Eased {
        /// Headroom that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// Why something is held or released.
    Protect(Why),
    /// Nothing may be held: the kill switch, a rival, the configuration, or the end of the run.
    Stop,
}
