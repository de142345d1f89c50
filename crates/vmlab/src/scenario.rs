//! The loads: the processes of each, and its measures.

mod build;
mod database;
mod idle;
mod livelock;
mod scan;
mod storm;
mod workers;

use crate::plan::{Role, Size, Thp};
use crate::vm::disk::{Filled, Throttle};
use anyhow::{Context, Result};
use units::Bytes;

/// A load, reproducible.
#[derive(Debug)]
pub struct Scenario {
    /// `storm`.
    pub name: &'static str,
    /// One line for `warmset-lab scenarios`.
    pub about: &'static str,
    /// Its processes, disks and lengths, on a machine of this size.
    pub load: fn(&Circumstances<'_>) -> Load,
    /// The measures that its table shows, as `compare` names them; the first decide.
    pub measures: &'static [&'static str],
    /// Whether an arm is judged by the gap it holds, so that a static arm with an equal mean gap is added.
    pub by_gap: bool,
    /// What `--arms` is if not given.
    pub arms: &'static str,
}

/// The size of the machine, and the arm's variant.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// The machine's memory in MiB.
    pub memory_mib: u64,
    /// What the arm asks to be otherwise: `lock-hot`, `lock-index`, `scan`.
    pub variant: Option<&'a str>,
}

/// What a scenario is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Its processes.
    pub roles: Vec<Role>,
    /// What the data disk, mounted at `/data`, has on it.
    pub data: Data,
    /// How fast that disk is.
    pub throttle: Throttle,
    /// Transparent huge pages, if it matters.
    pub thp: Option<Thp>,
    /// It ends early when this role has.
    pub ends_with: Option<String>,
    /// How long.
    pub size: Size,
}

impl Load {
    /// Whether commands are typed into a shell.
    pub fn has_scripts(&self) -> bool {
        let mut works = self.roles.iter().map(|role| role.work.first());
        works.any(|work| work.is_some_and(|work| work == "script"))
    }
}

/// What a data disk has on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// Files that do not compress, and free space.
    Files(Vec<Filled>, Bytes),
    /// The indexed database.
    Database {
        /// How many records.
        records: u64,
        /// How large each is.
        bytes: u64,
    },
    /// The source of a Debian package.
    Source(&'static str),
}

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    storm::STORM,
    storm::STEADY,
    storm::RAMP,
    storm::LEAK,
    storm::PERIODIC,
    storm::FORKS,
    storm::HUGE,
    storm::ORDERS,
    storm::CGROUP,
    idle::IDLE,
    workers::ZEROS,
    workers::NOISE,
    workers::SMALL,
    workers::LARGE,
    workers::CALM,
    workers::UNITS,
    workers::FAITHFUL,
    livelock::LIVELOCK,
    database::DATABASE,
    database::WIKI,
    scan::FILE_CYCLIC,
    scan::FILE_ONCE,
    scan::ANON_CYCLIC,
    scan::ANON_ONCE,
    build::BUILD,
    build::MIXED,
];

/// The scenario of this name.
pub fn named(name: &str) -> Result<&'static Scenario> {
    let found = SCENARIOS.iter().find(|scenario| scenario.name == name);
    found.with_context(|| {
        let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        format!("no scenario '{name}': {}", names.join(", "))
    })
}

/// A disk of a small machine, between a hard disk and a solid one: refaults take time, and a load still makes progress.
const DISK: Throttle = Throttle {
    bytes: Bytes::mib(64),
    operations: 3000,
};
/// The lengths of most loads. A minute has twelve bursts or sixty reads of the hot file.
const MINUTE: Size = Size {
    memory_mib: 0,
    warm_up_s: 20,
    load_s: 60,
    calm_s: 60,
};

/// Files `f00`, `f01` and so on, each of this many MiB.
fn numbered(count: u64, mib: u64) -> Vec<Filled> {
    let file = |number| Filled {
        name: format!("f{number:02}"),
        size: Bytes::mib(mib),
    };
    (0..count).map(file).collect()
}

/// What measures how a machine responds: a command started five times a second, and a heartbeat.
fn probes() -> [Role; 2] {
    [
        Role::new("exec", &["exec", "/lab/probe", "200"]).with_oom_score_adj(-900),
        Role::new("beat", &["beat", "10"]).with_oom_score_adj(-1000),
    ]
}

/// A large program with a window, of which a person's other programs are made.
fn code(mib: u64) -> Filled {
    Filled {
        name: "code".to_owned(),
        size: Bytes::mib(mib),
    }
}

/// What a person waits for: a shell that is typed into twice a second, a login every three seconds, a window that is clicked at five
/// times a second, with a heap of 50 MiB where a tenth of memory is as much.
fn people(memory_mib: u64) -> [Role; 3] {
    let heap = (memory_mib / 10).min(50).to_string();
    [
        Role::new("prompt", &["prompt", "500"]).with_oom_score_adj(-1000),
        Role::new("login", &["login", "3000"]).with_oom_score_adj(-1000),
        Role::new("window", &["window", "200", &heap, "/data/code"]).with_oom_score_adj(-1000),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The arms that run if none are named must need no longer load than the scenario has.
    #[test]
    fn a_scenario_runs_as_it_is() {
        for scenario in SCENARIOS {
            for name in scenario.arms.split(',') {
                let arm = crate::arm::Arm::parse(name).unwrap();
                assert_eq!(arm.least_load_s(), 0, "{}: {name}", scenario.name);
            }
        }
        let founding = crate::arm::Arm::parse("classic").unwrap();
        assert!(founding.least_load_s() > 8 * 30, "its first forecast");
    }

    #[test]
    fn names_are_unique_and_found() {
        let names: BTreeSet<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), SCENARIOS.len());
        assert_eq!(named("storm").unwrap().name, "storm");
        assert!(
            named("calm")
                .unwrap_err()
                .to_string()
                .contains("three-workers")
        );
    }

    #[test]
    fn every_measure_is_known() {
        for scenario in SCENARIOS {
            for measure in scenario.measures {
                assert!(
                    crate::comparison::measure(measure).is_some(),
                    "{} of {}",
                    measure,
                    scenario.name
                );
            }
        }
    }

    #[test]
    fn only_its_arm_locks_the_hot_file() {
        let locks = |variant| {
            let load = (workers::LARGE.load)(&Circumstances {
                memory_mib: 256,
                variant,
            });
            load.roles
                .iter()
                .any(|role| role.work == ["lock", "/data/hot"])
        };
        let arm = crate::arm::Arm::parse("lock-hot").unwrap();
        assert!(locks(arm.variant()));
        assert!(!locks(None));
    }

    #[test]
    fn loads_grow_with_memory() {
        for scenario in SCENARIOS {
            let load = |memory_mib| {
                (scenario.load)(&Circumstances {
                    memory_mib,
                    variant: None,
                })
            };
            let data = |load: &Load| match &load.data {
                Data::Files(files, _) => files.iter().map(|file| file.size.get()).sum(),
                Data::Database { records, bytes } => records * bytes,
                Data::Source(_) => u64::MAX,
            };
            assert!(data(&load(1024)) <= data(&load(2048)), "{}", scenario.name);
            assert_eq!(load(1024), load(1024));
        }
    }
}
