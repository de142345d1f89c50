//! The machine of a situation.

use super::{Size, Speed, Time};
use serde::Deserialize;
use units::Bytes;

/// What the machine is made of, and what holds memory besides programs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[allow(
    clippy::struct_excessive_bools,
    reason = "what a machine lacks is independent"
)]
pub struct Machine {
    /// Memory that the kernel manages.
    pub memory: Size,
    /// CPUs.
    #[serde(default = "four")]
    pub processors: u32,
    /// Size of a base page.
    #[serde(default = "page_size")]
    pub page_size: Size,
    /// NUMA nodes with memory, all alike.
    #[serde(default = "one")]
    pub nodes: u32,
    /// NUMA nodes without memory: `/sys` names them first, and they have no zones.
    #[serde(default)]
    pub nodes_without_memory: u32,
    /// Memory of the kernel that it cannot give back.
    #[serde(default = "kernel_memory")]
    pub kernel_memory: Size,
    /// Memory of the kernel that it can give back.
    #[serde(default)]
    pub kernel_reclaimable: Size,
    /// File cache at the start.
    #[serde(default)]
    pub cache: Cache,
    /// Of the idle file cache, so much has to be written first.
    #[serde(default)]
    pub dirty: Size,
    /// Swap areas, in the order of their priority.
    #[serde(default)]
    pub swap: Vec<Swap>,
    /// The cache of ZFS.
    #[serde(default)]
    pub arc: Option<Arc>,
    /// Contiguous-memory areas.
    #[serde(default)]
    pub cma: Option<Cma>,
    /// A pool of huge pages.
    #[serde(default)]
    pub huge_pages: Option<HugePages>,
    /// A balloon.
    #[serde(default)]
    pub balloon: Option<Balloon>,
    /// How fast single pages of files are read.
    #[serde(default = "disk_reads")]
    pub disk_reads: Speed,
    /// How fast dirty pages are written.
    #[serde(default = "disk_writes")]
    pub disk_writes: Speed,
    /// `min_ttl_ms` of the Multi-Gen LRU, as the distribution sets it.
    #[serde(default)]
    pub min_ttl: Option<Time>,
    /// Memory that goes away while the machine runs.
    #[serde(default)]
    pub unplug: Option<Unplug>,
    /// Another guard runs.
    #[serde(default)]
    pub rival: Option<Rival>,
    /// Whether the kernel tells pressure.
    #[serde(default = "yes")]
    pub psi: bool,
    /// Whether other processes can be seen in `/proc`.
    #[serde(default = "yes")]
    pub processes_visible: bool,
    /// Whether the counters of `/proc/vmstat` and of pressure move.
    #[serde(default = "yes")]
    pub counters_move: bool,
    /// Whether the files of users' cgroups can be written. Without it their processes are killed one by
    /// one, and no unit of theirs is throttled or frozen.
    #[serde(default = "yes")]
    pub user_units_writable: bool,
}

/// File cache.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cache {
    /// All of it.
    pub size: Size,
    /// Of it, in use.
    #[serde(default)]
    pub in_use: Size,
    /// How much of the part in use is touched a second. What was evicted has to be read from disk.
    #[serde(default)]
    pub touches: Speed,
}

/// A swap area.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Swap {
    /// What is behind it.
    pub kind: SwapKind,
    /// Its size.
    pub size: Size,
    /// How fast pages are written and read, one at a time.
    #[serde(default = "disk_reads")]
    pub speed: Speed,
    /// How many bytes zram keeps in one.
    #[serde(default = "ratio")]
    pub ratio: f64,
    /// So much of it is used at the start, by memory that nobody touches.
    #[serde(default)]
    pub used: Size,
}

/// What is behind a swap area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwapKind {
    /// A partition of a disk.
    Disk,
    /// A file.
    File,
    /// Compressed memory.
    Zram,
}

/// The cache of ZFS.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Arc {
    /// Its size at the start.
    pub size: Size,
    /// What it keeps in any case.
    pub least: Size,
}

/// Contiguous-memory areas, all free at the start.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cma {
    /// Their size.
    pub size: Size,
}

/// A pool of huge pages. Nothing else may use it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HugePages {
    /// Size of the whole pool at the start.
    pub size: Size,
    /// Size of one page.
    #[serde(default = "huge_page")]
    pub page: Size,
}

/// A balloon that the host of a virtual machine inflates.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Balloon {
    /// Its size at the start.
    pub size: Size,
    /// It grows to this size.
    #[serde(default)]
    pub to: Size,
    /// How fast it grows.
    #[serde(default)]
    pub grows: Speed,
    /// Whether it gives memory back before the kernel OOM-kills.
    #[serde(default)]
    pub deflates: bool,
}

/// Memory that goes away.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Unplug {
    /// When.
    pub at: Time,
    /// How much.
    pub amount: Size,
}

/// Another guard.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rival {
    /// It kills the process that the kernel would kill, once available memory and free swap are both
    /// below so much. Without it the rival only watches.
    #[serde(default)]
    pub floor: Option<Size>,
    /// The cgroups that it acts in; everywhere if there are none.
    #[serde(default)]
    pub cgroups: Vec<String>,
}

fn four() -> u32 {
    4
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

fn page_size() -> Size {
    Size(Bytes::kib(4))
}

fn huge_page() -> Size {
    Size(Bytes::mib(2))
}

/// An ordinary kernel with its drivers.
fn kernel_memory() -> Size {
    Size(Bytes::mib(300))
}

/// Single pages of an ordinary solid-state disk behind a file system.
fn disk_reads() -> Speed {
    Speed(Bytes::mib(200))
}

fn disk_writes() -> Speed {
    Speed(Bytes::mib(300))
}

/// What zstd and lzo-rle reach on memory of desktop programs.
fn ratio() -> f64 {
    3.0
}
