//! Trace analysis: from a reference trace, how large the working set is, what each replacement
//! policy would miss at each size, what the optimum would miss, and what a floor would change.
//!
//! ```text
//!   Batch ──► Loader ──► Trace ──┬──► policy    one run: misses, write-backs, mean size
//!   (reader, synth)              ├──► measure   one pass: all window sizes, all memory sizes
//!                                ├──► objects   one run: misses and missed bytes of objects with sizes
//!                                └──► engine    several traces under one memory
//! ```
//!
//! The crate is pure: it reads no file and no clock. Pages are dense numbers in the order of their
//! first use, so every structure is an array.

mod ahead;
pub mod analysis;
pub mod capacity;
pub mod dense;
pub mod engine;
pub mod frames;
pub mod links;
pub mod measure;
pub mod next_use;
pub mod objects;
pub mod policy;
pub mod rng;
pub mod synth;
pub mod trace;
pub mod uses;

pub use policy::{Access, POLICIES, Policy, Score, Spec};
pub use trace::{About, Batch, Clock, Loader, Op, Trace};
pub use uses::Uses;

/// A page of a [`Trace`]: its dense number, 0 for the page used first.
pub type Page = u32;

/// No page.
pub const NONE: Page = u32::MAX;

/// Why a trace cannot be analysed as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The trace has no references.
    #[error("the trace has no references")]
    Empty,
    /// More pages or references than the dense numbers hold.
    #[error("more than {0}: split the trace, or take a part of it")]
    TooMany(&'static str),
    /// There is no policy or option of this name.
    #[error("{0}")]
    Unknown(String),
    /// A number that is out of range.
    #[error("{0}")]
    Unfit(String),
}
