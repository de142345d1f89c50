//! The kernel's counters at one moment, and what they grew by until another.

use crate::clock;
use std::collections::BTreeMap;
use std::fs;

/// Names in `/proc/vmstat` that count, not tell a level.
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
/// These levels begin like counters.
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

    /// What grew until `later`; a counter that did not is zero, so that absent means unknown.
    pub(crate) fn until(&self, later: &Self) -> BTreeMap<String, i64> {
        let grown = |(name, after): (&String, &i64)| {
            self.counts
                .get(name)
                .map(|before| (name.clone(), after - before))
        };
        later.counts.iter().filter_map(grown).collect()
    }

    /// Processor time until `later`, in milliseconds.
    pub(crate) fn cpu_until(&self, later: &Self) -> BTreeMap<String, f64> {
        let grown = |(name, after): (&String, &f64)| {
            (
                name.clone(),
                after - self.cpu.get(name).copied().unwrap_or_default(),
            )
        };
        later.cpu.iter().map(grown).collect()
    }
}

fn vmstat(counts: &mut BTreeMap<String, i64>) {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    for (name, value) in lines {
        if COUNTED.iter().any(|prefix| name.starts_with(prefix)) && !LEVELS.contains(&name) {
            counts.extend(value.parse().ok().map(|value| (name.to_owned(), value)));
        }
    }
}

/// `psi_memory_some_us` and so on.
fn pressure(counts: &mut BTreeMap<String, i64>) {
    for resource in ["memory", "io", "cpu"] {
        let text = fs::read_to_string(format!("/proc/pressure/{resource}")).unwrap_or_default();
        for line in text.lines() {
            let (kind, total) = (
                line.split(' ').next().unwrap_or_default(),
                line.rsplit("total=").next(),
            );
            let total = total.and_then(|total| total.parse().ok());
            counts.extend(total.map(|total| (format!("psi_{resource}_{kind}_us"), total)));
        }
    }
}

/// `vdb_sectors_read` and so on, from `/proc/diskstats`.
fn disks(counts: &mut BTreeMap<String, i64>) {
    let text = fs::read_to_string("/proc/diskstats").unwrap_or_default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (Some(name), Some(read), Some(written)) = (fields.get(2), fields.get(5), fields.get(9))
        else {
            continue;
        };
        if name.starts_with("vd") || name.starts_with("zram") {
            counts.extend(
                read.parse()
                    .ok()
                    .map(|value| (format!("{name}_sectors_read"), value)),
            );
            counts.extend(
                written
                    .parse()
                    .ok()
                    .map(|value| (format!("{name}_sectors_written"), value)),
            );
        }
    }
}

/// Processor time of the kernel's reclaimers and of the arms' programs, by name; nohang is a script of python3's.
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
        let name = head.split_once('(').map_or("", |(_, name)| name);
        let Some(known) = NAMES.iter().find(|known| name.starts_with(**known)) else {
            continue;
        };
        let fields: Vec<f64> = tail
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse().ok())
            .collect();
        *sums.entry((*known).to_owned()).or_insert(0.0) += fields.iter().sum::<f64>() * TICK_MS;
    }
    sums
}
