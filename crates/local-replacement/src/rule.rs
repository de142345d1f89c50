//! The rule of an arm: which way the clock is pressed, and of which process.

use std::str::FromStr;

/// What is done at a watermark, and to which process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Processes are looked at, and none is pressed on: what the other rules are compared with,
    /// because looking has a cost of its own.
    Watch,
    /// This way, on this process.
    Press(Way, Target),
}

/// Which way the clock is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// The pages look unused.
    Up,
    /// The pages look used.
    Down,
}

/// Which process is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The largest in memory.
    Largest,
    /// The process that runs next: the leftmost in the scheduler's tree.
    Next,
    /// The process that runs last: the rightmost.
    Last,
}

impl Rule {
    /// Every rule by its name. The names are those of the lab's arms, after `local:`.
    pub(crate) const ALL: [(&str, Self); 7] = [
        ("watch", Self::Watch),
        ("up-largest", Self::Press(Way::Up, Target::Largest)),
        ("up-next", Self::Press(Way::Up, Target::Next)),
        ("up-last", Self::Press(Way::Up, Target::Last)),
        ("down-largest", Self::Press(Way::Down, Target::Largest)),
        ("down-next", Self::Press(Way::Down, Target::Next)),
        ("down-last", Self::Press(Way::Down, Target::Last)),
    ];
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        for (known, rule) in Self::ALL {
            if known == name {
                return Ok(rule);
            }
        }
        let known = Self::ALL.map(|(known, _)| known).join(", ");
        Err(format!("{name:?} is not one of {known}"))
    }
}
