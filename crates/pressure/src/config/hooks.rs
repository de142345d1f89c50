//! Programs that are run when something happens.

use super::text;
use serde::{Deserialize, Serialize};
use units::Span;

/// Programs of root's that are run when something happens; nothing where there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hooks {
    /// When memory is about to run out: the absolute path of a program.
    pub warn: Option<String>,
    /// When a unit was throttled by `memory.high`.
    pub throttled: Option<String>,
    /// When a unit was frozen, and its user asked what becomes of it.
    pub asked: Option<String>,
    /// When a process was sent SIGTERM or SIGKILL.
    pub ended: Option<String>,
    /// A program that takes longer is killed, with all that it has started.
    #[serde(with = "text")]
    pub timeout: Span,
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            warn: None,
            throttled: None,
            asked: None,
            ended: None,
            timeout: Span::secs(5),
        }
    }
}

/// What a program is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// Memory is about to run out.
    Warn,
    /// A unit was throttled.
    Throttled,
    /// A unit was frozen, and its user asked.
    Asked,
    /// A process was signalled.
    Ended,
}

impl Occasion {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Warn, Self::Throttled, Self::Asked, Self::Ended];

    /// Its key in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Throttled => "throttled",
            Self::Asked => "asked",
            Self::Ended => "ended",
        }
    }
}

impl Hooks {
    /// The program for an occasion, if there is one.
    pub fn of(&self, occasion: Occasion) -> Option<&str> {
        match occasion {
            Occasion::Warn => self.warn.as_deref(),
            Occasion::Throttled => self.throttled.as_deref(),
            Occasion::Asked => self.asked.as_deref(),
            Occasion::Ended => self.ended.as_deref(),
        }
    }

    /// Whether there is any.
    pub fn are_any(&self) -> bool {
        Occasion::ALL
            .iter()
            .any(|occasion| self.of(*occasion).is_some())
    }
}
