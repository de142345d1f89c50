//! Protection: what is worth holding in memory, and what is held.
//!
//! ```text
//! additions, evictions ─► Learner ─► WarmFile in the sample ─► decide ─► Act ─► the holder locks
//! ```
//!
//! The learner runs in the process that locks (`warmset-hold`), beside the kernel's ring of events, and
//! only its conclusions enter the sample; so a decision to hold can be made again from the recording.

mod act;
mod ghosts;
mod learn;
mod needs;
mod ranges;
mod warm;

pub use act::{Act, FileId, Why};
pub use learn::{Event, EventKind, Hot, Learner, STRIDE};
pub(crate) use needs::{Need, Needs};
pub use ranges::Ranges;
pub(crate) use warm::SOON;
pub use warm::{MAX_FILES, Warm, WarmFile, WarmSums};
