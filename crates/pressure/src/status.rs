//! What the daemon tells about itself: one value behind `status`, `why`, the metrics and the summary.

use crate::config::{Mode, Predictor};
use crate::decision::{Decision, MAX_NOTICES, MAX_STEPS, Notice, Phase, Step};
use crate::means::Means;
use crate::protect::FileId;
use crate::sample::{Facts, Sample, Wall};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use units::{Bytes, Micros, Span};

/// Decisions remembered for `why`.
pub const MAX_PAST: usize = 64;

/// The state of a running guard, as `GET /status` on its socket answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    /// Version of the daemon.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// When it started, by the wall clock.
    pub started: Wall,
    /// What it may do.
    pub mode: Mode,
    /// Why it writes nothing although the mode allows it: not root, a container, `--observe`.
    pub only_observes: Option<String>,
    /// How it finds the gap.
    pub predictor: Predictor,
    /// The machine.
    pub facts: Facts,
    /// The last sample.
    pub sample: Sample,
    /// The last decision.
    pub decision: Decision,
    /// Counted since start.
    pub tally: Tally,
    /// The last decisions that did or said something, oldest first, at most [`MAX_PAST`].
    pub past: Vec<Past>,
    /// Files that cannot be read, knobs that refused, samples lost: each once.
    #[serde(rename = "troubles")]
    pub warnings: Vec<String>,
    /// Programs found that do a part of the same work, each with what we do about it.
    pub rivals: Vec<String>,
    /// The means by which it acts, as it found them by trying; empty before that, and where it only observes.
    #[serde(default)]
    pub means: Vec<Means>,
    /// What the files in the sample are called, as far as it is known.
    #[serde(default)]
    pub names: Vec<(FileId, String)>,
    /// Files that were named to be held.
    #[serde(default)]
    pub named: Named,
}

/// Files that were named by hand to be held in memory, as the holder found them.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The most that may be held of them; unknown in modes in which nothing is held.
    pub budget: Option<Bytes>,
    /// Each path that was named, in the order in which they are held.
    pub paths: Vec<NamedPath>,
}

/// A path that was named to be held.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedPath {
    /// As it was named.
    pub path: String,
    /// Files that can be held: itself, or those in it. Unknown until it was looked at.
    pub files: Option<u64>,
    /// Size of these, in whole pages.
    pub size: Option<Bytes>,
    /// How many of these are held.
    pub held_files: Option<u64>,
    /// Memory of these that is locked now.
    pub held: Option<Bytes>,
    /// Why not all of it is held, or is not yet.
    pub why: Option<String>,
}

/// Counted since the guard started.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Samples taken.
    pub samples: u64,
    /// Wake-ups by a pressure trigger.
    pub pressure_wakeups: u64,
    /// Knobs set.
    pub writes: u64,
    /// Knobs put back.
    pub put_back: u64,
    /// Writes that failed.
    pub refused: u64,
    /// Nodes compacted.
    pub compactions: u64,
    /// Proactive reclaims started.
    pub reclaims: u64,
    /// Files held in memory or let go, and watches of the page cache begun or ended.
    #[serde(default)]
    pub protections: u64,
    /// Limits of control groups set or put back.
    #[serde(default)]
    #[serde(rename = "grips")]
    pub cgroup_actions: u64,
    /// Allocations that reclaimed for themselves.
    pub allocation_stalls: u64,
    /// Allocations that compacted for themselves.
    pub compaction_stalls: u64,
    /// Time in which some task stalled for memory.
    pub stalled: Micros,
    /// Refaults.
    pub refaults: u64,
    /// Processes killed by the kernel.
    pub oom_kills: u64,
    /// Processes that the guard sent SIGTERM.
    #[serde(default)]
    pub asked: u64,
    /// Processes that the guard killed.
    #[serde(default)]
    pub killed: u64,
    /// Signals that could not be sent.
    #[serde(default)]
    pub missed: u64,
    /// Highest gross demand seen, per second.
    pub peak_demand: Bytes,
    /// Σ withheld memory × time, in byte-seconds.
    pub gap_seconds: u64,
    /// Σ memory taken of squeezed units and not read again × time, in byte-seconds.
    #[serde(default)]
    pub squeezed_seconds: u64,
    /// Samples that the recording missed.
    pub lost_samples: u64,
    /// CPU time of the daemon itself.
    pub own_cpu: Micros,
    /// Resident memory of the daemon itself.
    pub own_memory: Bytes,
}

/// A decision that did or said something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// Time since boot.
    pub at: Span,
    /// The wall clock.
    pub wall: Wall,
    /// The state then.
    pub phase: Phase,
    /// Whether the steps were carried out (not when observing).
    pub done: bool,
    /// What was decided.
    pub steps: ArrayVec<Step, MAX_STEPS>,
    /// What was said.
    pub notices: ArrayVec<Notice, MAX_NOTICES>,
}
