//! What a check looks at, and what it finds.

use super::settings::Settings;
use crate::observation::Observation;
use serde::Serialize;

/// What the checks look at.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) observed: Observation,
    pub(super) settings: Settings,
    /// True if this command runs as root.
    pub(super) root: bool,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) level: Level,
    pub(super) what: String,
    /// Why it matters; empty at level ok.
    pub(super) why: String,
    /// What to do about it; empty at level ok.
    pub(super) remedy: String,
}

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Level {
    /// As it should be.
    Ok,
    /// Could be better; the exit code stays 0.
    Advice,
    /// Wrong; the exit code is 1.
    Problem,
}

impl Finding {
    pub(super) fn ok(what: impl Into<String>) -> Self {
        Self {
            level: Level::Ok,
            what: what.into(),
            why: String::new(),
            remedy: String::new(),
        }
    }

    pub(super) fn advice(
        what: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Advice,
            what: what.into(),
            why: why.into(),
            remedy: remedy.into(),
        }
    }

    pub(super) fn problem(
        what: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Problem,
            ..Self::advice(what, why, remedy)
        }
    }
}
