//! Numbers with their units: [`Bytes`], [`Pages`], [`Percent`], [`Rate`], [`Span`], [`Micros`].
//!
//! Each type parses what people write, such as `"512 MiB"`, `"2.5 %"` or `"30 s"`, and prints it so. A number without a
//! unit does not parse. Arithmetic never wraps: [`Bytes::less`] is zero where a difference would be negative, and sums
//! saturate.
//!
//! [`terminal`] says which characters text must not have when it is shown.
//!
//! With the feature `serde` the types serialise as plain integers in their base unit. Without it the crate has no
//! dependencies.

mod amount;
mod percent;
mod rate;
mod span;
pub mod terminal;
mod text;

pub use amount::{Bytes, Pages};
pub use percent::Percent;
pub use rate::Rate;
pub use span::{Micros, Span};
pub use text::Unparsable;
