//! How near memory is to running out: warn, then SIGTERM while there is time, then SIGKILL.
//!
//! ```text
//! SIGKILL: reserve = max(kill-room, growth · 0.2 s)                                    [bytes]
//! SIGTERM: reserve = max(term-room, min(growth · 0.5 s, 2 · term-room), that of SIGKILL)
//! ```
//!
//! The reserve is what may be left when a signal is sent. It covers what grows until the signal works,
//! and no more: a program that grows fast and then fits is left alone.

use super::choice::Pick;
use super::outlook::Outlook;
use crate::config::{Guard, Share};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Percent, Span};

/// Processes are scanned when headroom is used up within this time. Growth has to be known for seconds
/// before it decides anything; a longer time scans more often than needed.
const ALERT_AHEAD: Span = Span::secs(60);
/// Processes are also scanned below this much headroom, whatever the growth. The amount: on a large
/// machine a share of memory is more than any program takes in the seconds that a scan needs.
const ALERT_HEADROOM: Part = Part::new(Percent::new(12), Bytes::mib(4096));
/// A forecast of seconds means nothing while half of memory is left: few loads grow that far.
const WARN_HEADROOM: Percent = Percent::new(50);
/// A share for `term-room` or `kill-room` is of no more memory than this. Programs do not take memory faster
/// because there is more of it, and 6 % of 16 GiB is what a fast one takes in a third of a second. Whoever
/// wants more on a larger machine writes an amount.
pub const SHARES_OF: Bytes = Bytes::mib(16 * 1024);
/// From memory that runs out to a process that ends by SIGTERM: a sample (100 ms), a scan on the way
/// (180 ms), the decision and the signal (under 20 ms), and the least time that SIGTERM is given (200 ms).
const TERM_REACTION: Duration = Duration::from_millis(500);
/// The same for SIGKILL: the candidates are known by then, and the process takes no more memory.
const KILL_REACTION: Duration = Duration::from_millis(200);
/// For SIGTERM no more than this many times `term-room` is kept: what grows faster gets SIGKILL in time,
/// if it does not stop before.
const MOST_FOR_SIGTERM: u64 = 2;
// With swap, a machine thrashes long before swap is full. So SIGTERM comes earlier for one process
// that holds much of memory, has grown for long, and costs much time. Looser values hit a job that
// only swaps its idle pages out.
/// Memory that such a process holds.
const THRASH_SHARE: Part = Part::new(Percent::new(40), Bytes::mib(16 * 1024));
/// How long it has grown.
const THRASH_RISING: Span = Span::secs(4);
/// The share of time that all tasks stall.
const THRASH_STALLED: Percent = Percent::new(25);
/// How soon headroom, swap included, is used up.
const THRASH_AHEAD: Span = Span::secs(15);

/// A share of memory that is never more than an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    share: Percent,
    most: Bytes,
}

impl Part {
    pub(crate) const fn new(share: Percent, most: Bytes) -> Self {
        Self { share, most }
    }

    pub(crate) fn of(self, managed: Bytes) -> Bytes {
        self.share.of(managed).min(self.most)
    }
}

/// What the configuration says of times and headroom.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    warn_ahead: Span,
    term_ahead: Span,
    kill_ahead: Span,
    term_room: Share,
    kill_room: Share,
}

impl Bounds {
    pub(crate) const fn of(config: &Guard) -> Self {
        Self {
            warn_ahead: config.warn_ahead,
            term_ahead: config.term_ahead,
            kill_ahead: config.kill_ahead,
            term_room: config.term_room,
            kill_room: config.kill_room,
        }
    }
}

impl Bounds {
    /// Whether users should be warned.
    pub(crate) fn warns(&self, outlook: &Outlook) -> bool {
        warns(outlook, self.warn_ahead)
    }
}

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
pub(crate) fn severity(outlook: &Outlook, bounds: &Bounds) -> Severity {
    if outlook.ends_within(bounds.kill_ahead, kill_reserve(outlook, bounds)) {
        Severity::Kill
    } else if is_time_for_sigterm(outlook, bounds) {
        Severity::Term
    } else if warns(outlook, bounds.warn_ahead) {
        Severity::Warn
    } else if alerts(outlook) {
        Severity::Alert
    } else {
        Severity::Calm
    }
}

/// Headroom that is left when SIGTERM comes: a throttled unit may not take it.
pub(crate) fn reserve(outlook: &Outlook, bounds: &Bounds) -> Bytes {
    let room = bounds.term_room.of(outlook.managed.min(SHARES_OF));
    let grows = outlook.growth.during(TERM_REACTION);
    let most = room.scaled(MOST_FOR_SIGTERM, 1);
    room.max(grows.min(most)).max(kill_reserve(outlook, bounds))
}

/// Headroom that is left when SIGKILL comes.
fn kill_reserve(outlook: &Outlook, bounds: &Bounds) -> Bytes {
    let room = bounds.kill_room.of(outlook.managed.min(SHARES_OF));
    room.max(outlook.growth.during(KILL_REACTION))
}

/// An amount as it was written, or a share of memory up to `most`.
pub(super) fn room(room: Share, most: Bytes, managed: Bytes) -> Bytes {
    match room {
        Share::Bytes(bytes) => bytes,
        Share::Percent(share) => Part::new(share, most).of(managed),
    }
}

/// Whether it is time for SIGTERM.
pub(crate) fn is_time_for_sigterm(outlook: &Outlook, bounds: &Bounds) -> bool {
    outlook.ends_within(bounds.term_ahead, reserve(outlook, bounds))
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

/// Whether hardly any headroom is left in RAM, whatever is left in swap: up to so many times what alerts.
pub(crate) fn is_tight_in_ram(outlook: &Outlook, times: u64) -> bool {
    outlook.headroom_in_ram() <= ALERT_HEADROOM.of(outlook.managed).scaled(times, 1)
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
