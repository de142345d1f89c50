//! The recording: samples and decisions as lines of text that stand alone.
//!
//! A header line names the columns with their units and holds the machine, the configuration and
//! the state of the decision core, so that a reader can go on exactly where the file begins. After
//! it each sample is a line of the cells that changed, and each decision a line of JSON. A new
//! header follows when zones, nodes, pools or swap areas come or go, or the configuration changes.
//!
//! ```text
//! {"warmset-recording":2,"facts":{…},"config":{…},"shape":{…},"columns":[["guard.disabled","count"],…],"state":{…}}
//! p {"suspects":[…],"victims":[…]}          process scan for the sample that follows; only while memory is short
//! s <at, ns> <wall, ms> <cell> <cell> …     fields are separated by one tab
//! d {"phase":"calm",…}                      what was decided after that sample
//! lost <n>                                  samples that the recording missed here
//! ```
//!
//! A cell is empty if it is as in the sample before (after a header: unknown), `-` if it is unknown,
//! else the number; empty cells at the end are left out. `docs/reference/formats.md` has an excerpt.
//!
//! Cost: a line of some 100 to 500 bytes for each sample; encoding allocates nothing once its buffer
//! has grown, but for headers.

mod decode;
mod encode;

pub use decode::{Decoder, Malformed, decode};
pub use encode::{Encoder, Misfit, Opening};

use crate::config::Config;
use crate::decision::Decision;
use crate::history::History;
use crate::sample::{Facts, Node, Pool, Sample, Swap, SwapKind, Zone, ZoneKind};
use serde::{Deserialize, Serialize};
use units::Bytes;

/// The version of the format that this crate writes.
///
/// - 2: the configuration has the keys `throttle-ahead`, `throttle-for` and `hooks.throttled`, and
///   the state is one that every field of [`History`] is in.
/// - 1: the same keys were called `contain-ahead`, `contain-for` and `hooks.contained`, and there
///   may be a section `local` with what belongs to it, which is passed over. Fields of the state
///   that were not known yet are read by their defaults.
pub const VERSION: u64 = 2;

/// The oldest version that this crate reads.
pub const OLDEST: u64 = 1;

/// One line of a recording.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// What the lines after it are read by.
    Header(Box<Header>),
    /// One reading of the machine.
    Sample(Box<Sample>),
    /// What was decided after the sample before.
    Decision(Box<Decision>),
    /// So many samples are missing here.
    Lost(u64),
}

/// The opening of a recording, or of a part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The machine.
    pub facts: Facts,
    /// The configuration that the decisions were made by; `None` if it cannot be read.
    pub config: Option<Config>,
    /// The decision core before the first sample that follows; `None` if it cannot be read.
    pub state: Option<History>,
    /// Which zones, nodes, pools and swap areas the samples that follow have.
    pub shape: Shape,
    /// Why a part above is `None`, and columns that are not known here: one sentence each.
    pub notes: Vec<String>,
}

/// Which zones, nodes, pools and swap areas a sample has.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Node and kind of each zone.
    pub zones: Vec<(u32, ZoneKind)>,
    /// Numbers of the nodes.
    pub nodes: Vec<u32>,
    /// Page sizes of the pools.
    pub pools: Vec<Bytes>,
    /// What is behind each swap area.
    pub swaps: Vec<SwapKind>,
}

impl Shape {
    /// The shape of `sample`.
    pub fn of(sample: &Sample) -> Self {
        Self {
            zones: sample
                .zones
                .iter()
                .map(|zone| (zone.node, zone.kind))
                .collect(),
            nodes: sample.nodes.iter().map(|node| node.id).collect(),
            pools: sample.pools.iter().map(|pool| pool.size).collect(),
            swaps: sample.swaps.iter().map(|swap| swap.kind).collect(),
        }
    }

    /// A sample of this shape in which every number is unknown.
    pub fn unknown(&self) -> Sample {
        Sample {
            zones: self
                .zones
                .iter()
                .map(|&(node, kind)| Zone {
                    node,
                    kind,
                    ..Zone::default()
                })
                .collect(),
            nodes: self
                .nodes
                .iter()
                .map(|&id| Node {
                    id,
                    ..Node::default()
                })
                .collect(),
            pools: self
                .pools
                .iter()
                .map(|&size| Pool {
                    size,
                    ..Pool::default()
                })
                .collect(),
            swaps: self
                .swaps
                .iter()
                .map(|&kind| Swap {
                    kind,
                    ..Swap::default()
                })
                .collect(),
            ..Sample::default()
        }
    }
}

/// Name and unit of each column of `sample`, in order, such as `("vmstat.nr_free_pages", "pages")`.
pub fn columns(sample: &Sample) -> Vec<(String, &'static str)> {
    let sections = sample.labels().into_iter().zip(sample.sections());
    let columns = sections.flat_map(|(label, section)| {
        section
            .fields()
            .iter()
            .map(move |field| (format!("{label}.{}", field.name), field.unit))
    });
    columns.collect()
}

#[cfg(test)]
pub(crate) mod tests;
