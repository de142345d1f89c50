//! The arms of a comparison: what drives the watermarks in each.

use crate::watermark::{LEAST_FACTOR, MOST_FACTOR};
use std::fmt;
use std::str::FromStr;

/// One configuration in a comparison.
///
/// ```
/// use pressure::replay::Arm;
/// assert_eq!("static:1000".parse(), Ok(Arm::Static(1000)));
/// assert!("static:0".parse::<Arm>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// The factors that were in force when the recording was made.
    Recorded,
    /// The factor that was found, all the time.
    Nothing,
    /// One factor, all the time.
    Static(u64),
    /// The founding design, with the configuration's other settings.
    Classic,
    /// The configuration as it is.
    Warmset,
}

/// No such arm.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an arm: recorded, none, static:1 to static:3000, classic or warmset")]
pub struct NotAnArm(String);

impl Arm {
    /// What was, what doing nothing gives and ours, and then the others, each once.
    pub fn beside_usual(others: &[Self]) -> Vec<Self> {
        let mut arms = vec![Self::Recorded, Self::Nothing, Self::Warmset];
        for arm in others {
            if !arms.contains(arm) {
                arms.push(*arm);
            }
        }
        arms
    }
}

impl FromStr for Arm {
    type Err = NotAnArm;

    fn from_str(text: &str) -> Result<Self, NotAnArm> {
        let factor = |digits: &str| {
            digits
                .parse()
                .ok()
                .filter(|factor| (LEAST_FACTOR..=MOST_FACTOR).contains(factor))
        };
        match text {
            "recorded" => Ok(Self::Recorded),
            "none" => Ok(Self::Nothing),
            "classic" => Ok(Self::Classic),
            "warmset" => Ok(Self::Warmset),
            _ => text
                .strip_prefix("static:")
                .and_then(factor)
                .map(Self::Static)
                .ok_or_else(|| NotAnArm(text.to_owned())),
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recorded => f.pad("recorded"),
            Self::Nothing => f.pad("none"),
            Self::Static(factor) => f.pad(&format!("static:{factor}")),
            Self::Classic => f.pad("classic"),
            Self::Warmset => f.pad("warmset"),
        }
    }
}
