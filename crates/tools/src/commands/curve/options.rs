//! The options of `warmset curve`.

use crate::trace_input::{Counted, Input};
use crate::ui::atomic_file::Replacing;
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::str::FromStr;

/// Show how long a program runs between faults, by the memory it has
///
/// One pass gives lru exactly at every size, another gives ws and vmin at every window. Any other policy that
/// `warmset policies` lists is run at --points sizes. All share one scale: the mean size in memory, not its limit.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) input: Input,
    /// Policies, separated by commas
    #[arg(
        long,
        value_name = "POLICY",
        value_delimiter = ',',
        default_value = "lru,ws,opt"
    )]
    pub(super) of: Vec<String>,
    /// Number of sizes at which a policy without a curve of its own is run; also the lines of the table
    #[arg(long, value_name = "NUMBER", default_value_t = 24)]
    pub(super) points: usize,
    /// Time to serve a fault, in the trace's unit of time, for the space-time product
    #[arg(long, value_name = "TIME", default_value_t = 10_000.0)]
    pub(super) service: f64,
    /// Estimate LRU from a sample of the pages: a share such as 0.01, or a number of pages
    #[arg(long, value_name = "RATE|PAGES")]
    pub(super) sample: Option<f64>,
    /// Read each reference once and keep none: LRU alone, estimated from at most this many pages, or `all` for exactly, in
    /// memory for the pages
    #[arg(long, value_name = "PAGES|all", conflicts_with_all = ["sample", "of", "plot", "csv"])]
    pub(super) stream: Option<Followed>,
    /// Quantity to print and draw
    #[arg(long, value_enum, default_value_t = Show::Lifetime)]
    pub(super) show: Show,
    /// Windows of the working set for --show size, in the trace's unit of time
    #[arg(
        long,
        value_name = "TIME",
        value_delimiter = ',',
        default_value = "100000"
    )]
    pub(super) theta: Vec<u64>,
    /// Add the curve by the founding report's own arithmetic, for a lackey trace: time in bytes of instructions, and data
    /// pages that leave the working set early
    #[arg(long, conflicts_with_all = ["sample", "stream"])]
    pub(super) as_published: bool,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub(super) csv: bool,
    /// Draw the curves to this file; its name must end in .svg, .png or .html
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(super) replacing: Replacing,
}

/// The pages that a stream follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Followed {
    All,
    Pages(usize),
}

impl FromStr for Followed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let wrong = |_| "write a number of pages, or all".to_owned();
        text.parse().map(Self::Pages).map_err(wrong)
    }
}

/// The quantity on the vertical axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Show {
    /// Mean time between faults
    Lifetime,
    /// Misses for each reference
    Misses,
    /// Space-time product
    SpaceTime,
    /// The size of the working set over time
    Size,
}

impl Args {
    /// The same trace in the founding report's time, to be read a second time.
    pub(super) fn published_input(&self) -> Result<Input> {
        if self.input.is_pipe() {
            bail!("--as-published reads the trace twice: name a file instead of '-'");
        }
        Ok(self.input.clocked(Counted::Bytes))
    }
}
