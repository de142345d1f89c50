//! What an operating system's reclaim knows about the pages in memory: not each use, only a bit
//! that a use sets. Reclaim reads the bit when it must evict a page.
//!
//! The policies of one trace, `linux`, `mglru` and `le9`, run the same code as the engine for
//! several programs.

mod active_inactive;
mod floors;
mod generations;
mod reclaim;
mod simple;

pub use active_inactive::ActiveInactive;
pub use floors::Floors;
pub use generations::{Generations, Tuning};
pub use reclaim::{Frames, Kind, Moment};
pub use simple::{Clock, Lru};
