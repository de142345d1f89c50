//! The files of each NUMA node.

use super::clock::Pace;
use super::pairs::Pairs;
use super::source::{Length, ReadOutcome, Source};
use crate::parse::keyed::Dialect;
use pressure::sample::{Node, NodeAmounts};
use std::fs;
use std::path::Path;
use std::time::Duration;
use units::Bytes;

/// All nodes, by number.
#[derive(Debug)]
pub(super) struct Nodes {
    list: Vec<NodeFiles>,
    /// When `meminfo` is due; `vmstat` is read at every tick.
    pace: Pace,
}

#[derive(Debug)]
struct NodeFiles {
    id: u32,
    meminfo: Pairs,
    vmstat: Pairs,
    /// What is known without `vmstat`.
    slow: NodeAmounts,
    can_compact: bool,
    can_reclaim: bool,
}

impl Nodes {
    /// Looks for nodes under `root`, and opens their files. No directory means no nodes.
    pub(super) fn scan(root: &Path) -> Self {
        let directory = root.join("sys/devices/system/node");
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let id = |name: &str| name.strip_prefix("node")?.parse().ok();
        let ids = entries.filter_map(|entry| id(entry.file_name().to_str()?));
        let mut list: Vec<NodeFiles> = ids.map(|id| NodeFiles::open(&directory, id)).collect();
        list.sort_by_key(|node| node.id);
        Self {
            list,
            pace: Pace::every(10),
        }
    }

    /// Fills `nodes` with those that have memory.
    pub(super) fn read(&mut self, at: Duration, nodes: &mut Vec<Node>) -> ReadOutcome {
        nodes.clear();
        let slow_is_due = self.pace.is_due(at);
        let mut vanished = false;
        for node in &mut self.list {
            if slow_is_due {
                vanished |= node.read_slow() == ReadOutcome::Vanished;
            }
            if node.slow.total == Some(Bytes::ZERO) {
                continue;
            }
            let mut amounts = node.slow;
            vanished |= node.vmstat.read(&mut amounts) == ReadOutcome::Vanished;
            nodes.push(Node {
                id: node.id,
                amounts,
            });
        }
        if vanished {
            ReadOutcome::Vanished
        } else {
            ReadOutcome::Read
        }
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.list
            .iter()
            .flat_map(|node| [node.meminfo.source(), node.vmstat.source()])
    }
}

impl NodeFiles {
    fn open(directory: &Path, id: u32) -> Self {
        let directory = directory.join(format!("node{id}"));
        let file = |name| Source::open(directory.join(name), Length::One, 4096);
        Self {
            id,
            meminfo: Pairs::new(file("meminfo"), Dialect::Meminfo),
            vmstat: Pairs::new(file("vmstat"), Dialect::Vmstat),
            slow: NodeAmounts::default(),
            can_compact: directory.join("compact").exists(),
            can_reclaim: directory.join("reclaim").exists(),
        }
    }

    fn read_slow(&mut self) -> ReadOutcome {
        self.slow = NodeAmounts {
            can_compact: Some(u64::from(self.can_compact)),
            can_reclaim: Some(u64::from(self.can_reclaim)),
            ..NodeAmounts::default()
        };
        self.meminfo.read(&mut self.slow)
    }
}
