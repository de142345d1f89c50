//! Memory of our own control group, or of the container we are in, where version 2 tells.
//!
//! The root group has none of these files; inside a container the container's group looks like the
//! root, and has them.

use super::pairs::Pairs;
use super::{Pace, read_number};
use crate::parse::keyed::Dialect;
use crate::parse::mounts::{mounts, own_cgroup};
use crate::source::{Length, Outcome, Source};
use pressure::sample::Cgroup;
use pressure::section::Section;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The files, which may all be absent.
#[derive(Debug)]
pub(super) struct Group {
    /// Files of one number, each with the index of its field.
    numbers: Vec<(usize, Source)>,
    /// `memory.stat` and `memory.events`.
    pairs: Vec<Pairs>,
    last: Cgroup,
    pace: Pace,
}

impl Group {
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

    pub(super) fn read(&mut self, at: Duration, cgroup: &mut Cgroup) -> Outcome {
        let mut vanished = false;
        if self.pace.is_due(at) {
            self.last = Cgroup::default();
            for (index, source) in &mut self.numbers {
                self.last.set(*index, read_number(source));
            }
            for pairs in &mut self.pairs {
                vanished |= pairs.read(&mut self.last) == Outcome::Vanished;
            }
        }
        *cgroup = self.last;
        if vanished {
            Outcome::Vanished
        } else {
            Outcome::Read
        }
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.numbers
            .iter()
            .map(|(_, source)| source)
            .chain(self.pairs.iter().map(Pairs::source))
    }
}
