//! Looking for oneself, where no guard runs.

use crate::ui::Context;
use anyhow::Result;
use host::{OwnCost, Rival, RivalKind, SystemReader, rivals, settings};
use pressure::config::Mode;
use pressure::status::{Status, Tally};
use pressure::{Config, Decision, Facts, History, Sample, decide};
use std::path::Path;
use std::time::Duration;

/// A decision needs three samples; these lie one second apart in all.
const SAMPLES: u32 = 3;
const BETWEEN: Duration = Duration::from_millis(500);

/// One reading of the machine, and who else is there.
#[derive(Debug)]
pub(crate) struct Glance {
    pub(crate) facts: Facts,
    pub(crate) sample: Sample,
    pub(crate) rivals: Vec<Rival>,
    pub(crate) warnings: Vec<String>,
}

impl Glance {
    /// Reads the machine once.
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

/// The status that a guard would show after one second, had it only looked.
pub(crate) fn status(context: &Context) -> Result<Status> {
    let mut reader = SystemReader::open(&context.root)?;
    let mut warnings = Vec::new();
    let mut config = settings::of_machine(&context.root).map_or_else(
        |error| {
            warnings.push(format!("{error}; the defaults are used here"));
            Config::default()
        },
        |settings| settings.config,
    );
    let mode = std::mem::replace(&mut config.mode, Mode::Observe);
    let rivals = rivals(&context.root);
    let (sample, decision) = observe(
        &mut reader,
        &config,
        &Surroundings {
            rivals: &rivals,
            context,
        },
    );
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
        names: Vec::new(),
    })
}

/// What stands outside the kernel's files.
struct Surroundings<'s> {
    rivals: &'s [Rival],
    context: &'s Context,
}

impl Surroundings<'_> {
    fn note(&self, sample: &mut Sample) {
        let memory = sample.memory.total.unwrap_or_default();
        let floors = self.rivals.iter().filter_map(|rival| rival.floor);
        let tuner = self
            .rivals
            .iter()
            .any(|rival| rival.kind == RivalKind::Tuner);
        let circumstances = &mut sample.circumstances;
        circumstances.rival_floor = floors.map(|share| share.of(memory)).max();
        circumstances.rival_tuner = Some(u64::from(tuner));
        circumstances.disabled = Some(u64::from(self.context.run.join("disable").exists()));
        // Nothing is ours, so everything is as found.
        sample.knobs.found = sample.knobs.now;
    }

    /// A recorded machine stands still: it need not be waited for.
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
    for turn in 0..SAMPLES {
        if turn > 0 {
            std::thread::sleep(surroundings.pause());
        }
        reader.read(&mut sample);
        surroundings.note(&mut sample);
        history.push(&sample);
    }
    let decision = decide(config, &history);
    (sample, decision)
}
