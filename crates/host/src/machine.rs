//! A machine: the parts that read it and write it, in the order in which they do.

use crate::applied::{Applied, Outcome};
use crate::cgroups::Cgroups;
use crate::error::Error;
use crate::holder::check::{FLOORS, Probe};
use crate::holder::{self, Holder};
use crate::knobs::Knobs;
use crate::knobs::rivals;
use crate::own_process::OnlyOne;
use crate::processes::{Order, Processes};
use crate::system::SystemReader;
use crate::system::alarm::{Alarm, Woken};
use crate::undo::{Places, Restored, UndoLog, boot_id};
use crate::users::{Consultation, Users};
use crate::worker::Worker;
use pressure::config::Wake;
use pressure::decision::{Action, Attention};
use pressure::knob::{KNOBS, KnobValues};
use pressure::means::Means;
use pressure::protect::FileId;
use pressure::sample::Circumstances;
use pressure::status::NamedPath;
use pressure::{Decision, Facts, Sample};
use rustix::fs::{AtFlags, CWD, StatVfsMountFlags, statvfs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::Span;

/// Signals that were not sent, remembered between two calls of [`Machine::warnings`]. A decision has fewer steps than
/// this, so a caller that asks after each decision misses none.
const MOST_MISSED: usize = 16;

/// What this run may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// Only read; the text says why.
    Observe(String),
    /// Write too.
    Act,
}

/// A live or recorded machine.
///
/// Dropping it puts back everything that is still ours.
#[derive(Debug)]
pub struct Machine {
    system: SystemReader,
    /// Before `only_one`: everything is put back before another guard may start.
    acting: Option<Acting>,
    worker: Worker,
    processes: Processes,
    /// What the last decision wants to see.
    attention: Attention,
    /// Signals that were not sent, and why.
    missed: Vec<String>,
    at: Span,
    holder: Option<Holder>,
    own: OwnMeans,
    /// After `acting`: the process that thaws lives until nothing is frozen any more.
    consultation: Consultation,
    run: PathBuf,
    alarm: Alarm,
    /// While this file is there, nothing new is decided.
    switch: PathBuf,
    woken: Woken,
    read_only: Option<bool>,
    permission: Permission,
    leftover: Restored,
    _only_one: Option<OnlyOne>,
}

/// The parts that change settings of the kernel, and the log by which they are put back.
#[derive(Debug)]
struct Acting {
    log: UndoLog,
    knobs: Knobs,
    cgroups: Cgroups,
    /// What the kernel refused, since the last call of [`Machine::warnings`].
    refused: Vec<String>,
}

impl Acting {
    fn open(places: &Places) -> Result<Self, Error> {
        Ok(Self {
            log: UndoLog::open(places, &boot_id(&places.root)?)?,
            knobs: Knobs::at(places),
            cgroups: Cgroups::at(&places.root),
            refused: Vec::new(),
        })
    }

    fn restore(&mut self) -> Restored {
        let mut restored = Restored::default();
        self.cgroups.restore(&mut self.log, &mut restored);
        self.knobs.restore(&mut self.log, &mut restored);
        // What another program has set since: it may have put our value back.
        match self.log.restore() {
            Ok(more) => restored.extend(more),
            Err(error) => restored.failed.push(error.to_string()),
        }
        restored
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        self.restore();
    }
}

/// In which order the steps of a decision are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// A process that has to be killed comes before any write: nothing is to delay it.
    Signals,
    Holder,
    Cgroups,
    /// Knobs, and requests to the worker.
    Rest,
}

impl Pass {
    const ALL: [Self; 4] = [Self::Signals, Self::Holder, Self::Cgroups, Self::Rest];

    const fn of(action: &Action) -> Self {
        match action {
            Action::Kill { .. } => Self::Signals,
            Action::Protect(_) => Self::Holder,
            Action::Group(_) => Self::Cgroups,
            _ => Self::Rest,
        }
    }
}

impl Machine {
    /// The machine at `places`. With [`Permission::Act`] it first undoes what a killed guard has left, and refuses to
    /// start beside another guard.
    pub fn at(places: &Places, permission: Permission, wake: &Wake) -> Result<Self, Error> {
        let system = SystemReader::open(&places.root)?;
        let read_only = is_read_only(&places.root);
        let permission = match permission {
            Permission::Act if read_only == Some(true) => {
                Permission::Observe("/proc/sys is read-only here, as in a container".to_owned())
            }
            permission => permission,
        };
        let mut acting = None;
        let mut only_one = None;
        let mut leftover = Restored::default();
        if permission == Permission::Act {
            let mut opened = Acting::open(places)?;
            only_one = Some(OnlyOne::take(&places.run)?);
            leftover = opened.log.restore()?;
            acting = Some(opened);
        }
        let worker =
            Worker::start(&places.root).map_err(|error| Error::unreadable(&places.root, error))?;
        let processes = Processes::open(&places.root, system.facts().page_size)
            .map_err(|error| Error::unreadable(&places.root.join("proc"), error))?;
        let alarm = Alarm::new(&places.root, wake)
            .map_err(|error| Error::unreadable(&places.root, error))?;
        Ok(Self {
            system,
            acting,
            worker,
            processes,
            attention: Attention::Rest,
            missed: Vec::new(),
            at: Span::default(),
            holder: None,
            own: OwnMeans::default(),
            consultation: Consultation::at(&places.run),
            run: places.run.clone(),
            alarm,
            switch: places.run.join("disable"),
            woken: Woken::Timer,
            read_only,
            permission,
            leftover,
            _only_one: only_one,
        })
    }

    /// Starts `warmset-hold`, if this run may act and it does not run yet; `programs` are the executables that it holds
    /// while memory is short. If that fails it is tried again later, and [`Machine::new_means`] has the reason.
    ///
    /// Call it from the thread that lives as long as the machine: the kernel kills a child with the thread that
    /// started it.
    pub fn hold(&mut self, start: &holder::Start, programs: &[String]) {
        if self.holder.is_none() && self.permission == Permission::Act {
            self.holder = Some(Holder::start(start, programs));
        }
    }

    /// Has `warmset-hold` hold these files and directories, if it runs, in place of those that were named before.
    pub fn name_files(&mut self, files: &[String]) {
        if let Some(holder) = &mut self.holder {
            holder.name_files(files);
        }
    }

    /// What is known of named files and directories, if that is news since the last call.
    pub fn new_named(&mut self) -> Option<Vec<NamedPath>> {
        self.holder.as_mut().and_then(Holder::take_named)
    }

    /// Starts to try the means that are the guard's own, if this run may act; nothing waits for the result.
    pub fn try_means(&mut self) {
        if self.permission != Permission::Act || self.own.probe.is_some() {
            return;
        }
        match Probe::start() {
            Ok(probe) => self.own.probe = Some(probe),
            Err(why) => {
                let remedy = "install warmset-hold beside warmsetd";
                self.own.take(vec![Means::not_armed(
                    "the guard's own means",
                    why,
                    Some(remedy),
                )]);
            }
        }
    }

    /// All that was tried, if there is news since the last call: the guard's own means, then those of the holder.
    pub fn new_means(&mut self) -> Option<Vec<Means>> {
        let of_holder = self.holder.as_mut().is_some_and(Holder::take_news);
        let of_guard = std::mem::take(&mut self.own.is_new);
        if !of_holder && !of_guard {
            return None;
        }
        let held = self.holder.as_ref().map_or(&[][..], Holder::means);
        Some(self.own.means.iter().chain(held).cloned().collect())
    }

    /// Protects the memory of these units, as the configuration names them, if this run may act.
    pub fn protect_units(&mut self, units: &[String]) {
        if let Some(acting) = &mut self.acting {
            acting.cgroups.protect(units);
        }
    }

    /// Takes what these units do not use, as the configuration names them, if this run may act.
    pub fn squeeze_units(&mut self, units: &[String]) {
        if let Some(acting) = &mut self.acting {
            acting.cgroups.squeeze(units);
        }
    }

    /// Asks these users before a unit of theirs is killed, if this run may act.
    pub fn ask(&mut self, users: Arc<Users>) {
        let users = (self.permission == Permission::Act).then_some(users);
        self.consultation.ask(users);
    }

    /// The directory for files that must not outlive a boot.
    pub fn run_directory(&self) -> &Path {
        &self.run
    }

    /// Hot and held files, with their names where known.
    pub fn files(&self) -> &[(FileId, String)] {
        self.holder.as_ref().map_or(&[], Holder::names)
    }

    /// What does not change while the machine runs.
    pub fn facts(&self) -> &Facts {
        self.system.facts()
    }

    /// What this run may do: less than was asked for where the machine forbids it.
    pub fn permission(&self) -> &Permission {
        &self.permission
    }

    /// What a killed guard had left and was put back at the start.
    pub fn leftover(&self) -> &Restored {
        &self.leftover
    }

    /// Reads the machine. Never fails: what cannot be read is `None`, and [`Machine::warnings`] has the reason.
    pub fn sample(&mut self, sample: &mut Sample) {
        self.system.read(sample);
        self.at = sample.at;
        let has_swap = sample.memory.swap_total != Some(units::Bytes::ZERO);
        // While the worker writes its findings, those of the last sample stand.
        if let Some(rivals) = self.worker.peek(|findings| Arc::clone(&findings.rivals)) {
            self.processes.leave_to(rivals, has_swap);
        }
        self.processes
            .observe(self.attention, sample.at, &sample.memory, &mut sample.scan);
        let answers = self.consultation.observe(&mut sample.groups.users);
        match &mut self.acting {
            Some(acting) => {
                for said in answers {
                    acting.cgroups.answered(said.id, said.user, said.answer);
                }
                acting.knobs.observe(&mut sample.knobs, &mut acting.log);
                acting.cgroups.observe(sample, &mut acting.log);
            }
            None => {
                // Nothing is ours, so everything is as found.
                sample.knobs.found = sample.knobs.now;
                sample.knobs.ours = KnobValues::default();
            }
        }
        if let Some(holder) = &mut self.holder {
            sample.warm.copy(holder.observe());
        }
        self.own.poll();
        sample.warm.sums.floors = self.own.floors().map(u64::from);
        self.read_circumstances(&mut sample.circumstances, sample.memory.total);
    }

    fn read_circumstances(&self, circumstances: &mut Circumstances, memory: Option<units::Bytes>) {
        circumstances.woken_by_pressure = Some(u64::from(self.woken == Woken::Pressure));
        circumstances.disabled = Some(u64::from(is_there(&self.switch)));
        circumstances.read_only = self.read_only.map(u64::from);
        let memory = memory.unwrap_or_default();
        // While the worker writes its findings, those of the last sample stand.
        self.worker.peek(|findings| {
            rivals::note(&findings.rivals, memory, circumstances);
        });
    }

    /// Carries out a decision, if this run may act. Returns what came of each step.
    pub fn act(&mut self, decision: &Decision) -> Outcome {
        self.attention = decision.attention;
        if self.acting.is_none() {
            return Outcome::default();
        }
        let mut outcome = Outcome::of(decision.steps.len());
        for pass in Pass::ALL {
            for (place, step) in decision.steps.iter().enumerate() {
                if Pass::of(&step.action) == pass {
                    let applied = self.apply(&step.action);
                    self.note_failure(&step.action, &applied);
                    outcome.set(place, applied);
                }
            }
        }
        outcome
    }

    /// Has the part that an action concerns carry it out. A signal takes no memory unless it fails.
    fn apply(&mut self, action: &Action) -> Applied {
        let Some(acting) = &mut self.acting else {
            return Applied::Dropped;
        };
        match *action {
            Action::Kill {
                identity,
                name,
                signal,
                extent,
                size,
                ..
            } => {
                let order = Order {
                    identity,
                    name,
                    signal,
                    extent,
                    size,
                };
                self.processes.apply(self.at, &order)
            }
            Action::Protect(act) => match &mut self.holder {
                Some(holder) => holder.apply(&act),
                None => Applied::Dropped,
            },
            Action::Group(cgroup_action) => {
                let unit = |id| self.processes.unit(id);
                acting.cgroups.apply(&cgroup_action, &mut acting.log, &unit)
            }
            Action::Set { .. } | Action::PutBack { .. } => {
                acting.knobs.apply(action, &mut acting.log)
            }
            Action::Recall { id, amount, .. } => acting.cgroups.recall(id, amount, &self.worker),
            Action::Squeeze { id, amount, .. } => acting.cgroups.take(id, amount, &self.worker),
            Action::Compact { .. } | Action::Reclaim { .. } => self.worker.apply(action),
        }
    }

    /// Keeps the reason of a step that failed, for [`Machine::warnings`].
    fn note_failure(&mut self, action: &Action, applied: &Applied) {
        match (applied, action) {
            (Applied::Missed(why), Action::Kill { identity, name, .. })
                if self.missed.len() < MOST_MISSED =>
            {
                let pid = identity.pid;
                self.missed
                    .push(format!("{name} ({pid}) was not signalled: {why}"));
            }
            (Applied::Refused { why }, _) => {
                if let Some(acting) = &mut self.acting {
                    acting.refused.push(format!("given up: {why}"));
                }
            }
            _ => {}
        }
    }

    /// Waits until it is time to look again, or something happens.
    pub fn wait(&mut self, patience: std::time::Duration) -> Woken {
        let patience = match &self.holder {
            Some(holder) => holder.patience(patience),
            None => patience,
        };
        self.woken = self.alarm.wait(patience);
        self.woken
    }

    /// Puts back everything that is still ours, and says what.
    pub fn put_everything_back(&mut self) -> Restored {
        // The files that it locks are unlocked with the process that locks them.
        self.holder = None;
        match &mut self.acting {
            Some(acting) => acting.restore(),
            None => Restored::default(),
        }
    }

    /// Puts everything back and only observes from now on, whatever is decided; only another run can act again.
    pub fn only_observe(&mut self) -> Restored {
        let restored = self.put_everything_back();
        self.acting = None;
        self.consultation.end();
        self.permission = Permission::Observe("as asked".to_owned());
        restored
    }

    /// Takes the exemptions of the configuration, for the next process scan on.
    pub fn rule(&mut self, rules: &pressure::config::Guard) {
        self.processes.rule(rules);
    }

    /// What went wrong, in one line each; the same line may come again while it lasts.
    pub fn warnings(&mut self) -> Vec<String> {
        let mut warnings: Vec<String> = self.system.warnings().map(Error::to_string).collect();
        warnings.append(&mut self.missed);
        warnings.extend(self.consultation.take_warning());
        warnings.extend(self.alarm.without.take());
        if let Some(acting) = &mut self.acting {
            warnings.append(&mut acting.refused);
            warnings.append(&mut acting.knobs.take_warnings());
            warnings.append(&mut acting.cgroups.take_warnings());
        }
        if let Some(holder) = &mut self.holder {
            warnings.append(&mut holder.take_warnings());
        }
        warnings.extend(self.worker.warnings());
        warnings
    }

    /// Programs and settings that do a part of our work, one line each.
    pub fn rivals(&self) -> Vec<String> {
        self.worker
            .peek(|findings| findings.rivals.iter().map(ToString::to_string).collect())
            .unwrap_or_default()
    }
}

/// What the guard itself can do, tried by a process of its own with the same rights.
#[derive(Debug, Default)]
struct OwnMeans {
    probe: Option<Probe>,
    means: Vec<Means>,
    is_new: bool,
}

impl OwnMeans {
    /// Takes the result in, once it is there.
    fn poll(&mut self) {
        let Some(probe) = &mut self.probe else { return };
        if let Some(means) = probe.poll() {
            self.probe = None;
            self.take(means);
        }
    }

    fn take(&mut self, means: Vec<Means>) {
        self.means = means;
        self.is_new = true;
    }

    /// Whether `memory.min` was seen to keep anything; `None` if it was not tried.
    fn floors(&self) -> Option<bool> {
        let floors = self.means.iter().find(|means| means.name == FLOORS)?;
        Some(floors.is_armed)
    }
}

fn is_there(path: &Path) -> bool {
    let access = rustix::fs::Access::EXISTS;
    rustix::fs::accessat(CWD, path, access, AtFlags::empty()).is_ok()
}

/// Whether all knobs that are here are read-only; `None` if there is no knob.
///
/// Each knob's own file is asked: under systemd's `ReadOnlyPaths=/proc/sys` with `ReadWritePaths=` for the knobs,
/// `/proc/sys` itself is read-only and the knobs are not.
fn is_read_only(root: &Path) -> Option<bool> {
    KNOBS
        .iter()
        .filter_map(|knob| statvfs(root.join(knob.path.trim_start_matches('/'))).ok())
        .map(|mount| mount.f_flag.contains(StatVfsMountFlags::RDONLY))
        .reduce(|all, this| all && this)
}
