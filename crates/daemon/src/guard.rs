//! The loop, and nothing else may grow into it.
//!
//! ```text
//! sample ─► decide ─► record ─► act ─► show ─► wait ─┐
//!    ▲                                               │
//!    └───────────────────────────────────────────────┘
//! ```

mod reload;

use crate::hooks::Hooks;
use crate::logger::{Logger, Topic};
use crate::news::Turn;
use crate::notify::Notify;
use crate::recorder::Recorder;
use crate::shared_status::SharedStatus;
use crate::users::Users;
use host::{Applied, Machine, Outcome, OwnCost, Permission, Restored, Woken};
use pressure::config::Mode;
use pressure::decision::{Action, Notice, Phase, Step};
use pressure::protect::Act;
use pressure::sample::Wall;
use pressure::status::{Past, Tally};
use pressure::{Config, Decision, History, Sample, decide, rates};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::{Bytes, Micros};

/// Between two looks at troubles and rivals.
const HOUSEKEEPING: Duration = Duration::from_secs(30);
/// The loop rests at least so many times as long as a turn of it took: on a machine so slow that a look takes long,
/// looking must not be what it is busy with.
const REST: u32 = 4;
/// But while memory runs out, who makes it has to be found.
const DISTRESSED_REST: u32 = 1;
/// Stalls nearer to each other than this are one storm.
const STORM: Duration = Duration::from_secs(10);

/// A running guard.
#[derive(Debug)]
pub struct Guard {
    /// What it sees and changes.
    pub machine: Machine,
    /// What it decides by.
    pub config: Config,
    /// What it remembers.
    pub history: History,
    /// What others see of it.
    pub shared_status: Arc<SharedStatus>,
    /// What it keeps for later.
    pub recorder: Option<Recorder>,
    /// What it says.
    pub logger: Logger,
    /// Who watches over it.
    pub notify: Notify,
    hooks: Option<Hooks>,
    users: Option<Users>,
    sample: Sample,
    previous: Counted,
    tally: Tally,
    cost: OwnCost,
    proposed: Option<Decision>,
    told: HashSet<String>,
    kept_house: Option<Instant>,
    last_storm: Option<Instant>,
}

/// Counters at the sample before, for the tally.
#[derive(Debug, Default, Clone, Copy)]
struct Counted {
    sample: Option<(units::Span, Option<Micros>, Option<u64>)>,
}

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The time asked for is over.
    Time,
    /// A signal.
    Signal,
}

/// The parts that a guard is made of.
#[derive(Debug)]
pub struct Parts {
    /// What it sees and changes.
    pub machine: Machine,
    /// What it decides by.
    pub config: Config,
    /// What others see of it.
    pub shared_status: Arc<SharedStatus>,
    /// What it keeps for later; `None` keeps nothing.
    pub recorder: Option<Recorder>,
    /// What it says.
    pub logger: Logger,
    /// Who watches over it.
    pub notify: Notify,
}

impl Guard {
    /// A guard that has seen nothing yet.
    pub fn new(parts: Parts) -> Self {
        let Parts {
            mut machine,
            config,
            shared_status,
            recorder,
            logger,
            notify,
        } = parts;
        let history = History::new(machine.facts(), &config);
        machine.rule(&config.guard);
        Self {
            machine,
            config,
            history,
            shared_status,
            recorder,
            logger,
            notify,
            hooks: None,
            users: None,
            sample: Sample::default(),
            previous: Counted::default(),
            tally: Tally::default(),
            cost: OwnCost::open(),
            proposed: None,
            told: HashSet::new(),
            kept_house: None,
            last_storm: None,
        }
    }

    /// Runs until a signal, or until `deadline`. `reload` reads the configuration again on SIGHUP.
    pub fn run(
        &mut self,
        deadline: Option<Instant>,
        watchdog: Option<Duration>,
        reload: &mut dyn FnMut() -> Result<Config, String>,
    ) -> Ended {
        loop {
            let patience = self.tick();
            self.notify.alive();
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let bounds = [Some(patience), watchdog, left];
            let wait = bounds.into_iter().flatten().min().unwrap_or(patience);
            match self.machine.wait(wait) {
                Woken::Stop => return Ended::Signal,
                Woken::Reload => self.reload(reload()),
                Woken::Pressure => self.tally.pressure_wakeups += 1,
                Woken::Timer => {}
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.tick();
                return Ended::Time;
            }
        }
    }

    /// Starts the process that locks, and looks for the units whose memory is to stay, if the configuration asks for
    /// protection. Without it the rest goes on.
    pub fn hold_if_asked(&mut self) {
        let asked = self.config.mode == Mode::Protect && self.config.protect.enabled;
        self.machine.cgroup(if asked {
            &self.config.protect.units
        } else {
            &[]
        });
        if asked {
            if let Err(error) = self.machine.hold(&self.config.protect.programs) {
                self.logger.say(
                    Topic::Error,
                    format_args!("nothing can be held in memory: {error}"),
                );
            }
        }
    }

    /// Starts the thread that runs programs of root's when something happens, if the configuration names any, and this run
    /// does anything. Without it the rest goes on.
    pub fn hook_if_asked(&mut self) {
        if self
            .hooks
            .as_ref()
            .is_some_and(|hooks| hooks.are(&self.config.hooks))
        {
            return;
        }
        // One that runs is not waited for: it ends by its own timeout.
        self.hooks.take().into_iter().for_each(Hooks::let_go);
        if *self.machine.permission() == Permission::Act {
            match Hooks::start(Path::new("/"), &host::holder::program(), &self.config.hooks) {
                Ok(hooks) => self.hooks = Some(hooks),
                Err(error) => self
                    .logger
                    .say(Topic::Error, format_args!("no hook can be run: {error}")),
            }
        }
    }

    /// Opens the door for people who want to know, and can be asked, if it is not open and this run may end anyone.
    pub fn open_to_users(&mut self) {
        let acts = *self.machine.permission() == Permission::Act && self.config.mode.guards();
        if !acts || self.users.is_some() {
            return;
        }
        match Users::open(self.machine.run_directory()) {
            Ok(users) => {
                self.machine.ask(users.heard());
                self.users = Some(users);
            }
            Err(error) => self
                .logger
                .say(Topic::Error, format_args!("nobody can be asked: {error:#}")),
        }
    }

    /// One turn of the loop but for the waiting; says how long to wait. A steady turn allocates nothing.
    pub fn tick(&mut self) -> Duration {
        let begun = Instant::now();
        self.machine.sample(&mut self.sample);
        let state = match &self.recorder {
            Some(recorder) if recorder.wants_state(&self.sample) => {
                Some(Box::new(self.history.clone()))
            }
            _ => None,
        };
        self.history.push(&self.sample);
        let decision = decide(&self.config, &self.history);
        if let Some(recorder) = &mut self.recorder {
            recorder.push(&self.sample, &decision, state);
        }
        let outcome = self.machine.act(&decision);
        for (step, applied) in decision.steps.iter().zip(outcome.steps()) {
            self.count_step(&step.action, applied);
        }
        self.count(&decision);
        self.tell(&decision, &outcome);
        self.spread(&decision, &outcome);
        self.shared_status
            .publish(&self.sample, &decision, self.tally);
        self.keep_house();
        let rest = if decision.phase == Phase::Distress {
            DISTRESSED_REST
        } else {
            REST
        };
        decision.patience().max(begun.elapsed() * rest)
    }

    /// Counts what came of one step.
    fn count_step(&mut self, action: &Action, applied: &Applied) {
        let tally = &mut self.tally;
        match (applied, action) {
            (Applied::Written | Applied::Overtaken, _) => tally.writes += 1,
            (Applied::PutBack, _) => tally.put_back += 1,
            (Applied::Refused { .. }, _) => tally.refused += 1,
            (Applied::HandedToWorker, Action::Compact { .. }) => tally.compactions += 1,
            (Applied::HandedToWorker, Action::Reclaim { .. }) => tally.reclaims += 1,
            (Applied::Signalled, Action::Kill { signal, .. }) => match signal {
                pressure::scan::Signal::Term => tally.asked += 1,
                pressure::scan::Signal::Kill => tally.killed += 1,
            },
            (Applied::Missed(_), _) => tally.missed += 1,
            (Applied::HandedToHolder, _) => tally.protections += 1,
            (Applied::Limited, _) => tally.cgroup_actions += 1,
            _ => {}
        }
    }

    /// To hooks and to people, both by threads of their own.
    fn spread(&self, decision: &Decision, outcome: &Outcome) {
        let turn = Turn {
            sample: &self.sample,
            decision,
            outcome,
        };
        self.hooks.iter().for_each(|hooks| hooks.tell(&turn));
        self.users.iter().for_each(|users| users.tell(&turn));
    }

    fn count(&mut self, decision: &Decision) {
        let tally = &mut self.tally;
        tally.samples += 1;
        let now = (
            self.sample.at,
            self.sample.memory_pressure.some_total,
            rates::refaults(&self.sample.counters),
        );
        if let Some((at, stalled, refaults)) = self.previous.sample {
            let elapsed = now.0.get().saturating_sub(at.get());
            let withheld = decision.forecast.withheld.unwrap_or_default();
            tally.gap_seconds += (withheld.get() as f64 * elapsed.as_secs_f64()) as u64;
            let stalled = stalled
                .zip(now.1)
                .map_or(0, |(old, new)| new.get().saturating_sub(old.get()));
            tally.stalled = Micros::new(tally.stalled.get() + stalled);
            tally.refaults += refaults
                .zip(now.2)
                .map_or(0, |(old, new)| new.saturating_sub(old));
        }
        self.previous.sample = Some(now);
        for notice in &decision.notices {
            match notice {
                Notice::Stalled {
                    allocation,
                    compaction,
                } => {
                    tally.allocation_stalls += allocation;
                    tally.compaction_stalls += compaction;
                }
                Notice::OomKill { count } => tally.oom_kills += count,
                _ => {}
            }
        }
        let demand = decision
            .forecast
            .demand
            .map_or(Bytes::ZERO, |rate| Bytes::new(rate.get()));
        tally.peak_demand = tally.peak_demand.max(demand);
        tally.lost_samples = self.recorder.as_ref().map_or(0, Recorder::lost);
        let (cpu, memory) = self.cost.read();
        tally.own_cpu = cpu;
        tally.own_memory = memory.unwrap_or(tally.own_memory);
    }

    /// Says and remembers a decision that does or says something new. While only observing, the same
    /// proposal comes every tick, and is said once.
    fn tell(&mut self, decision: &Decision, outcome: &Outcome) {
        let done = *self.machine.permission() == Permission::Act;
        let old = self.proposed.as_ref();
        let actions = |decision: &Decision| {
            decision
                .steps
                .iter()
                .map(|step| step.action.target())
                .collect::<Vec<_>>()
        };
        let repeated = !done && old.is_some_and(|old| actions(old) == actions(decision));
        // A storm of stalls is one event: it is told when it begins.
        let stalls = |decision: &Decision| {
            decision
                .notices
                .iter()
                .any(|it| matches!(it, Notice::Stalled { .. }))
        };
        let stormy =
            old.is_some_and(stalls) || self.last_storm.is_some_and(|last| last.elapsed() < STORM);
        let counted =
            |notice: &Notice| !matches!(notice, Notice::Stalled { .. } | Notice::Considered(_));
        let other = decision.notices.iter().any(counted);
        let news =
            other || (stalls(decision) && !stormy) || (!decision.steps.is_empty() && !repeated);
        if stalls(decision) {
            self.last_storm = Some(Instant::now());
        }
        if old.is_none_or(|old| old.phase != decision.phase) {
            self.logger
                .say(Topic::Reason, format_args!("{}", decision.phase));
        }
        if news {
            self.say(decision, done.then_some(outcome));
            let (phase, at) = (decision.phase, self.sample.at);
            // What failed is among the troubles.
            let was_done =
                |(place, _): &(usize, &Step)| !done || outcome.seems_done(decision, *place);
            let steps = decision
                .steps
                .iter()
                .enumerate()
                .filter(was_done)
                .map(|(_, step)| *step)
                .collect();
            let notices = decision.notices.clone();
            self.shared_status.remember(Past {
                at,
                wall: self.sample.wall,
                phase,
                done,
                steps,
                notices,
            });
        }
        if self.logger.says(Topic::Tick) {
            self.logger
                .say(Topic::Tick, format_args!("{:?}", decision.forecast));
        }
        match &mut self.proposed {
            Some(proposed) => proposed.clone_from(decision),
            None => self.proposed = Some(decision.clone()),
        }
    }

    /// What was done, and what came of it, or what would have been.
    fn say(&self, decision: &Decision, done: Option<&Outcome>) {
        for (place, step) in decision.steps.iter().enumerate() {
            let would = match step.action {
                _ if done.is_some_and(|outcome| outcome.seems_done(decision, place)) => "",
                _ if done.is_some() => "could not: ",
                Action::Kill { .. } => "would send ",
                Action::Group(_) | Action::Local(_) | Action::Recall { .. } => "would: ",
                _ => "would set ",
            };
            if self.logger.says(Topic::Reason) {
                self.logger.say(
                    Topic::Action,
                    format_args!("{would}{step}{}", self.named(&step.action)),
                );
            } else {
                self.logger.say(
                    Topic::Action,
                    format_args!("{would}{}{}", step.action, self.named(&step.action)),
                );
            }
        }
        for notice in &decision.notices {
            self.logger.say(Topic::Action, notice);
        }
    }

    /// What the file of an act of protection is called, if it is known.
    fn named(&self, action: &Action) -> String {
        let Action::Protect(Act::Hold { file, .. } | Act::Release { file }) = action else {
            return String::new();
        };
        let known = self.machine.files().iter().find(|(known, _)| known == file);
        known
            .map(|(_, name)| format!(" ({name})"))
            .unwrap_or_default()
    }

    /// Now and then: what is wrong, and who else is there, each said once.
    fn keep_house(&mut self) {
        if self
            .kept_house
            .is_some_and(|last| last.elapsed() < HOUSEKEEPING)
            && self.tally.refused + self.tally.missed == 0
        {
            return;
        }
        self.kept_house = Some(Instant::now());
        let mut warnings = self.machine.warnings();
        warnings.extend(self.recorder.as_ref().and_then(Recorder::error));
        warnings.extend(self.hooks.iter().flat_map(Hooks::take_warnings));
        warnings.extend(self.users.iter().filter_map(Users::take_warning));
        let rivals = self.machine.rivals();
        let lines = warnings.iter().map(|line| (Topic::Error, line));
        for (topic, line) in lines.chain(rivals.iter().map(|line| (Topic::Action, line))) {
            if self.told.len() < 256 && self.told.insert(line.clone()) {
                self.logger.say(topic, line);
            }
        }
        let mut status = self.shared_status.read();
        status.rivals = rivals;
        status.names = self.machine.files().to_vec();
        for error in warnings {
            if status.warnings.len() < 64 && !status.warnings.contains(&error) {
                status.warnings.push(error);
            }
        }
    }

    /// Puts back everything that is ours, and tells what.
    pub fn end(&mut self) -> (Tally, Restored) {
        self.notify.stopping();
        let restored = self.machine.put_everything_back();
        // Their socket is in the folder that goes with the machine.
        self.users = None;
        self.tally.put_back += restored.back.len() as u64;
        (self.tally, restored)
    }

    /// The last sample.
    pub fn sample(&self) -> &Sample {
        &self.sample
    }
}

/// The wall clock, for people.
pub fn wall() -> Wall {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    Wall(u64::try_from(now.tv_sec * 1000 + now.tv_nsec / 1_000_000).unwrap_or(0))
}
