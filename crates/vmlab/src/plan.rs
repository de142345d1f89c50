//! What the lab asks of its guest, and what the guest tells: the two ends of the serial line share these.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to set, what to run beside the load, and the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The scenario's name, as `warmset-lab scenarios` prints it.
    pub scenario: String,
    /// How the kernel is set.
    pub setup: Setup,
    /// What runs beside the load.
    pub arm: Beside,
    /// The processes of the load.
    pub roles: Vec<Role>,
    /// The load ends early when this role has.
    pub ends_with: Option<String>,
    /// Whether the guest tells how it goes while it runs.
    pub live: bool,
    /// Whether the guest tells where its kernel was at the ticks of its clock.
    pub profile: bool,
    /// How long, how large.
    pub size: Size,
}

/// One or more processes of a load: the guest program again, at one kind of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Role {
    /// Its name: of its output, and of its processes.
    pub name: String,
    /// Which work, and its arguments; the process's number among its like is added.
    pub work: Vec<String>,
    /// How many at once.
    pub count: u32,
    /// When it is started.
    pub when: When,
    /// Seconds into the load at which it starts; `None` is with the warm-up.
    pub after_s: Option<u64>,
    /// The control group it lives in, made if it is not there, and its limit in bytes.
    pub group: Option<(String, u64)>,
    /// How readily the kernel kills it.
    pub oom_score_adj: i32,
}

impl Role {
    /// One process that runs throughout.
    pub fn new(name: &str, work: &[&str]) -> Self {
        let work = work.iter().map(|word| (*word).to_owned()).collect();
        Self {
            name: name.to_owned(),
            work,
            count: 1,
            when: When::Once,
            after_s: None,
            group: None,
            oom_score_adj: 0,
        }
    }

    /// So many at once.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self { count, ..self }
    }

    /// Started so.
    #[must_use]
    pub fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    /// Started so many seconds into the load.
    #[must_use]
    pub fn after(self, seconds: u64) -> Self {
        Self {
            after_s: Some(seconds),
            ..self
        }
    }

    /// In a control group with a limit in bytes.
    #[must_use]
    pub fn within(self, group: &str, limit: u64) -> Self {
        Self {
            group: Some((group.to_owned(), limit)),
            ..self
        }
    }

    /// With this `oom_score_adj`.
    #[must_use]
    pub fn spared(self, oom_score_adj: i32) -> Self {
        Self {
            oom_score_adj,
            ..self
        }
    }
}

/// When a role's processes are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    /// Once.
    Once,
    /// Again, so many milliseconds after the last has ended.
    Again(u64),
    /// At every multiple of so many milliseconds at which none of it runs.
    Every(u64),
}

/// How the kernel is set before anything runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Which replacement algorithm; `None` leaves the kernel's own choice.
    pub lru: Option<Lru>,
    /// Where anonymous memory goes.
    pub swap: Swap,
    /// Transparent huge pages; `None` leaves the kernel's own choice.
    pub thp: Option<Thp>,
}

/// The replacement algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Lru {
    /// Active and inactive lists.
    Classic,
    /// Multi-Gen LRU.
    Mglru,
}

/// The swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Swap {
    /// None.
    None,
    /// A throttled disk as large as memory.
    Disk,
    /// Compressed memory, half as large as memory.
    Zram,
}

/// Transparent huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Thp {
    /// For every program.
    Always,
    /// For who asks.
    Madvise,
    /// For none.
    Never,
}

/// What runs beside the load: nothing, kernel settings, a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Its name in the table.
    pub name: String,
    /// Kernel files and what to write into each before the load.
    pub writes: Vec<(String, String)>,
    /// Files to make, such as a configuration.
    pub files: Vec<(String, String)>,
    /// A program and its arguments, started before the load and ended after it.
    pub program: Option<Vec<String>>,
    /// Files to send home afterwards, such as a recording; a folder means its files.
    pub keep: Vec<String>,
}

/// How long and how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Memory of the machine, in MiB: loads scale with it.
    pub memory_mib: u64,
    /// Seconds before counting begins.
    pub warm_up_s: u64,
    /// Seconds of load.
    pub load_s: u64,
    /// Seconds of calm after it.
    pub calm_s: u64,
}

/// How it goes, twice a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// Seconds since counting began; before that, negative.
    pub at_s: f64,
    /// Free memory in MiB.
    pub free_mib: f64,
    /// The gap between min and low in MiB.
    pub gap_mib: f64,
    /// Allocations so far that had to reclaim for themselves, since boot.
    pub allocstall: f64,
    /// Allocations so far that had to compact for themselves, since boot.
    pub compact_stall: f64,
    /// Time so far in which some task waited for memory, in milliseconds since boot.
    pub stalled_ms: f64,
    /// Pages of files refaulted so far, since boot.
    pub refaults: f64,
    /// Processes killed so far, since boot.
    pub kills: f64,
    /// The last start of a command, in milliseconds, if commands are started.
    pub exec_ms: Option<f64>,
    /// The last read of the hot file, in milliseconds, if there is one.
    pub read_ms: Option<f64>,
}

/// What the guest measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Length of each phase as it came out, in seconds: `load`, `calm`.
    pub seconds: BTreeMap<String, f64>,
    /// What each of the kernel's counters grew by in each phase, under the kernel's own names.
    pub counters: BTreeMap<String, BTreeMap<String, i64>>,
    /// How long things took during the load, in milliseconds.
    pub latency: BTreeMap<String, Latency>,
    /// What the load got done, in its own units.
    pub work: BTreeMap<String, f64>,
    /// Who was killed.
    pub kills: Vec<Kill>,
    /// The gap between the min and low watermarks, integrated.
    pub gap: Gap,
    /// Processor time of the kernel's threads and of the arm's program in load and calm, in milliseconds.
    pub cpu_ms: BTreeMap<String, f64>,
    /// What was found and set: LRU, THP, swap, PSI, control groups, DAMON.
    pub found: BTreeMap<String, String>,
    /// Writes to kernel files that the arm's own program reported.
    pub writes: Option<u64>,
    /// Kernel files that were not as found after the arm ended.
    pub left: Vec<String>,
    /// Ticks of the clock in the kernel during the load, by function, if they were asked for: at most so many functions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Anything that went wrong and does not make the run worthless.
    pub notes: Vec<String>,
}

/// How long something took, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many were timed.
    pub count: u64,
    /// The median.
    pub p50: f64,
    /// The ninth decile.
    pub p90: f64,
    /// The last percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Latency {
    /// From times in milliseconds; `None` if there are none. Quantiles by the nearest rank.
    pub fn of(mut times: Vec<f64>) -> Option<Self> {
        times.sort_by(f64::total_cmp);
        let rank = |share: f64| {
            ((share * times.len() as f64).ceil() as usize).clamp(1, times.len().max(1)) - 1
        };
        let at = |share| times.get(rank(share)).copied();
        Some(Self {
            count: times.len() as u64,
            p50: at(0.5)?,
            p90: at(0.9)?,
            p99: at(0.99)?,
            max: at(1.0)?,
        })
    }
}

/// Where the kernel was at the ticks of its clock. What runs with interrupts off is counted where they are on again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Ticks in the kernel, idle ones left out.
    pub ticks: u64,
    /// Each function that had any, and how many.
    pub functions: BTreeMap<String, u64>,
}

/// A process that was killed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kill {
    /// `kernel`, `cgroup`, or the arm's program.
    pub by: String,
    /// The victim's name.
    pub victim: String,
    /// Seconds since the load began.
    pub at_s: f64,
    /// Seconds since the last hog started, if there is one.
    pub since_hog_s: Option<f64>,
    /// The next read of the hot file afterwards, in milliseconds.
    pub next_read_ms: Option<f64>,
    /// The next fork and exec afterwards, in milliseconds.
    pub next_exec_ms: Option<f64>,
    /// Share of swap that was free then; unknown without swap.
    #[serde(default)]
    pub swap_free: Option<f64>,
    /// Share of memory that was slab caches which can be reclaimed.
    #[serde(default)]
    pub slab: Option<f64>,
}

/// The gap between min and low, summed over all zones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Before anything was set, in bytes.
    pub found: f64,
    /// Memory that the kernel manages, in bytes.
    pub managed: f64,
    /// Gap held above what was found, in MiB seconds, during the load.
    pub load_mib_s: f64,
    /// The same during the calm.
    pub calm_mib_s: f64,
    /// The mean gap over both, in bytes.
    pub mean: f64,
    /// The largest, in bytes.
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_happened() {
        let times: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let latency = Latency::of(times).unwrap();
        assert_eq!(
            (latency.p50, latency.p90, latency.p99, latency.max),
            (50.0, 90.0, 99.0, 100.0)
        );
        assert_eq!(Latency::of(vec![7.0]).unwrap().p99, 7.0);
        assert_eq!(Latency::of(Vec::new()), None);
    }
}
