//! A machine of 1 GiB in a closed loop: processes grow, file cache gives way, then swap is used; decisions
//! are applied.

use crate::config::{Config, Mode};
use crate::decide;
use crate::decision::{Action, Attention, Decision, Notice};
use crate::distress::Extent;
use crate::groups::{CgroupAction, Frozen, Throttled};
use crate::history::History;
use crate::recording::tests::facts;
use crate::sample::{Sample, Swap, SwapAmounts, SwapKind, Zone, ZoneAmounts};
use crate::scan::{Candidate, Group, Identity, Life, Name, Place, Signal, UnitName, Victim};
use std::time::Duration;
use units::{Bytes, Micros, Span};

pub(super) const PAGE: Bytes = Bytes::kib(4);
const TICK: Duration = Duration::from_millis(100);

/// A process of the model.
#[derive(Debug, Clone)]
pub(in crate::decide) struct Process {
    pub(in crate::decide) candidate: Candidate,
    /// MiB per second; memory is only taken while there is some.
    pub(super) speed: u64,
    /// The same for shared memory.
    pub(super) shared_speed: u64,
    /// Ignores SIGTERM.
    pub(super) deaf: bool,
    /// Ticks from SIGKILL to its exit; `u32::MAX` never exits.
    pub(super) dying: u32,
    pub(super) signalled: Option<(Signal, u32)>,
}

/// The same process in a unit of this kind.
pub(super) fn in_unit(group: Group, place: Place, mut one: Process) -> Process {
    one.candidate.place = place;
    one.candidate.group = Some(Group { id: 77, ..group });
    one
}

pub(in crate::decide) fn process(pid: u32, name: &str, mib: u64, speed: u64) -> Process {
    let candidate = Candidate {
        identity: Identity {
            pid,
            start: u64::from(pid) * 10,
        },
        age: Span::secs(100),
        name: Name::from(name).unwrap(),
        unit: UnitName::from("session-2.scope").unwrap(),
        place: Place::Session,
        user: 1000,
        resident: Bytes::mib(mib),
        ..Candidate::default()
    };
    Process {
        candidate,
        speed,
        shared_speed: 0,
        deaf: false,
        dying: 4,
        signalled: None,
    }
}

/// A machine of 1 GiB: what is not anonymous is file cache, which gives way; then swap; then the kernel would kill.
pub(super) struct Machine {
    pub(super) config: Config,
    pub(super) history: History,
    pub(super) sample: Sample,
    pub(super) decision: Decision,
    pub(super) processes: Vec<Process>,
    pub(super) swap: Bytes,
    /// File cache that every unit has besides what its processes hold.
    pub(super) cache: Bytes,
    /// Files in a tmpfs, which no process owns.
    pub(super) files: Bytes,
    /// Everything that was signalled, in order.
    pub(super) signals: Vec<(u32, Signal, Extent)>,
    /// Everything that was done to limits.
    pub(super) cgroup_actions: Vec<CgroupAction>,
    pub(super) said: Vec<Notice>,
    /// The processes that exited.
    pub(super) ended: Vec<u32>,
    pub(super) out_of_memory: bool,
}

const TOTAL: u64 = 1024;
const KERNEL: u64 = 60;

impl Machine {
    pub(super) fn new(processes: Vec<Process>) -> Self {
        Self::with(
            Config {
                mode: Mode::Guard,
                ..Config::default()
            },
            processes,
        )
    }

    pub(super) fn with(config: Config, processes: Vec<Process>) -> Self {
        let history = History::new(&facts(), &config);
        let decision = decide(&config, &history);
        let mut sample = Sample {
            at: Span::secs(1000),
            ..Sample::default()
        };
        let pages = |mib: u64| Some(Bytes::mib(mib).to_pages(PAGE));
        let amounts = ZoneAmounts {
            min: pages(4),
            low: pages(8),
            high: pages(12),
            managed: pages(TOTAL),
            ..ZoneAmounts::default()
        };
        sample.zones = vec![Zone {
            amounts,
            ..Zone::default()
        }];
        sample.memory_pressure.full_total = Some(Micros::new(0));
        let signals = Vec::new();
        let cgroup_actions = Vec::new();
        let said = Vec::new();
        let ended = Vec::new();
        Self {
            config,
            history,
            sample,
            decision,
            processes,
            swap: Bytes::ZERO,
            cache: Bytes::ZERO,
            files: Bytes::ZERO,
            signals,
            cgroup_actions,
            said,
            ended,
            out_of_memory: false,
        }
    }

    pub(super) fn anon(&self) -> Bytes {
        self.processes
            .iter()
            .map(|process| process.candidate.size())
            .sum()
    }

    /// What is left for anonymous memory before the kernel gives up: all file cache, and swap.
    fn left(&self) -> Bytes {
        (Bytes::mib(TOTAL - KERNEL - 4) + self.swap).less(self.anon() + self.files)
    }

    pub(super) fn tick(&mut self) {
        self.sample.at = Span::new(self.sample.at.get() + TICK);
        self.grow();
        self.die();
        self.read();
        self.history.push(&self.sample);
        self.decision = decide(&self.config, &self.history);
        self.said.extend(self.decision.notices.iter().copied());
        self.obey();
    }

    fn grow(&mut self) {
        for index in 0..self.processes.len() {
            let step = Bytes::mib(self.processes[index].speed).scaled(1, 10);
            let is_ending = self.processes[index]
                .signalled
                .is_some_and(|(signal, _)| signal == Signal::Kill);
            if is_ending || self.processes[index].candidate.life == Life::Stopped {
                continue;
            }
            if self.is_held_up(index, step) || self.is_frozen(index) {
                continue;
            }
            self.out_of_memory |= step > self.left();
            let step = step.min(self.left());
            let candidate = &mut self.processes[index].candidate;
            candidate.resident += step;
            let shared = Bytes::mib(self.processes[index].shared_speed).scaled(1, 10);
            let shared = shared.min(self.left());
            let candidate = &mut self.processes[index].candidate;
            candidate.shared += shared;
            candidate.age = Span::new(candidate.age.get() + TICK);
        }
    }

    /// Memory of the cgroup.
    fn of_group(&self, id: u64) -> Bytes {
        let inside = |one: &&Process| one.candidate.group.is_some_and(|it| it.id == id);
        self.processes
            .iter()
            .filter(inside)
            .map(|one| one.candidate.size())
            .sum()
    }

    /// Whether the kernel throttles it at `memory.high`, which it counts.
    fn is_held_up(&mut self, index: usize, step: Bytes) -> bool {
        let Some(group) = self.processes[index].candidate.group else {
            return false;
        };
        let used = self.of_group(group.id);
        let throttled = self
            .sample
            .groups
            .throttled
            .iter_mut()
            .find(|one| one.id == group.id);
        let Some(one) = throttled.filter(|one| step > Bytes::ZERO && used + step > one.memory_high)
        else {
            return false;
        };
        one.pushes += 1;
        // `memory.high` slows a process down and never stops it.
        self.processes[index].candidate.resident += Bytes::kib(64);
        true
    }

    fn is_frozen(&self, index: usize) -> bool {
        let group = self.processes[index].candidate.group;
        let still = |id: u64| {
            self.sample
                .groups
                .frozen
                .iter()
                .any(|one| one.id == id && one.is_frozen())
        };
        group.is_some_and(|group| still(group.id))
    }

    fn cgroup_action(&mut self, cgroup_action: CgroupAction) {
        self.cgroup_actions.push(cgroup_action);
        let since = self.sample.at;
        let throttled = &mut self.sample.groups.throttled;
        match cgroup_action {
            CgroupAction::Throttle {
                id, memory_high, ..
            } if throttled.iter().any(|one| one.id == id) => {
                throttled
                    .iter_mut()
                    .filter(|one| one.id == id)
                    .for_each(|one| one.memory_high = memory_high);
            }
            CgroupAction::Throttle {
                id,
                unit,
                used,
                memory_high,
                reserve,
            } => {
                throttled.push(Throttled {
                    id,
                    unit,
                    since,
                    used,
                    memory_high,
                    reserve,
                    pushes: 0,
                });
            }
            CgroupAction::Freeze {
                id,
                unit,
                user,
                headroom,
                ..
            } => {
                self.sample.groups.frozen.push(Frozen {
                    id,
                    unit,
                    user,
                    since,
                    headroom,
                    thawed: None,
                    answer: None,
                });
            }
            CgroupAction::Thaw { id, .. } => {
                let frozen = &mut self.sample.groups.frozen;
                frozen
                    .iter_mut()
                    .filter(|one| one.id == id)
                    .for_each(|one| one.thawed = Some(since));
            }
            other => throttled.retain(|one| one.id != other.id()),
        }
    }

    fn die(&mut self) {
        let now = self.sample.at;
        let mut gone = Vec::new();
        for process in &mut self.processes {
            if let Some((_, left)) = process
                .signalled
                .as_mut()
                .filter(|(_, left)| *left != u32::MAX)
            {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    gone.push(process.candidate.identity);
                }
            }
        }
        self.processes
            .retain(|process| !gone.contains(&process.candidate.identity));
        for victim in self
            .sample
            .scan
            .victims
            .iter_mut()
            .filter(|victim| gone.contains(&victim.identity))
        {
            victim.gone = Some(now);
        }
        self.ended.extend(gone.iter().map(|identity| identity.pid));
    }

    fn read(&mut self) {
        let shared: Bytes = self.processes.iter().map(|one| one.candidate.shared).sum();
        let shmem = shared + self.files;
        let anon = self.anon().less(shared);
        let most = Bytes::mib(TOTAL - KERNEL - 30).less(shmem);
        let swapped = anon.less(most);
        let anon = anon.less(swapped);
        let free = Bytes::mib(10);
        let file = Bytes::mib(TOTAL - KERNEL).less(anon + shmem).less(free);
        let sample = &mut self.sample;
        sample.memory.anon = Some(anon);
        sample.memory.shmem = Some(shmem);
        sample.memory.slab_unreclaimable = Some(Bytes::mib(KERNEL));
        sample.memory.active_file = Some(Bytes::ZERO);
        sample.memory.inactive_file = Some(file);
        sample.memory.swap_total = Some(self.swap);
        sample.memory.swap_free = Some(self.swap.less(swapped));
        sample.counters.nr_free_pages = Some(free.to_pages(PAGE));
        sample.swaps.clear();
        if self.swap > Bytes::ZERO {
            let amounts = SwapAmounts {
                size: Some(self.swap),
                used: Some(swapped),
            };
            sample.swaps.push(Swap {
                kind: SwapKind::Partition,
                amounts,
            });
        }
        sample.scan.candidates.clear();
        if self.decision.attention == Attention::Candidates {
            sample.scan.at = sample.at;
            self.processes
                .sort_by_key(|process| std::cmp::Reverse(process.candidate.size()));
            sample.scan.candidates.extend(
                self.processes
                    .iter()
                    .take(12)
                    .map(|process| process.candidate),
            );
            for candidate in &mut sample.scan.candidates {
                if let Some(group) = &mut candidate.group {
                    let inside =
                        |one: &&Process| one.candidate.group.is_some_and(|it| it.id == group.id);
                    group.anon = self
                        .processes
                        .iter()
                        .filter(inside)
                        .map(|one| one.candidate.size())
                        .sum();
                    group.used = group.anon + self.cache;
                    let mine = sample
                        .groups
                        .throttled
                        .iter_mut()
                        .filter(|one| one.id == group.id);
                    mine.for_each(|one| one.used = group.used);
                }
            }
        }
    }

    fn obey(&mut self) {
        let at = self.sample.at;
        let steps = self.decision.steps.clone();
        for step in &steps {
            if let Action::Group(cgroup_action) = step.action {
                self.cgroup_action(cgroup_action);
            }
            let Action::Kill {
                identity,
                name,
                signal,
                extent,
                size,
                ..
            } = step.action
            else {
                continue;
            };
            self.signals.push((identity.pid, signal, extent));
            let directory = |process: &Process| process.candidate.group.map(|group| group.id);
            let Some(unit) = self
                .processes
                .iter()
                .find(|process| process.candidate.identity == identity)
                .map(directory)
            else {
                continue;
            };
            let kin = self
                .processes
                .iter()
                .find(|process| process.candidate.identity == identity)
                .map(|process| process.candidate.kin);
            let is_family = matches!(extent, Extent::Family | Extent::Ancestor);
            let hit = |process: &Process| {
                process.candidate.identity == identity
                    || (is_family
                        && Some(process.candidate.kin) == kin
                        && process.candidate.name == name)
                    || (extent == Extent::Unit && unit.is_some() && directory(process) == unit)
            };
            for process in self.processes.iter_mut().filter(|process| hit(process)) {
                let after = if signal == Signal::Term && process.deaf {
                    u32::MAX
                } else {
                    process.dying
                };
                // One that was about to exit for SIGTERM does so no later for SIGKILL.
                let left = process.signalled.map_or(u32::MAX, |(_, left)| left);
                process.signalled = Some((signal, after.min(left)));
            }
            let victims = &mut self.sample.scan.victims;
            victims.retain(|victim| victim.identity != identity);
            if victims.is_full() {
                victims.remove(0);
            }
            victims.push(Victim {
                identity,
                name,
                size,
                signal,
                at,
                gone: None,
                kin: kin.filter(|_| is_family).unwrap_or_default(),
            });
        }
    }

    pub(super) fn run(&mut self, seconds: f64) {
        (0..(seconds * 10.0) as u32).for_each(|_| self.tick());
    }

    pub(super) fn signalled(&self) -> Vec<(u32, Signal)> {
        self.signals
            .iter()
            .map(|(pid, signal, _)| (*pid, *signal))
            .collect()
    }
}
