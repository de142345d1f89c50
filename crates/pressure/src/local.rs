//! Local replacement, as the founding report tried it: at a watermark, pressure on the clock of one process.
//!
//! - The idea: the kernel's reclaim is global, and gives a page that was used since its last look another round. *Up* takes
//!   the accessed bits of one process back, so that its pages look unused; *down* uses its pages, so that they look used.
//! - Whom: the largest in memory; of those that run or wait to run, the next by virtual run time (the leftmost of the
//!   kernel's tree), or the last (the rightmost).
//! - Undone: nothing is to be undone. Bits come and go with every use; no limit, no setting, no page is changed.
//! - Known limits: virtual run times of different processors and control groups are not comparable, and are compared all
//!   the same; of more than [`MAX_RUNNERS`] that run, those in between are left out.
//! - Source: the report's experiments, whose managers `warmset together` has under the same names (next is its leftmost,
//!   last its rightmost).

use crate::scan::{Identity, Name};
use serde::{Deserialize, Serialize};
use units::Bytes;

/// Processes that run or wait to run, in one census, at most.
pub const MAX_RUNNERS: usize = 16;

/// What is done at a watermark, and to whom.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Nothing.
    #[default]
    Off,
    /// Nothing, but who would be meant is looked at as if: what the others are to be compared with.
    Watch,
    /// The largest looks unused.
    UpLargest,
    /// The next to run looks unused.
    UpNext,
    /// The last to run looks unused.
    UpLast,
    /// The largest looks used.
    DownLargest,
    /// The next to run looks used.
    DownNext,
    /// The last to run looks used.
    DownLast,
}

impl Policy {
    /// Which way, and on whom; `None` if it is off.
    pub(crate) const fn parts(self) -> Option<(Way, Whom)> {
        Some(match self {
            Self::Off | Self::Watch => return None,
            Self::UpLargest => (Way::Up, Whom::Largest),
            Self::UpNext => (Way::Up, Whom::Next),
            Self::UpLast => (Way::Up, Whom::Last),
            Self::DownLargest => (Way::Down, Whom::Largest),
            Self::DownNext => (Way::Down, Whom::Next),
            Self::DownLast => (Way::Down, Whom::Last),
        })
    }
}

/// Which way the clock is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Its pages look unused.
    Up,
    /// Its pages look used.
    Down,
}

/// Who is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    Largest,
    Next,
    Last,
}

/// Pressure on one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Push {
    /// Which way.
    pub way: Way,
    /// Which process.
    #[serde(rename = "who")]
    pub identity: Identity,
    /// What it calls itself.
    pub name: Name,
    /// Its memory in RAM, files included.
    pub size: Bytes,
}

/// A process that runs or waits to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runner {
    /// Which.
    #[serde(rename = "who")]
    pub identity: Identity,
    /// What it calls itself.
    pub name: Name,
    /// Its memory in RAM, files included.
    pub resident: Bytes,
    /// Its virtual run time in ns: the kernel runs who has least.
    pub turn: u64,
}
