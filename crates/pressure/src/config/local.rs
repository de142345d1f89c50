//! Local replacement: an experiment, off unless asked for.

use super::text;
use crate::local::Policy;
use serde::{Deserialize, Serialize};
use units::Span;

/// Pressure on the clock of one process when free memory is at a watermark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Local {
    /// What is done, and to whom.
    pub policy: Policy,
    /// Once in so long, at most. More often costs more: each time all page tables of a process are walked.
    #[serde(with = "text")]
    pub every: Span,
}

impl Default for Local {
    fn default() -> Self {
        Self {
            policy: Policy::Off,
            every: Span::millis(250),
        }
    }
}
