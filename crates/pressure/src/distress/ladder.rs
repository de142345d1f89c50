//! How far things have come: warn, then SIGTERM while there is time, then SIGKILL.

use super::choice::Pick;
use super::headroom::Outlook;
use crate::config::Guard;
use serde::{Deserialize, Serialize};
use units::{Bytes, Percent, Span};

/// Nearer than this the processes are looked at.
const ALERT_AHEAD: Span = Span::secs(60);
/// Or with less room than this.
const ALERT_HEADROOM: Percent = Percent::new(12);
/// A forecast of seconds means nothing while half of memory is left.
const WARN_HEADROOM: Percent = Percent::new(50);
/// No more than this is kept free by a kill, however fast something grows.
const MOST_KILL_HEADROOM: Percent = Percent::new(15);
const MOST_TERM_HEADROOM: Percent = Percent::new(25);
/// With swap the machine stands still long before swap is full. One process that holds so much of memory, has grown
/// so long, while so much time is lost, is asked to end so far ahead.
const FREEZE_SHARE: Percent = Percent::new(40);
const FREEZE_RISING: Span = Span::secs(4);
const FREEZE_STALLED: Percent = Percent::new(25);
const FREEZE_AHEAD: Span = Span::secs(15);

/// How far things have come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Severity {
    /// Room enough.
    #[default]
    Calm,
    /// Worth a look at who holds memory.
    Alert,
    /// Worth a word to people.
    Warn,
    /// Time for SIGTERM.
    Term,
    /// Time for SIGKILL.
    Kill,
}

/// How far things have come, whoever makes it.
pub(crate) fn severity(outlook: &Outlook, config: &Guard) -> Severity {
    if outlook.ends_within(config.kill_ahead, config.kill_room, MOST_KILL_HEADROOM) {
        Severity::Kill
    } else if asks(outlook, (config.term_ahead, config.term_room)) {
        Severity::Term
    } else if warns(outlook, config.warn_ahead) {
        Severity::Warn
    } else if alerts(outlook) {
        Severity::Alert
    } else {
        Severity::Calm
    }
}

/// Room that is left when SIGTERM comes: what a contained unit may not take.
pub(crate) fn reserve(outlook: &Outlook, config: &Guard) -> Bytes {
    outlook.bound(config.term_ahead, config.term_room, MOST_TERM_HEADROOM)
}

/// Whether it is time to ask someone to end, so near to the end and with so little room.
pub(crate) fn asks(outlook: &Outlook, (ahead, headroom): (Span, Percent)) -> bool {
    outlook.ends_within(ahead, headroom, MOST_TERM_HEADROOM)
}

/// Whether people should be told: the end is so near.
pub(crate) fn warns(outlook: &Outlook, ahead: Span) -> bool {
    outlook.left.is_some_and(|left| left <= ahead)
        && outlook.expected_headroom() <= WARN_HEADROOM.of(outlook.managed)
}

/// Whether somebody is about to have all of memory, swap or not: reason to look what else is in use.
pub(crate) fn fills(outlook: &Outlook) -> bool {
    warns(&outlook.without_swap(), ALERT_AHEAD)
}

/// Whether there is reason to look at who holds memory.
pub(crate) fn alerts(outlook: &Outlook) -> bool {
    outlook.left.is_some_and(|left| left <= ALERT_AHEAD) || outlook.is_tight()
}

impl Outlook {
    /// Whether there is so little room that who holds memory is worth a look, whether it grows or not.
    pub(crate) fn is_tight(&self) -> bool {
        self.expected_headroom() <= ALERT_HEADROOM.of(self.managed)
    }
}

/// Whether the one that grows has the machine standing still already, with swap left to fill.
pub(crate) fn freezes(outlook: &Outlook, pick: &Pick) -> bool {
    outlook.swap > Bytes::ZERO
        && outlook
            .stalled
            .is_some_and(|stalled| stalled >= FREEZE_STALLED)
        && outlook.left.is_some_and(|left| left <= FREEZE_AHEAD)
        && pick.growth.rising >= FREEZE_RISING
        && pick.size() >= FREEZE_SHARE.of(outlook.managed)
}
