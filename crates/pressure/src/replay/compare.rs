//! The closed loop: one machine model for each arm, the same demand for all.

use super::arm::Arm;
use super::measure::{Bursts, Counting, Meter, Outcome, Recorded, Setting};
use super::reservoir::{Flow, Kswapd, Reservoir};
use super::trace::{Call, Calls, Interval, Opening, Reclaim, Samples, found_factor};
use super::{RESPONSE, ReplayError};
use crate::config::{Config, Mode, Predictor};
use crate::decide;
use crate::decision::{Action, Decision};
use crate::history::History;
use crate::knob::{KNOBS, Knob, KnobStates};
use crate::recording::Entry;
use crate::sample::{Facts, Sample};
use crate::watermark::{self, Marks};
use serde::Serialize;
use std::time::Duration;
use units::{Bytes, Pages, Rate, Span};

/// Pages that one stalled allocation reclaims: the kernel's `SWAP_CLUSTER_MAX`.
const PAGES_PER_STALL: u64 = 32;

/// What to compare.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    /// The arms, in the order of the table.
    pub arms: &'a [Arm],
    /// For the arms that decide; `None` takes the recorded one.
    pub config: Option<&'a Config>,
    /// Time from waking kswapd to the first page.
    pub response: Duration,
}

impl<'a> Plan<'a> {
    /// These arms, with the recorded configuration and the usual response time.
    pub fn of(arms: &'a [Arm]) -> Self {
        Self {
            arms,
            config: None,
            response: RESPONSE,
        }
    }
}

/// The table: what each arm would have cost, and what it would have prevented.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Release of the kernel recorded.
    pub kernel: String,
    /// Samples.
    pub samples: u64,
    /// Time that the samples cover, without pauses.
    pub time: Span,
    /// Factor that was found.
    pub found_factor: u64,
    /// Gap that it gives.
    pub found_gap: Bytes,
    /// What kswapd frees per second while it runs.
    pub reclaim: Rate,
    /// The recording never saw kswapd run: its rate is assumed.
    pub reclaim_assumed: bool,
    /// Time from waking kswapd to the first page.
    pub response: Span,
    /// Times when demand, less what kswapd frees meanwhile, was more than the gap found.
    pub bursts: u64,
    /// What the kernel counted.
    pub recorded: Recorded,
    /// What the model says of each arm.
    pub arms: Vec<Outcome>,
}

/// Runs every arm over the recorded demand.
///
/// The same as a [`Survey`] of all entries, and then [`Modelling`].
pub fn compare(entries: &[Entry], plan: &Plan<'_>) -> Result<Comparison, ReplayError> {
    let mut survey = Survey::default();
    for entry in entries {
        survey.take(entry);
    }
    let mut modelling = survey.model(plan)?;
    for entry in entries {
        modelling.take(entry)?;
    }
    Ok(modelling.end())
}

/// A first pass over a recording: what the model needs to know before it begins. Takes constant memory.
#[derive(Debug, Default)]
pub struct Survey {
    samples: Samples,
    first: Option<Sample>,
    number: u64,
    /// Intervals with a known demand.
    intervals: u64,
    time: Duration,
    found_factor: Option<u64>,
    reclaim: Reclaim,
    counting: Counting,
}

impl Survey {
    /// Takes the next entry.
    pub fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::Header(header) => self.samples.header(header),
            Entry::Sample(sample) => self.sample(sample),
            Entry::Decision(_) | Entry::Lost(_) => {}
        }
    }

    fn sample(&mut self, sample: &Sample) {
        if self.samples.opening().is_none() {
            return;
        }
        let interval = self.samples.interval(sample);
        if let (Some(before), Some(interval)) = (self.samples.last(), interval) {
            self.intervals += 1;
            self.time = self.time.saturating_add(interval.time);
            self.reclaim.interval(before, sample, interval.time);
            self.counting.interval(before, sample);
        }
        self.number += 1;
        self.found_factor = self.found_factor.or_else(|| found_factor(sample));
        self.first.get_or_insert_with(|| sample.clone());
        self.samples.pass(sample);
    }

    /// The model, ready for the second pass over the same entries.
    ///
    /// Errors: no header, no two samples in a row, or numbers that are nowhere known.
    pub fn model(&self, plan: &Plan<'_>) -> Result<Modelling, ReplayError> {
        let opening = self.samples.opening().filter(|_| self.number > 1);
        let opening = opening.ok_or(ReplayError::TooShort)?;
        let first = self.first.as_ref().ok_or(ReplayError::TooShort)?;
        if self.intervals == 0 {
            return Err(ReplayError::Unknown(
                "nr_free_pages, pgsteal_kswapd and pgsteal_direct",
            ));
        }
        let page_size = opening.facts.page_size;
        let (rate, reclaim_assumed) = self.reclaim.rate();
        let found_factor = self
            .found_factor
            .ok_or(ReplayError::Unknown("vm.watermark_scale_factor"))?;
        let found = setting(first, page_size, found_factor)?;
        let mut runs = Vec::new();
        for arm in plan.arms {
            let control = Control::of(*arm, found_factor, opening, plan.config)?;
            runs.push((*arm, Run::new(control, found, page_size)));
        }
        let comparison = Comparison {
            kernel: opening.facts.kernel.clone(),
            samples: self.number,
            time: Span::new(self.time),
            found_factor,
            found_gap: found.gap.to_bytes(page_size),
            reclaim: Rate::new(Pages::new(rate).to_bytes(page_size).get()),
            reclaim_assumed,
            response: Span::new(plan.response),
            bursts: 0,
            recorded: self.counting.sum(page_size),
            arms: Vec::new(),
        };
        Ok(Modelling {
            comparison,
            page_size,
            found: found.gap,
            kswapd: Kswapd {
                rate,
                response: plan.response,
            },
            samples: Samples::default(),
            calls: Calls::default(),
            bursts: Bursts::default(),
            runs,
        })
    }
}

/// The second pass: every arm goes through the recording at the same time. Takes constant memory.
#[derive(Debug)]
pub struct Modelling {
    /// As the survey found it, still without what the model says.
    comparison: Comparison,
    page_size: Bytes,
    /// The gap found.
    found: Pages,
    kswapd: Kswapd,
    samples: Samples,
    calls: Calls,
    bursts: Bursts,
    runs: Vec<(Arm, Run)>,
}

impl Modelling {
    /// Takes the next entry.
    ///
    /// Errors: a sample without the numbers that watermarks follow from.
    pub fn take(&mut self, entry: &Entry) -> Result<(), ReplayError> {
        match entry {
            Entry::Header(header) => self.samples.header(header),
            Entry::Sample(sample) => self.sample(sample)?,
            Entry::Decision(_) | Entry::Lost(_) => {}
        }
        Ok(())
    }

    fn sample(&mut self, sample: &Sample) -> Result<(), ReplayError> {
        if self.samples.opening().is_none() {
            return Ok(());
        }
        let interval = self.samples.interval(sample);
        match (self.samples.last(), &interval) {
            (Some(before), Some(interval)) => {
                let call = self.calls.call(sample, interval, self.kswapd);
                self.bursts.call(call, self.found);
                for (_, run) in &mut self.runs {
                    run.interval(before, (interval, call), self.kswapd)?;
                }
            }
            _ => {
                self.calls.clear();
                for (_, run) in &mut self.runs {
                    run.begin(sample);
                }
            }
        }
        for (_, run) in &mut self.runs {
            run.steer(sample)?;
        }
        self.samples.pass(sample);
        Ok(())
    }

    /// The table.
    pub fn end(self) -> Comparison {
        let arms = self.runs.iter();
        let arms = arms.map(|(arm, run)| run.meter.outcome(arm.to_string(), self.page_size));
        Comparison {
            bursts: self.bursts.count,
            arms: arms.collect(),
            ..self.comparison
        }
    }
}

fn marks(sample: &Sample, page_size: Bytes, factor: u64) -> Result<Marks, ReplayError> {
    watermark::total(sample, page_size, factor).ok_or(ReplayError::Unknown(
        "vm.min_free_kbytes and the size of every zone",
    ))
}

fn setting(sample: &Sample, page_size: Bytes, factor: u64) -> Result<Setting, ReplayError> {
    Ok(Setting {
        factor,
        gap: marks(sample, page_size, factor)?.gap(),
    })
}

/// What sets the factor.
#[derive(Debug)]
enum Control {
    Recorded,
    Fixed(u64),
    Decide(Box<Decider>),
}

impl Control {
    fn of(
        arm: Arm,
        found: u64,
        opening: &Opening,
        config: Option<&Config>,
    ) -> Result<Self, ReplayError> {
        let decider = |predictor: Option<Predictor>| {
            let mut config = config
                .or(opening.config.as_ref())
                .ok_or(ReplayError::NoConfig)?
                .clone();
            // A recording made by looking on is asked what acting would have done.
            if config.mode == Mode::Observe {
                config.mode = Mode::Tune;
            }
            config.predictor = predictor.unwrap_or(config.predictor);
            Ok(Self::Decide(Box::new(Decider::new(&opening.facts, config))))
        };
        match arm {
            Arm::Recorded => Ok(Self::Recorded),
            Arm::Nothing => Ok(Self::Fixed(found)),
            Arm::Static(factor) => Ok(Self::Fixed(factor)),
            Arm::Classic => decider(Some(Predictor::Classic)),
            Arm::Warmset => decider(None),
        }
    }
}

/// One arm on its way through the recording.
#[derive(Debug)]
struct Run {
    control: Control,
    page_size: Bytes,
    /// Factor and gap in force.
    now: Setting,
    meter: Meter,
    reservoir: Reservoir,
    sums: Sums,
}

/// What the model's counters have grown by.
#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    reclaimed: Pages,
    stalled: Pages,
    stalls: u64,
}

impl Sums {
    fn add(&mut self, flow: &Flow) {
        self.reclaimed += flow.reclaimed;
        self.stalled += flow.stalled;
        self.stalls += flow.stalled.get().div_ceil(PAGES_PER_STALL);
    }
}

impl Run {
    fn new(control: Control, found: Setting, page_size: Bytes) -> Self {
        Self {
            control,
            page_size,
            now: found,
            meter: Meter::from(found),
            reservoir: Reservoir::holding(Pages::ZERO),
            sums: Sums::default(),
        }
    }

    /// The machine begins, or begins again, as in `sample`.
    fn begin(&mut self, sample: &Sample) {
        let free = sample.counters.nr_free_pages.unwrap_or_default();
        self.reservoir = Reservoir::holding(free);
    }

    /// The interval from `before` passes.
    fn interval(
        &mut self,
        before: &Sample,
        (interval, call): (&Interval, Call),
        kswapd: Kswapd,
    ) -> Result<(), ReplayError> {
        let marks = self.marks(before)?;
        let demand = (interval.demand, interval.time);
        let flow = self.reservoir.flow(marks, kswapd, demand);
        self.sums.add(&flow);
        self.meter
            .interval(before.at, (interval, call), self.now, &flow);
        Ok(())
    }

    /// The marks in force on the machine of `sample`.
    fn marks(&self, sample: &Sample) -> Result<Marks, ReplayError> {
        marks(self.machine(sample), self.page_size, self.now.factor)
    }

    /// The machine as this arm has it: the knobs of a deciding arm are its own.
    fn machine<'s>(&'s self, sample: &'s Sample) -> &'s Sample {
        if let Control::Decide(decider) = &self.control {
            &decider.sample
        } else {
            sample
        }
    }

    /// Sets the factor for the time after `sample`.
    fn steer(&mut self, sample: &Sample) -> Result<(), ReplayError> {
        let page_size = self.page_size;
        let factor = match &mut self.control {
            Control::Recorded => sample.knobs.now.of(Knob::WatermarkScaleFactor),
            Control::Fixed(factor) => Some(*factor),
            Control::Decide(decider) => {
                decider.see(sample, self.reservoir.free(), self.sums);
                decider.mark(page_size, self.now.factor);
                decider.decide();
                decider.knobs.now.of(Knob::WatermarkScaleFactor)
            }
        };
        let to = setting(
            self.machine(sample),
            page_size,
            factor.unwrap_or(self.now.factor),
        )?;
        // A change of the machine's size moves the gap, and is no raise.
        let from = setting(self.machine(sample), page_size, self.now.factor)?;
        self.meter.set(sample.at, from, to);
        self.now = to;
        Ok(())
    }
}

/// The decision core on a machine that is partly modelled.
#[derive(Debug)]
struct Decider {
    config: Config,
    history: History,
    /// The recorded sample, with what the model knows better put over it.
    sample: Sample,
    /// The first sample: where the model's counters start.
    start: Option<Sample>,
    knobs: KnobStates,
    /// The factor in force when the sample was recorded.
    recorded_factor: Option<u64>,
}

impl Decider {
    fn new(facts: &Facts, config: Config) -> Self {
        let history = History::new(facts, &config);
        Self {
            config,
            history,
            sample: Sample::default(),
            start: None,
            knobs: KnobStates::default(),
            recorded_factor: None,
        }
    }

    /// Takes the recorded sample, with free memory, counters and knobs as the model has them.
    fn see(&mut self, recorded: &Sample, free: Pages, sums: Sums) {
        self.sample.clone_from(recorded);
        self.recorded_factor = recorded.knobs.now.of(Knob::WatermarkScaleFactor);
        let start = self.start.get_or_insert_with(|| {
            for spec in KNOBS {
                let found = recorded
                    .knobs
                    .found
                    .of(spec.knob)
                    .or(recorded.knobs.now.of(spec.knob));
                self.knobs.found.put(spec.knob, found);
                self.knobs.now.put(spec.knob, found);
            }
            recorded.clone()
        });
        let from = &start.counters;
        let counters = &mut self.sample.counters;
        counters.nr_free_pages = Some(free);
        counters.pgsteal_kswapd = from
            .pgsteal_kswapd
            .map(|count| count + sums.reclaimed.get());
        counters.pgsteal_direct = from.pgsteal_direct.map(|count| count + sums.stalled.get());
        counters.allocstall_dma = from.allocstall_dma;
        counters.allocstall_dma32 = from.allocstall_dma32;
        counters.allocstall_normal = from.allocstall_normal.map(|count| count + sums.stalls);
        counters.allocstall_high = from.allocstall_high;
        counters.allocstall_movable = from.allocstall_movable;
        counters.allocstall_device = from.allocstall_device;
        counters.kswapd_low_wmark_hit_quickly = from.kswapd_low_wmark_hit_quickly;
        counters.kswapd_high_wmark_hit_quickly = from.kswapd_high_wmark_hit_quickly;
        self.sample.knobs = self.knobs;
    }

    /// Puts the marks of `factor` and the modelled free memory over the recorded zones.
    fn mark(&mut self, page_size: Bytes, factor: u64) {
        let Some(base) = watermark::Base::of(&self.sample, page_size) else {
            return;
        };
        let free = self.sample.counters.nr_free_pages.unwrap_or_default();
        let recorded: Pages = self
            .sample
            .zones
            .iter()
            .filter_map(|zone| zone.amounts.free)
            .sum();
        for zone in &mut self.sample.zones {
            let Some(marks) = base.marks(zone, factor) else {
                continue;
            };
            let share = if recorded > Pages::ZERO {
                recorded
            } else {
                Pages::new(1)
            };
            zone.amounts.free = zone
                .amounts
                .free
                .map(|pages| free.scaled(pages.get(), share.get()));
            zone.amounts.min = Some(marks.min);
            zone.amounts.low = Some(marks.low);
            zone.amounts.high = Some(marks.high);
        }
        self.available(page_size, (self.recorded_factor.unwrap_or(factor), factor));
        self.sample.memory.free = Some(free.to_bytes(page_size));
    }

    /// Pages that move between the free lists and the caches leave `MemAvailable` as it is, but marks do not.
    fn available(&mut self, page_size: Bytes, (recorded, factor): (u64, u64)) {
        let more =
            watermark::withheld(&self.sample, page_size, recorded, factor).unwrap_or_default();
        let less =
            watermark::withheld(&self.sample, page_size, factor, recorded).unwrap_or_default();
        self.sample.memory.available = self
            .sample
            .memory
            .available
            .map(|available| (available + less).less(more));
    }

    fn decide(&mut self) {
        self.history.push(&self.sample);
        let decision = decide(&self.config, &self.history);
        self.carry_out(&decision);
    }

    fn carry_out(&mut self, decision: &Decision) {
        for step in &decision.steps {
            match step.action {
                Action::Set { knob, to, .. } => self.knobs.set(knob, to),
                Action::PutBack { knob, to, .. } => self.knobs.put_back(knob, to),
                Action::Compact { .. }
                | Action::Reclaim { .. }
                | Action::Kill { .. }
                | Action::Protect(_)
                | Action::Group(_)
                | Action::Recall { .. }
                | Action::Squeeze { .. } => {}
            }
        }
        self.sample.knobs = self.knobs;
    }
}
