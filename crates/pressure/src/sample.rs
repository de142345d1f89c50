//! One reading of the machine: everything a decision may know, and nothing else.
//!
//! A [`Sample`] is read at once and whole by `host`, is copied into the recording, and is all that
//! [`crate::decide`] sees; so a decision can always be made again from the recording. Unknown is
//! `None` everywhere. Nothing in here is derived: rates, gaps and forecasts are recomputed.

mod files;
mod parts;

pub use files::{Caches, Cgroup, Counters, Memory, Pressure, Returnable};
pub use parts::{
    Blocks, Node, NodeAmounts, Pool, PoolAmounts, Swap, SwapAmounts, SwapKind, Zone, ZoneAmounts,
    ZoneKind,
};

use crate::groups::Groups;
use crate::knob::{KnobSet, KnobStates};
use crate::protect::Warm;
use crate::scan::ProcessScan;
use crate::section::{Section, section};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Pages, Span};

/// Free lists counted by order, at most. x86-64 has 11, arm64 with 64 KiB pages 14.
pub const MAX_ORDERS: usize = 16;

/// What does not change while the machine runs; each recording opens with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Size of a base page.
    pub page_size: Bytes,
    /// Release of the running kernel, as `uname -r` prints it.
    pub kernel: String,
    /// The kernel's random name for this boot.
    pub boot_id: String,
    /// CPUs online at start.
    pub cpus: u64,
    /// Order of the huge page that a page middle directory maps; `None` without huge pages.
    pub pmd_order: Option<u32>,
    /// How control groups are mounted.
    pub cgroups: Cgroups,
    /// The container we are in, if we are in one and can tell, such as `docker` or `lxc`.
    pub container: Option<String>,
    /// Whether other users' processes are hidden from us (`hidepid` on `/proc`).
    pub hidepid: bool,
}

impl Facts {
    /// A machine of which nothing is known but that most have pages of 4 KiB.
    pub(crate) fn unknown() -> Self {
        Self {
            page_size: Bytes::kib(4),
            kernel: String::new(),
            boot_id: String::new(),
            cpus: 1,
            pmd_order: None,
            cgroups: Cgroups::Absent,
            container: None,
            hidepid: false,
        }
    }
}

/// How control groups are mounted on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cgroups {
    /// None found.
    Absent,
    /// Only the first version.
    V1,
    /// Both, with the memory controller on the first.
    Hybrid,
    /// Only the second version, or with the memory controller on it.
    V2,
}

/// One reading of the machine.
///
/// Lists keep their storage when a sample is read into again, so a steady tick allocates nothing.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// Time since boot by the monotonic clock. All rates use this.
    pub at: Span,
    /// The wall clock, to be shown; decisions must not use it.
    pub wall: Wall,
    /// Why we looked now, and what the outside world allows us.
    pub circumstances: Circumstances,
    /// `/proc/meminfo`.
    pub memory: Memory,
    /// `/proc/vmstat`.
    pub counters: Counters,
    /// `/proc/pressure/memory`.
    pub memory_pressure: Pressure,
    /// `/proc/pressure/io`.
    pub io_pressure: Pressure,
    /// `/proc/pressure/cpu`.
    pub cpu_pressure: Pressure,
    /// `/proc/sys/fs/dentry-state` and `inode-nr`.
    pub caches: Caches,
    /// Memory of our own control group, or of the container's, where version 2 tells.
    pub cgroup: Cgroup,
    /// Memory that others give back: the ZFS cache, a balloon.
    pub returnable: Returnable,
    /// The knobs: what they are, were, and what we made them.
    pub knobs: KnobStates,
    /// Files that are hot or held, as the process that locks them tells.
    #[serde(default, skip_serializing_if = "Warm::is_empty")]
    pub warm: Warm,
    /// Populated zones, in the kernel's order.
    pub zones: Vec<Zone>,
    /// NUMA nodes with memory, by number.
    pub nodes: Vec<Node>,
    /// Pools of huge pages, by size.
    pub pools: Vec<Pool>,
    /// Swap areas, in the kernel's order.
    pub swaps: Vec<Swap>,
    /// Control groups with limits that Warmset sets; empty unless there are some.
    #[serde(default, skip_serializing_if = "Groups::is_empty")]
    pub groups: Groups,
    /// The processes that hold memory; empty unless memory is short.
    #[serde(default)]
    #[serde(rename = "census")]
    pub scan: ProcessScan,
}

/// Copies reuse the lists of the target.
impl Clone for Sample {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        let Self {
            zones,
            nodes,
            pools,
            swaps,
            warm,
            ..
        } = self;
        let mut lists = (
            std::mem::take(zones),
            std::mem::take(nodes),
            std::mem::take(pools),
            std::mem::take(swaps),
        );
        let mut warm = std::mem::take(warm);
        warm.copy(&source.warm);
        let mut groups = std::mem::take(&mut self.groups);
        groups.copy(&source.groups);
        lists.0.clone_from(&source.zones);
        lists.1.clone_from(&source.nodes);
        lists.2.clone_from(&source.pools);
        lists.3.clone_from(&source.swaps);
        let mut scan = std::mem::take(&mut self.scan);
        scan.clone_from(&source.scan);
        *self = Self {
            zones: lists.0,
            nodes: lists.1,
            pools: lists.2,
            swaps: lists.3,
            scan,
            warm,
            groups,
            ..*source
        };
    }
}

/// Milliseconds since 1970 by the wall clock. It may step; it is never subtracted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Wall(pub u64);

section! {
    /// Why this sample was taken, and what stands outside the kernel's files.
    pub struct Circumstances {
        /// 1 when a pressure trigger woke us, 0 when the timer did.
        woken_by_pressure: u64 = "woken_by_pressure",
        /// 1 while the kill-switch file exists: put everything back and only look.
        disabled: u64 = "disabled",
        /// 1 while another program runs that may drive any knob: it is not known which. In older
        /// recordings, also while one runs that drives only some.
        rival_tuner: u64 = "rival_tuner",
        /// One bit for each knob that another program drives, by its place in `KNOBS`.
        rival_knobs: u64 = "rival_knobs",
        /// MemAvailable below which another guard on this machine starts killing.
        rival_floor: Bytes = "rival_floor",
        /// 1 when no knob can be written, as in a container.
        read_only: u64 = "read_only",
        /// 1 while another program that kills anywhere when memory is short runs. A killer that acts in
        /// some cgroups only is told by `Candidate::left_to_rival`.
        rival_guard: u64 = "rival_guard",
    }
}

impl Circumstances {
    /// The knobs that another program drives.
    pub fn rival_knobs(&self) -> KnobSet {
        if self.rival_tuner == Some(1) {
            return KnobSet::ALL;
        }
        KnobSet::from_bits(self.rival_knobs.unwrap_or(0))
    }
}

impl Sample {
    /// Every section in order, the lists last; the same order as [`Sample::labels`].
    pub fn sections(&self) -> impl Iterator<Item = &dyn Section> {
        let fixed: [&dyn Section; 12] = [
            &self.circumstances,
            &self.memory,
            &self.counters,
            &self.memory_pressure,
            &self.io_pressure,
            &self.cpu_pressure,
            &self.caches,
            &self.cgroup,
            &self.returnable,
            &self.knobs.now,
            &self.knobs.found,
            &self.knobs.ours,
        ];
        let zones = self
            .zones
            .iter()
            .flat_map(|zone| [&zone.amounts as &dyn Section, &zone.blocks]);
        let nodes = self.nodes.iter().map(|node| &node.amounts as &dyn Section);
        let pools = self.pools.iter().map(|pool| &pool.amounts as &dyn Section);
        let swaps = self.swaps.iter().map(|swap| &swap.amounts as &dyn Section);
        fixed
            .into_iter()
            .chain(zones)
            .chain(nodes)
            .chain(pools)
            .chain(swaps)
            .chain(self.warm.sections())
    }

    /// The same sections, to be filled.
    pub fn sections_mut(&mut self) -> impl Iterator<Item = &mut dyn Section> {
        let fixed: [&mut dyn Section; 12] = [
            &mut self.circumstances,
            &mut self.memory,
            &mut self.counters,
            &mut self.memory_pressure,
            &mut self.io_pressure,
            &mut self.cpu_pressure,
            &mut self.caches,
            &mut self.cgroup,
            &mut self.returnable,
            &mut self.knobs.now,
            &mut self.knobs.found,
            &mut self.knobs.ours,
        ];
        let zones = self
            .zones
            .iter_mut()
            .flat_map(|zone| [&mut zone.amounts as &mut dyn Section, &mut zone.blocks]);
        let nodes = self
            .nodes
            .iter_mut()
            .map(|node| &mut node.amounts as &mut dyn Section);
        let pools = self
            .pools
            .iter_mut()
            .map(|pool| &mut pool.amounts as &mut dyn Section);
        let swaps = self
            .swaps
            .iter_mut()
            .map(|swap| &mut swap.amounts as &mut dyn Section);
        fixed
            .into_iter()
            .chain(zones)
            .chain(nodes)
            .chain(pools)
            .chain(swaps)
            .chain(self.warm.sections_mut())
    }

    /// What each section is called in a recording, such as `meminfo`, `zone.0.Normal`, `hugepages.2097152`.
    pub fn labels(&self) -> Vec<String> {
        let fixed = [
            "guard",
            "meminfo",
            "vmstat",
            "psi.memory",
            "psi.io",
            "psi.cpu",
            "caches",
            "cgroup",
            "returnable",
            "knob.now",
            "knob.found",
            "knob.ours",
        ];
        let mut labels: Vec<String> = fixed.map(str::to_owned).to_vec();
        for zone in &self.zones {
            labels.push(format!("zone.{}.{}", zone.node, zone.kind.name()));
            labels.push(format!("buddy.{}.{}", zone.node, zone.kind.name()));
        }
        labels.extend(self.nodes.iter().map(|node| format!("node.{}", node.id)));
        labels.extend(
            self.pools
                .iter()
                .map(|pool| format!("hugepages.{}", pool.size.get())),
        );
        labels.extend(self.swaps.iter().enumerate().map(|(index, swap)| {
            let kind = match swap.kind {
                SwapKind::Partition => "partition",
                SwapKind::File => "file",
                SwapKind::Zram => "zram",
            };
            format!("swap.{index}.{kind}")
        }));
        labels.extend(Warm::labels());
        labels
    }

    /// Whether both have the same zones, nodes, pools and swap areas, so that columns line up.
    pub fn same_shape(&self, other: &Self) -> bool {
        let zone = |zone: &Zone| (zone.node, zone.kind);
        self.zones.iter().map(zone).eq(other.zones.iter().map(zone))
            && self
                .nodes
                .iter()
                .map(|node| node.id)
                .eq(other.nodes.iter().map(|node| node.id))
            && self
                .pools
                .iter()
                .map(|pool| pool.size)
                .eq(other.pools.iter().map(|pool| pool.size))
            && self
                .swaps
                .iter()
                .map(|swap| swap.kind)
                .eq(other.swaps.iter().map(|swap| swap.kind))
    }

    /// Time since `earlier`; zero if the samples are out of order.
    pub fn since(&self, earlier: &Self) -> Duration {
        self.at.get().saturating_sub(earlier.at.get())
    }

    /// Pages the page allocator manages in all zones; `None` if any zone does not say.
    pub fn managed(&self) -> Option<Pages> {
        if self.zones.is_empty() {
            return None;
        }
        self.zones.iter().map(|zone| zone.amounts.managed).sum()
    }
}
