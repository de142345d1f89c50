//! What this kernel offers, and what each absence costs.
//!
//! Found by looking at files: never by version, since distributions carry patches back, and never by
//! writing. Looked up in the sources of 6.1, 6.12 and 7.3 in November 2026.

use serde::Serialize;
use std::fs;
use std::path::Path;

/// A feature that a kernel may have.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Feature {
    /// Its name.
    pub name: &'static str,
    /// Whether this kernel has it.
    pub presence: Presence,
    /// The first release that has it, where configured.
    pub since: &'static str,
    /// Where in the kernel it is.
    pub source: &'static str,
    /// What it gives us.
    pub gives: &'static str,
    /// What its absence costs, and what we do instead.
    pub without: &'static str,
}

/// Whether a feature is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// It is.
    Present,
    /// It is not.
    Absent,
    /// Looking does not tell.
    Unknown,
}

/// How to look.
enum Look {
    /// Any of these paths is there.
    File(&'static [&'static str]),
    /// The file has this text.
    Text(&'static str, &'static str),
    /// The file can be read: the kernel refuses while it is switched off.
    Readable(&'static str),
    /// Only a call would tell.
    CallOnly,
}

struct Row(
    &'static str,
    Look,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    Row("pressure stall information", Look::Readable("proc/pressure/memory"), "4.20", "kernel/sched/psi.c",
        "time lost to memory; the wake-up when it is lost", "the timer alone wakes us; harm is judged by stalls (boot with psi=1)"),
    Row("watermark scale factor", Look::File(&["proc/sys/vm/watermark_scale_factor"]), "4.6", "mm/page_alloc.c",
        "the gap that absorbs bursts", "the gap cannot be driven: we only observe it"),
    Row("watermark boost", Look::File(&["proc/sys/vm/watermark_boost_factor"]), "5.0", "mm/page_alloc.c",
        "boost kept to its bytes while the gap is raised", "nothing: there is no boost to keep"),
    Row("proactive compaction", Look::File(&["proc/sys/vm/compaction_proactiveness"]), "5.9", "mm/compaction.c",
        "compaction in the background, the gentlest kind", "only whole nodes can be compacted, at most once a minute"),
    Row("compaction of a node", Look::File(&["sys/devices/system/node/node0/compact"]), "3.2", "mm/compaction.c",
        "compaction of one node at once", "no compaction of one node"),
    Row("reclaim from a node", Look::File(&["sys/devices/system/node/node0/reclaim"]), "6.17", "mm/vmscan.c",
        "reclaim starts when the gap is raised", "kswapd starts at the next slow allocation"),
    Row("reclaim counters of a node", Look::Text("sys/devices/system/node/node0/vmstat", "pgsteal_kswapd"), "7.0", "mm/vmstat.c",
        "demand per node", "demand of the whole machine"),
    Row("free memory in whole blocks", Look::Text("proc/vmstat", "nr_free_pages_blocks"), "6.16", "mm/page_alloc.c",
        "fragmentation in one number", "fragmentation from the free lists"),
    Row("multi-gen LRU", Look::File(&["sys/kernel/mm/lru_gen/enabled"]), "6.1", "mm/vmscan.c",
        "ages of pages", "the classic lists: no ages"),
    Row("memory control, version 2", Look::Text("sys/fs/cgroup/cgroup.controllers", "memory"), "4.5", "mm/memcontrol.c",
        "memory.min for units that must answer, memory.high before a runaway is killed", "no floors by unit, and no unit is throttled before a kill"),
    Row("proactive reclaim of a group", Look::File(&["sys/fs/cgroup/init.scope/memory.reclaim", "sys/fs/cgroup/system.slice/memory.reclaim"]), "5.19", "mm/memcontrol.c",
        "`warmset size` takes from a unit what it does not use", "`warmset size` counts accessed bits"),
    Row("kill of a group", Look::File(&["sys/fs/cgroup/init.scope/cgroup.kill", "sys/fs/cgroup/system.slice/cgroup.kill"]), "5.14", "kernel/cgroup/cgroup.c",
        "one kill for a whole unit", "kills one process at a time"),
    Row("transparent huge pages", Look::File(&["sys/kernel/mm/transparent_hugepage/enabled"]), "2.6.38", "mm/huge_memory.c",
        "demand for huge pages is seen", "no demand for huge pages"),
    Row("pools of huge pages", Look::File(&["sys/kernel/mm/hugepages"]), "2.6.27", "mm/hugetlb.c",
        "pools are left out of memory to manage", "nothing: there are none"),
    Row("count of negative dentries", Look::File(&["proc/sys/fs/dentry-state"]), "5.0", "fs/dcache.c",
        "negative dentries are counted", "they cannot be capped"),
    Row("switch for negative dentries", Look::File(&["proc/sys/fs/dentry-negative"]), "6.16", "fs/dcache.c",
        "the gentle cap on them", "the cap works by vm.vfs_cache_pressure"),
    Row("limit of negative dentries", Look::File(&["proc/sys/fs/negative-dentry-limit"]), "Oracle UEK only", "fs/dcache.c",
        "the kernel's own cap on them", "the cap works by other means"),
    Row("fine cache pressure", Look::File(&["proc/sys/vm/vfs_cache_pressure_denom"]), "6.16", "fs/dcache.c",
        "finer steps of vm.vfs_cache_pressure", "steps of a hundredth"),
    Row("defrag mode", Look::File(&["proc/sys/vm/defrag_mode"]), "6.15", "mm/page_alloc.c",
        "respected; set it at boot", "nothing"),
    Row("DAMON", Look::File(&["sys/kernel/mm/damon/admin"]), "5.15", "mm/damon/",
        "access patterns", "no access patterns"),
    Row("DAMON reclaim", Look::File(&["sys/module/damon_reclaim/parameters/enabled"]), "5.16", "mm/damon/reclaim.c",
        "noticed, and left alone", "nothing"),
    Row("zswap", Look::File(&["sys/module/zswap/parameters/enabled"]), "3.11", "mm/zswap.c",
        "noticed", "nothing"),
    Row("working-set protection", Look::File(&["proc/sys/vm/workingset_protection", "proc/sys/vm/anon_min_ratio", "proc/sys/vm/clean_low_ratio"]), "patched kernels", "mm/vmscan.c",
        "a floor under file pages in the kernel, driven from what thrashes", "protection by locks alone"),
    Row("BTF", Look::File(&["sys/kernel/btf/vmlinux"]), "5.4", "kernel/bpf/btf.c", "tracing without headers", "nothing yet"),
    Row("idle page tracking", Look::File(&["sys/kernel/mm/page_idle/bitmap"]), "4.3", "mm/page_idle.c", "exact ages of pages", "nothing yet"),
    Row("tracepoints of the page cache", Look::File(&["sys/kernel/tracing/events/filemap", "sys/kernel/debug/tracing/events/filemap"]), "3.12", "include/trace/events/filemap.h",
        "files that thrash are learned", "nothing is learned, and nothing held"),
    Row("cachestat", Look::CallOnly, "6.5", "mm/filemap.c",
        "what is dirty and what was evicted of files, in `warmset files` and `warmset top`", "`warmset files` shows only what is resident"),
    Row("pidfd", Look::CallOnly, "5.3", "kernel/pid.c", "a signal reaches the process that was meant, and no other", "no process is killed"),
    Row("process_mrelease", Look::CallOnly, "5.15", "mm/oom_kill.c",
        "memory of a killed process back although it is stuck or frozen", "it frees its memory itself"),
];

/// What the kernel at `root` offers, in the order of use.
pub fn features(root: &Path) -> Vec<Feature> {
    let feature = |Row(name, look, since, source, gives, without): &Row| {
        let presence = look.at(root);
        Feature {
            name,
            presence,
            since,
            source,
            gives,
            without,
        }
    };
    TABLE.iter().map(feature).collect()
}

impl Look {
    fn at(&self, root: &Path) -> Presence {
        let here = |here| {
            if here {
                Presence::Present
            } else {
                Presence::Absent
            }
        };
        match self {
            Self::File(paths) => here(paths.iter().any(|path| root.join(path).exists())),
            Self::Readable(path) => here(fs::read(root.join(path)).is_ok()),
            Self::Text(path, text) => match fs::read_to_string(root.join(path)) {
                Ok(whole) => here(whole.contains(text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Presence::Absent,
                Err(_) => Presence::Unknown,
            },
            Self::CallOnly => Presence::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presence(root: &Path, name: &str) -> Presence {
        features(root)
            .into_iter()
            .find(|feature| feature.name == name)
            .unwrap()
            .presence
    }

    #[test]
    fn a_feature_is_found_by_its_file_or_its_text() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures/firecracker-6.18-hybrid-cgroup");
        assert_eq!(
            presence(&fixture, "watermark scale factor"),
            Presence::Present
        );
        assert_eq!(
            presence(&fixture, "free memory in whole blocks"),
            Presence::Present
        );
        assert_eq!(
            presence(&fixture, "pressure stall information"),
            Presence::Present
        );
        assert_eq!(
            presence(&fixture, "limit of negative dentries"),
            Presence::Absent
        );
        assert_eq!(presence(&fixture, "cachestat"), Presence::Unknown);
    }

    #[test]
    fn an_empty_machine_offers_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            features(dir.path())
                .iter()
                .all(|feature| feature.presence != Presence::Present)
        );
    }
}
