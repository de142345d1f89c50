//! A machine: eyes to see it, hands to change it, an alarm to wait by.

use crate::alarm::{Alarm, Woken};
use crate::error::Error;
use crate::holder::{self, Holder};
use crate::lock::OnlyOne;
use crate::procs::{Order, Processes};
use crate::reader::SystemReader;
use crate::rivals::{self, RivalKind};
use crate::thawer::Thawer;
use crate::undo::{Places, Restored, restore};
use crate::users::Users;
use crate::worker::Worker;
use crate::writer::{KnobWriter, Outcome, Permission};
use pressure::config::Wake;
use pressure::decision::{Action, Attention};
use pressure::knob::KNOBS;
use pressure::protect::FileId;
use pressure::scan::Signal;
use pressure::{Decision, Facts, Sample};
use rustix::fs::{AtFlags, CWD, StatVfsMountFlags, statvfs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::Span;

/// After so many there is no other that sees to thawing.
const MOST_THAWERS: u32 = 4;
/// Signals that could not be sent, told at a time.
const MOST_MISSED: usize = 16;

/// A live or recorded machine.
///
/// Dropping it puts back everything that is still ours.
#[derive(Debug)]
pub struct Machine {
    reader: SystemReader,
    /// Before `only_one`, so that everything is back before another guard may start.
    writer: Option<KnobWriter>,
    worker: Worker,
    processes: Processes,
    /// What the last decision wants to see.
    attention: Attention,
    /// Signals that were not sent, and why.
    missed: Vec<String>,
    at: Span,
    holder: Option<Holder>,
    users: Option<Arc<Users>>,
    /// After `hands`, so that there is no moment in which nobody sees to it.
    thawer: Option<Thawer>,
    /// How often one was started.
    thawers: u32,
    run: PathBuf,
    alarm: Alarm,
    switch: PathBuf,
    woken: Woken,
    read_only: Option<bool>,
    permission: Permission,
    /// What a guard before us had left, and we put back at start.
    leftover: Restored,
    _only_one: Option<OnlyOne>,
}

impl Machine {
    /// The machine at `places`. With [`Permission::Act`] it first undoes what a killed guard has left; a
    /// second guard is refused.
    pub fn at(places: &Places, permission: Permission, wake: &Wake) -> Result<Self, Error> {
        let reader = SystemReader::open(&places.root)?;
        let read_only = is_read_only(&places.root);
        let permission = match permission {
            Permission::Act if read_only == Some(true) => {
                Permission::Observe("/proc/sys is read-only here, as in a container".to_owned())
            }
            asked => asked,
        };
        let (mut writer, mut only_one, mut leftover) = (None, None, Restored::default());
        if permission == Permission::Act {
            let opened = KnobWriter::open(places)?;
            only_one = Some(OnlyOne::take(&places.run)?);
            leftover = restore(places)?;
            writer = Some(opened);
        }
        let worker =
            Worker::start(&places.root).map_err(|error| Error::unreadable(&places.root, error))?;
        let processes = Processes::open(&places.root, reader.facts().page_size)
            .map_err(|error| Error::unreadable(&places.root.join("proc"), error))?;
        let alarm = Alarm::new(&places.root, wake)
            .map_err(|error| Error::unreadable(&places.root, error))?;
        let switch = places.run.join("disable");
        Ok(Self {
            reader,
            writer,
            worker,
            processes,
            attention: Attention::Rest,
            missed: Vec::new(),
            at: Span::default(),
            holder: None,
            users: None,
            thawer: None,
            thawers: 0,
            run: places.run.clone(),
            alarm,
            switch,
            woken: Woken::Timer,
            read_only,
            permission,
            leftover,
            _only_one: only_one,
        })
    }

    /// Starts the process that locks, if this run may act and there is none. Call it from the thread that lives as
    /// long as the machine: the kernel ends that process with it.
    /// `programs` are the executables of those that must answer.
    pub fn hold(&mut self, programs: &[String]) -> Result<(), Error> {
        if self.holder.is_none() && self.permission == Permission::Act {
            let program = holder::program();
            let started = Holder::start(&program, programs)
                .map_err(|error| Error::unreadable(&program, error))?;
            self.holder = Some(started);
        }
        Ok(())
    }

    /// Whose memory is to stay while it is short, if this run may act: units as the configuration names them.
    pub fn cgroup(&mut self, units: &[String]) {
        if let Some(writer) = &mut self.writer {
            writer.cgroup(units);
        }
    }

    /// Asks these people before anyone ends, if this run may act.
    pub fn ask(&mut self, users: Arc<Users>) {
        self.users = (self.permission == Permission::Act).then_some(users);
    }

    /// The folder for what must not outlive a boot.
    pub fn run_directory(&self) -> &Path {
        &self.run
    }

    /// Files that are hot or held, by name, as far as names are known.
    pub fn files(&self) -> &[(FileId, String)] {
        self.holder.as_ref().map_or(&[], Holder::names)
    }

    /// What does not change while it runs.
    pub fn facts(&self) -> &Facts {
        self.reader.facts()
    }

    /// What this run may do, which is less than was asked for where the machine forbids it.
    pub fn permission(&self) -> &Permission {
        &self.permission
    }

    /// What a guard before us had left, and we put back.
    pub fn leftover(&self) -> &Restored {
        &self.leftover
    }

    /// Reads the machine. Never fails: what cannot be read is `None`, and [`Machine::warnings`] has the reason.
    pub fn sample(&mut self, sample: &mut Sample) {
        self.reader.read(sample);
        self.at = sample.at;
        self.look_at_processes(sample);
        match &mut self.writer {
            Some(writer) => {
                if let Some(users) = &self.users {
                    users
                        .take(&mut sample.groups.users)
                        .into_iter()
                        .for_each(|said| writer.answered(said));
                }
                writer.note(&mut sample.knobs);
                writer.look(sample);
            }
            None => {
                // Nothing is ours, so everything is as found.
                sample.knobs.found = sample.knobs.now;
                sample.knobs.ours = pressure::knob::KnobValues::default();
            }
        }
        self.see_to_thawing(sample);
        if let Some(holder) = &mut self.holder {
            sample.warm.copy(holder.hear());
        }
        self.tell_circumstances(sample);
    }

    /// As far as the last decision wants to know of them.
    fn look_at_processes(&mut self, sample: &mut Sample) {
        match self.attention {
            Attention::Candidates => self.processes.look(sample.at, &mut sample.scan),
            Attention::Rest => self.processes.rest(&mut sample.scan),
        }
        self.processes.watch(sample.at, &mut sample.scan);
    }

    fn tell_circumstances(&self, sample: &mut Sample) {
        let circumstances = &mut sample.circumstances;
        circumstances.woken_by_pressure = Some(u64::from(self.woken == Woken::Pressure));
        circumstances.disabled = Some(u64::from(
            rustix::fs::accessat(
                CWD,
                &self.switch,
                rustix::fs::Access::EXISTS,
                AtFlags::empty(),
            )
            .is_ok(),
        ));
        circumstances.read_only = self.read_only.map(u64::from);
        let memory = sample.memory.total.unwrap_or_default();
        let seen = self.worker.peek(|findings| {
            let tuner = findings
                .rivals
                .iter()
                .any(|rival| rival.kind == RivalKind::Tuner);
            let guard = findings
                .rivals
                .iter()
                .any(|rival| rival.kind == RivalKind::Guard);
            (
                u64::from(tuner),
                u64::from(guard),
                rivals::floor(&findings.rivals, memory),
            )
        });
        if let Some((tuner, guard, floor)) = seen {
            circumstances.rival_tuner = Some(tuner);
            circumstances.rival_guard = Some(guard);
            circumstances.rival_floor = floor;
        }
    }

    /// Nobody is stopped who would stand still for ever if we died: without the process that sees to it nobody is asked.
    fn see_to_thawing(&mut self, sample: &mut Sample) {
        if sample.groups.users.is_empty() || self.thawer.as_ref().is_some_and(Thawer::is_there) {
            return;
        }
        // One that died is followed at once by another: who stands still now is not to pay for it.
        self.thawer = None;
        let next = if self.thawers < MOST_THAWERS {
            Thawer::start(&holder::program(), &self.run).map_err(|error| error.to_string())
        } else {
            Err("what lets people go on dies again and again".to_owned())
        };
        self.thawers += 1;
        match next {
            Ok(thawer) => self.thawer = Some(thawer),
            Err(why) => {
                self.users = None;
                sample.groups.users.clear();
                self.missed.push(format!("nobody is asked: {why}"));
            }
        }
    }

    /// Carries out a decision, if we may.
    pub fn act(&mut self, decision: &Decision) -> Outcome {
        self.attention = decision.attention;
        match &mut self.writer {
            Some(_) if !decision.steps.is_empty() => {}
            _ => return Outcome::default(),
        }
        // Whoever has to end comes before any write.
        let mut outcome = Outcome::default();
        for (place, step) in decision.steps.iter().enumerate() {
            if let Action::Kill {
                identity,
                name,
                signal,
                extent,
                size,
                ..
            } = step.action
            {
                outcome = self.end(
                    &Order {
                        identity,
                        name,
                        signal,
                        extent,
                        size,
                    },
                    place,
                    outcome,
                );
            }
        }
        for step in &decision.steps {
            if let (Action::Protect(act), Some(holder)) = (step.action, &mut self.holder) {
                outcome.protected += u64::from(holder.act(&act));
            }
        }
        let Some(writer) = &mut self.writer else {
            return outcome;
        };
        let outcome = writer.cgroup_action(decision, outcome, &|id| self.processes.unit(id));
        writer.act(decision, outcome, &self.worker)
    }

    /// Signals a process. Takes no memory unless that fails.
    fn end(&mut self, order: &Order, place: usize, outcome: Outcome) -> Outcome {
        match (self.processes.kill(self.at, order), order.signal) {
            (Ok(()), Signal::Term) => Outcome {
                asked: outcome.asked + 1,
                ..outcome.doing(place)
            },
            (Ok(()), Signal::Kill) => Outcome {
                killed: outcome.killed + 1,
                ..outcome.doing(place)
            },
            (Err(why), _) => {
                if self.missed.len() < MOST_MISSED {
                    self.missed.push(format!(
                        "{} ({}) was not signalled: {why}",
                        order.name, order.identity.pid
                    ));
                }
                Outcome {
                    missed: outcome.missed + 1,
                    ..outcome
                }
            }
        }
    }

    /// Waits until it is time to look again, or something happens.
    pub fn wait(&mut self, patience: std::time::Duration) -> Woken {
        self.woken = self.alarm.wait(patience);
        self.woken
    }

    /// Puts back everything that is still ours, and tells.
    pub fn put_everything_back(&mut self) -> Restored {
        // What is locked is let go with the process that locks it.
        self.holder = None;
        self.writer
            .as_mut()
            .map(KnobWriter::put_everything_back)
            .unwrap_or_default()
    }

    /// Puts everything back and only looks from now on, whatever is decided; only another run can act again.
    pub fn only_observe(&mut self) -> Restored {
        let restored = self.put_everything_back();
        self.writer = None;
        self.users = None;
        self.thawer = None;
        self.permission = Permission::Observe("as asked".to_owned());
        restored
    }

    /// Whom the configuration spares, from the next look on.
    pub fn rule(&mut self, rules: &pressure::config::Guard) {
        self.processes.rule(rules);
    }

    /// What went wrong, in one line each; the same line may come again while it lasts.
    pub fn warnings(&mut self) -> Vec<String> {
        let mut warnings: Vec<String> = self.reader.warnings().map(Error::to_string).collect();
        warnings.append(&mut self.missed);
        warnings.extend(self.alarm.without.take());
        warnings.extend(self.writer.iter_mut().flat_map(KnobWriter::take_warnings));
        warnings.extend(self.holder.iter_mut().flat_map(Holder::take_warnings));
        warnings.extend(
            self.worker
                .peek(|findings| findings.warnings.clone())
                .unwrap_or_default(),
        );
        warnings
    }

    /// Who else does a part of our work.
    pub fn rivals(&self) -> Vec<String> {
        self.worker
            .peek(|findings| findings.rivals.iter().map(ToString::to_string).collect())
            .unwrap_or_default()
    }
}

/// Whether no knob that is here can be written; `None` if there is none. Asked of each knob's own file: under
/// systemd's `ReadOnlyPaths=/proc/sys` with `ReadWritePaths=` for the knobs, `/proc/sys` itself is read-only.
fn is_read_only(root: &Path) -> Option<bool> {
    let mounts = KNOBS
        .iter()
        .filter_map(|knob| statvfs(root.join(knob.path.trim_start_matches('/'))).ok());
    mounts
        .map(|mount| mount.f_flag.contains(StatVfsMountFlags::RDONLY))
        .reduce(|all, this| all && this)
}
