//! Protection: which files are worth holding in memory, and which are held.
//!
//! ```text
//! additions, evictions ─► Learner ─► WarmFile in the sample ─► decide ─► Act ─► the holder locks
//! ```
//!
//! The learner runs in the holder (`warmset-hold`), the process that locks files and reads the kernel's
//! ring of events. Only its conclusions enter the sample, so a decision to hold can be made again from
//! the recording.

mod act;
mod ghosts;
mod learn;
mod needs;
mod ranges;
mod stalls;
mod warm;

pub use act::{Act, FileId, Why};
pub use learn::{Event, EventKind, Hot, Learner, STRIDE};
pub(crate) use needs::{Need, Needs, StalledUnit};
pub use ranges::Ranges;
pub use stalls::OrderStalls;
pub(crate) use warm::SOON;
pub use warm::{MAX_FILES, Warm, WarmFile, WarmSums};
