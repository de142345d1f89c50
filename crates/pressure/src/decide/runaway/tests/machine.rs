//! A machine of 1 GiB in a closed loop: processes grow, file cache gives way, then swap; what is decided is done.

use crate::census::{Identity, Life, Mark, Name, Place, Signal, Suspect, UnitName, Victim};
use crate::config::{Config, Mode};
use crate::decide;
use crate::decision::{Action, Attention, Decision, Notice};
use crate::distress::Extent;
use crate::groups::{Contained, Grip, Stopped};
use crate::history::History;
use crate::recording::tests::facts;
use crate::sample::{Sample, Swap, SwapAmounts, SwapKind, Zone, ZoneAmounts};
use std::time::Duration;
use units::{Bytes, Micros, Span};

pub(super) const PAGE: Bytes = Bytes::kib(4);
const TICK: Duration = Duration::from_millis(100);

/// A process of the model.
#[derive(Debug, Clone)]
pub(in crate::decide) struct Process {
    pub(in crate::decide) suspect: Suspect,
    /// MiB a second; memory is only taken while there is some.
    pub(super) speed: u64,
    /// Ignores SIGTERM.
    pub(super) deaf: bool,
    /// Ticks from SIGKILL to the end; `u32::MAX` never ends.
    pub(super) dying: u32,
    pub(super) signalled: Option<(Signal, u32)>,
}

pub(in crate::decide) fn process(pid: u32, name: &str, mib: u64, speed: u64) -> Process {
    let suspect = Suspect {
        who: Identity {
            pid,
            start: u64::from(pid) * 10,
        },
        age: Span::secs(100),
        name: Name::from(name).unwrap(),
        program: None,
        unit: UnitName::from("session-2.scope").unwrap(),
        place: Place::Session,
        user: 1000,
        resident: Bytes::mib(mib),
        mapped: None,
        swapped: Bytes::ZERO,
        oom_score_adj: 0,
        mark: Mark::None,
        group: None,
        life: Life::Alive,
    };
    Process {
        suspect,
        speed,
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
    /// File cache that every unit has beside what its processes hold.
    pub(super) cache: Bytes,
    /// Everything that was signalled, in order.
    pub(super) signals: Vec<(u32, Signal, Extent)>,
    /// Everything that was done to limits.
    pub(super) grips: Vec<Grip>,
    pub(super) said: Vec<Notice>,
    /// Who went.
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
        let (signals, grips, said, ended) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            config,
            history,
            sample,
            decision,
            processes,
            swap: Bytes::ZERO,
            cache: Bytes::ZERO,
            signals,
            grips,
            said,
            ended,
            out_of_memory: false,
        }
    }

    pub(super) fn anon(&self) -> Bytes {
        self.processes
            .iter()
            .map(|process| process.suspect.size())
            .sum()
    }

    /// What is left for anonymous memory before the kernel gives up: all file cache, and swap.
    fn left(&self) -> Bytes {
        (Bytes::mib(TOTAL - KERNEL - 4) + self.swap).less(self.anon())
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
            if is_ending || self.processes[index].suspect.life == Life::Stopped {
                continue;
            }
            if self.is_held_up(index, step) || self.is_still(index) {
                continue;
            }
            self.out_of_memory |= step > self.left();
            let step = step.min(self.left());
            let suspect = &mut self.processes[index].suspect;
            suspect.resident += step;
            suspect.age = Span::new(suspect.age.get() + TICK);
        }
    }

    /// What all of this process's group has.
    fn of_group(&self, id: u64) -> Bytes {
        let inside = |one: &&Process| one.suspect.group.is_some_and(|it| it.id == id);
        self.processes
            .iter()
            .filter(inside)
            .map(|one| one.suspect.size())
            .sum()
    }

    /// Whether the kernel lets it wait at a ceiling; it counts that.
    fn is_held_up(&mut self, index: usize, step: Bytes) -> bool {
        let Some(group) = self.processes[index].suspect.group else {
            return false;
        };
        let used = self.of_group(group.id);
        let contained = self
            .sample
            .groups
            .contained
            .iter_mut()
            .find(|one| one.id == group.id);
        let Some(one) = contained.filter(|one| step > Bytes::ZERO && used + step > one.ceiling)
        else {
            return false;
        };
        one.pushes += 1;
        // A ceiling slows down, and stops nobody.
        self.processes[index].suspect.resident += Bytes::kib(64);
        true
    }

    fn is_still(&self, index: usize) -> bool {
        let group = self.processes[index].suspect.group;
        let still = |id: u64| {
            self.sample
                .groups
                .stopped
                .iter()
                .any(|one| one.id == id && one.is_still())
        };
        group.is_some_and(|group| still(group.id))
    }

    fn grip(&mut self, grip: Grip) {
        self.grips.push(grip);
        let since = self.sample.at;
        let contained = &mut self.sample.groups.contained;
        match grip {
            Grip::Contain { id, ceiling, .. } if contained.iter().any(|one| one.id == id) => {
                contained
                    .iter_mut()
                    .filter(|one| one.id == id)
                    .for_each(|one| one.ceiling = ceiling);
            }
            Grip::Contain {
                id,
                unit,
                used,
                ceiling,
                reserve,
            } => {
                contained.push(Contained {
                    id,
                    unit,
                    since,
                    used,
                    ceiling,
                    reserve,
                    pushes: 0,
                });
            }
            Grip::Freeze {
                id,
                unit,
                user,
                room,
                ..
            } => {
                self.sample.groups.stopped.push(Stopped {
                    id,
                    unit,
                    user,
                    since,
                    room,
                    thawed: None,
                    answer: None,
                });
            }
            Grip::Thaw { id, .. } => {
                let stopped = &mut self.sample.groups.stopped;
                stopped
                    .iter_mut()
                    .filter(|one| one.id == id)
                    .for_each(|one| one.thawed = Some(since));
            }
            other => contained.retain(|one| one.id != other.id()),
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
                    gone.push(process.suspect.who);
                }
            }
        }
        self.processes
            .retain(|process| !gone.contains(&process.suspect.who));
        for victim in self
            .sample
            .census
            .victims
            .iter_mut()
            .filter(|victim| gone.contains(&victim.who))
        {
            victim.gone = Some(now);
        }
        self.ended.extend(gone.iter().map(|who| who.pid));
    }

    fn read(&mut self) {
        let anon = self.anon();
        let most = Bytes::mib(TOTAL - KERNEL - 30);
        let swapped = anon.less(most);
        let (anon, free) = (anon.less(swapped), Bytes::mib(10));
        let file = Bytes::mib(TOTAL - KERNEL).less(anon).less(free);
        let sample = &mut self.sample;
        sample.memory.anon = Some(anon);
        sample.memory.shmem = Some(Bytes::ZERO);
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
        sample.census.suspects.clear();
        if self.decision.attention == Attention::Suspects {
            sample.census.at = sample.at;
            self.processes
                .sort_by_key(|process| std::cmp::Reverse(process.suspect.size()));
            sample.census.suspects.extend(
                self.processes
                    .iter()
                    .take(12)
                    .map(|process| process.suspect),
            );
            for suspect in &mut sample.census.suspects {
                if let Some(group) = &mut suspect.group {
                    let inside =
                        |one: &&Process| one.suspect.group.is_some_and(|it| it.id == group.id);
                    group.anon = self
                        .processes
                        .iter()
                        .filter(inside)
                        .map(|one| one.suspect.size())
                        .sum();
                    group.used = group.anon + self.cache;
                    let mine = sample
                        .groups
                        .contained
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
            if let Action::Group(grip) = step.action {
                self.grip(grip);
            }
            let Action::End {
                who,
                name,
                signal,
                extent,
                size,
                ..
            } = step.action
            else {
                continue;
            };
            self.signals.push((who.pid, signal, extent));
            let folder = |process: &Process| process.suspect.group.map(|group| group.id);
            let Some(unit) = self
                .processes
                .iter()
                .find(|process| process.suspect.who == who)
                .map(folder)
            else {
                continue;
            };
            let hit = |process: &Process| {
                process.suspect.who == who
                    || (extent == Extent::Unit && unit.is_some() && folder(process) == unit)
            };
            for process in self.processes.iter_mut().filter(|process| hit(process)) {
                let after = if signal == Signal::Term && process.deaf {
                    u32::MAX
                } else {
                    process.dying
                };
                process.signalled = Some((signal, after));
            }
            let victims = &mut self.sample.census.victims;
            victims.retain(|victim| victim.who != who);
            if victims.is_full() {
                victims.remove(0);
            }
            victims.push(Victim {
                who,
                name,
                size,
                signal,
                at,
                gone: None,
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
