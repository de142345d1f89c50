//! Programs that are traced or watched: what they have mapped, and how much of it they use.

mod maps;
mod watch;

pub use maps::{Mapping, mappings};
pub use watch::{Used, Watch, Whom};
