//! `warmset-hold`: learns which files thrash, and holds what the guard asks for in memory.
//!
//! ```text
//!   the kernel's events ─► ring ─► learner ─┐
//!   /proc/PID/fd, handles ─► finder ────────┼─► report ─► the guard ─► orders ─► holdings (mmap, mlock2)
//!   inotify ─► last use ────────────────────┤
//!   paths that were named ─► their files ───┤
//!   direct compactions ─► counts by order ──┘
//! ```
//!
//! A process of its own, so that the guard keeps its budget and a fault here cannot stop it. What it does is
//! mappings of its own, so nothing outlives it. It touches no page of a mapping: a file that is cut
//! short under it cannot end it.

mod compactions;
mod finder;
mod handle;
mod holding;
mod hook;
mod layout;
mod map;
mod named;
mod probe;
mod programs;
mod ring;
mod serve;
mod thaw;
mod tracepoint;
mod tree;
mod usage;

pub use compactions::tells_a_compaction;
pub use hook::{become_hook, end_with_parent};
pub use probe::{probe_guard, probe_holder};
pub use serve::serve;
pub use thaw::wait_and_thaw;
pub use tracepoint::tells_an_event;
