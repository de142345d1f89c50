//! Caches of names and inodes.

use super::text;
use serde::{Deserialize, Serialize};
use units::Percent;

/// Caches of names and inodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Caches {
    /// What to do about names that do not exist.
    pub negative_dentries: NegativeDentries,
    /// Memory they may take, as a share of what is reclaimable; one entry counts 192 bytes.
    #[serde(with = "text")]
    pub negative_cap: Percent,
    /// Which cache to prefer when both compete: moves `vm.vfs_cache_pressure`.
    pub prefer: Prefer,
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            negative_dentries: NegativeDentries::Watch,
            negative_cap: Percent::hundredths(150),
            prefer: Prefer::Neither,
        }
    }
}

/// What to do about names that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NegativeDentries {
    /// Nothing.
    Ignore,
    /// Count and report.
    Watch,
    /// Also limit them, by whatever this kernel offers.
    Limit,
}

/// Which cache to prefer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prefer {
    /// Leave it to the kernel.
    Neither,
    /// Keep names and inodes.
    Objects,
    /// Keep file contents.
    Pages,
}
