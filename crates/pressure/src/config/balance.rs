//! What reclaim takes first, and how much of swap it reads at once.

use serde::{Deserialize, Serialize};

/// The balance of reclaim. All of it is off unless asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Balance {
    /// Move `vm.swappiness` so that reclaim takes more of the kind, files or anonymous memory, that refaults less.
    pub swappiness: bool,
    /// Lower `vm.page-cluster` while what it reads ahead from swap is not used.
    pub page_cluster: bool,
    /// Raise the Multi-Gen LRU's `min_ttl_ms` while all tasks wait for refaults, and memory is not about to run out.
    pub min_ttl: bool,
}
