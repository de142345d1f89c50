//! Measures of a trace, each in one pass: what the working set is at every window, what LRU misses
//! at every size.

pub mod chunk;
mod fenwick;
pub mod interval;
pub mod lifetime;
mod line;
pub mod map;
pub mod mixture;
pub mod moves;
pub mod phases;
pub mod published;
pub mod residence;
pub mod sample;
pub mod series;
pub mod stack;
pub mod stream;
pub mod timed;

pub use chunk::Chunk;
pub use interval::Intervals;
pub use lifetime::{Knees, Lifetime, Point};
pub use published::published;
pub use series::Series;
pub use stack::{Distances, MissCurve};
