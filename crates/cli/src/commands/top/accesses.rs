//! `--damon`: what the units with the largest working sets use of their mappings, as the kernel's own monitor sees it.
//!
//! - How: one kdamond with a target for each process. Every [`EVERY`] it writes its regions, and those that were used are
//!   added up. Processes that are new are watched after [`AFRESH`], by a new kdamond.
//! - Cannot see: files that are read and never mapped. Shared memory counts once for each process.
//! - Cost: twenty looks at up to 1000 pages each time, in a kernel thread of its own (`kdamond.0`).

use crate::ui::hinted::Hinted;
use anyhow::Result;
use damon_event::Snapshot;
use inspect::survey::{By, Holding, Survey};
use inspect::tracee::{Damon, NoDamon, Space};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use units::Bytes;

/// Most processes at once: all share DAMON's 1000 regions, so with more each has too few to tell used memory from unused.
const MOST: usize = 64;
/// DAMON's aggregation interval. Shorter misses memory that is used every few seconds; longer makes the picture stale.
pub(super) const EVERY: Duration = Duration::from_secs(5);
/// Time after which processes are chosen anew: a new kdamond first has to find its regions.
const AFRESH: Duration = Duration::from_secs(60);

/// The kdamond and its last snapshot.
#[derive(Debug)]
pub(super) struct Accesses {
    root: PathBuf,
    damon: Option<Damon>,
    /// When the processes were chosen; `None` before the first look.
    since: Option<Instant>,
    /// Paths of the watched units.
    units: HashSet<String>,
    watched: Vec<u32>,
    snapshot: Snapshot,
    /// Bytes that each process used in the last snapshot.
    used: HashMap<u32, Bytes>,
}

impl Accesses {
    /// For the machine at `root`. DAMON is started at the first look.
    pub(super) fn of(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            damon: None,
            since: None,
            units: HashSet::new(),
            watched: Vec::new(),
            snapshot: Snapshot::every(EVERY, MOST),
            used: HashMap::new(),
        }
    }

    /// Starts DAMON on all processes of the first units, as long as whole units fit into [`MOST`].
    fn watch(&mut self, survey: &Survey, all: &[Holding]) -> Result<(), NoDamon> {
        self.since = Some(Instant::now());
        self.snapshot = Snapshot::every(EVERY, MOST);
        self.units.clear();
        self.watched.clear();
        for one in all {
            let members = survey.members(one);
            if self.watched.len() + members.len() <= MOST {
                self.watched.extend(members);
                self.units.insert(one.path.clone());
            }
            if self.watched.len() == MOST {
                break;
            }
        }
        // The number of a process that has ended may be given to another.
        self.used.retain(|pid, _| self.watched.contains(pid));
        // The old kdamond must end before there can be another.
        self.damon = None;
        if !self.watched.is_empty() {
            self.damon = Some(Damon::start(
                &self.root,
                Space::Virtual(&self.watched),
                EVERY,
            )?);
        }
        Ok(())
    }

    /// Reads what DAMON has written, and replaces the working sets that are known by it. The first look only starts DAMON.
    ///
    /// Errors: DAMON cannot be used at all.
    pub(super) fn look(&mut self, survey: &Survey, all: &mut [Holding]) -> Result<()> {
        self.read_snapshots()?;
        match self.since {
            None => self
                .watch(survey, all)
                .map_err(|no| Hinted::new(&no, no.remedy("without --damon it needs none")))?,
            // It fails if a process has just ended, or another program uses DAMON now. Until the next attempt the working
            // sets are known by other means.
            Some(since) if since.elapsed() >= AFRESH => drop(self.watch(survey, all)),
            Some(_) => {}
        }
        for one in all.iter_mut().filter(|one| self.units.contains(&one.path)) {
            if let Some(used) = self.use_of(&survey.members(one)) {
                one.warm = used.min(one.used);
                one.by = By::Damon;
            }
        }
        Ok(())
    }

    fn read_snapshots(&mut self) -> io::Result<()> {
        let Some(damon) = &mut self.damon else {
            return Ok(());
        };
        let mut buffer = [0; 16 * 1024];
        while let Some(count) = damon.read(&mut buffer)? {
            self.snapshot.take(&buffer[..count]);
        }
        for (pid, used) in self.watched.iter().zip(self.snapshot.used()) {
            self.used.insert(*pid, Bytes::new(*used));
        }
        Ok(())
    }

    /// Bytes that these processes use together; `None` unless all of them are known.
    fn use_of(&self, pids: &[u32]) -> Option<Bytes> {
        if pids.is_empty() {
            return None;
        }
        let mut sum = Bytes::ZERO;
        for pid in pids {
            sum += *self.used.get(pid)?;
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn a_unit_is_known_whole_or_not_at_all() {
        let mut accesses = Accesses::of(Path::new("/"));
        accesses.used = HashMap::from([(7, Bytes::mib(2)), (8, Bytes::mib(3))]);
        assert_eq!(accesses.use_of(&[7, 8]), Some(Bytes::mib(5)));
        assert_eq!(
            (accesses.use_of(&[7, 9]), accesses.use_of(&[])),
            (None, None)
        );
    }

    #[test]
    fn without_damon_the_error_says_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let unit = root.path().join("sys/fs/cgroup/a.service");
        std::fs::create_dir_all(&unit).unwrap();
        std::fs::write(unit.join("cgroup.procs"), "7\n8\n").unwrap();
        let mut accesses = Accesses::of(root.path());
        let survey = Survey::of(root.path(), Bytes::kib(4));
        let error = accesses
            .look(&survey, &mut [example::holding("/a.service", 12)])
            .unwrap_err();
        assert_eq!(accesses.watched, [7, 8]);
        let text = format!("{error:#}");
        assert!(text.contains("CONFIG_DAMON_SYSFS"), "{text}");
    }
}
