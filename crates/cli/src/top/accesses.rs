//! `--damon`: what the processes of the warmest use of what they have mapped, as the kernel's own monitor sees it.
//!
//! - How: one kdamond, with a target for each process; every [`EVERY`] it tells its regions, and those that were found used
//!   are added up. Who has come since is watched after [`AFRESH`], by a new one.
//! - Cannot see: what is only read, and never mapped; what is shared counts once for each process.
//! - Cost: twenty looks at up to 1000 pages each time, in a kernel thread of its own (`kdamond.0`).

use crate::trace::no_damon;
use anyhow::Result;
use inspect::survey::{By, Holding, Survey};
use inspect::tracee::{Damon, NoDamon, Space};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use traces::Region;
use units::Bytes;

/// Processes at once, at most: all share the regions.
const MOST: usize = 64;
/// DAMON adds up for so long before it tells.
pub(super) const EVERY: Duration = Duration::from_secs(5);
/// So often it is told anew whom to watch.
const AFRESH: Duration = Duration::from_secs(60);

/// DAMON at work, and what it told last.
#[derive(Debug)]
pub(super) struct Accesses {
    root: PathBuf,
    damon: Option<Damon>,
    /// When it was told whom to watch.
    since: Option<Instant>,
    /// Whose processes are watched, by their paths.
    units: HashSet<String>,
    watched: Vec<u32>,
    told: Told,
    /// What each process used, in the last snapshot.
    used: HashMap<u32, Bytes>,
}

impl Accesses {
    /// Of the machine at `root`. Asks nothing yet.
    pub(super) fn of(root: &Path) -> Self {
        let (units, watched, used) = (HashSet::new(), Vec::new(), HashMap::new());
        Self {
            root: root.to_owned(),
            damon: None,
            since: None,
            units,
            watched,
            told: Told::default(),
            used,
        }
    }

    /// Watches all processes of the first of these, as far as there is room for whole ones.
    fn watch(&mut self, survey: &Survey, all: &[Holding]) -> Result<(), NoDamon> {
        (self.since, self.told) = (Some(Instant::now()), Told::default());
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
        // Numbers are given again.
        self.used.retain(|pid, _| self.watched.contains(pid));
        // The old one has to go before there can be another.
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

    /// Takes in what was told since, and enters what is known by it. The first look only begins.
    ///
    /// Errors: DAMON cannot be asked at all.
    pub(super) fn look(&mut self, survey: &Survey, all: &mut [Holding]) -> Result<()> {
        self.hear()?;
        match self.since {
            None => self
                .watch(survey, all)
                .map_err(|no| no_damon(no, "without --damon it needs none"))?,
            // Somebody who has just gone, or another who uses DAMON now: the other means go on until the next time.
            Some(since) if since.elapsed() >= AFRESH => drop(self.watch(survey, all)),
            Some(_) => {}
        }
        for one in all.iter_mut().filter(|one| self.units.contains(&one.path)) {
            if let Some(used) = self.use_of(&survey.members(one)) {
                (one.warm, one.by) = (used.min(one.used), By::Damon);
            }
        }
        Ok(())
    }

    fn hear(&mut self) -> io::Result<()> {
        let Some(damon) = &mut self.damon else {
            return Ok(());
        };
        let mut buffer = [0; 16 * 1024];
        while let Some(count) = damon.read(&mut buffer)? {
            self.told.take(&buffer[..count]);
        }
        for (pid, used) in self.watched.iter().zip(&self.told.used) {
            self.used.insert(*pid, *used);
        }
        Ok(())
    }

    /// What these use together; `None` unless something is known of each.
    fn use_of(&self, pids: &[u32]) -> Option<Bytes> {
        let known: Option<Vec<Bytes>> =
            pids.iter().map(|pid| self.used.get(pid).copied()).collect();
        known
            .filter(|known| !known.is_empty())
            .map(|known| known.into_iter().sum())
    }
}

/// The lines of the kdamond, as they come.
#[derive(Debug, Default)]
struct Told {
    /// The beginning of a line that has not come whole.
    rest: Vec<u8>,
    /// When the last snapshot was told.
    at: u64,
    /// What each target used in it.
    used: Vec<Bytes>,
}

impl Told {
    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let whole = self
            .rest
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        // What is no region, such as a note on lost lines, says nothing of what is used.
        lines
            .split(|byte| *byte == b'\n')
            .filter_map(|line| Region::of(line).ok().flatten())
            .for_each(|one| self.add(&one));
    }

    fn add(&mut self, region: &Region) {
        if region.at.saturating_sub(self.at) > EVERY.as_nanos() as u64 / 2 {
            (self.at, self.used) = (region.at, Vec::new());
        }
        let target = usize::try_from(region.target).unwrap_or(usize::MAX);
        if target >= MOST {
            return;
        }
        if self.used.len() <= target {
            self.used.resize(target + 1, Bytes::ZERO);
        }
        if region.accesses > 0 {
            self.used[target] += Bytes::new(region.span.1.saturating_sub(region.span.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    fn line(at: u64, target: u32, span: (u32, u32), accesses: u32) -> String {
        let (from, to) = span;
        format!(
            " kdamond.0-77 [000] ..... {at}.5: damon_aggregated: target_id={target} nr_regions=9 {from}-{to}: {accesses} 3\n"
        )
    }

    #[test]
    fn a_snapshot_is_what_was_told_at_once() {
        let mut told = Told::default();
        let first = [
            line(10, 0, (0, 4096), 2),
            line(10, 1, (0, 8192), 0),
            line(10, 1, (8192, 65536), 1),
        ]
        .concat();
        // In pieces, as a pipe gives it.
        let (a, b) = first.as_bytes().split_at(100);
        told.take(a);
        told.take(b);
        assert_eq!(told.used, [Bytes::kib(4), Bytes::kib(56)]);
        told.take(b"CPU:0 [LOST 12 EVENTS]\n");
        told.take(line(15, 1, (0, 4096), 7).as_bytes());
        assert_eq!(told.used, [Bytes::ZERO, Bytes::kib(4)], "the last one only");
    }

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
    fn who_has_memory_is_watched_and_a_kernel_that_cannot_says_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let unit = root.path().join("sys/fs/cgroup/a.service");
        std::fs::create_dir_all(&unit).unwrap();
        std::fs::write(unit.join("cgroup.procs"), "7\n8\n").unwrap();
        let (mut accesses, survey) = (
            Accesses::of(root.path()),
            Survey::of(root.path(), Bytes::kib(4)),
        );
        let said = accesses
            .look(&survey, &mut [example::holding("/a.service", 12)])
            .unwrap_err();
        assert_eq!(accesses.watched, [7, 8]);
        let said = format!("{said:#}");
        assert!(said.contains("CONFIG_DAMON_SYSFS"), "{said}");
    }
}
