//! Cgroups: what they hold, and the limits that a guard sets on them.

use super::{BOOT, Model};
use crate::text::{Program, Size, Unit};
use ::pressure::groups::{CgroupAction, Frozen, Groups, Throttled};
use ::pressure::place::place;
use ::pressure::scan::{Mark, Place, UnitName};
use units::{Bytes, Span};

/// Time for which a thawed unit is remembered, as the host does.
const AGAIN: u64 = 60_000;

/// A cgroup.
#[derive(Debug)]
pub(super) struct UnitState {
    pub(super) path: String,
    pub(super) place: Place,
    /// Its own name.
    pub(super) name: String,
    pub(super) max: Option<f64>,
    pub(super) oom_group: bool,
    pub(super) mark: Mark,
    /// Idle file cache charged to it.
    pub(super) cache: f64,
    /// All memory charged to it, by the last count.
    pub(super) used: f64,
    /// `memory.high` now.
    pub(super) high: Option<f64>,
    /// `memory.high` before the guard.
    high_found: Option<f64>,
    /// `high` of `memory.events`.
    pub(super) pushes: u64,
    pub(super) is_frozen: bool,
    /// OOM kills for its own limit.
    pub(super) own_kills: u64,
}

impl UnitState {
    /// Whether the unit of this program's processes is this one.
    pub(super) fn is_of(&self, program: &Program) -> bool {
        directory(program) == self.path
    }
}

/// The path of the unit that a program runs in.
fn directory(program: &Program) -> String {
    text(place(program.unit.as_bytes()).directory)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What the guard has set.
#[derive(Debug, Default)]
pub(super) struct Limits {
    throttled: Vec<(usize, Throttled)>,
    frozen: Vec<(usize, Frozen)>,
}

/// The inode of a unit's directory.
pub(super) fn inode(unit: usize) -> u64 {
    100 + unit as u64
}

impl Model {
    /// Makes the units of all programs, and those that the text gives properties.
    pub(super) fn prepare_units(&mut self) {
        let paths: Vec<String> = self
            .text
            .programs
            .iter()
            .map(directory)
            .chain(self.text.units.iter().map(|unit| unit.path.clone()))
            .collect();
        for path in paths {
            if self.units.iter().any(|unit| unit.path == path) {
                continue;
            }
            let said: Option<&Unit> = self.text.units.iter().find(|unit| unit.path == path);
            let found = place(path.as_bytes());
            self.units.push(UnitState {
                place: found.place,
                name: text(found.unit),
                max: said.and_then(|unit| unit.max).map(Size::bytes),
                oom_group: said.is_some_and(|unit| unit.oom_group),
                mark: said.map_or(Mark::None, |unit| unit.mark),
                cache: said.map_or(0.0, |unit| unit.cache.bytes()),
                used: 0.0,
                high: said.and_then(|unit| unit.high).map(Size::bytes),
                high_found: said.and_then(|unit| unit.high).map(Size::bytes),
                pushes: 0,
                is_frozen: false,
                own_kills: 0,
                path,
            });
        }
        self.idle += self.units.iter().map(|unit| unit.cache).sum::<f64>();
    }

    /// The units on the way to a program's cgroup.
    pub(super) fn units_above(&self, program: &Program) -> Vec<usize> {
        let inside = format!("{}/", program.unit);
        let is_above = |unit: &UnitState| inside.starts_with(&format!("{}/", unit.path));
        (0..self.units.len())
            .filter(|index| is_above(&self.units[*index]))
            .collect()
    }

    /// Counts what is charged to each unit.
    pub(super) fn count_usage(&mut self) {
        for unit in &mut self.units {
            unit.used = unit.cache;
        }
        for index in 0..self.processes.len() {
            let resident = self.resident(index);
            for unit in &self.programs[self.processes[index].program].limits {
                self.units[*unit].used += resident;
            }
        }
        for mount in &self.mounts {
            if let Some(unit) = mount.unit {
                self.units[unit].used += mount.store.resident();
            }
        }
    }

    pub(super) fn is_frozen(&self, process: usize) -> bool {
        let program = self.processes[process].program;
        self.programs[program]
            .limits
            .iter()
            .any(|unit| self.units[*unit].is_frozen)
    }

    /// Whether the guard may write to files of this unit.
    pub(super) fn is_writable(&self, unit: usize) -> bool {
        let is_users = matches!(self.units[unit].place, Place::App | Place::Desktop);
        self.text.machine.user_units_writable || !is_users
    }

    /// The unit of this inode.
    pub(super) fn unit_of_inode(&self, id: u64) -> Option<usize> {
        let index = usize::try_from(id.checked_sub(100)?).ok()?;
        (index < self.units.len()).then_some(index)
    }

    /// Carries an action on a cgroup out. Returns the unit if it did.
    pub(super) fn act_on_group(&mut self, action: &CgroupAction) -> Option<usize> {
        let unit = self.unit_of_inode(action.id())?;
        if !self.is_writable(unit) {
            return None;
        }
        let since = self.at();
        match *action {
            CgroupAction::Throttle {
                id,
                unit: name,
                memory_high,
                reserve,
                ..
            } => self.throttle(unit, id, name, memory_high, reserve),
            CgroupAction::Freeze {
                id,
                unit: name,
                user,
                headroom,
                ..
            } => {
                self.units[unit].is_frozen = true;
                let frozen = Frozen {
                    id,
                    unit: name,
                    user,
                    since,
                    headroom,
                    thawed: None,
                    answer: None,
                };
                self.groups.frozen.push((unit, frozen));
            }
            CgroupAction::Thaw { .. } => {
                self.units[unit].is_frozen = false;
                for (of, frozen) in &mut self.groups.frozen {
                    if *of == unit {
                        frozen.thawed = Some(since);
                    }
                }
            }
            CgroupAction::Free { .. } => {
                self.units[unit].high = self.units[unit].high_found;
                self.groups.throttled.retain(|(of, _)| *of != unit);
            }
            CgroupAction::Keep { .. } | CgroupAction::Leave { .. } => return None,
        }
        Some(unit)
    }

    fn throttle(&mut self, unit: usize, id: u64, name: UnitName, high: Bytes, reserve: Bytes) {
        // As the host: never below what it uses.
        let high = (high.get() as f64).max(self.units[unit].used);
        let memory_high = Bytes::new(high as u64);
        self.units[unit].high = Some(high);
        let known = self.groups.throttled.iter_mut().find(|(of, _)| *of == unit);
        if let Some((_, throttled)) = known {
            throttled.memory_high = memory_high;
            return;
        }
        let throttled = Throttled {
            id,
            unit: name,
            since: self.at(),
            used: Bytes::ZERO,
            memory_high,
            reserve,
            pushes: 0,
        };
        self.groups.throttled.push((unit, throttled));
    }

    /// Fills what a sample says of limits, and lets users answer.
    pub(super) fn read_groups(&mut self, groups: &mut Groups) {
        self.let_users_answer();
        let populated: Vec<bool> = (0..self.units.len())
            .map(|unit| self.is_populated(unit))
            .collect();
        self.groups.throttled.retain(|(unit, _)| populated[*unit]);
        let now = self.at().get();
        self.groups.frozen.retain(|(unit, frozen)| {
            let is_recent = frozen.thawed.is_none_or(|thawed| {
                (now.saturating_sub(thawed.get())).as_millis() < u128::from(AGAIN)
            });
            populated[*unit] && is_recent
        });
        groups.throttled.clear();
        for (unit, throttled) in &mut self.groups.throttled {
            throttled.used = Bytes::new(self.units[*unit].used as u64);
            throttled.pushes = self.units[*unit].pushes;
            groups.throttled.push(*throttled);
        }
        groups.frozen.clear();
        groups
            .frozen
            .extend(self.groups.frozen.iter().map(|(_, frozen)| *frozen));
        groups.users.clear();
        groups
            .users
            .extend(self.text.users.iter().map(|user| user.id));
    }

    fn let_users_answer(&mut self) {
        let now = self.at().get();
        for (_, frozen) in &mut self.groups.frozen {
            let user = self.text.users.iter().find(|user| user.id == frozen.user);
            let Some(user) = user.filter(|_| frozen.is_frozen()) else {
                continue;
            };
            if now.saturating_sub(frozen.since.get()) >= user.after.get() {
                frozen.answer = user.answers;
            }
        }
    }

    /// Whether a process is in a unit, or below it.
    pub(super) fn is_populated(&self, unit: usize) -> bool {
        self.processes
            .iter()
            .any(|process| self.programs[process.program].limits.contains(&unit))
    }

    /// The present time since boot.
    pub(super) fn at(&self) -> Span {
        Span::millis(BOOT + self.now)
    }
}
