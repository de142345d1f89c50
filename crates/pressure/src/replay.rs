//! What would another configuration have done?
//!
//! Two questions are put to a recording. [`decide_again`] is an *open loop*: the recorded samples as
//! they were, decided again; by the recorded configuration this must give the recorded decisions.
//! [`compare`] is a *closed loop*: decisions change the machine, so it keeps a model of the machine,
//! and only demand is taken from the recording, for demand is what a change of watermarks leaves as it is.
//!
//! ```text
//! demand(t0, t1) = −Δnr_free_pages + Δpgsteal_{kswapd, direct, khugepaged, proactive}      [pages]
//! free(t + h)    = free(t) − demand(h) + (R·h while kswapd runs)                           [pages]
//! ```
//!
//! kswapd is woken when free < low, starts after the response time τ, and sleeps again at high.
//! Below min, allocations stall: they reclaim what is missing themselves. `R` is the median rate of
//! kswapd over the recorded intervals in which it had to run throughout (free below low at both ends), or
//! the fastest interval if there is none.
//! Steps are `h` ≤ 10 ms; demand is spread evenly over an interval.
//!
//! Each question is put in passes over the entries, in constant memory: one pass for [`Deciding`], [`Calibrating`] and
//! [`Rewriting`], and two for the closed loop, a [`Survey`] and then [`Modelling`].
//!
//! Cost: O(samples · arms). Known limits: zones and nodes are one reservoir; there is always something
//! to reclaim, at the same rate; bursts shorter than the recording's interval are flattened; arms look
//! when the recording did, not when they would have; compaction, refaults and pressure stay as recorded.
//! So the `recorded` arm is simulated too, beside what the kernel counted: the model's skill is to be seen.
//! Source: the reservoir of inventory theory (base stock), as in `docs/reference/formats.md`.

mod arm;
mod calibration;
mod compare;
mod measure;
mod open;
mod reservoir;
mod rewrite;
mod thinned;
mod trace;

pub use arm::{Arm, NotAnArm};
pub use calibration::{Calibrating, Calibration, Coverage, calibrate};
pub use compare::{Comparison, Modelling, Plan, Survey, compare};
pub use measure::{Outcome, Recorded};
pub use open::{Again, Deciding, Difference, decide_again};
pub use rewrite::{Rewriting, rewrite};

use std::time::Duration;

/// Time from waking kswapd to the first page it frees, unless told otherwise.
///
/// A wake-up takes about a millisecond on an idle CPU and up to some 100 ms under a load that
/// is reclaiming and writing. Recordings are too coarse to tell, and stalls under a narrow gap depend on it,
/// so try others too.
pub const RESPONSE: Duration = Duration::from_millis(50);

/// Why a recording cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Nothing to go by.
    #[error("no two samples in a row: nothing to replay")]
    TooShort,
    /// A number that the model needs is in no sample.
    #[error("the recording does not say {0}")]
    Unknown(&'static str),
    /// The header's configuration is not readable, and none was given.
    #[error(
        "the recording has no configuration that this version can read: give one with --config"
    )]
    NoConfig,
    /// Something that a recording cannot hold.
    #[error("the recording cannot be written anew: {0}")]
    Unwritable(String),
}

#[cfg(test)]
mod tests;
