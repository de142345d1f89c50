//! Numbers with their units: [`Bytes`], [`Pages`], [`Percent`], [`Rate`], [`Span`], [`Micros`].
//!
//! Each type parses what people write (`"512 MiB"`, `"2.5 %"`, `"30 s"`), prints what people read,
//! and has arithmetic that says in its name what it does at the edge: [`Bytes::less`] subtracts
//! or gives zero, never wraps. A number without a unit does not parse.
//!
//! With the feature `serde` the types serialise as plain integers in their base unit, so that
//! they can be recorded; without it the crate has no dependencies.

mod amount;
mod percent;
mod rate;
mod span;
mod text;

pub use amount::{Bytes, Pages};
pub use percent::Percent;
pub use rate::Rate;
pub use span::{Micros, Span};
pub use text::Unparsable;
