//! Other processes: what they have mapped.

mod maps;

pub use maps::{Mapping, mappings};
