//! The arms: what is set and runs beside the load, from nothing to Warmset.

use crate::image::Part;
use crate::plan::{Beside, Gap};
use anyhow::{Context, Result, bail};

/// The directory in the guest for the files of the arm's program and for what it writes.
const HOME: &str = "/run/arm";
const FACTOR: &str = "/proc/sys/vm/watermark_scale_factor";
const PROTECTION: &str = "/proc/sys/vm/workingset_protection";
const DAMON: &str = "/sys/module/damon_reclaim/parameters/enabled";

/// An arm, by the name that `--arms` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// `static:1000`.
    pub name: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    None,
    Static(u32),
    EqualMean,
    Damon,
    Earlyoom,
    Nohang,
    /// warmsetd in this mode, with these lines of configuration.
    Warmset(&'static str, &'static str),
    /// The same without gap and compaction, so that the effects of protection and of tuning are told apart.
    Untuned(&'static str, &'static str),
    /// The kernel's own floors.
    Floors,
    /// The same, and all of Warmset, which drives their size.
    FloorsDriven,
    /// `warmset-local`, which presses on one process in this way.
    Local(String),
    Variant,
}

const TUNES: Kind = Kind::Warmset("tune", "");
const CLASSIC: Kind = Kind::Warmset("tune", "predictor = \"classic\"\n");
const GUARDS: Kind = Kind::Untuned("guard", "");
/// The same, but it kills without throttling first.
const KILLS_AT_ONCE: Kind = Kind::Untuned("guard", "[guard]\nthrottle-ahead = \"0 s\"\n");
/// Ways of local replacement, as `warmset-local --way` names them.
const WAYS: [&str; 7] = [
    "watch",
    "up-largest",
    "up-next",
    "up-last",
    "down-largest",
    "down-next",
    "down-last",
];
const BALANCES: Kind = Kind::Untuned(
    "tune",
    "[balance]\nswappiness = true\npage-cluster = true\nmin-ttl = true\n",
);
const PROTECTS: Kind = Kind::Warmset("protect", "");
/// The same, without a gap.
const HOLDS: Kind = Kind::Untuned("protect", "");

/// The names of all arms, and a line about each.
pub const ARMS: &[(&str, &str)] = &[
    ("none", "the kernel as Debian sets it"),
    ("static:N", "vm.watermark_scale_factor = N, 1 to 3000"),
    (
        "equal-mean",
        "static, at the mean gap that warmset held in the same cell; added beside it where a gap is judged",
    ),
    (
        "damon-reclaim",
        "the kernel's own reclaim of cold memory by DAMON, where it has it",
    ),
    ("earlyoom", "earlyoom as Debian has it"),
    ("nohang", "nohang as Debian has it"),
    (
        "classic",
        "warmsetd with the founding predictor, which alone acts; needs --load 600",
    ),
    ("warmset", "warmsetd in mode tune"),
    ("guard", "warmsetd that kills a runaway, and tunes nothing"),
    ("uncontained", "the same, but it does not throttle first"),
    (
        "protect",
        "warmsetd as it is packaged: also files that thrash are held in memory, a runaway is killed",
    ),
    ("holds", "the same, which tunes nothing: no gap is held"),
    (
        "balance",
        "warmsetd that sets swappiness, page-cluster and min_ttl_ms by refaults, and nothing else",
    ),
    (
        "floors-1",
        "vm.workingset_protection = 1, where the kernel has it: floors of 15 %",
    ),
    (
        "floors-1+protect",
        "both: the kernel keeps the floors, and warmsetd drives their size",
    ),
    (
        "local:WAY",
        "warmset-local, the experiment of local replacement: watch, or up- or down-, and largest, next or last",
    ),
    (
        "lock-hot",
        "three-workers only: the hot file locked in memory, so what protecting it could do at best",
    ),
    ("lock-index", "indexed-db only: the index locked in memory"),
    (
        "scan",
        "indexed-db only: a scan of the data beside the lookups",
    ),
    ("scan+lock-index", "indexed-db only: both"),
];

impl Arm {
    /// The arm of this name.
    pub fn parse(name: &str) -> Result<Self> {
        let kind = match name {
            "none" => Kind::None,
            "equal-mean" => Kind::EqualMean,
            "damon-reclaim" => Kind::Damon,
            "earlyoom" => Kind::Earlyoom,
            "nohang" => Kind::Nohang,
            "classic" => CLASSIC,
            "warmset" => TUNES,
            "guard" => GUARDS,
            "uncontained" => KILLS_AT_ONCE,
            "balance" => BALANCES,
            "protect" => PROTECTS,
            "holds" => HOLDS,
            "floors-1" => Kind::Floors,
            "floors-1+protect" => Kind::FloorsDriven,
            "lock-hot" | "lock-index" | "scan" | "scan+lock-index" => Kind::Variant,
            _ => match name.strip_prefix("local:") {
                Some(way) => Kind::Local(local(way)?),
                None => Kind::Static(factor(name)?),
            },
        };
        Ok(Self {
            name: name.to_owned(),
            kind,
        })
    }

    /// Returns true if it needs the mean gap of another arm's runs.
    pub fn needs_a_gap(&self) -> bool {
        self.kind == Kind::EqualMean
    }

    /// Returns true if an equal mean is computed from its gap.
    pub fn gives_a_gap(&self) -> bool {
        self.kind == TUNES
    }

    /// The shortest load, in seconds, that shows what it does: three times as long as the founding predictor needs for its first
    /// forecast.
    pub fn least_load_s(&self) -> u64 {
        if self.kind == CLASSIC { 600 } else { 0 }
    }

    /// Returns true if warmsetd runs in it.
    pub fn has_the_daemon(&self) -> bool {
        matches!(
            self.kind,
            Kind::Warmset(..) | Kind::Untuned(..) | Kind::FloorsDriven
        )
    }

    /// Returns true if `warmset-local` runs in it.
    pub fn has_local_replacement(&self) -> bool {
        matches!(self.kind, Kind::Local(_))
    }

    /// The program that it needs on the root disk.
    pub fn part(&self) -> Option<Part> {
        match self.kind {
            Kind::Earlyoom => Some(Part::Earlyoom),
            Kind::Nohang => Some(Part::Nohang),
            _ => None,
        }
    }

    /// The variant of the scenario that it asks for.
    pub fn variant(&self) -> Option<&str> {
        if self.kind == Kind::Variant {
            Some(&self.name)
        } else {
            None
        }
    }

    /// What the guest sets and runs for it; `gap` is the mean that warmset has held so far.
    pub fn beside(&self, gap: Option<Gap>) -> Result<Beside> {
        let empty = Beside {
            name: self.name.clone(),
            ..Beside::default()
        };
        Ok(match self.kind {
            Kind::None | Kind::Variant => empty,
            Kind::Static(factor) => Beside {
                writes: vec![(FACTOR.to_owned(), factor.to_string())],
                ..empty
            },
            Kind::EqualMean => {
                let factor = equal(gap.context("warmset has not yet held a gap here")?);
                Beside {
                    writes: vec![(FACTOR.to_owned(), factor.to_string())],
                    ..empty
                }
            }
            Kind::Floors => Beside {
                writes: floors(),
                ..empty
            },
            Kind::FloorsDriven => Beside {
                name: self.name.clone(),
                writes: floors(),
                ..Self::parse("protect")?.beside(gap)?
            },
            Kind::Damon => Beside {
                writes: vec![(DAMON.to_owned(), "Y".to_owned())],
                ..empty
            },
            Kind::Earlyoom => Beside {
                program: Some(words("/usr/bin/earlyoom -r 0")),
                ..empty
            },
            Kind::Nohang => {
                let program = words(
                    "/usr/bin/python3 /usr/sbin/nohang --config /etc/nohang/nohang.conf --monitor",
                );
                Beside {
                    program: Some(program),
                    ..empty
                }
            }
            Kind::Warmset(mode, rest) => warmset(empty, mode, rest),
            Kind::Untuned(mode, rest) => untuned(empty, mode, rest),
            Kind::Local(ref way) => {
                let log = format!("{HOME}/state/local.jsonl");
                let program = format!("/lab/warmset-local --way {way} --log {log}");
                Beside {
                    program: Some(words(&program)),
                    keep: vec![format!("{HOME}/state"), format!("{HOME}/program.log")],
                    ..empty
                }
            }
        })
    }
}

fn floors() -> Vec<(String, String)> {
    vec![(PROTECTION.to_owned(), "1".to_owned())]
}

fn untuned(empty: Beside, mode: &str, rest: &str) -> Beside {
    warmset(
        empty,
        mode,
        &format!("[gap]\nenabled = false\n[compaction]\nenabled = false\n{rest}"),
    )
}

fn warmset(empty: Beside, mode: &str, rest: &str) -> Beside {
    let config = format!("{HOME}/warmset.toml");
    let text = format!("mode = \"{mode}\"\nverbosity = 2\n{rest}");
    let program = format!("/lab/warmsetd --config {config} --state {HOME}/state --run {HOME}/run");
    Beside {
        files: vec![(config, text)],
        program: Some(words(&program)),
        keep: vec![format!("{HOME}/state"), format!("{HOME}/program.log")],
        ..empty
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn local(way: &str) -> Result<String> {
    if WAYS.contains(&way) {
        return Ok(way.to_owned());
    }
    bail!("no local replacement '{way}': {}", WAYS.join(", "));
}

fn factor(name: &str) -> Result<u32> {
    let Some(number) = name.strip_prefix("static:") else {
        let known: Vec<&str> = ARMS.iter().map(|(name, _)| *name).collect();
        bail!("no arm '{name}': {}", known.join(", "));
    };
    match number.parse() {
        Ok(factor @ 1..=3000) => Ok(factor),
        _ => bail!("'{number}' is no watermark_scale_factor: the kernel takes 1 to 3000"),
    }
}

/// The factor whose gap is nearest to a mean: the gap is `managed · factor / 10000` where that is above a quarter of min.
fn equal(gap: Gap) -> u32 {
    ((gap.mean * 10_000.0 / gap.managed.max(1.0)).round() as u32).clamp(10, 3000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_known_by_name_and_bad_ones_say_why() {
        assert_eq!(
            Arm::parse("static:1000")
                .unwrap()
                .beside(None)
                .unwrap()
                .writes[0]
                .1,
            "1000"
        );
        assert!(
            Arm::parse("static:4000")
                .unwrap_err()
                .to_string()
                .contains("1 to 3000")
        );
        assert!(
            Arm::parse("oomd")
                .unwrap_err()
                .to_string()
                .contains("earlyoom")
        );
        for (name, _) in ARMS
            .iter()
            .filter(|(name, _)| !name.ends_with(":N") && !name.ends_with(":WAY"))
        {
            assert_eq!(Arm::parse(name).unwrap().name, *name);
        }
    }

    #[test]
    fn local_replacement_is_all_that_its_arms_do() {
        for way in WAYS {
            let arm = Arm::parse(&format!("local:{way}")).unwrap();
            let beside = arm.beside(None).unwrap();
            let program = beside.program.unwrap().join(" ");
            assert!(
                program.starts_with(&format!("/lab/warmset-local --way {way} ")),
                "{program}"
            );
            assert!(arm.has_local_replacement() && !arm.has_the_daemon());
            assert!(beside.files.is_empty() && beside.writes.is_empty());
        }
        assert!(
            Arm::parse("local:up-all")
                .unwrap_err()
                .to_string()
                .contains("up-largest")
        );
    }

    #[test]
    fn the_equal_mean_arm_sets_the_factor_of_the_same_mean() {
        let mib = f64::from(1 << 20);
        let gap = Gap {
            mean: 40.0 * mib,
            managed: 1000.0 * mib,
            ..Gap::default()
        };
        let beside = Arm::parse("equal-mean").unwrap().beside(Some(gap)).unwrap();
        assert_eq!(beside.writes[0].1, "400");
        assert!(Arm::parse("equal-mean").unwrap().beside(None).is_err());
    }

    #[test]
    fn the_daemon_may_tune_and_writes_below_the_runs_directory() {
        let beside = Arm::parse("classic").unwrap().beside(None).unwrap();
        assert!(beside.files[0].1.contains("predictor = \"classic\""));
        assert!(
            beside
                .program
                .unwrap()
                .join(" ")
                .contains("--state /run/arm/state")
        );
        assert!(beside.files[0].1.contains("mode = \"tune\""));
        assert!(
            Arm::parse("balance").unwrap().beside(None).unwrap().files[0]
                .1
                .contains("min-ttl = true")
        );
        assert!(
            Arm::parse("guard").unwrap().beside(None).unwrap().files[0]
                .1
                .contains("mode = \"guard\"")
        );
        let beside = Arm::parse("protect").unwrap().beside(None).unwrap();
        assert!(beside.files[0].1.contains("mode = \"protect\""));
        let both = Arm::parse("floors-1+protect")
            .unwrap()
            .beside(None)
            .unwrap();
        assert_eq!(both.files, beside.files);
        assert_eq!(both.writes[0].1, "1");
    }
}
