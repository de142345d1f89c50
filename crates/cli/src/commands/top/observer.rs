//! One look after another at the machine and its guard.

use super::accesses::Accesses;
use super::frame::{Frame, RunsOut, limited};
use super::holdings::role;
use super::process_changes::Lines;
use crate::ui::socket::{ANSWERS_TO, Guard, ask};
use crate::ui::{Context, clock};
use anyhow::{Context as _, Result};
use host::SystemReader;
use host::processes::Processes;
use host::rules::Rules;
use host::settings::{self, UserNames};
use inspect::survey::{Holding, Survey};
use pressure::config;
use pressure::groups::Groups;
use pressure::scan::{Identity, ProcessScan};
use pressure::status::Status;
use pressure::{Config, History, Sample, decide};
use std::cmp::Reverse;

/// A system reader of our own: the guard's status does not tell of every process.
pub(super) struct Observer {
    reader: SystemReader,
    processes: Processes,
    survey: Survey,
    history: History,
    config: Config,
    sample: Sample,
    scan: ProcessScan,
    lines: Lines,
    users: UserNames,
    /// DAMON's snapshots, with `--damon`.
    accesses: Option<Accesses>,
    runs_out: RunsOut,
}

/// Whether the files in use are asked for what was evicted of them: it takes a system call for each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evicted {
    Asked,
    NotAsked,
}

impl Observer {
    pub(super) fn open(context: &Context, with_damon: bool) -> Result<Self> {
        let reader = SystemReader::open(&context.root)?;
        let page = reader.facts().page_size;
        let processes = Processes::open(&context.root, page).context("cannot read /proc")?;
        let survey = Survey::of(&context.root, page);
        let config = configuration(context);
        let history = History::new(reader.facts(), &config);
        let accesses = if with_damon {
            Some(Accesses::of(&context.root))
        } else {
            None
        };
        Ok(Self {
            reader,
            processes,
            survey,
            history,
            config,
            sample: Sample::default(),
            scan: ProcessScan::default(),
            lines: Lines::default(),
            users: UserNames::read(&context.root),
            accesses,
            runs_out: RunsOut::default(),
        })
    }

    pub(super) fn frame(&mut self, context: &Context, evicted: Evicted) -> Result<Frame> {
        self.reader.read(&mut self.sample);
        self.processes.look(self.sample.at, &mut self.scan);
        self.history.push(&self.sample);
        let mut guard = None;
        let state = match ask(&context.run)? {
            Guard::Running(status) => {
                let state = format!("{} · {}", status.mode, status.decision.phase);
                guard = Some(status);
                state
            }
            Guard::Absent => "no guard is running".to_owned(),
            Guard::Closed(_) => {
                format!("the guard {ANSWERS_TO} only")
            }
        };
        let forecast = match &guard {
            Some(status) => status.decision.forecast.clone(),
            None => decide(&self.config, &self.history).forecast,
        };
        let runs_out_for = self.runs_out.look(&forecast, self.sample.at);
        let groups = guard.as_ref().map(|status| &status.sample.groups);
        Ok(Frame {
            state,
            memory: self.sample.memory,
            pressure: self.sample.memory_pressure,
            forecast,
            holdings: self.holdings(evicted)?,
            lines: self.lines.read(&self.scan, &self.config.guard, &self.users),
            floors: groups.map(Groups::kept).unwrap_or_default(),
            limited: groups.map(limited).unwrap_or_default(),
            last: guard.as_deref().and_then(last_act),
            runs_out_for,
        })
    }

    /// All units with their roles.
    fn holdings(&mut self, evicted: Evicted) -> Result<Vec<(Holding, &'static str)>> {
        let mut all = self.survey.look(self.sample.at)?;
        if evicted == Evicted::Asked {
            self.survey.ask_files(&mut all);
        }
        if let Some(accesses) = &mut self.accesses {
            accesses.look(&self.survey, &mut all)?;
            all.sort_by_key(|one| Reverse(one.warm));
        }
        let mut with_roles = Vec::new();
        for one in all {
            let role = role(&one, &self.config.protect.units);
            with_roles.push((one, role));
        }
        Ok(with_roles)
    }

    /// Reads the rules again, after one was set.
    pub(super) fn read_rules(&mut self, context: &Context) {
        self.config = configuration(context);
    }

    /// Sends SIGTERM to a process. An error says why not.
    pub(super) fn terminate(&self, identity: Identity, context: &Context) -> Result<(), String> {
        if context.root != std::path::Path::new("/") {
            return Err("this is a recorded machine, whose processes are not here".to_owned());
        }
        let sent = self.processes.terminate(identity);
        sent.map_err(|missed| missed.to_string())
    }
}

/// The guard's configuration with the rules set by hand, as far as it can be read; the defaults otherwise. It only observes.
fn configuration(context: &Context) -> Config {
    let mut config = settings::of_machine(&context.root)
        .map(|settings| settings.config)
        .unwrap_or_default();
    Rules::read(&context.run)
        .unwrap_or_default()
        .add_to(&mut config);
    config.mode = config::Mode::Observe;
    config
}

/// The last step or notice of the guard, with its time of day.
fn last_act(status: &Status) -> Option<String> {
    let past = status.past.last()?;
    let text = match past.steps.first() {
        Some(step) => step.to_string(),
        None => past.notices.first()?.to_string(),
    };
    Some(format!("{} {text}", clock::time_of_day(past.wall)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::Form;

    #[test]
    fn configuration_and_rules_by_hand_both_count() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let context = Context {
            form: Form::Text,
            root: dir.path().to_owned(),
            run: dir.path().join("run"),
        };
        write(
            "etc/warmset/conf.d/50-x.toml",
            "[guard]\nspare = [\"batch.service\"]\n",
        );
        write(
            "run/rules.toml",
            "[guard]\nspare = [\"pid:4711@90210\"]\n[protect]\nunits = [\"postgresql.service\"]\n",
        );
        let config = configuration(&context);
        assert_eq!(
            config.guard.spare,
            ["batch.service", "pid:4711@90210"].map(|rule| rule.parse().unwrap())
        );
        assert!(
            config
                .protect
                .units
                .contains(&"postgresql.service".to_owned())
        );
        assert!(
            config.protect.units.contains(&"session.slice".to_owned()),
            "{:?}",
            config.protect.units
        );
        write("etc/warmset/conf.d/50-x.toml", "nonsense");
        assert!(
            !configuration(&context).protect.units.is_empty(),
            "the defaults are better than nothing"
        );
    }
}
