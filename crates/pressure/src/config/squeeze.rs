//! What is taken of units that do not use it.

use super::text;
use serde::{Deserialize, Serialize};
use units::Percent;

/// Unused memory of units in the background, taken before anybody needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Squeeze {
    /// Their unused memory is taken: a service of the system, `background.slice` of each user, or a control group by its
    /// path; a star at the end stands for anything. None are squeezed unless they are named.
    pub units: Vec<String>,
    /// Share of time for which all tasks of a unit may wait for memory. More takes faster, and finds out later what is in use.
    #[serde(with = "text")]
    pub budget: Percent,
}

impl Default for Squeeze {
    fn default() -> Self {
        Self {
            units: Vec::new(),
            budget: Percent::new(1),
        }
    }
}
