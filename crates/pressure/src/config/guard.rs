//! When a process is killed, and which never is.

use super::{Share, text};
use crate::rules::{Rule, exempting};
use serde::{Deserialize, Serialize};
use units::{Percent, Span};

/// Which process is killed when memory runs out, and when. In force in the modes `guard` and `protect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Guard {
    /// Users are told when headroom is used up within this time.
    #[serde(with = "text")]
    pub warn_ahead: Span,
    /// The process that makes memory run out is sent SIGTERM when headroom is used up within this time. 0 s: never.
    #[serde(with = "text")]
    pub term_ahead: Span,
    /// A unit that fills memory is throttled from this time before memory is full: `memory.high` leaves it all but the
    /// reserve of `term-room`, and is undone afterwards. 0 s: no unit is throttled.
    #[serde(with = "text")]
    pub throttle_ahead: Span,
    /// A unit that is held up at its `memory.high` for so long, with no headroom to raise it, is sent SIGTERM.
    #[serde(with = "text")]
    pub throttle_for: Span,
    /// A unit that would have to be killed is frozen, and its user is asked, for so long; without an answer it is
    /// killed. Only while that user can be asked. 0 s: no user is asked.
    #[serde(with = "text")]
    pub ask_for: Span,
    /// SIGKILL when headroom is used up within this time.
    #[serde(with = "text")]
    pub kill_ahead: Span,
    /// SIGTERM waits until no more headroom than this is left: bytes, or a share of memory, of 16 GiB at most.
    #[serde(with = "text")]
    pub term_room: Share,
    /// SIGKILL waits until no more headroom than this is left: bytes, or a share of memory, of 16 GiB at most.
    #[serde(with = "text")]
    pub kill_room: Share,
    /// Time from SIGTERM to SIGKILL, if memory lasts so long.
    #[serde(with = "text")]
    pub term_grace: Span,
    /// File cache that counts as in use even if nothing of it refaults: bytes, or a share of memory.
    #[serde(with = "text")]
    pub cache_least: Share,
    /// File cache that counts as in use while much of it refaults: bytes, or a share of memory.
    #[serde(with = "text")]
    pub cache_most: Share,
    /// With no headroom and nearly all time lost for so long, the largest is killed although no process grows.
    #[serde(with = "text")]
    pub hopeless_after: Span,
    /// All tasks, or all of a protected unit, stall for memory more than this share of the time, and headroom
    /// in RAM is used up: the machine thrashes, whether or not a process grows.
    #[serde(with = "text")]
    pub stall_limit: Percent,
    /// The largest contributor is sent SIGTERM when the machine has thrashed for so long. 0 s: never.
    #[serde(with = "text")]
    pub stall_for: Span,
    /// Which process of many alike is killed first.
    pub leaf: Leaf,
    /// What is never killed; [`crate::rules`] says how it is written.
    #[serde(deserialize_with = "exempting")]
    pub spare: Vec<Rule>,
    /// What is killed late.
    pub avoid: Vec<Rule>,
    /// What is killed early.
    pub prefer: Vec<Rule>,
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            warn_ahead: Span::secs(15),
            term_ahead: Span::secs(3),
            throttle_ahead: Span::secs(6),
            throttle_for: Span::secs(3),
            ask_for: Span::secs(15),
            kill_ahead: Span::secs(1),
            term_room: Share::Percent(Percent::new(6)),
            kill_room: Share::Percent(Percent::new(2)),
            term_grace: Span::millis(1500),
            cache_least: Share::Percent(Percent::new(5)),
            cache_most: Share::Percent(Percent::new(15)),
            hopeless_after: Span::secs(10),
            stall_limit: Percent::new(40),
            stall_for: Span::secs(20),
            leaf: Leaf::Largest,
            spare: Vec::new(),
            avoid: Vec::new(),
            prefer: Vec::new(),
        }
    }
}

/// Which process of many alike is killed first.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leaf {
    /// The one that holds the most memory.
    #[default]
    Largest,
    /// The one that started last.
    Youngest,
}
