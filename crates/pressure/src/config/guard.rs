//! When someone has to end, and who never does.

use super::text;
use serde::{Deserialize, Serialize};
use units::{Percent, Span};

/// Who ends when memory runs out, and when. In force in the modes `guard` and `protect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Guard {
    /// People are told when room is used up within this time.
    #[serde(with = "text")]
    pub warn_ahead: Span,
    /// Who makes memory run out is asked to end (SIGTERM) when room is used up within this time. 0 s: never asked.
    #[serde(with = "text")]
    pub term_ahead: Span,
    /// Who fills memory and has a unit of its own may have all but the reserve of `term-room` from this time before
    /// memory is full: `memory.high`, undone afterwards. 0 s: nobody is contained.
    #[serde(with = "text")]
    pub throttle_ahead: Span,
    /// Who pushes against that for so long, with no room to raise it, is asked to end.
    #[serde(with = "text")]
    pub throttle_for: Span,
    /// Who would have to end and has a unit of its own is stopped, and the person whose it is asked, for so long; without
    /// an answer it ends. Only while that person can be asked. 0 s: nobody is asked.
    #[serde(with = "text")]
    pub ask_for: Span,
    /// It is killed (SIGKILL) when room is used up within this time.
    #[serde(with = "text")]
    pub kill_ahead: Span,
    /// SIGTERM waits until less than this share of memory is left, or what grows in half of `term-ahead`.
    #[serde(with = "text")]
    pub term_room: Percent,
    /// SIGKILL waits until less than this share of memory is left, or what grows in half of `kill-ahead`.
    #[serde(with = "text")]
    pub kill_room: Percent,
    /// Time that who was asked to end has for it, if memory lasts so long.
    #[serde(with = "text")]
    pub term_grace: Span,
    /// File cache that counts as in use even if nothing of it is read again, as a share of memory.
    #[serde(with = "text")]
    pub cache_least: Percent,
    /// File cache that counts as in use while much of it is read again, as a share of memory.
    #[serde(with = "text")]
    pub cache_most: Percent,
    /// With no room at all and nearly all time lost for so long, the largest is killed although nobody grows.
    #[serde(with = "text")]
    pub hopeless_after: Span,
    /// Who is never ended: a unit of the system, `app:NAME` for one that a user started, `program:NAME` for a program that
    /// is root's, `pid:NUMBER`; a star at the end stands for anything.
    pub spare: Vec<String>,
    /// Who is ended late, in the same words.
    pub avoid: Vec<String>,
    /// Who is ended early, in the same words.
    pub prefer: Vec<String>,
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
            term_room: Percent::new(6),
            kill_room: Percent::new(2),
            term_grace: Span::millis(1500),
            cache_least: Percent::new(5),
            cache_most: Percent::new(15),
            hopeless_after: Span::secs(10),
            spare: Vec::new(),
            avoid: Vec::new(),
            prefer: Vec::new(),
        }
    }
}
