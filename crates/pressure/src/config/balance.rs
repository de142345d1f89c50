//! What reclaim takes first, and how much of swap it reads at once.

use serde::{Deserialize, Serialize};

/// The balance of reclaim. All of it is off unless asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Balance {
    /// Move `vm.swappiness` towards whichever of files and programs' own memory comes back less.
    pub swappiness: bool,
    /// Lower `vm.page-cluster` while what it reads ahead from swap is not used.
    pub page_cluster: bool,
    /// Raise the Multi-Gen LRU's `min_ttl_ms` while everything waits for memory that comes back, and no end of it is near.
    pub min_ttl: bool,
}
