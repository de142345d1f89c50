//! Observing the machine where no guard runs.

use crate::ui::Context;
use anyhow::Result;
use host::{OwnCost, Rival, SystemReader, note_rivals, rivals, settings};
use pressure::config::Mode;
use pressure::status::{Status, Tally};
use pressure::{Config, Decision, Facts, History, Sample, decide};
use std::path::Path;
use std::time::Duration;

/// A decision needs three samples: two differences of counters.
const SAMPLES: u32 = 3;
/// Time between two samples: three of them then take the second that a person will wait.
const BETWEEN: Duration = Duration::from_millis(500);

/// One reading of the machine.
#[derive(Debug)]
pub(crate) struct Observation {
    pub(crate) facts: Facts,
    pub(crate) sample: Sample,
    pub(crate) rivals: Vec<Rival>,
    pub(crate) warnings: Vec<String>,
}

impl Observation {
    /// Reads the machine at `root` once.
    pub(crate) fn take(root: &Path) -> Result<Self> {
        let mut reader = SystemReader::open(root)?;
        let mut sample = Sample::default();
        reader.read(&mut sample);
        let warnings = reader.warnings().map(ToString::to_string).collect();
        Ok(Self {
            facts: reader.facts().clone(),
            sample,
            rivals: rivals(root),
            warnings,
        })
    }
}

/// Whether lxcfs makes the numbers of memory and swap here: they are a container's, and all others are the host's.
pub(crate) fn is_of_lxcfs(root: &Path) -> bool {
    let mounts = std::fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    mounts.lines().any(|line| {
        let mut halves = line.split(" - ");
        let place = halves.next().unwrap_or_default();
        let kind = halves.next().unwrap_or_default();
        place.contains(" /proc/meminfo ") && kind.starts_with("fuse.lxcfs ")
    })
}

/// The status that a guard in mode observe would show after one second.
pub(crate) fn status(context: &Context) -> Result<Status> {
    let mut reader = SystemReader::open(&context.root)?;
    let mut warnings = Vec::new();
    let mut config = match settings::of_machine(&context.root) {
        Ok(settings) => settings.config,
        Err(error) => {
            warnings.push(format!("{error}; the defaults are used here"));
            Config::default()
        }
    };
    let mode = std::mem::replace(&mut config.mode, Mode::Observe);
    if is_of_lxcfs(&context.root) {
        warnings.push(
            "memory and swap are this container's, by lxcfs, and all else is the host's: what is computed from both says \
             nothing, such as headroom and the forecast; run it on the host"
                .to_owned(),
        );
    }
    let rivals = rivals(&context.root);
    let surroundings = Surroundings {
        rivals: &rivals,
        context,
    };
    let (sample, decision) = observe(&mut reader, &config, &surroundings);
    warnings.extend(reader.warnings().map(ToString::to_string));
    let (own_cpu, own_memory) = OwnCost::open().read();
    Ok(Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        started: sample.wall,
        mode,
        only_observes: Some("no guard is running".to_owned()),
        predictor: config.predictor,
        facts: reader.facts().clone(),
        tally: Tally {
            samples: u64::from(SAMPLES),
            own_cpu,
            own_memory: own_memory.unwrap_or_default(),
            ..Tally::default()
        },
        sample,
        decision,
        past: Vec::new(),
        warnings,
        rivals: rivals.iter().map(ToString::to_string).collect(),
        means: Vec::new(),
        names: Vec::new(),
        named: pressure::status::Named::default(),
    })
}

/// What a sample needs that the kernel's files do not tell.
struct Surroundings<'s> {
    rivals: &'s [Rival],
    context: &'s Context,
}

impl Surroundings<'_> {
    fn note(&self, sample: &mut Sample) {
        let memory = sample.memory.total.unwrap_or_default();
        let is_disabled = self.context.run.join("disable").exists();
        let circumstances = &mut sample.circumstances;
        note_rivals(self.rivals, memory, circumstances);
        circumstances.disabled = Some(u64::from(is_disabled));
        // This command has set nothing, so every knob is as it was found.
        sample.knobs.found = sample.knobs.now;
    }

    /// Time to wait between samples: none on a recorded machine, which does not change.
    fn pause(&self) -> Duration {
        if self.context.root == Path::new("/") {
            BETWEEN
        } else {
            Duration::ZERO
        }
    }
}

fn observe(
    reader: &mut SystemReader,
    config: &Config,
    surroundings: &Surroundings<'_>,
) -> (Sample, Decision) {
    let mut history = History::new(reader.facts(), config);
    let mut sample = Sample::default();
    for number in 0..SAMPLES {
        if number > 0 {
            std::thread::sleep(surroundings.pause());
        }
        reader.read(&mut sample);
        surroundings.note(&mut sample);
        history.push(&sample);
    }
    let decision = decide(config, &history);
    (sample, decision)
}
