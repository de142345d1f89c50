//! What can happen to a machine while it is watched.

use serde::{Deserialize, Serialize};

/// What can happen to a machine while it is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// The daemon started.
    Start,
    /// A pool of huge pages changed.
    Hugepages,
    /// Managed memory changed: hotplug, balloon, or lazily initialised memory.
    Hotplug,
    /// A swap area came or went.
    Swap,
}

impl Event {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Start, Self::Hugepages, Self::Hotplug, Self::Swap];
}
