//! How near memory is to running out: warn, then SIGTERM while there is time, then SIGKILL.

use super::choice::Pick;
use super::outlook::Outlook;
use crate::config::{Guard, Share};
use serde::{Deserialize, Serialize};
use units::{Bytes, Percent, Span};

/// Processes are scanned when headroom is used up within this time. Growth has to be known for seconds
/// before it decides anything; a longer time scans more often than needed.
const ALERT_AHEAD: Span = Span::secs(60);
/// Processes are also scanned below this share of headroom, whatever the growth.
const ALERT_HEADROOM: Percent = Percent::new(12);
/// A forecast of seconds means nothing while half of memory is left: few loads grow that far.
const WARN_HEADROOM: Percent = Percent::new(50);
/// A kill keeps no more than this free, however fast memory grows. Larger kills bursts that would
/// have fit; smaller leaves too little for the seconds that a kill takes.
const MOST_KILL_HEADROOM: Percent = Percent::new(15);
/// The same for SIGTERM, which needs more time.
const MOST_TERM_HEADROOM: Percent = Percent::new(25);
// With swap, a machine thrashes long before swap is full. So SIGTERM comes earlier for one process
// that holds much of memory, has grown for long, and costs much time. Looser values hit a job that
// only swaps its idle pages out.
/// The share of memory that such a process holds.
const THRASH_SHARE: Percent = Percent::new(40);
/// How long it has grown.
const THRASH_RISING: Span = Span::secs(4);
/// The share of time that all tasks stall.
const THRASH_STALLED: Percent = Percent::new(25);
/// How soon headroom, swap included, is used up.
const THRASH_AHEAD: Span = Span::secs(15);

/// How near memory is to running out.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Severity {
    /// Headroom enough.
    #[default]
    Calm,
    /// Processes are scanned.
    Alert,
    /// Users are warned.
    Warn,
    /// Time for SIGTERM.
    Term,
    /// Time for SIGKILL.
    Kill,
}

/// The severity of an outlook, whichever process causes it.
pub(crate) fn severity(outlook: &Outlook, config: &Guard) -> Severity {
    if outlook.ends_within(config.kill_ahead, config.kill_room, MOST_KILL_HEADROOM) {
        Severity::Kill
    } else if is_time_for_sigterm(outlook, (config.term_ahead, config.term_room)) {
        Severity::Term
    } else if warns(outlook, config.warn_ahead) {
        Severity::Warn
    } else if alerts(outlook) {
        Severity::Alert
    } else {
        Severity::Calm
    }
}

/// Headroom that is left when SIGTERM comes: a throttled unit may not take it.
pub(crate) fn reserve(outlook: &Outlook, config: &Guard) -> Bytes {
    outlook.bound(config.term_ahead, config.term_room, MOST_TERM_HEADROOM)
}

/// Whether it is time for SIGTERM: headroom ends within `ahead` and is below the share `headroom`.
pub(crate) fn is_time_for_sigterm(outlook: &Outlook, (ahead, headroom): (Span, Share)) -> bool {
    outlook.ends_within(ahead, headroom, MOST_TERM_HEADROOM)
}

/// Whether users should be warned: headroom ends within `ahead`.
pub(crate) fn warns(outlook: &Outlook, ahead: Span) -> bool {
    outlook.left.is_some_and(|left| left <= ahead)
        && outlook.expected_headroom() <= WARN_HEADROOM.of(outlook.managed)
}

/// Whether one process is about to fill memory, swap or not: reason to watch which files are in use.
pub(crate) fn fills(outlook: &Outlook) -> bool {
    warns(&outlook.without_swap(), ALERT_AHEAD)
}

/// Whether there is reason to scan processes.
pub(crate) fn alerts(outlook: &Outlook) -> bool {
    outlook.left.is_some_and(|left| left <= ALERT_AHEAD) || is_tight(outlook)
}

/// Whether headroom is so small that processes are scanned even without growth.
pub(crate) fn is_tight(outlook: &Outlook) -> bool {
    outlook.expected_headroom() <= ALERT_HEADROOM.of(outlook.managed)
}

/// Whether the growing process makes the machine thrash already, with swap left to fill.
pub(crate) fn thrashes(outlook: &Outlook, pick: &Pick) -> bool {
    outlook.swap > Bytes::ZERO
        && outlook
            .stalled
            .is_some_and(|stalled| stalled >= THRASH_STALLED)
        && outlook.left.is_some_and(|left| left <= THRASH_AHEAD)
        && pick.growth.rising >= THRASH_RISING
        && pick.size() >= THRASH_SHARE.of(outlook.managed)
}
