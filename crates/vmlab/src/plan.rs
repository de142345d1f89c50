//! What the lab sends to its guest (a plan), and what the guest sends back (a report).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to set, which arm to run beside the load, and the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The scenario's name, as `warmset-lab scenarios` prints it.
    pub scenario: String,
    /// How the kernel is set.
    pub setup: Setup,
    /// What is set and runs beside the load.
    pub arm: Beside,
    /// The processes of the load.
    pub roles: Vec<Role>,
    /// The load ends early when this role has.
    pub ends_with: Option<String>,
    /// Whether the guest sends its state while it runs.
    pub live: bool,
    /// Whether the guest counts where its kernel is at the ticks of its clock.
    pub profile: bool,
    /// Whether the load is between the marks of a recording.
    #[serde(default)]
    pub recorded: bool,
    /// How long, how large.
    pub size: Size,
}

/// One or more processes of a load: the guest program again, at one kind of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Role {
    /// The name of its output and of its processes.
    pub name: String,
    /// The name of the work and its arguments. Added is the process's number within its role.
    pub work: Vec<String>,
    /// Processes at once.
    pub count: u32,
    /// How often it is started.
    pub when: When,
    /// Seconds into the load at which it starts; `None` is with the warm-up.
    pub after_s: Option<u64>,
    /// The cgroup that it runs in, made if it is not there, and its memory.max in bytes.
    pub group: Option<(String, u64)>,
    /// How readily the kernel kills it, from -1000 (never) to 1000.
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

    /// With this many processes at once.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self { count, ..self }
    }

    /// Started this often.
    #[must_use]
    pub fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    /// Started this many seconds into the load.
    #[must_use]
    pub fn after(self, seconds: u64) -> Self {
        Self {
            after_s: Some(seconds),
            ..self
        }
    }

    /// In a cgroup with a limit in bytes.
    #[must_use]
    pub fn within(self, group: &str, limit: u64) -> Self {
        Self {
            group: Some((group.to_owned(), limit)),
            ..self
        }
    }

    /// With this `oom_score_adj`.
    #[must_use]
    pub fn with_oom_score_adj(self, oom_score_adj: i32) -> Self {
        Self {
            oom_score_adj,
            ..self
        }
    }
}

/// How often a role's processes are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    /// Once.
    Once,
    /// Again this many milliseconds after the last has ended.
    Again(u64),
    /// At every multiple of this many milliseconds at which none of it runs.
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
    /// For programs that ask for them with madvise(2).
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
    /// Files to send to the lab afterwards, such as a recording; a directory means the files below it.
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

/// The state of a run, sent twice a second.
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
    /// Milliseconds since boot in which some task waited for memory.
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
    /// Measured length of each phase, in seconds: `load`, `calm`.
    pub seconds: BTreeMap<String, f64>,
    /// What each of the kernel's counters grew by in each phase, under the kernel's own names.
    pub counters: BTreeMap<String, BTreeMap<String, i64>>,
    /// How long things took during the load, in milliseconds.
    pub latency: BTreeMap<String, Latency>,
    /// What the load got done, in its own units.
    pub work: BTreeMap<String, f64>,
    /// The processes that were killed.
    pub kills: Vec<Kill>,
    /// The gap between the min and low watermarks, integrated; unknown if the run did not finish.
    pub gap: Option<Gap>,
    /// CPU time of the kernel's threads and of the arm's program in load and calm, in milliseconds.
    pub cpu_ms: BTreeMap<String, f64>,
    /// What was found and set: LRU, THP, swap, PSI, cgroups, DAMON.
    pub found: BTreeMap<String, String>,
    /// Changes of knobs that the guest observed from the start of the load to the end of the calm.
    pub writes: Option<u64>,
    /// Kernel files that were not as found after the arm ended.
    pub left: Vec<String>,
    /// Ticks of the clock in the kernel during the load, by function, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Anything that went wrong without making the run worthless.
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
    /// All that took longer than a second, together, in milliseconds; unknown in older lines.
    #[serde(default)]
    pub slow: Option<f64>,
}

/// What a person does not wait for without noticing, in milliseconds: "about the limit for the user's flow of thought" (R. B. Miller,
/// Response time in man-computer conversational transactions, AFIPS 1968).
const SLOW: f64 = 1000.0;

impl Latency {
    /// From times in milliseconds; `None` if there are none. Quantiles are by the nearest rank, so each is a time that was
    /// measured.
    pub fn of(mut times: Vec<f64>) -> Option<Self> {
        times.sort_by(f64::total_cmp);
        Some(Self {
            count: times.len() as u64,
            p50: quantile(&times, 0.5)?,
            p90: quantile(&times, 0.9)?,
            p99: quantile(&times, 0.99)?,
            max: times.last().copied()?,
            // An empty sum of the library's is −0, which a table would show.
            slow: Some(
                times
                    .iter()
                    .filter(|time| **time > SLOW)
                    .fold(0.0, |sum, time| sum + time),
            ),
        })
    }
}

fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// Where the kernel was at the ticks of its clock. A tick with interrupts off counts where they are on again.
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
    /// `kernel`, `cgroup`, or `program` for the arm's.
    pub by: String,
    /// The victim's name.
    pub victim: String,
    /// Seconds since the load began.
    pub at_s: f64,
    /// Seconds since the last hog started, if there is one.
    pub since_hog_s: Option<f64>,
    /// How long that hog had held more than was available when it began, in milliseconds; `None` if it never did.
    #[serde(default)]
    pub over_ms: Option<f64>,
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
    fn quantiles_are_times_that_were_measured() {
        let times: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let latency = Latency::of(times).unwrap();
        assert_eq!(latency.p50, 50.0);
        assert_eq!(latency.p90, 90.0);
        assert_eq!(latency.p99, 99.0);
        assert_eq!(latency.max, 100.0);
        assert_eq!(latency.slow.map(f64::to_bits), Some(0));
        let slow = Latency::of(vec![1.0, 1000.0, 1500.0, 4000.0]).unwrap();
        assert_eq!(slow.slow, Some(5500.0));
        assert_eq!(Latency::of(vec![7.0]).unwrap().p99, 7.0);
        assert_eq!(Latency::of(Vec::new()), None);
    }
}
