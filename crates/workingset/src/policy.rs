//! Replacement policies: one file each, one line in [`POLICIES`].
//!
//! A policy says whether a page was in memory, and which pages it evicts. It counts nothing:
//! [`Spec::run`] counts, in the same way for all policies. That code is compiled for each policy,
//! so nothing is dispatched at a reference.

mod arc;
mod car;
mod choice;
mod clock;
mod clock_pro;
mod drive;
mod fifo;
mod fifo_sizes;
mod framed;
mod gclock;
mod half_life;
mod interface;
mod le9;
mod lfu;
mod linux;
mod lirs;
mod list;
mod lru;
mod lru_k;
mod lru_sizes;
mod mglru;
mod mq;
mod nfu;
mod opt;
mod options;
mod pff;
mod random;
mod s3fifo;
mod sieve;
mod spec;
mod tinylfu;
mod two_q;
mod vmin;
mod working_set;
mod ws_clock;

pub use crate::next_use::{NEVER, next_uses};
pub use choice::Choice;
pub(crate) use choice::{set_option, split, unknown};
pub use drive::{Score, Step, run_made};
pub use interface::{Access, Evictions, Policy, Setup};
pub use list::POLICIES;
pub use options::{OptionSpec, Options};
pub use spec::Spec;
