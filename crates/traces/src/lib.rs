//! Reads and writes reference traces, streaming, compressed or not.
//!
//! ```text
//!   bytes ──► compress ──► recognise ──► one reader for each format ──► Batch ──► Loader ──► Trace
//!                                                                         └─────► write (page trace, oracleGeneral, …)
//! ```
//!
//! A reader returns references by the batch and knows its place: an error names the line or the
//! byte.

mod accesses;
mod ahead;
mod archive;
mod arrow_stream;
mod arrow_tables;
mod bare;
mod block_requests;
pub mod blocks;
mod cells;
mod champsim;
mod columns;
mod compress;
mod damon;
mod dictionary;
mod drmemtrace;
mod format;
mod headers;
mod input;
mod lcs;
pub mod live;
mod marks;
mod mooncake;
mod numbers;
mod numpy;
mod oracle;
mod page_range;
mod parquet_file;
mod part;
mod perf_mem;
mod pieces;
mod presets;
mod process;
mod read_note;
mod recognise;
mod regions;
mod roles;
mod rows;
mod sorted;
mod superblock;
mod table;
mod text;
mod values;
mod vscsi;
mod write;

pub use ahead::ahead;
pub use columns::{PAGE_TRACE, page_column};
pub use format::{COLUMNS, FORMATS, Format, open, read, tables};
pub use part::{Wanted, part};
pub use presets::Preset;
pub use read_note::{ReadNote, name_of};
pub use regions::Regions;
pub use roles::{Column, Roles, Tick, Unit};
pub use rows::{COLUMNS_IGNORED, COLUMNS_USED};
pub use table::{KEY as METADATA, PageRows};
pub use write::{Known, Output, write, write_rows};

use std::io;
use workingset::synth::Synth;
use workingset::{About, Batch};

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A line or a record that is not as its format says.
    #[error("{place}: {what}")]
    Malformed {
        /// Where: `line 7`, `byte 4096`.
        place: String,
        /// What is wrong, with the text.
        what: String,
    },
    /// The format is not known, or not to be seen in the content.
    #[error("{0}")]
    Format(String),
    /// The bytes end, or cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// More references than a trace can hold, or none.
    #[error(transparent)]
    Trace(#[from] workingset::Error),
    /// A columnar file that its library refuses.
    #[error("{0}")]
    Columns(String),
}

/// A reader or maker of references.
pub trait Source: Send {
    /// Clears a batch and fills it. Returns false at the end, when it stays empty.
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error>;

    /// What is known of the trace as a whole. Some of it is known only at the end.
    fn about(&self) -> About;
}

/// A source of rows of a page trace: references that agree are one row already.
pub trait RowSource: Send {
    /// Clears rows and fills them. Returns false at the end, when they stay empty.
    fn fill_rows(&mut self, rows: &mut PageRows) -> Result<bool, Error>;

    /// What is known of the trace as a whole. Some of it is known only at the end.
    fn about(&self) -> About;
}

impl Source for Synth {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        Ok(Self::fill(self, batch, BATCH))
    }

    fn about(&self) -> About {
        Self::about(self)
    }
}

/// References of a batch. So many fit in a processor's second cache (19 bytes each); more are no
/// faster to pass on.
pub const BATCH: usize = 1 << 14;

/// What becomes of a trace with times that go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// It is an error; only requests of disks, which are recorded when they complete, are raised to the time before.
    Refuse,
    /// Its references are sorted by time, in memory.
    Sort,
}

/// How to read.
#[allow(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Bytes of a page, where the format has addresses: a power of two.
    pub page_size: u64,
    /// Whether times are wanted, where there are any.
    pub time: bool,
    /// Whether sizes of objects are wanted, where there are any.
    pub sizes: bool,
    /// What becomes of a trace with times that go back.
    pub order: Order,
    /// Whether a lackey reference over a page's end is two, instead of one at its first byte.
    pub split: bool,
    /// Whether a lackey trace's time counts the bytes of instructions, instead of the instructions.
    pub bytes: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            page_size: 4096,
            time: true,
            sizes: false,
            order: Order::Refuse,
            split: false,
            bytes: false,
        }
    }
}

impl Reading {
    /// The defaults, for pages of this size.
    ///
    /// Errors: a size that is no power of two.
    pub fn of_pages(page_size: u64) -> Result<Self, Error> {
        if page_size.is_power_of_two() {
            return Ok(Self {
                page_size,
                ..Self::default()
            });
        }
        Err(Error::Format(format!(
            "a page of {page_size} bytes: a power of two is meant, such as 4096"
        )))
    }

    /// Whether times are read: because they are wanted, or to sort by.
    fn reads_times(self) -> bool {
        self.time || self.order == Order::Sort
    }

    fn shift(self) -> u32 {
        self.page_size.trailing_zeros()
    }
}
