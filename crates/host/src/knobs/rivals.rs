//! Programs and settings that do a part of the same work, found by looking.
//!
//! Two programs that set one knob undo each other's work, and two that kill for one shortage kill twice. So we look for
//! such programs, name them, and leave to each what it does: a knob that it sets, a cgroup in which it kills.

mod adaptivemm;
mod ini;
mod monitored;
mod programs;
mod sysctls;
mod thresholds;
mod tuned;

pub use monitored::Monitored;
pub use sysctls::{SysctlLine, WithoutEffect, sysctl_lines};

use pressure::config::Share;
use pressure::knob::{Drive, KNOBS, Knob, KnobSet};
use pressure::sample::Circumstances;
use programs::Found;
use std::path::Path;
use std::{fmt, fs};
use units::Bytes;

/// Something that does a part of our work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rival {
    /// Its name.
    pub name: String,
    /// What it does.
    pub kind: RivalKind,
    /// Where it was seen.
    pub evidence: String,
    /// Its process, if it is one.
    pub pid: Option<u32>,
    /// Its service of the system, such as `nohang-desktop.service`.
    pub unit: Option<String>,
    /// Its arguments, its name first; empty if they are not known.
    pub arguments: Vec<String>,
    /// Memory below which it kills; only of guards, where known.
    pub floor: Option<Share>,
    /// What it does here, and what we do about it.
    pub acts: Acts,
}

/// Where a rival acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acts {
    /// Sets these knobs, as its configuration of this name says.
    Sets {
        /// The name of the configuration; empty if there is only one.
        profile: String,
        /// The knobs; `None` if they are not known.
        knobs: Option<KnobSet>,
    },
    /// Kills anywhere.
    KillsAnywhere,
    /// Kills in some cgroups.
    KillsIn(Monitored),
    /// Is a guard, but kills nothing; the text says why.
    KillsNothing(&'static str),
    /// Does something else, which the text says.
    Does(&'static str),
    /// What its kind says.
    AsItsKind,
}

/// What a rival does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RivalKind {
    /// Sets knobs while it runs.
    Tuner,
    /// Kills when memory is short.
    Guard,
    /// Limits or stops processes when memory is short.
    Limiter,
    /// Keeps memory of programs that it chooses.
    Protector,
    /// Does something beside it that a decision takes into account.
    Neighbour,
    /// Reclaims or sorts memory by access.
    Damon,
    /// Sets a knob of ours at boot.
    Sysctl,
    /// Floors under pages, in a patched kernel.
    Floors,
}

impl RivalKind {
    /// What we do about it.
    pub const fn we(self) -> &'static str {
        match self {
            Self::Tuner => "Warmset leaves the knobs that it sets alone and drives the others",
            Self::Guard => {
                "it kills when memory is short; Warmset sends no signal while it runs, but throttles, holds files and tells"
            }
            Self::Limiter | Self::Protector | Self::Neighbour => "Warmset leaves it alone",
            Self::Damon => "it reclaims or sorts memory by access; Warmset leaves it alone",
            Self::Sysctl => "Warmset never goes below that value, and puts it back",
            Self::Floors => {
                "the kernel has floors under pages; Warmset raises them in mode protect only, and never goes below what it found"
            }
        }
    }
}

impl fmt::Display for Rival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        let evidence = &self.evidence;
        match &self.acts {
            Acts::Sets {
                profile,
                knobs: Some(knobs),
            } => {
                let seen = match profile.as_str() {
                    "" => evidence.clone(),
                    profile => format!("profile {profile}"),
                };
                if knobs.is_empty() {
                    write!(
                        f,
                        "{name} ({seen}) sets no knob of Warmset's; Warmset drives them all"
                    )
                } else {
                    write!(
                        f,
                        "{name} ({seen}) sets {knobs}; Warmset {}",
                        knobs.left_alone()
                    )
                }
            }
            Acts::Sets { .. } => write!(
                f,
                "{name} ({evidence}): which knobs it sets cannot be read; Warmset leaves all knobs alone"
            ),
            Acts::KillsIn(monitored) => match monitored.places(true) {
                Some(places) => write!(
                    f,
                    "{name} ({evidence}) kills below {places}; Warmset sends no signal there, but throttles, holds files and \
                     tells, and acts as usual elsewhere"
                ),
                None => write!(
                    f,
                    "{name} ({evidence}) monitors no unit and kills nothing; Warmset acts as usual"
                ),
            },
            Acts::KillsNothing(why) => {
                write!(
                    f,
                    "{name} ({evidence}) {why} and kills nothing; Warmset acts as usual"
                )
            }
            Acts::Does(what) => write!(f, "{name} ({evidence}) {what}"),
            Acts::KillsAnywhere | Acts::AsItsKind => {
                write!(f, "{name} ({evidence}): {}", self.kind.we())?;
                match self.floor {
                    Some(floor) => write!(
                        f,
                        ", and keeps more than {floor} available, below which it kills"
                    ),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Rival {
    /// The value of the first of these options, in the next argument or after `=`.
    pub fn option(&self, names: &[&str]) -> Option<&str> {
        thresholds::value_of(&self.arguments, names)
    }

    /// A setting that was seen in `evidence`.
    fn setting(name: &str, kind: RivalKind, evidence: String) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            evidence,
            pid: None,
            unit: None,
            arguments: Vec::new(),
            floor: None,
            acts: Acts::AsItsKind,
        }
    }

    /// Whether it kills anywhere on the machine.
    pub fn kills_anywhere(&self) -> bool {
        self.kind == RivalKind::Guard && self.acts == Acts::KillsAnywhere
    }

    /// The knobs that it sets while it runs; `None` if they are not known.
    fn sets(&self) -> Option<KnobSet> {
        match &self.acts {
            Acts::Sets { knobs, .. } => *knobs,
            _ => Some(KnobSet::NONE),
        }
    }
}

/// All rivals found at `root`. Walks `/proc`, which takes milliseconds, so the worker calls it and not the loop.
pub fn rivals(root: &Path) -> Vec<Rival> {
    let mut found: Vec<Rival> = programs::find(root)
        .iter()
        .map(|process| rival(root, process))
        .collect();
    found.extend(damon(root));
    found.extend(floors(root));
    found.extend(sysctls(root));
    found
}

/// Writes into a sample what the rivals leave to us and what they do not.
pub fn note(rivals: &[Rival], memory: Bytes, circumstances: &mut Circumstances) {
    let mut knobs = KnobSet::NONE;
    let mut is_any_unknown = false;
    for rival in rivals {
        match rival.sets() {
            Some(set) => knobs = knobs.with(set),
            None => is_any_unknown = true,
        }
    }
    let kills_anywhere = rivals.iter().any(Rival::kills_anywhere);
    circumstances.rival_tuner = Some(u64::from(is_any_unknown));
    circumstances.rival_knobs = Some(knobs.bits());
    circumstances.rival_guard = Some(u64::from(kills_anywhere));
    circumstances.rival_floor = floor(rivals, memory);
}

/// Available memory below which some rival starts to kill.
fn floor(rivals: &[Rival], memory: Bytes) -> Option<Bytes> {
    rivals
        .iter()
        .filter_map(|rival| rival.floor)
        .map(|share| share.of(memory))
        .max()
}

/// Whether one of the rivals kills in the cgroup at `path`, and not anywhere. Allocates nothing.
pub(crate) fn is_left_to(rivals: &[Rival], path: &str, has_swap: bool) -> bool {
    rivals.iter().any(|rival| match &rival.acts {
        Acts::KillsIn(monitored) => monitored.covers(path, has_swap),
        _ => false,
    })
}

/// What a process of a known program does here.
fn rival(root: &Path, found: &Found) -> Rival {
    let program = found.program;
    let arguments = &found.arguments;
    let acts = match program.name {
        "tuned" => tuned_here(root),
        "adaptivemmd" | "memoptimizer" => Acts::Sets {
            profile: String::new(),
            knobs: Some(adaptivemm::knobs(root, program.name)),
        },
        "earlyoom" if has(arguments, "--dryrun") => Acts::KillsNothing("runs with --dryrun"),
        "systemd-oomd" if has(arguments, "--dry-run") => Acts::KillsNothing("runs with --dry-run"),
        "oomd" if has(arguments, "--dry") => Acts::KillsNothing("runs with --dry"),
        // Where it kills is not known without unit files, and then that may be anywhere.
        "systemd-oomd" => match Monitored::by_systemd_oomd(root) {
            Some(monitored) => Acts::KillsIn(monitored),
            None => Acts::KillsAnywhere,
        },
        "kubelet" => Acts::KillsIn(Monitored::pods()),
        "low-memory-monitor" if triggers_kernel(root) => Acts::KillsAnywhere,
        _ => match program.about {
            Some(what) => Acts::Does(what),
            None => Acts::KillsAnywhere,
        },
    };
    let kind = match acts {
        Acts::KillsAnywhere => RivalKind::Guard,
        _ => program.kind,
    };
    let floor = match program.name {
        _ if acts != Acts::KillsAnywhere => None,
        "earlyoom" => Some(thresholds::earlyoom(arguments)),
        "nohang" => Some(thresholds::nohang(root, arguments)),
        _ => None,
    };
    let pid = found.pid;
    let evidence = match &found.unit {
        Some(unit) => format!("process {pid}, {unit}"),
        None => format!("process {pid}"),
    };
    Rival {
        name: program.name.to_owned(),
        kind,
        evidence,
        pid: Some(pid),
        unit: found.unit.clone(),
        arguments: arguments.clone(),
        floor,
        acts,
    }
}

fn has(arguments: &[String], option: &str) -> bool {
    arguments.iter().any(|word| word == option)
}

fn tuned_here(root: &Path) -> Acts {
    match tuned::active(root) {
        Some(profile) => Acts::Sets {
            profile: match profile.name.trim() {
                "" => "none".to_owned(),
                name => name.to_owned(),
            },
            knobs: profile.knobs,
        },
        None => Acts::Sets {
            profile: String::new(),
            knobs: None,
        },
    }
}

/// Whether low-memory-monitor is configured to call the kernel's OOM killer.
fn triggers_kernel(root: &Path) -> bool {
    let text = fs::read_to_string(root.join("etc/low-memory-monitor.conf")).unwrap_or_default();
    ini::lines(&text).any(|line| line == ini::Line::Setting("TriggerKernelOom", "true"))
}

fn damon(root: &Path) -> Vec<Rival> {
    let mut found = Vec::new();
    let mut see = |name: &str, path: std::path::PathBuf, on: &str| {
        if fs::read_to_string(&path).is_ok_and(|text| text.trim() == on) {
            let evidence = path.strip_prefix(root).unwrap_or(&path).display();
            found.push(Rival::setting(name, RivalKind::Damon, evidence.to_string()));
        }
    };
    for module in ["damon_reclaim", "damon_lru_sort"] {
        see(
            module,
            root.join(format!("sys/module/{module}/parameters/enabled")),
            "Y",
        );
    }
    if let Ok(threads) = fs::read_dir(root.join("sys/kernel/mm/damon/admin/kdamonds")) {
        threads
            .flatten()
            .for_each(|thread| see("DAMON", thread.path().join("state"), "on"));
    }
    found
}

/// le9uo's floors, which are in the kernel or not.
fn floors(root: &Path) -> Option<Rival> {
    let path = Knob::CleanMinRatio.spec().path;
    let is_there = root.join(path).exists();
    is_there.then(|| Rival::setting("le9uo", RivalKind::Floors, path.to_owned()))
}

/// Lines that are in force for a knob that we drive by default.
fn sysctls(root: &Path) -> Vec<Rival> {
    let mut found = Vec::new();
    for line in sysctl_lines(root) {
        let is_ours = KNOBS
            .iter()
            .any(|spec| spec.drive == Drive::Default && spec.name == line.key);
        if is_ours && line.without_effect.is_none() {
            found.push(Rival::setting(&line.key, RivalKind::Sysctl, line.place()));
        }
    }
    found
}

#[cfg(test)]
mod tests;
