//! Reading the machine: every file once, into one [`Sample`].
//!
//! Descriptors stay open and texts are read with `pread` into buffers that stay, so a steady tick
//! opens nothing and allocates nothing. What the kernel changes fast is read at every tick:
//! `meminfo`, `vmstat`, `zoneinfo`, `buddyinfo`, `swaps`, pressure, each node's `vmstat`, the cache of ZFS, the knobs.
//! The rest moves slowly and is not free, so between its readings the sample repeats the last one:
//!
//! | every | what | why |
//! |---|---|---|
//! | 1 s | our control group, huge page pools | reading `memory.stat` makes the kernel add up its groups |
//! | 10 s | `dentry-state`, `inode-nr`, each node's `meminfo` | sums over all CPUs |
//!
//! Which nodes and pools there are is looked up at start, when the nodes in `zoneinfo` change, when
//! a file vanishes, and once a minute while some file cannot be opened.

pub(crate) mod alarm;
pub(crate) mod clock;
mod facts;
pub mod filesystems;
mod nodes;
mod own_cgroup;
mod pairs;
mod pools;
mod returnable;
pub(crate) mod source;

use crate::error::{Error, ErrorKind};
use crate::parse::keyed::Dialect;
use crate::parse::zoneinfo::Zoneinfo;
use crate::parse::{buddyinfo, numbers, pressure as psi, swaps};
use ::pressure::Sample;
use ::pressure::knob::KNOBS;
use ::pressure::sample::{Caches, Counters, Facts, Memory, Pressure, Zone};
use clock::{Clock, Pace};
use facts::facts;
use nodes::Nodes;
use own_cgroup::OwnCgroup;
use pairs::Pairs;
use pools::Pools;
use returnable::ReturnableFiles;
use source::{Length, ReadOutcome, Source};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// Memory, I/O, CPU.
    pressures: [Source; 3],
    /// In the order of [`KNOBS`].
    knobs: Vec<Source>,
    dentries: Source,
    inodes: Source,
    caches: Caches,
    caches_pace: Pace,
    nodes: Nodes,
    pools: Pools,
    own_cgroup: OwnCgroup,
    returnable: ReturnableFiles,
    scan: Scan,
}

impl SystemReader {
    /// Opens the machine at `root`: `/`, or the directory of a recorded one.
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
            own_cgroup: OwnCgroup::open(root),
            returnable: ReturnableFiles::open(root),
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
            Some((source, field, _)) => Err(blind(source.take_warning(field))),
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
        let (at, wall) = self.clock.read();
        sample.at = at;
        sample.wall = wall;
        let at = at.get();
        sample.memory = Memory::default();
        sample.counters = Counters::default();
        let mut vanished = self.meminfo.read(&mut sample.memory) == ReadOutcome::Vanished;
        vanished |= self.vmstat.read(&mut sample.counters) == ReadOutcome::Vanished;
        self.read_zones(&mut sample.zones);
        self.rescan_if_changed(at, &sample.zones);
        let areas = &mut sample.swaps;
        if !matches!(
            self.swaps.read(|text| swaps::parse(text, areas)),
            ReadOutcome::Read | ReadOutcome::Wrong
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
            sample.knobs.now.put(spec.knob, source.number());
        }
        vanished |= self.nodes.read(at, &mut sample.nodes) == ReadOutcome::Vanished;
        self.pools.read(at, &mut sample.pools);
        vanished |= self.own_cgroup.read(at, &mut sample.cgroup) == ReadOutcome::Vanished;
        sample.caches = self.read_caches(at);
        sample.returnable = self.returnable.read();
        self.scan.stale |= vanished;
    }

    fn read_zones(&mut self, zones: &mut Vec<Zone>) {
        let plan = &mut self.zones;
        if !matches!(
            self.zoneinfo.read(|text| plan.parse(text, zones)),
            ReadOutcome::Read | ReadOutcome::Wrong
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
            caches.dentries = Some(dentries);
            caches.unused = Some(unused);
            caches.negative = Some(negative);
            Ok(())
        });
        self.inodes.read(|text| {
            let [inodes, free] = numbers::row(text)?;
            caches.inodes = Some(inodes);
            caches.free_inodes = Some(free);
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
        self.own_cgroup = OwnCgroup::open(&self.root);
        self.returnable.rescan(&self.root);
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        let core = [
            self.meminfo.source(),
            self.vmstat.source(),
            &self.zoneinfo,
            &self.buddyinfo,
        ];
        let rest = [
            &self.swaps,
            &self.dentries,
            &self.inodes,
            self.returnable.source(),
        ];
        let found = self
            .nodes
            .sources()
            .chain(self.pools.sources())
            .chain(self.own_cgroup.sources());
        core.into_iter()
            .chain(rest)
            .chain(&self.pressures)
            .chain(&self.knobs)
            .chain(found)
    }

    /// What is wrong now, at most one error for each file. A file that reads well again has none.
    pub fn warnings(&self) -> impl Iterator<Item = &Error> {
        self.sources()
            .filter_map(Source::error)
            .chain(self.clock.warnings())
    }
}

/// Says where a file without which nothing can be decided is missing.
fn blind(error: Error) -> Error {
    match &error.kind {
        ErrorKind::Unreadable(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            let why = "there is no such file, and nothing can be decided without it; gVisor and WSL 1 have none: run \
                       Warmset on the host, or in WSL 2";
            Error::refused(&error.path, why)
        }
        _ => error,
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

/// The nodes of `zones`, which are sorted by node.
fn nodes_of(zones: &[Zone]) -> impl Iterator<Item = u32> {
    zones
        .chunk_by(|left, right| left.node == right.node)
        .map(|zones| zones[0].node)
}
