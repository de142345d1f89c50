//! Programs that are traced or watched: what they have mapped, how much of it they use, and which pages.

mod damon;
mod idle;
mod maps;
mod pages;
pub(crate) mod rollup;
pub(crate) mod watch;

pub use damon::{Damon, NoDamon, Space};
pub use maps::{Mapping, mappings};
pub use pages::{Pages, Touched};
pub use watch::{Used, Watch, Watched};

/// Held by a test while it looks at the accessed bits of the process that all tests share: a test that takes them back
/// blinds the others.
#[cfg(test)]
pub(crate) static ACCESSED_BITS: std::sync::Mutex<()> = std::sync::Mutex::new(());
