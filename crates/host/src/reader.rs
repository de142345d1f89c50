//! Reading the machine: every file once, into one [`Sample`].
//!
//! Descriptors stay open and texts are read with `pread` into buffers that stay, so a steady tick
//! opens nothing and allocates nothing. What the kernel changes fast is read at every tick:
//! `meminfo`, `vmstat`, `zoneinfo`, `buddyinfo`, `swaps`, pressure, each node's `vmstat`, the knobs.
//! The rest moves slowly and is not free, so between its readings the sample repeats the last one:
//!
//! | every | what | why |
//! |---|---|---|
//! | 1 s | our control group, huge page pools | reading `memory.stat` makes the kernel add up its groups |
//! | 10 s | `dentry-state`, `inode-nr`, each node's `meminfo` | sums over all processors |
//!
//! Which nodes and pools there are is looked up at start, when the nodes in `zoneinfo` change, when
//! a file vanishes, and once a minute while some file cannot be opened.

mod group;
mod nodes;
mod pairs;
mod pools;

use crate::error::Error;
use crate::facts::facts;
use crate::parse::keyed::Dialect;
use crate::parse::zoneinfo::Zoneinfo;
use crate::parse::{buddyinfo, numbers, pressure as psi, swaps};
use crate::source::{Length, Outcome, Source};
use ::pressure::Sample;
use ::pressure::knob::KNOBS;
use ::pressure::sample::{Caches, Counters, Facts, Memory, Pressure, Wall, Zone};
use group::Group;
use nodes::Nodes;
use pairs::Pairs;
use pools::Pools;
use rustix::time::{ClockId, clock_gettime};
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::Span;

/// Files that could not be opened are tried again this often.
const RETRY: Duration = Duration::from_secs(60);
/// A vanished file makes us look again, but not more often than this.
const SETTLE: Duration = Duration::from_secs(1);

/// The machine's files, open.
#[derive(Debug)]
pub struct SystemReader {
    root: PathBuf,
    facts: Facts,
    clock: Clock,
    meminfo: Pairs,
    vmstat: Pairs,
    zoneinfo: Source,
    zones: Zoneinfo,
    buddyinfo: Source,
    swaps: Source,
    /// Memory, I/O, processor.
    pressures: [Source; 3],
    /// In the order of [`KNOBS`].
    knobs: Vec<Source>,
    dentries: Source,
    inodes: Source,
    caches: Caches,
    caches_pace: Pace,
    nodes: Nodes,
    pools: Pools,
    group: Group,
    scan: Scan,
}

impl SystemReader {
    /// Opens the machine at `root`: `/`, or the folder of a recorded one.
    ///
    /// A recording has its page size, in bytes, in the file `page_size`, the time since boot in
    /// nanoseconds in `at`, and milliseconds since 1970 in `wall`; the times are zero without.
    ///
    /// # Errors
    /// When `meminfo`, `vmstat` or `zoneinfo` cannot be read or says nothing: a guard that is blind
    /// must not start. Any other file may be absent or unreadable.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let file = |path: &str, length, headroom| Source::open(root.join(path), length, headroom);
        let mut reader = Self {
            facts: facts(root),
            clock: Clock::of(root),
            meminfo: Pairs::new(file("proc/meminfo", Length::One, 4096), Dialect::Meminfo),
            vmstat: Pairs::new(file("proc/vmstat", Length::Many, 8192), Dialect::Vmstat),
            zoneinfo: file("proc/zoneinfo", Length::Many, 16_384),
            zones: Zoneinfo::new(),
            buddyinfo: file("proc/buddyinfo", Length::Many, 2048),
            swaps: file("proc/swaps", Length::Many, 1024),
            pressures: ["memory", "io", "cpu"]
                .map(|what| file(&format!("proc/pressure/{what}"), Length::One, 256)),
            knobs: KNOBS
                .iter()
                .map(|knob| file(knob.path, Length::One, 64))
                .collect(),
            dentries: file("proc/sys/fs/dentry-state", Length::One, 128),
            inodes: file("proc/sys/fs/inode-nr", Length::One, 128),
            caches: Caches::default(),
            caches_pace: Pace::every(10),
            nodes: Nodes::scan(root),
            pools: Pools::scan(root),
            group: Group::open(root),
            scan: Scan::default(),
            root: root.to_owned(),
        };
        reader.refuse_if_blind()?;
        Ok(reader)
    }

    fn refuse_if_blind(&mut self) -> Result<(), Error> {
        let mut sample = Sample::default();
        self.read(&mut sample);
        let seen = [
            (
                self.meminfo.source_mut(),
                "MemTotal",
                sample.memory.total.is_some(),
            ),
            (
                self.vmstat.source_mut(),
                "nr_free_pages",
                sample.counters.nr_free_pages.is_some(),
            ),
            (&mut self.zoneinfo, "zone", !sample.zones.is_empty()),
        ];
        match seen.into_iter().find(|(_, _, seen)| !seen) {
            Some((source, field, _)) => Err(source.take_warning(field)),
            None => Ok(()),
        }
    }

    /// What does not change while the machine runs.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Reads everything at once into `sample`, and reuses its storage.
    ///
    /// Fills all but `circumstances`, `knobs.found` and `knobs.ours`, which are left as they are.
    /// Never fails: what cannot be read is `None`, and [`SystemReader::warnings`] has the reason.
    ///
    /// Cost: about 20 system calls and as many for the knobs; no allocation and no open, unless the
    /// machine has changed or the sample has not yet been as large.
    pub fn read(&mut self, sample: &mut Sample) {
        (sample.at, sample.wall) = self.clock.read();
        let at = sample.at.get();
        sample.memory = Memory::default();
        sample.counters = Counters::default();
        let mut vanished = self.meminfo.read(&mut sample.memory) == Outcome::Vanished;
        vanished |= self.vmstat.read(&mut sample.counters) == Outcome::Vanished;
        self.read_zones(&mut sample.zones);
        self.rescan_if_changed(at, &sample.zones);
        let areas = &mut sample.swaps;
        if !matches!(
            self.swaps.read(|text| swaps::parse(text, areas)),
            Outcome::Read | Outcome::Troubled
        ) {
            areas.clear();
        }
        let targets = [
            &mut sample.memory_pressure,
            &mut sample.io_pressure,
            &mut sample.cpu_pressure,
        ];
        for (source, target) in self.pressures.iter_mut().zip(targets) {
            *target = read_pressure(source);
        }
        for (source, spec) in self.knobs.iter_mut().zip(KNOBS) {
            sample.knobs.now.put(spec.knob, read_number(source));
        }
        vanished |= self.nodes.read(at, &mut sample.nodes) == Outcome::Vanished;
        self.pools.read(at, &mut sample.pools);
        vanished |= self.group.read(at, &mut sample.cgroup) == Outcome::Vanished;
        sample.caches = self.read_caches(at);
        self.scan.stale |= vanished;
    }

    fn read_zones(&mut self, zones: &mut Vec<Zone>) {
        let plan = &mut self.zones;
        if !matches!(
            self.zoneinfo.read(|text| plan.parse(text, zones)),
            Outcome::Read | Outcome::Troubled
        ) {
            zones.clear();
        }
        self.buddyinfo.read(|text| buddyinfo::parse(text, zones));
    }

    fn read_caches(&mut self, at: Duration) -> Caches {
        if !self.caches_pace.is_due(at) {
            return self.caches;
        }
        let mut caches = Caches::default();
        self.dentries.read(|text| {
            let [dentries, unused, _age_limit, _want_pages, negative] = numbers::row(text)?;
            (caches.dentries, caches.unused, caches.negative) =
                (Some(dentries), Some(unused), Some(negative));
            Ok(())
        });
        self.inodes.read(|text| {
            let [inodes, free] = numbers::row(text)?;
            (caches.inodes, caches.free_inodes) = (Some(inodes), Some(free));
            Ok(())
        });
        self.caches = caches;
        caches
    }

    fn rescan_if_changed(&mut self, at: Duration, zones: &[Zone]) {
        let can_help = self.sources().any(Source::is_closed_by_error);
        if !self.scan.is_needed(at, zones, can_help) {
            return;
        }
        self.scan.done(at, zones);
        let core = [
            self.meminfo.source_mut(),
            self.vmstat.source_mut(),
            &mut self.zoneinfo,
            &mut self.buddyinfo,
        ];
        let rest = [&mut self.swaps, &mut self.dentries, &mut self.inodes];
        for source in core
            .into_iter()
            .chain(rest)
            .chain(&mut self.pressures)
            .chain(&mut self.knobs)
        {
            source.reopen();
        }
        self.nodes = Nodes::scan(&self.root);
        self.pools = Pools::scan(&self.root);
        self.group = Group::open(&self.root);
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        let core = [
            self.meminfo.source(),
            self.vmstat.source(),
            &self.zoneinfo,
            &self.buddyinfo,
        ];
        let rest = [&self.swaps, &self.dentries, &self.inodes];
        let found = self
            .nodes
            .sources()
            .chain(self.pools.sources())
            .chain(self.group.sources());
        core.into_iter()
            .chain(rest)
            .chain(&self.pressures)
            .chain(&self.knobs)
            .chain(found)
    }

    /// What is wrong now, at most one trouble for each file. A file that reads well again has none.
    pub fn warnings(&self) -> impl Iterator<Item = &Error> {
        self.sources()
            .filter_map(Source::error)
            .chain(self.clock.warnings())
    }
}

fn read_pressure(source: &mut Source) -> Pressure {
    let mut pressure = Pressure::default();
    source.read(|text| {
        pressure = psi::parse(text)?;
        Ok(())
    });
    pressure
}

fn read_number(source: &mut Source) -> Option<u64> {
    let mut number = None;
    source.read(|text| {
        number = numbers::single(text)?;
        Ok(())
    });
    number
}

/// When a slow file is due.
#[derive(Debug)]
struct Pace {
    every: Duration,
    next: Option<Duration>,
}

impl Pace {
    const fn every(seconds: u64) -> Self {
        Self {
            every: Duration::from_secs(seconds),
            next: None,
        }
    }

    /// Whether it is time, which it is at first; then the next time is set.
    fn is_due(&mut self, at: Duration) -> bool {
        let due = self.next.is_none_or(|next| at >= next);
        if due {
            self.next = Some(at.saturating_add(self.every));
        }
        due
    }
}

/// When and on what the last look at the machine's make-up was based.
#[derive(Debug, Default)]
struct Scan {
    at: Option<Duration>,
    /// The nodes that had populated zones, in order, each once.
    nodes: Vec<u32>,
    /// Something vanished since.
    stale: bool,
}

impl Scan {
    fn is_needed(&mut self, at: Duration, zones: &[Zone], can_help: bool) -> bool {
        let Some(last) = self.at else {
            // Everything has just been opened.
            self.done(at, zones);
            return false;
        };
        let age = at.saturating_sub(last);
        let same = nodes_of(zones).eq(self.nodes.iter().copied());
        !same || (self.stale && age >= SETTLE) || (can_help && age >= RETRY)
    }

    fn done(&mut self, at: Duration, zones: &[Zone]) {
        self.at = Some(at);
        self.stale = false;
        self.nodes.clear();
        self.nodes.extend(nodes_of(zones));
    }
}

/// The monotonic clock, as samples have it.
pub(crate) fn monotonic() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// Time since boot with the time asleep, by which the kernel says when a process started.
pub(crate) fn boot_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

/// The nodes of `zones`, which are sorted by node.
fn nodes_of(zones: &[Zone]) -> impl Iterator<Item = u32> {
    zones
        .chunk_by(|left, right| left.node == right.node)
        .map(|zones| zones[0].node)
}

/// Where the time comes from.
#[derive(Debug)]
enum Clock {
    Kernel,
    /// `at` and `wall`.
    Recorded(Box<[Source; 2]>),
}

impl Clock {
    fn of(root: &Path) -> Self {
        if root == Path::new("/") {
            return Self::Kernel;
        }
        let file = |name| Source::open(root.join(name), Length::One, 64);
        Self::Recorded(Box::new([file("at"), file("wall")]))
    }

    fn read(&mut self) -> (Span, Wall) {
        let duration = |id| Duration::try_from(clock_gettime(id)).unwrap_or_default();
        match self {
            Self::Kernel => {
                let wall = duration(ClockId::Realtime).as_millis();
                (
                    Span::new(duration(ClockId::Monotonic)),
                    Wall(u64::try_from(wall).unwrap_or(u64::MAX)),
                )
            }
            Self::Recorded(files) => {
                let [at, wall] = &mut **files;
                let nanos = read_number(at).unwrap_or(0);
                (
                    Span::new(Duration::from_nanos(nanos)),
                    Wall(read_number(wall).unwrap_or(0)),
                )
            }
        }
    }

    fn warnings(&self) -> impl Iterator<Item = &Error> {
        let files = match self {
            Self::Kernel => [None, None],
            Self::Recorded(files) => [files[0].error(), files[1].error()],
        };
        files.into_iter().flatten()
    }
}
