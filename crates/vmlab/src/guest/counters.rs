//! The kernel's counters at one moment, and what they grew by until another.

use crate::clock;
use std::collections::BTreeMap;
use std::fs;

/// Prefixes of names in `/proc/vmstat` that are counts and not levels.
const COUNTED: &[&str] = &[
    "allocstall_",
    "compact_",
    "workingset_",
    "pgscan",
    "pgsteal",
    "pgfault",
    "pgmajfault",
    "pgpg",
    "pswp",
    "pgalloc",
    "pgfree",
    "oom_kill",
    "kswapd_",
    "pageoutrun",
    "thp_",
    "pgrotated",
    "pgrefill",
    "pgactivate",
    "pgdeactivate",
    "zswp",
    "slabs_scanned",
    "pgdemote",
    "pgpromote",
    "wsp_",
];
/// Levels with such a prefix.
const LEVELS: &[&str] = &["workingset_nodes"];
/// The kernel's clock ticks in `/proc/PID/stat`, 100 a second.
const TICK_MS: f64 = 10.0;

/// Counters at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Milliseconds since boot.
    pub(crate) at: f64,
    counts: BTreeMap<String, i64>,
    cpu: BTreeMap<String, f64>,
}

impl Snapshot {
    /// Reads them all.
    pub(crate) fn take() -> Self {
        let mut counts = BTreeMap::new();
        vmstat(&mut counts);
        pressure(&mut counts);
        disks(&mut counts);
        Self {
            at: clock::now(),
            counts,
            cpu: cpu(),
        }
    }

    /// How much each counter grew until `later`. One that did not grow is zero, so that an absent one is unknown.
    pub(crate) fn until(&self, later: &Self) -> BTreeMap<String, i64> {
        let mut grown = BTreeMap::new();
        for (name, after) in &later.counts {
            if let Some(before) = self.counts.get(name) {
                grown.insert(name.clone(), after - before);
            }
        }
        grown
    }

    /// CPU time until `later`, in milliseconds. A program that was not there before has used none.
    pub(crate) fn cpu_until(&self, later: &Self) -> BTreeMap<String, f64> {
        let mut grown = BTreeMap::new();
        for (name, after) in &later.cpu {
            let before = self.cpu.get(name).copied().unwrap_or_default();
            grown.insert(name.clone(), after - before);
        }
        grown
    }
}

fn vmstat(counts: &mut BTreeMap<String, i64>) {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(' ') else {
            continue;
        };
        let is_count = COUNTED.iter().any(|prefix| name.starts_with(prefix));
        if is_count && !LEVELS.contains(&name) {
            insert(counts, name, value);
        }
    }
}

/// Adds a counter, if its value is a number.
fn insert(counts: &mut BTreeMap<String, i64>, name: &str, value: &str) {
    if let Ok(value) = value.parse() {
        counts.insert(name.to_owned(), value);
    }
}

/// `psi_memory_some_us` and so on.
fn pressure(counts: &mut BTreeMap<String, i64>) {
    for resource in ["memory", "io", "cpu"] {
        let text = fs::read_to_string(format!("/proc/pressure/{resource}")).unwrap_or_default();
        for line in text.lines() {
            let kind = line.split(' ').next().unwrap_or_default();
            let total = line.rsplit("total=").next().unwrap_or_default();
            insert(counts, &format!("psi_{resource}_{kind}_us"), total);
        }
    }
}

/// `vdb_sectors_read` and so on, from `/proc/diskstats`.
fn disks(counts: &mut BTreeMap<String, i64>) {
    let text = fs::read_to_string("/proc/diskstats").unwrap_or_default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[_, _, name, _, _, read, _, _, _, written, ..] = fields.as_slice() else {
            continue;
        };
        if name.starts_with("vd") || name.starts_with("zram") {
            insert(counts, &format!("{name}_sectors_read"), read);
            insert(counts, &format!("{name}_sectors_written"), written);
        }
    }
}

/// CPU time of the kernel's reclaimers and of the arms' programs, by name. nohang runs as python3.
fn cpu() -> BTreeMap<String, f64> {
    const NAMES: &[&str] = &[
        "kswapd",
        "kcompactd",
        "warmsetd",
        "warmset-hold",
        "warmset-local",
        "earlyoom",
        "python3",
        "khugepaged",
    ];
    let mut sums = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let Some((head, tail)) = stat.rsplit_once(") ") else {
            continue;
        };
        let Some((_, name)) = head.split_once('(') else {
            continue;
        };
        let Some(known) = NAMES.iter().find(|known| name.starts_with(**known)) else {
            continue;
        };
        // utime and stime.
        let fields = tail.split_whitespace().skip(11).take(2);
        let ticks: f64 = fields.filter_map(|field| field.parse::<f64>().ok()).sum();
        let sum = sums.entry((*known).to_owned()).or_insert(0.0);
        *sum += ticks * TICK_MS;
    }
    sums
}
