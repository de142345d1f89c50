//! What protection does to files and cgroups, and why.

use super::ranges::Ranges;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter, Result};
use units::{Bytes, Micros, Span};

/// A file, as the kernel knows it.
#[derive(
    Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct FileId {
    /// The device it is on, as `stat` numbers it.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// One act of protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "act")]
pub enum Act {
    /// Start to read the events of the page cache.
    Watch,
    /// Stop reading them.
    Rest,
    /// Lock these parts of a file in memory. They include the parts that are held already.
    Hold {
        /// The file.
        file: FileId,
        /// The parts.
        ranges: Ranges,
        /// Size of the parts.
        amount: Bytes,
    },
    /// Unlock a file.
    Release {
        /// The file.
        file: FileId,
    },
    /// Lock files that were named by hand, in the order of their names, up to this size in all; zero unlocks them.
    HoldNamed {
        /// The most that is locked of them.
        amount: Bytes,
    },
}

/// Why protection does something, with the numbers that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Why {
    /// Memory is short and pages refault: watch which.
    Short {
        /// Refaults per second.
        refaults: u64,
    },
    /// A process is about to fill memory: watch which files are in use.
    Filling {
        /// Time until memory is full.
        left: Span,
    },
    /// Memory is no longer short.
    Calm {
        /// For how long.
        calm: Span,
    },
    /// The file's pages are evicted and soon refault.
    Thrashes {
        /// Refaults per second.
        #[serde(rename = "returns")]
        refaults: u64,
        /// Mean time from eviction to refault.
        #[serde(rename = "away")]
        refault_time: Micros,
        /// Memory of all files that is held then.
        held: Bytes,
        /// The most that may be held.
        budget: Bytes,
    },
    /// The file is in steady use, and a process is about to fill memory.
    InUse {
        /// Pages used again per second.
        uses: u64,
        /// Mean time between two uses.
        every: Micros,
        /// Memory of all files that is held then.
        held: Bytes,
        /// The most that may be held.
        budget: Bytes,
    },
    /// A program that must answer runs from it.
    Program,
    /// They were named by hand.
    Named {
        /// Size of all files that were named.
        size: Bytes,
        /// The most that may be held.
        budget: Bytes,
    },
    /// No file is named by hand any more.
    Unnamed,
    /// It is unused.
    Idle {
        /// For how long.
        idle: Micros,
    },
    /// More is held than the budget allows.
    Budget {
        /// What is held.
        held: Bytes,
        /// The most that may be held.
        budget: Bytes,
    },
    /// Another file's pages refault much sooner, and the budget does not fit both.
    Lesser {
        /// Mean refault time of this file.
        #[serde(rename = "away")]
        refault_time: Micros,
        /// Mean refault time of the other file.
        by: Micros,
    },
    /// Without its memory a process would be killed, and its pages refault late.
    Needed {
        /// Headroom without the memory that is lent.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// Mean refault time of its pages.
        #[serde(rename = "away")]
        refault_time: Option<Micros>,
    },
    /// The kernel's floor under file pages is set to cover files that are held or thrash.
    Floor {
        /// Size of such files.
        measured: Bytes,
    },
    /// Anonymous memory refaults: the kernel's floor under it is set to cover what is in use.
    Anonymous {
        /// Active anonymous memory.
        active: Bytes,
    },
    /// A unit that must answer uses this memory.
    Used {
        /// The most that was lately in use.
        need: Bytes,
        /// Part of it that refaulted since the last reading.
        missed: Bytes,
        /// Memory of all such units that is protected then.
        kept: Bytes,
        /// The most that may be protected.
        budget: Bytes,
    },
    /// A unit that must answer has memory in swap, and there is headroom.
    #[serde(rename = "away")]
    InSwap {
        /// Its memory in swap.
        #[serde(rename = "away")]
        swapped: Bytes,
        /// Headroom in RAM.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// Protection is off.
    Off,
}

impl Display for FileId {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { device, inode } = self;
        // The C library's packing of a device number.
        let major = (device >> 8 & 0xfff) | (device >> 32 & !0xfff);
        let minor = (device & 0xff) | (device >> 12 & !0xff);
        write!(f, "file {inode} on {major}:{minor}")
    }
}

impl Display for Act {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Watch => f.write_str("watch what leaves the page cache"),
            Self::Rest => f.write_str("stop watching the page cache"),
            Self::Hold { file, amount, .. } => write!(f, "hold {amount} of {file}"),
            Self::Release { file } => write!(f, "release {file}"),
            Self::HoldNamed {
                amount: Bytes::ZERO,
            } => f.write_str("release the named files"),
            Self::HoldNamed { amount } => write!(f, "hold {amount} of named files"),
        }
    }
}

impl Display for Why {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Short { refaults } => {
                write!(f, "memory is short, at {refaults} refaults/s")
            }
            Self::Filling { left } => write!(f, "all of memory is used up in {left}"),
            Self::Calm { calm } => write!(f, "memory has not been short for {calm}"),
            Self::Thrashes {
                refaults,
                refault_time,
                held,
                budget,
            } => write!(
                f,
                "{refaults} refaults/s, {} after eviction; {held} of {budget} are then held",
                span(*refault_time)
            ),
            Self::InUse {
                uses,
                every,
                held,
                budget,
            } => write!(
                f,
                "{uses} pages/s of it are used again after {}, and memory is about to run out; {held} of {budget} are then held",
                span(*every)
            ),
            Self::Program => f.write_str("a program that must answer runs from it"),
            Self::Named { size, budget } => write!(
                f,
                "named by the user: {size} of files, and {budget} may be held"
            ),
            Self::Unnamed => f.write_str("no file is named by the user any more"),
            Self::Idle { idle } => write!(f, "unused for {}", span(*idle)),
            Self::Budget { held, budget } => {
                write!(f, "{held} are held, and the budget is {budget}")
            }
            Self::Lesser { refault_time, by } => write!(
                f,
                "its pages refault after {}, those of another file after {}, and the budget does not fit both",
                span(*refault_time),
                span(*by)
            ),
            Self::Needed {
                headroom,
                refault_time: None,
            } => write!(f, "without lent memory headroom is {headroom}"),
            Self::Needed {
                headroom,
                refault_time: Some(refault_time),
            } => write!(
                f,
                "without lent memory headroom is {headroom}, and its pages refault only after {}",
                span(*refault_time)
            ),
            Self::Floor { measured } => write!(f, "{measured} of files are held or refault"),
            Self::Anonymous { active } => {
                write!(f, "{active} of anonymous memory is in use, and refaults")
            }
            Self::Used {
                need,
                missed,
                kept,
                budget,
            } => write!(
                f,
                "it uses {need}, of which {missed} refaulted; {kept} of {budget} are then protected"
            ),
            Self::InSwap { swapped, headroom } => {
                write!(f, "it has {swapped} in swap, and headroom is {headroom}")
            }
            Self::Off => f.write_str("protection is off"),
        }
    }
}

fn span(micros: Micros) -> Span {
    Span::new(std::time::Duration::from_micros(micros.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn acts_and_reasons_are_sentences_with_their_numbers() {
        let file = FileId {
            device: 0xfe01,
            inode: 12,
        };
        let held = Bytes::mib(100);
        let budget = Bytes::mib(200);
        let acts = [
            Act::Watch,
            Act::Rest,
            Act::Hold {
                file,
                ranges: Ranges::whole(25_600),
                amount: held,
            },
            Act::Release { file },
            Act::HoldNamed { amount: held },
            Act::HoldNamed {
                amount: Bytes::ZERO,
            },
        ];
        let reasons = [
            Why::Short { refaults: 900 },
            Why::Filling {
                left: Span::secs(40),
            },
            Why::Calm {
                calm: Span::secs(60),
            },
            Why::Thrashes {
                refaults: 800,
                refault_time: Micros::new(1_500_000),
                held,
                budget,
            },
            Why::InUse {
                uses: 6400,
                every: Micros::new(1_020_000),
                held,
                budget,
            },
            Why::Program,
            Why::Named { size: held, budget },
            Why::Unnamed,
            Why::Idle {
                idle: Micros::new(61_000_000),
            },
            Why::Budget {
                held: budget,
                budget: held,
            },
            Why::Lesser {
                refault_time: Micros::new(10_300_000),
                by: Micros::new(206_000),
            },
            Why::Needed {
                headroom: held,
                refault_time: Some(Micros::new(9_300_000)),
            },
            Why::Needed {
                headroom: held,
                refault_time: None,
            },
            Why::Floor { measured: held },
            Why::Anonymous { active: held },
            Why::Used {
                need: Bytes::mib(40),
                missed: Bytes::mib(3),
                kept: Bytes::mib(60),
                budget: held,
            },
            Why::InSwap {
                swapped: Bytes::mib(30),
                headroom: held,
            },
            Why::Off,
        ];
        let lines = acts
            .iter()
            .map(|act| act as &dyn Display)
            .chain(reasons.iter().map(|why| why as &dyn Display));
        expect![[r"
            watch what leaves the page cache
            stop watching the page cache
            hold 100 MiB of file 12 on 254:1
            release file 12 on 254:1
            hold 100 MiB of named files
            release the named files
            memory is short, at 900 refaults/s
            all of memory is used up in 40 s
            memory has not been short for 1 min
            800 refaults/s, 1.5 s after eviction; 100 MiB of 200 MiB are then held
            6400 pages/s of it are used again after 1 s, and memory is about to run out; 100 MiB of 200 MiB are then held
            a program that must answer runs from it
            named by the user: 100 MiB of files, and 200 MiB may be held
            no file is named by the user any more
            unused for 1 min
            200 MiB are held, and the budget is 100 MiB
            its pages refault after 10.3 s, those of another file after 206 ms, and the budget does not fit both
            without lent memory headroom is 100 MiB, and its pages refault only after 9.3 s
            without lent memory headroom is 100 MiB
            100 MiB of files are held or refault
            100 MiB of anonymous memory is in use, and refaults
            it uses 40 MiB, of which 3 MiB refaulted; 60 MiB of 100 MiB are then protected
            it has 30 MiB in swap, and headroom is 100 MiB
            protection is off
        "]]
        .assert_eq(&lines.map(|line| line.to_string() + "\n").collect::<String>());
    }
}
