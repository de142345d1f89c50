//! Memory of our own control group, or of the container we are in, where version 2 tells.
//!
//! The root group has none of these files; inside a container the container's group looks like the
//! root, and has them.

use super::clock::Pace;
use super::pairs::Pairs;
use super::source::{Length, ReadOutcome, Source};
use crate::parse::keyed::Dialect;
use crate::parse::mounts::{mounts, own_cgroup};
use pressure::sample::Cgroup;
use pressure::section::Section;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The files, which may all be absent.
#[derive(Debug)]
pub(super) struct OwnCgroup {
    /// Files of one number, each with the index of its field.
    numbers: Vec<(usize, Source)>,
    /// `memory.stat` and `memory.events`.
    pairs: Vec<Pairs>,
    last: Cgroup,
    pace: Pace,
}

impl OwnCgroup {
    /// Finds our group under `root`, and opens its files.
    pub(super) fn open(root: &Path) -> Self {
        let text = |path: &str| fs::read(root.join(path)).unwrap_or_default();
        let directory = own_cgroup(
            &mounts(&text("proc/self/mountinfo")),
            &text("proc/self/cgroup"),
        );
        let mut group = Self {
            numbers: Vec::new(),
            pairs: Vec::new(),
            last: Cgroup::default(),
            pace: Pace::every(1),
        };
        let Some(directory) = directory else {
            return group;
        };
        let directory = root.join(directory.strip_prefix("/").unwrap_or(&directory));
        let keyed = [
            ("memory.stat", "memory.stat."),
            ("memory.events", "memory.events."),
        ];
        let fields = Cgroup::FIELDS.iter().enumerate();
        let singles = fields.filter(|(_, field)| {
            !keyed
                .iter()
                .any(|(_, prefix)| field.name.starts_with(prefix))
        });
        let file = |name, headroom| Source::open(directory.join(name), Length::One, headroom);
        group.numbers = singles
            .map(|(index, field)| (index, file(field.name, 64)))
            .collect();
        let pairs = keyed
            .into_iter()
            .map(|(name, prefix)| Pairs::new(file(name, 4096), Dialect::Prefixed(prefix)));
        group.pairs = pairs.collect();
        group
    }

    pub(super) fn read(&mut self, at: Duration, cgroup: &mut Cgroup) -> ReadOutcome {
        let mut vanished = false;
        if self.pace.is_due(at) {
            self.last = Cgroup::default();
            for (index, source) in &mut self.numbers {
                self.last.set(*index, source.number());
            }
            for pairs in &mut self.pairs {
                vanished |= pairs.read(&mut self.last) == ReadOutcome::Vanished;
            }
        }
        *cgroup = self.last;
        if vanished {
            ReadOutcome::Vanished
        } else {
            ReadOutcome::Read
        }
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.numbers
            .iter()
            .map(|(_, source)| source)
            .chain(self.pairs.iter().map(Pairs::source))
    }
}
