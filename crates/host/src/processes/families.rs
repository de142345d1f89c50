//! Families: many alike processes, as a parallel build, a pool of workers or a fork storm.
//!
//! Two processes are of one family if they have the same name and the same kin. Kin is the process group, as a shell makes
//! one for each job and a build runs in it. Workers that lead a group each, as after `setsid`, have their parent as kin.
//! So have processes whose group is 0: a first process that made no session, or a leader outside of our namespace.
//!
//! ```text
//! order by (group, name) ─► a run of four and more: kin is the group
//!                       ─► a short run that has the group's leader: kin is the leader's parent
//! order by (kin, name)   ─► runs of four and more are families, the four with the most memory are told
//! ```
//!
//! Cost: two sorts of the table's places, a quarter of a millisecond for 600 processes; no allocation once they were as
//! many.

use super::table::{Entry, ProcessTable};
use arrayvec::ArrayVec;
use pressure::scan::{Family, Life, MAX_FAMILIES, Name};
use rustix::fd::OwnedFd;
use units::Bytes;

/// Alike processes that make a family, at least. Two or three alike are a program and its helpers.
const LEAST: usize = 4;
/// Marks a kin that is a parent, not a process group. Process IDs have 22 bits at most.
pub(super) const BY_PARENT: u32 = 1 << 31;
/// Members of each told family that have their `status` read in one scan: 4 families make a millisecond.
const ASKED: usize = 16;

/// A family, and the two of its members that a decision may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) family: Family,
    pub(super) largest: Entry,
    pub(super) youngest: Entry,
    /// The nearest process above all of them.
    pub(super) above: Option<u32>,
}

/// Where a run of one family is in the order, and how large it is.
#[derive(Debug, Clone, Copy)]
struct Run {
    from: usize,
    to: usize,
    size: Bytes,
}

impl ProcessTable {
    /// The families that hold the most memory, the largest first.
    pub(super) fn families(&mut self, proc: &OwnedFd) -> ArrayVec<Found, MAX_FAMILIES> {
        self.find_kin();
        let mut runs = self.largest_runs();
        for run in &mut runs {
            self.ask_in(proc, *run);
            run.size = self.size_of(&self.order[run.from..run.to]);
        }
        runs.sort_unstable_by_key(|run| std::cmp::Reverse(run.size));
        runs.iter().map(|run| self.found(*run)).collect()
    }

    /// Tells each process its kin, and leaves `order` by kin and name.
    fn find_kin(&mut self) {
        let Self { entries, order, .. } = self;
        order.clear();
        let places = 0..u32::try_from(entries.len()).unwrap_or(u32::MAX);
        order.extend(places.filter(|place| entries[*place as usize].life != Life::Dying));
        order.sort_unstable_by_key(|place| {
            let entry = &entries[*place as usize];
            (entry.group, entry.name)
        });
        let is_alike =
            |left: &Entry, right: &Entry| left.group == right.group && left.name == right.name;
        each_run(order, entries, is_alike, |run, entries| {
            let mut kin = entries[run[0] as usize].group;
            if run.len() < LEAST {
                kin = leaders_parent(run, entries).unwrap_or(kin);
            }
            for place in run {
                let entry = &mut entries[*place as usize];
                entry.kin = if entry.group == 0 {
                    by_parent(entry.parent).unwrap_or_default()
                } else {
                    kin
                };
            }
        });
        order.sort_unstable_by_key(|place| key(&entries[*place as usize]));
        each_run(order, entries, is_kin, |run, entries| {
            // Nobody else below that parent is alike.
            if let [only] = run {
                let only = &mut entries[*only as usize];
                only.kin = only.group;
            }
        });
    }

    /// The largest runs of [`LEAST`] and more.
    fn largest_runs(&self) -> ArrayVec<Run, MAX_FAMILIES> {
        let mut largest = ArrayVec::<Run, MAX_FAMILIES>::new();
        let mut from = 0;
        let alike = |left: &u32, right: &u32| is_kin(self.at(*left), self.at(*right));
        for members in self.order.chunk_by(alike) {
            let run = Run {
                from,
                to: from + members.len(),
                size: self.size_of(members),
            };
            from = run.to;
            if members.len() < LEAST || self.at(members[0]).kin == 0 {
                continue;
            }
            let place = largest.partition_point(|other| other.size >= run.size);
            if place < MAX_FAMILIES {
                if largest.is_full() {
                    largest.pop();
                }
                largest.insert(place, run);
            }
        }
        largest
    }

    /// Reads the `status` of members of which nothing is known yet.
    fn ask_in(&mut self, proc: &OwnedFd, run: Run) {
        let mut left = ASKED;
        for index in run.from..run.to {
            let place = self.order[index] as usize;
            if left > 0 && !self.entries[place].told.is_known {
                self.ask(proc, place);
                left -= 1;
            }
        }
    }

    /// Memory of all of them; shared memory once, as alike processes share it with each other.
    ///
    /// What is not known of a member's files is taken to be as of those that are known.
    fn size_of(&self, members: &[u32]) -> Bytes {
        let members = || members.iter().map(|place| self.at(*place));
        let known = || members().filter(|entry| entry.told.is_known);
        let files: Bytes = known().map(|entry| entry.told.files.bytes()).sum();
        let usual = files.get().checked_div(known().count() as u64);
        let usual = Bytes::new(usual.unwrap_or(0));
        let own: Bytes = members()
            .map(|entry| {
                let files = if entry.told.is_known {
                    entry.told.files.bytes()
                } else {
                    usual
                };
                let resident = entry.resident.to_bytes(self.page_size);
                let anon = resident.less(files).less(entry.told.shared.bytes());
                anon + entry.told.swapped.bytes() + entry.told.tables.bytes()
            })
            .sum();
        let shared = members().map(Entry::shared).max().unwrap_or_default();
        own + shared
    }

    fn found(&self, run: Run) -> Found {
        let members = &self.order[run.from..run.to];
        let mut largest = *self.at(members[0]);
        let mut youngest = largest;
        for place in members {
            let entry = self.at(*place);
            if entry.size(self.page_size) > largest.size(self.page_size) {
                largest = *entry;
            }
            if (entry.start, entry.pid) > (youngest.start, youngest.pid) {
                youngest = *entry;
            }
        }
        let family = Family {
            kin: largest.kin,
            name: Name::from(&largest.name).unwrap_or_default(),
            processes: u32::try_from(members.len()).unwrap_or(u32::MAX),
            size: run.size,
            ancestor: None,
        };
        Found {
            above: self.above(members),
            family,
            largest,
            youngest,
        }
    }

    fn at(&self, place: u32) -> &Entry {
        &self.entries[place as usize]
    }
}

/// Whether a process, by its `stat`, is of this family.
pub(super) fn belongs(entry: &Entry, kin: u32, name: &str) -> bool {
    let is_kin = if kin & BY_PARENT == 0 {
        entry.group == kin
    } else {
        entry.parent == kin & !BY_PARENT
    };
    is_kin && entry.name.as_str() == name
}

/// The kin of a short run: the parent of the group's leader. `None` if the leader is not in it, or is an orphan: all
/// orphans have the first process as their parent.
fn leaders_parent(run: &[u32], entries: &[Entry]) -> Option<u32> {
    let mut members = run.iter().map(|place| &entries[*place as usize]);
    let leader = members.find(|entry| entry.pid == entry.group)?;
    by_parent(leader.parent)
}

/// The kin of the children of a process; `None` for those of the first one, which adopts all orphans.
fn by_parent(parent: u32) -> Option<u32> {
    (parent > 1).then_some(parent | BY_PARENT)
}

fn key(entry: &Entry) -> (u32, super::table::Comm) {
    (entry.kin, entry.name)
}

pub(super) fn is_kin(left: &Entry, right: &Entry) -> bool {
    key(left) == key(right)
}

/// Calls `each` with every run of alike processes in the order, and with the table to change.
fn each_run(
    order: &[u32],
    entries: &mut [Entry],
    is_alike: impl Fn(&Entry, &Entry) -> bool,
    mut each: impl FnMut(&[u32], &mut [Entry]),
) {
    let mut from = 0;
    while from < order.len() {
        let first = entries[order[from] as usize];
        let length = order[from..]
            .iter()
            .position(|place| !is_alike(&first, &entries[*place as usize]))
            .unwrap_or(order.len() - from);
        each(&order[from..from + length], entries);
        from += length;
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::{Comm, Kib, Told};
    use super::*;
    use rustix::fs::{Mode, OFlags};
    use units::Pages;

    fn table(entries: Vec<Entry>) -> ProcessTable {
        let mut table = ProcessTable::new(Bytes::kib(4));
        table.entries = entries;
        table.entries.sort_by_key(|entry| entry.pid);
        table
    }

    fn named(pid: u32, parent: u32, group: u32, name: &str, pages: u64) -> Entry {
        Entry {
            parent,
            group,
            start: u64::from(pid),
            name: Comm::from(name).unwrap(),
            resident: Pages::new(pages),
            ..Entry::example(pid)
        }
    }

    fn families(table: &mut ProcessTable) -> ArrayVec<Found, MAX_FAMILIES> {
        let empty = tempfile::tempdir().unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let proc = rustix::fs::open(empty.path(), flags, Mode::empty()).unwrap();
        table.families(&proc)
    }

    #[test]
    fn a_build_is_one_family_by_its_process_group() {
        let mut entries = vec![named(10, 5, 10, "make", 1)];
        for pid in 11..20 {
            entries.push(named(pid, 10, 10, "cc1plus", 100 + u64::from(pid)));
        }
        // Another job of the same name, and three alike that are too few.
        entries.extend((30..33).map(|pid| named(pid, 29, 30, "cc1plus", 5000)));
        let mut table = table(entries);
        let found = families(&mut table);
        assert_eq!(found.len(), 1, "{found:?}");
        let it = &found[0];
        assert_eq!((it.family.kin, it.family.processes), (10, 9));
        assert_eq!(it.family.name.as_str(), "cc1plus");
        assert_eq!(
            it.family.size,
            Bytes::kib(4 * (11..20).map(|pid| 100 + pid).sum::<u64>())
        );
        assert_eq!((it.largest.pid, it.youngest.pid), (19, 19));
        assert!(belongs(&it.largest, 10, "cc1plus") && !belongs(&it.largest, 10, "make"));
    }

    #[test]
    fn without_a_group_the_children_of_one_parent_are_a_family() {
        let mut entries = vec![named(40, 1, 0, "worker", 10)];
        entries.extend((50..60).map(|pid| named(pid, 40, 0, "worker", 10)));
        let mut table = table(entries);
        let found = families(&mut table);
        assert_eq!(found.len(), 1, "{found:?}");
        let kin = BY_PARENT + 40;
        assert_eq!((found[0].family.kin, found[0].family.processes), (kin, 10));
        assert_eq!(table.find(40).unwrap().kin, 0, "its own parent adopts all");
        assert!(belongs(&found[0].youngest, kin, "worker"));
    }

    #[test]
    fn workers_with_a_group_each_are_one_family_by_their_parent() {
        let mut entries: Vec<Entry> = (50..60)
            .map(|pid| named(pid, 40, pid, "worker", 10))
            .collect();
        // One has a helper of the same name in its group.
        entries.push(named(60, 59, 59, "worker", 10));
        // Orphans have nothing in common: the first process is everybody's parent in the end.
        entries.extend((70..80).map(|pid| named(pid, 1, pid, "orphan", 1000)));
        // Alone with its name below its parent.
        entries.push(named(90, 40, 90, "other", 10));
        let mut table = table(entries);
        let found = families(&mut table);
        assert_eq!(found.len(), 1, "{found:?}");
        let kin = BY_PARENT + 40;
        assert_eq!(found[0].family.kin, kin);
        assert_eq!(found[0].family.processes, 11);
        assert_eq!(table.find(90).unwrap().kin, 90);
        assert_eq!(table.find(75).unwrap().kin, 75);
        assert!(belongs(&found[0].largest, kin, "worker"));
    }

    #[test]
    fn a_pool_below_its_master_is_of_the_masters_group() {
        let mut entries = vec![named(10, 5, 10, "postgres", 10)];
        entries.extend((11..16).map(|pid| named(pid, 10, 10, "postgres", 10)));
        let found = families(&mut table(entries));
        assert_eq!((found[0].family.kin, found[0].family.processes), (10, 6));
    }

    #[test]
    fn shared_memory_counts_once_and_files_not_at_all() {
        let told = Told {
            is_known: true,
            files: Kib::of(Bytes::kib(40)),
            shared: Kib::of(Bytes::kib(400)),
            swapped: Kib::of(Bytes::kib(8)),
            tables: Kib::of(Bytes::kib(4)),
            hugetlb: Kib::ZERO,
        };
        let mut entries: Vec<Entry> = (10..14)
            .map(|pid| Entry {
                told,
                ..named(pid, 5, 10, "x", 120)
            })
            .collect();
        // Of this one nothing is known but 480 KiB in RAM: files as of the others, and no shared memory.
        entries[3].told = Told::default();
        let found = families(&mut table(entries));
        let known = 3 * (480 - 40 - 400 + 8 + 4);
        assert_eq!(found[0].family.size, Bytes::kib(known + 440 + 400));
    }

    #[test]
    fn only_the_largest_are_told_and_the_dying_not_at_all() {
        let mut entries = Vec::new();
        for family in 1..=6 {
            for member in 0..4 {
                let pid = family * 100 + member;
                entries.push(named(pid, 5, family * 100, "x", u64::from(family)));
            }
        }
        let last = entries.last_mut().unwrap();
        last.life = Life::Dying;
        let found = families(&mut table(entries));
        let kin: Vec<u32> = found.iter().map(|it| it.family.kin).collect();
        assert_eq!(kin, [500, 400, 300, 200], "600 has three left");
    }
}
