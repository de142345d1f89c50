//! What protection does, and why.

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
    /// Read what enters and leaves the page cache.
    Watch,
    /// Stop reading it.
    Rest,
    /// Lock these parts of a file in memory, more parts than before if it is held already.
    Hold {
        /// The file.
        file: FileId,
        /// Its parts.
        ranges: Ranges,
        /// How much that is.
        amount: Bytes,
    },
    /// Unlock a file.
    Release {
        /// The file.
        file: FileId,
    },
}

/// Why, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Why {
    /// Memory is short and pages are read again: look which.
    Short {
        /// Pages read again, per second.
        refaults: u64,
    },
    /// Somebody is about to have all of memory: look what is in use.
    Filling {
        /// In so long.
        left: Span,
    },
    /// Memory is no longer short.
    Calm {
        /// For how long.
        calm: Span,
    },
    /// The file's pages are evicted and soon read again.
    Thrashes {
        /// Pages that came back, per second.
        returns: u64,
        /// How long they were away, the mean.
        away: Micros,
        /// What is held then, of all files.
        held: Bytes,
        /// What may be.
        budget: Bytes,
    },
    /// The file is read again and again, and somebody is about to have all of memory.
    InUse {
        /// Pages that were used again, per second.
        uses: u64,
        /// How long after, the mean.
        every: Micros,
        /// What is held then, of all files.
        held: Bytes,
        /// What may be.
        budget: Bytes,
    },
    /// A program that must answer runs from it.
    Program,
    /// Nobody has used it.
    Idle {
        /// For how long.
        idle: Micros,
    },
    /// The budget has become smaller than what is held.
    Budget {
        /// What is held.
        held: Bytes,
        /// What may be.
        budget: Bytes,
    },
    /// Another file's pages come back much sooner, and there is no room for both.
    Lesser {
        /// How long pages of this one are away, the mean.
        away: Micros,
        /// And those of the other.
        by: Micros,
    },
    /// Without its memory someone would be asked to end, and its pages come back late.
    Needed {
        /// Room there would be otherwise.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// How long its pages were away, the mean.
        away: Option<Micros>,
    },
    /// What thrashes or is held: the kernel's floor under file pages is made to cover it.
    Floor {
        /// So much.
        measured: Bytes,
    },
    /// Anonymous memory comes back from swap: the kernel's floor under it is made to cover what is in use.
    Anonymous {
        /// So much.
        active: Bytes,
    },
    /// A unit that must answer uses so much.
    Used {
        /// In use, the most of late.
        need: Bytes,
        /// Of it, evicted and read again since the last look.
        missed: Bytes,
        /// What reclaim leaves to all such units then.
        kept: Bytes,
        /// What it may.
        budget: Bytes,
    },
    /// A unit that must answer has this in swap, and there is room.
    Away {
        /// So much.
        away: Bytes,
        /// Room in memory.
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
            Self::Release { file } => write!(f, "let go of {file}"),
        }
    }
}

impl Display for Why {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Short { refaults } => {
                write!(f, "memory is short, and {refaults} pages/s are read again")
            }
            Self::Filling { left } => write!(f, "all of memory is used up in {left}"),
            Self::Calm { calm } => write!(f, "memory has not been short for {calm}"),
            Self::Thrashes {
                returns,
                away,
                held,
                budget,
            } => {
                let away = span(*away);
                write!(
                    f,
                    "{returns} pages/s of it are read again {away} after they were evicted; {held} of {budget} are then held"
                )
            }
            Self::InUse {
                uses,
                every,
                held,
                budget,
            } => {
                let every = span(*every);
                write!(
                    f,
                    "{uses} pages/s of it are used again after {every}, and memory is about to end; {held} of {budget} are then held"
                )
            }
            Self::Program => f.write_str("a program that must answer runs from it"),
            Self::Idle { idle } => {
                write!(f, "nobody used it for {}", span(*idle))
            }
            Self::Budget { held, budget } => write!(f, "{held} are held, and {budget} may be"),
            Self::Lesser { away, by } => {
                let [away, by] = [away, by].map(|it| span(*it));
                write!(
                    f,
                    "its pages come back after {away}, those of another after {by}, and both do not fit"
                )
            }
            Self::Needed {
                headroom,
                away: None,
            } => write!(f, "there is room for {headroom} otherwise"),
            Self::Needed {
                headroom,
                away: Some(away),
            } => {
                let away = span(*away);
                write!(
                    f,
                    "there is room for {headroom} otherwise, and its pages come back only after {away}"
                )
            }
            Self::Floor { measured } => write!(f, "{measured} of files are read again and again"),
            Self::Anonymous { active } => {
                write!(
                    f,
                    "{active} of programs' own memory is in use, and comes back from swap"
                )
            }
            Self::Used {
                need,
                missed,
                kept,
                budget,
            } => {
                write!(
                    f,
                    "it uses {need}, of which {missed} had been evicted; {kept} of {budget} are then kept so"
                )
            }
            Self::Away { away, headroom } => {
                write!(f, "it has {away} in swap, and there is room for {headroom}")
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
        let (held, budget) = (Bytes::mib(100), Bytes::mib(200));
        let acts = [
            Act::Watch,
            Act::Rest,
            Act::Hold {
                file,
                ranges: Ranges::whole(25_600),
                amount: held,
            },
            Act::Release { file },
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
                returns: 800,
                away: Micros::new(1_500_000),
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
            Why::Idle {
                idle: Micros::new(61_000_000),
            },
            Why::Budget {
                held: budget,
                budget: held,
            },
            Why::Lesser {
                away: Micros::new(10_300_000),
                by: Micros::new(206_000),
            },
            Why::Needed {
                headroom: held,
                away: Some(Micros::new(9_300_000)),
            },
            Why::Needed {
                headroom: held,
                away: None,
            },
            Why::Floor { measured: held },
            Why::Anonymous { active: held },
            Why::Used {
                need: Bytes::mib(40),
                missed: Bytes::mib(3),
                kept: Bytes::mib(60),
                budget: held,
            },
            Why::Away {
                away: Bytes::mib(30),
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
            let go of file 12 on 254:1
            memory is short, and 900 pages/s are read again
            all of memory is used up in 40 s
            memory has not been short for 1 min
            800 pages/s of it are read again 1.5 s after they were evicted; 100 MiB of 200 MiB are then held
            6400 pages/s of it are used again after 1 s, and memory is about to end; 100 MiB of 200 MiB are then held
            a program that must answer runs from it
            nobody used it for 1 min
            200 MiB are held, and 100 MiB may be
            its pages come back after 10.3 s, those of another after 206 ms, and both do not fit
            there is room for 100 MiB otherwise, and its pages come back only after 9.3 s
            there is room for 100 MiB otherwise
            100 MiB of files are read again and again
            100 MiB of programs' own memory is in use, and comes back from swap
            it uses 40 MiB, of which 3 MiB had been evicted; 60 MiB of 100 MiB are then kept so
            it has 30 MiB in swap, and there is room for 100 MiB
            protection is off
        "]]
        .assert_eq(&lines.map(|line| line.to_string() + "\n").collect::<String>());
    }
}
