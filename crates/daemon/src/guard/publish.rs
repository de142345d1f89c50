//! The step *publish*: what each tick shows outside the loop, and the housekeeping every 30 s.

use super::Guard;
use crate::events::Tick;
use crate::hooks::Hooks;
use crate::logger::Topic;
use crate::notice_server::NoticeServer;
use crate::recorder::Recorder;
use host::{Outcome, Permission};
use pressure::config::Mode;
use pressure::decision::{Action, Notice, Step};
use pressure::display::{Rates, Readings};
use pressure::means::{Means, armed};
use pressure::protect::Act;
use pressure::status::{Named, Past};
use pressure::{Decision, most_held};
use std::time::{Duration, Instant};
use units::Bytes;

/// Time between two collections of warnings and rivals: people do not read them more often, and collecting allocates.
const HOUSEKEEPING: Duration = Duration::from_secs(30);
/// Stalls at most this far apart are one event, logged when it begins: one storm would otherwise fill the log.
const STALLS_APART: Duration = Duration::from_secs(10);
/// Time between two reports of squeezing, each by one step that is like those before it: there is one every few seconds.
const SQUEEZED_EVERY: Duration = Duration::from_secs(600);
/// Time between two messages of rates, at verbosity 3: at every tick is verbosity 4.
const RATES_EVERY: Duration = Duration::from_secs(10);
/// Different warnings and rivals that are logged in a run. More would show that a message holds a changing number.
const MAX_LOGGED: usize = 256;
/// Warnings kept in the status. More makes its JSON longer than anyone reads.
const MAX_WARNINGS: usize = 64;

impl Guard {
    /// Shows a tick to everyone outside the loop. Nothing here waits for a reader, except that a past decision is stored.
    pub(super) fn publish(&mut self, decision: &Decision, outcome: &Outcome) {
        self.count(decision, outcome);
        self.report(decision, outcome);
        self.hand_out_events(decision, outcome);
        self.shared_status
            .publish(&self.sample, decision, self.tally);
        if let Some(means) = self.machine.new_means() {
            self.publish_means(means);
        }
        if let Some(paths) = self.machine.new_named() {
            let budget = self.most_held();
            self.shared_status.read().named = Named { budget, paths };
        }
        self.housekeep_if_due();
    }

    /// Logs what was found by trying, once, and shows it.
    fn publish_means(&mut self, means: Vec<Means>) {
        for one in &means {
            if one.is_armed {
                self.log_once(Topic::Reason, &format!("armed: {one}"));
            } else {
                self.log_once(Topic::Action, &format!("not armed: {one}"));
            }
        }
        let armed = armed(&means);
        if !armed.is_empty() {
            self.log_once(Topic::Action, &format!("armed: {armed}"));
        }
        self.shared_status.read().means = means;
    }

    /// The most of files that may be held; `None` in a mode that holds none.
    fn most_held(&self) -> Option<Bytes> {
        if self.config.mode != Mode::Protect {
            return None;
        }
        Some(most_held(&self.config, &self.history, &self.sample))
    }

    /// Gives the tick's events to the threads of hooks and notices.
    fn hand_out_events(&self, decision: &Decision, outcome: &Outcome) {
        let tick = Tick {
            sample: &self.sample,
            decision,
            outcome,
        };
        if let Some(hooks) = &self.hooks {
            hooks.hand_over(&tick);
        }
        if let Some(server) = &self.notice_server {
            server.hand_over(&tick);
        }
    }

    /// Logs a decision and stores it among the past ones, if it does or says something new.
    fn report(&mut self, decision: &Decision, outcome: &Outcome) {
        let is_new = self.is_new(decision);
        if has_stalls(decision) {
            self.last_stalls = Some(Instant::now());
        }
        let old_phase = self.last_decision.as_ref().map(|last| last.phase);
        if old_phase != Some(decision.phase) {
            self.logger.say(Topic::Reason, decision.phase);
        }
        if is_new {
            if has_squeezed(decision) {
                self.last_squeezed = Some(Instant::now());
            }
            self.log(decision, outcome);
            self.remember(decision, outcome);
        }
        self.log_numbers(decision);
        match &mut self.last_decision {
            Some(last) => last.clone_from(decision),
            None => self.last_decision = Some(decision.clone()),
        }
    }

    /// Logs rates now and then, and at higher verbosities what each tick forecasts, and what it has read.
    fn log_numbers(&mut self, decision: &Decision) {
        if !self.logger.says(Topic::Rate) {
            return;
        }
        let forecast = &decision.forecast;
        let is_recent = self
            .last_rates
            .is_some_and(|last| last.elapsed() < RATES_EVERY);
        if !is_recent {
            self.last_rates = Some(Instant::now());
            self.logger.say(Topic::Rate, Rates(forecast));
        }
        let phase = decision.phase;
        let patience = decision.patience;
        self.logger.say(
            Topic::Tick,
            format_args!("{phase}: {forecast}; the next look is in {patience}"),
        );
        self.logger.say(Topic::Reading, Readings(&self.sample));
    }

    fn is_new(&self, decision: &Decision) -> bool {
        if decision.notices.iter().any(is_reported_alone) {
            return true;
        }
        if has_stalls(decision) && !self.is_in_a_storm() {
            return true;
        }
        if self.only_squeezes_on(decision) {
            return false;
        }
        !decision.steps.is_empty() && !self.repeats_proposal(decision)
    }

    /// Whether all steps are of squeezing, which was reported lately.
    fn only_squeezes_on(&self, decision: &Decision) -> bool {
        let is_recent = self
            .last_squeezed
            .is_some_and(|last| last.elapsed() < SQUEEZED_EVERY);
        is_recent && decision.steps.iter().all(is_squeeze)
    }

    /// Whether stalls now belong to an event that has been reported.
    fn is_in_a_storm(&self) -> bool {
        let at_last_tick = self.last_decision.as_ref().is_some_and(has_stalls);
        at_last_tick
            || self
                .last_stalls
                .is_some_and(|last| last.elapsed() < STALLS_APART)
    }

    /// While only observing, the same steps are proposed at every tick: they are reported once.
    fn repeats_proposal(&self, decision: &Decision) -> bool {
        if self.acts() {
            return false;
        }
        let Some(last) = &self.last_decision else {
            return false;
        };
        let old_targets = last.steps.iter().map(|step| step.action.target());
        let targets = decision.steps.iter().map(|step| step.action.target());
        targets.eq(old_targets)
    }

    fn acts(&self) -> bool {
        *self.machine.permission() == Permission::Act
    }

    /// Stores a decision in the status, for `warmset why`.
    fn remember(&self, decision: &Decision, outcome: &Outcome) {
        let acts = self.acts();
        let steps = decision.steps.iter().enumerate();
        // A step that failed is among the warnings.
        let steps = steps.filter(|(place, _)| !acts || outcome.seems_done(decision, *place));
        self.shared_status.remember(Past {
            at: self.sample.at,
            wall: self.sample.wall,
            phase: decision.phase,
            done: acts,
            steps: steps.map(|(_, step)| *step).collect(),
            notices: decision.notices.clone(),
        });
    }

    /// Logs each step, with whether it was carried out, and each notice.
    fn log(&self, decision: &Decision, outcome: &Outcome) {
        let acts = self.acts();
        for (place, step) in decision.steps.iter().enumerate() {
            let prefix = if !acts {
                proposal_prefix(&step.action)
            } else if outcome.seems_done(decision, place) {
                ""
            } else {
                "could not: "
            };
            let topic = match step.action {
                Action::Kill { .. } => Topic::Signal,
                _ => Topic::Action,
            };
            let file = self.file_name(&step.action);
            if self.logger.says(Topic::Reason) {
                self.logger.say(topic, format_args!("{prefix}{step}{file}"));
            } else {
                self.logger
                    .say(topic, format_args!("{prefix}{}{file}", step.action));
            }
        }
        for notice in &decision.notices {
            self.logger.say(Topic::Action, notice);
        }
    }

    /// " (NAME)" for a protection action on a file with a known name; else empty.
    fn file_name(&self, action: &Action) -> String {
        let Action::Protect(Act::Hold { file, .. } | Act::Release { file }) = action else {
            return String::new();
        };
        for (known, name) in self.machine.files() {
            if known == file {
                return format!(" ({name})");
            }
        }
        String::new()
    }

    /// Every 30 s: logs each new warning and rival once, and puts them into the status.
    ///
    /// Also at the tick at which a write was refused or a signal could not be sent, because that must be known at once.
    fn housekeep_if_due(&mut self) {
        let is_recent = self
            .last_housekeeping
            .is_some_and(|last| last.elapsed() < HOUSEKEEPING);
        let failures = self.tally.refused + self.tally.missed;
        if is_recent && failures == self.failures_told {
            return;
        }
        self.failures_told = failures;
        self.last_housekeeping = Some(Instant::now());
        let warnings = self.collect_warnings();
        let rivals = self.machine.rivals();
        for warning in &warnings {
            self.log_once(Topic::Error, warning);
        }
        for rival in &rivals {
            self.log_once(Topic::Action, rival);
        }
        let most_held = self.most_held();
        let mut status = self.shared_status.read();
        status.rivals = rivals;
        status.named.budget = most_held;
        status.names = self.machine.files().to_vec();
        for warning in warnings {
            if status.warnings.len() < MAX_WARNINGS && !status.warnings.contains(&warning) {
                status.warnings.push(warning);
            }
        }
    }

    fn collect_warnings(&mut self) -> Vec<String> {
        let mut warnings = self.machine.warnings();
        warnings.extend(self.recorder.as_ref().and_then(Recorder::error));
        warnings.extend(self.hooks.iter().flat_map(Hooks::take_warnings));
        warnings.extend(
            self.notice_server
                .iter()
                .filter_map(NoticeServer::take_warning),
        );
        warnings
    }

    fn log_once(&mut self, topic: Topic, line: &str) {
        if self.logged.len() < MAX_LOGGED && self.logged.insert(line.to_owned()) {
            self.logger.say(topic, line);
        }
    }
}

fn is_squeeze(step: &Step) -> bool {
    matches!(step.action, Action::Squeeze { .. })
}

fn has_squeezed(decision: &Decision) -> bool {
    decision.steps.iter().any(is_squeeze)
}

fn has_stalls(decision: &Decision) -> bool {
    decision
        .notices
        .iter()
        .any(|notice| matches!(notice, Notice::Stalled { .. }))
}

/// Whether a notice is news without anything else. Stalls come in storms, and candidates only explain a step.
fn is_reported_alone(notice: &Notice) -> bool {
    !matches!(
        notice,
        Notice::Stalled { .. } | Notice::Considered(_) | Notice::Proposed { .. }
    )
}

/// What goes before a step that is only proposed.
fn proposal_prefix(action: &Action) -> &'static str {
    match action {
        Action::Kill { .. } => "would send ",
        Action::Group(_) | Action::Recall { .. } | Action::Squeeze { .. } => "would: ",
        _ => "would set ",
    }
}
