//! A process that Warmset's tool for Valgrind records.

use crate::superblock::Superblock;
use std::collections::{BTreeMap, HashMap};

/// What a process said last of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A fork that has not said anything.
    Expected,
    Runs,
    /// It becomes another program, unless that fails.
    Exec,
    Ended,
}

/// The superblocks of a process, by number.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    list: Vec<Superblock>,
    /// Those of a number beyond the list: a thread takes numbers for what it has yet to write, and what others took before a
    /// fork is never written in the new process.
    beyond: HashMap<usize, Superblock>,
}

impl Blocks {
    #[inline]
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut Superblock> {
        if number < self.list.len() {
            return self.list.get_mut(number);
        }
        self.beyond.get_mut(&number)
    }

    /// Gives a number to a superblock, which it takes from another one if that had it.
    pub(crate) fn define(&mut self, number: usize, block: Superblock) {
        if let Some(place) = self.list.get_mut(number) {
            *place = block;
            return;
        }
        self.beyond.insert(number, block);
        while let Some(next) = self.beyond.remove(&self.list.len()) {
            self.list.push(next);
        }
    }

    fn forked(&self) -> Self {
        let beyond = self.beyond.iter();
        Self {
            list: self.list.iter().map(Superblock::forked).collect(),
            beyond: beyond
                .map(|(number, block)| (*number, block.forked()))
                .collect(),
        }
    }
}

/// A process between two `exec`s, and the program that it runs.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// The address space, as the upper bits of a page's number.
    pub(crate) space: u64,
    pub(crate) program: String,
    /// The threads that run: the tool's number, and the task.
    pub(crate) threads: HashMap<u32, u16>,
    /// Threads so far.
    pub(crate) count: u32,
    pub(crate) task: u16,
    pub(crate) next_piece: u32,
    /// Words of something that has not come whole.
    pub(crate) rest: Vec<u32>,
    pub(crate) blocks: Blocks,
    /// The superblock that runs, until what follows is not of it.
    pub(crate) pending: Option<usize>,
    /// Its accesses that were to another page.
    pub(crate) made: Vec<u32>,
    /// The number of its references, if it was left before its end.
    pub(crate) left: Option<usize>,
    /// The mappings: end and name, by first address.
    pub(crate) mappings: BTreeMap<u64, (u64, String)>,
    pub(crate) stage: Stage,
}

impl Process {
    pub(crate) fn new(pid: u32) -> Self {
        Self {
            pid,
            space: 0,
            program: String::new(),
            threads: HashMap::new(),
            count: 0,
            task: 0,
            next_piece: 0,
            rest: Vec::new(),
            blocks: Blocks::default(),
            pending: None,
            made: Vec::new(),
            left: None,
            mappings: BTreeMap::new(),
            stage: Stage::Expected,
        }
    }

    pub(crate) fn forked(&self) -> Self {
        Self {
            blocks: self.blocks.forked(),
            mappings: self.mappings.clone(),
            ..Self::new(0)
        }
    }

    /// Maps over what was there.
    pub(crate) fn map(&mut self, from: u64, end: u64, name: String) {
        if from >= end {
            return;
        }
        let before = self.mappings.range(..from).next_back();
        let before = before.map(|(start, (end, name))| (*start, *end, name.clone()));
        if let Some((start, other, whose)) = before {
            if other > from {
                self.mappings.insert(start, (from, whose.clone()));
            }
            if other > end {
                self.mappings.insert(end, (other, whose));
            }
        }
        let inside: Vec<u64> = self.mappings.range(from..end).map(|(at, _)| *at).collect();
        for at in inside {
            if let Some((other, whose)) = self.mappings.remove(&at) {
                if other > end {
                    self.mappings.insert(end, (other, whose));
                }
            }
        }
        self.mappings.insert(from, (end, name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superblocks_may_come_in_any_order() {
        // A fetch of the size that is the number, so that they can be told apart.
        let block = |number: usize| Superblock::of(&[1 << 30 | number as u32]).unwrap();
        let mut blocks = Blocks::default();
        for number in [2, 1, 7, 0, 3] {
            blocks.define(number, block(number));
        }
        assert_eq!(blocks.list.len(), 4);
        let mut fork = blocks.forked();
        for number in [0, 1, 2, 3, 7] {
            let told = |block: &Superblock| format!("{block:?}");
            let expected = told(&block(number));
            assert_eq!(
                blocks.get_mut(number).map(|it| told(it)),
                Some(expected.clone())
            );
            assert_eq!(fork.get_mut(number).map(|it| told(it)), Some(expected));
        }
        assert!(blocks.get_mut(4).is_none());
    }

    #[test]
    fn what_is_mapped_over_is_gone() {
        let mut process = Process::new(1);
        for (from, end, name) in [(0, 100, "a"), (20, 40, "b"), (30, 110, "c"), (5, 5, "d")] {
            process.map(from, end, name.to_owned());
        }
        let mappings: Vec<(u64, u64, &str)> = process
            .mappings
            .iter()
            .map(|(from, (end, name))| (*from, *end, name.as_str()))
            .collect();
        assert_eq!(mappings, [(0, 20, "a"), (20, 30, "b"), (30, 110, "c")]);
    }
}
