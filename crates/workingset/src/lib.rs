//! The laboratory of working sets: a reference trace in, and how large the working set is, what
//! each replacement policy would miss at each size, what the optimum would, and what a floor would
//! change, out.
//!
//! ```text
//!   Batch ──► Loader ──► Trace ──┬──► policy    one run: misses, write-backs, mean size
//!   (reader, synth)              ├──► measure   one pass: all window sizes, all memory sizes
//!                                └──► engine    several traces under one memory
//! ```
//!
//! Pure: no file, no clock. Pages are dense numbers in the order of their first use, so that every
//! structure is an array.

pub mod analysis;
pub mod capacity;
pub mod dense;
pub mod engine;
pub mod frames;
pub mod links;
pub mod measure;
pub mod next_use;
pub mod policy;
pub mod rng;
pub mod synth;
pub mod trace;
pub mod uses;

pub use policy::{Access, POLICIES, Policy, Score, Spec};
pub use trace::{About, Batch, Clock, Loader, Op, Trace};
pub use uses::Uses;

/// A page of a [`Trace`]: its dense number, 0 for the first one used.
pub type Page = u32;

/// No page.
pub const NONE: Page = u32::MAX;

/// What was asked for and cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A trace without a reference has no measures.
    #[error("the trace has no references")]
    Empty,
    /// More pages or references than the dense numbers hold.
    #[error("more than {0}: split the trace, or take a part of it")]
    TooMany(&'static str),
    /// A policy, or an option of it, by a name that there is not.
    #[error("{0}")]
    Unknown(String),
    /// A number that the policy cannot work with.
    #[error("{0}")]
    Unfit(String),
}
