//! The closed loop: the model, the decision core, and what is done.

use crate::model::{Model, STEP};
use crate::outcome::{Act, Did, Outcome};
use crate::text::{Situation, TextError};
use pressure::decision::{Action, Notice};
use pressure::groups::CgroupAction;
use pressure::scan::Signal;
use pressure::{Config, Decision, History, Sample, decide};

/// The window of the pressure trigger, in steps.
const WINDOW: usize = 500 / STEP as usize;
/// The pressure trigger tells no more often than this, in milliseconds.
const TRIGGER_APART: u64 = 500;
/// The same notice is kept once in this time, in milliseconds.
const SAME_NOTICE: u64 = 1000;

/// Looks on while a situation runs.
pub trait Watch {
    /// A decision was made. `before` is the history without this sample.
    fn decided(&mut self, model: &Model, before: &History, sample: &Sample, decision: &Decision);
}

/// Nobody looks on.
#[derive(Debug)]
struct Nobody;

impl Watch for Nobody {
    fn decided(&mut self, _: &Model, _: &History, _: &Sample, _: &Decision) {}
}

/// Runs a situation to its end.
pub fn run(situation: &Situation) -> Result<Outcome, TextError> {
    let config = situation.config(&situation.title)?;
    Ok(Loop::new(situation, config).run(None::<&mut Nobody>))
}

/// The same, and somebody looks on.
pub fn watch(situation: &Situation, watch: &mut impl Watch) -> Result<Outcome, TextError> {
    let config = situation.config(&situation.title)?;
    Ok(Loop::new(situation, config).run(Some(watch)))
}

/// A guard and its machine.
struct Loop<'s> {
    situation: &'s Situation,
    config: Config,
    model: Model,
    history: History,
    sample: Sample,
    decision: Decision,
    outcome: Outcome,
    next: u64,
    /// Stalls of some task at the end of each step of the window.
    stalls: Vec<u64>,
    triggered: u64,
    /// When the last notice of each kind was kept.
    said: Vec<(String, u64)>,
    rival_killed: Option<u64>,
}

impl<'s> Loop<'s> {
    fn new(situation: &'s Situation, config: Config) -> Self {
        let model = Model::new(situation);
        let history = History::new(model.facts(), &config);
        let decision = decide(&config, &history);
        Self {
            situation,
            config,
            model,
            history,
            sample: Sample::default(),
            decision,
            outcome: Outcome::default(),
            next: 0,
            stalls: Vec::new(),
            triggered: 0,
            said: Vec::new(),
            rival_killed: None,
        }
    }

    fn run(mut self, mut watch: Option<&mut impl Watch>) -> Outcome {
        let end = self.situation.runs.millis();
        while self.model.now() < end {
            self.model.step();
            self.note_rival();
            self.note_sizes();
            let is_woken = self.is_woken();
            if is_woken || self.model.now() >= self.next {
                self.tick(is_woken, &mut watch);
            }
        }
        self.finish()
    }

    /// Notes which programs have what they want.
    fn note_sizes(&mut self) {
        let wanted = &self.situation.right.reaches;
        self.outcome.reached.resize(wanted.len(), None);
        for (index, one) in wanted.iter().enumerate() {
            // The last pages of a size are lost to rounding.
            let enough = one.size.0.scaled(99, 100).get();
            if self.outcome.reached[index].is_none() && self.model.largest_of(&one.whom) >= enough {
                self.outcome.reached[index] = Some(self.model.now());
            }
        }
    }

    fn note_rival(&mut self) {
        let kills = self.model.rival_kills();
        if kills > self.outcome.rival_kills {
            self.outcome.rival_kills = kills;
            self.rival_killed = Some(self.model.now());
        }
    }

    /// Whether the kernel's pressure trigger wakes the guard.
    fn is_woken(&mut self) -> bool {
        let (some, _) = self.model.stalled();
        self.stalls.push(some);
        if self.stalls.len() > WINDOW {
            self.stalls.remove(0);
        }
        let machine = &self.situation.machine;
        let grown = some - self.stalls.first().copied().unwrap_or(some);
        let stall = self.config.wake.pressure_stall.get().as_micros() as u64;
        let now = self.model.now();
        let is_apart = self.triggered == 0 || now >= self.triggered + TRIGGER_APART;
        let is_woken = machine.psi && machine.counters_move && grown >= stall && is_apart;
        if is_woken {
            self.triggered = now;
        }
        is_woken
    }

    fn tick(&mut self, is_woken: bool, watch: &mut Option<&mut impl Watch>) {
        let guard = &self.config.guard;
        self.model
            .observe(self.decision.attention, guard, &mut self.sample);
        self.sample.circumstances.woken_by_pressure = Some(u64::from(is_woken));
        let before = watch.is_some().then(|| self.history.clone());
        self.history.push(&self.sample);
        self.decision = decide(&self.config, &self.history);
        self.outcome.decisions += 1;
        let now = self.model.now();
        for (action, targets) in self.model.apply(&self.decision, guard) {
            if let Some(did) = did(&action) {
                self.outcome.acts.push(Act {
                    at: now,
                    did,
                    whom: targets.names,
                });
                let is_signal = matches!(did, Did::Term | Did::Kill);
                let is_crossed = self.rival_killed.is_some_and(|at| now < at + 2000);
                self.outcome.crossed += u32::from(is_signal && is_crossed);
            }
        }
        self.keep_notices();
        if let (Some(watch), Some(before)) = (watch, before) {
            watch.decided(&self.model, &before, &self.sample, &self.decision);
        }
        self.next = now + (self.decision.patience().as_millis() as u64).max(STEP);
    }

    /// Keeps what was said, and the reasons of what was done.
    fn keep_notices(&mut self) {
        let now = self.model.now();
        let notices = self
            .decision
            .notices
            .iter()
            .filter(|notice| !matches!(notice, Notice::Stalled { .. }))
            .filter_map(|notice| serde_json::to_string(notice).ok());
        let reasons = self
            .decision
            .steps
            .iter()
            .filter(|step| matches!(step.action, Action::Kill { .. } | Action::Group(_)))
            .filter_map(|step| serde_json::to_string(&step.why).ok());
        let texts: Vec<String> = notices.chain(reasons).collect();
        for text in texts {
            let kind: String = text.chars().take_while(|one| *one != ',').collect();
            let known = self.said.iter_mut().find(|(one, _)| *one == kind);
            match known {
                Some((_, at)) if now < *at + SAME_NOTICE => continue,
                Some((_, at)) => *at = now,
                None => self.said.push((kind, now)),
            }
            self.outcome.notices.push((now, text));
        }
    }

    fn finish(mut self) -> Outcome {
        let (_, full) = self.model.stalled();
        self.outcome.stalled = full / 1000;
        self.outcome.kernel_kills = self.model.kernel_kills().to_vec();
        for name in &self.situation.right.lives {
            if self.model.living(name) == 0 {
                self.outcome.missing.push(name.clone());
            }
        }
        self.outcome
    }
}

/// What an action is called; `None` if it does nothing to anybody.
fn did(action: &Action) -> Option<Did> {
    match action {
        Action::Kill { signal, .. } => Some(match signal {
            Signal::Term => Did::Term,
            Signal::Kill => Did::Kill,
        }),
        Action::Group(CgroupAction::Throttle { .. }) => Some(Did::Throttle),
        Action::Group(CgroupAction::Freeze { .. }) => Some(Did::Ask),
        _ => None,
    }
}
