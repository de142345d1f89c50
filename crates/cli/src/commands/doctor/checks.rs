//! The checks, each a function of the case. One more is a function and a line in [`CHECKS`].
//!
//! Limits: reasons and remedies as in the kernel's `Documentation/admin-guide/sysctl/vm.rst` and
//! `mm/transhuge.rst`, unless a check says otherwise.

use super::{Case, Finding};
use host::RivalKind;
use pressure::knob::Knob;
use pressure::sample::{Cgroups, SwapKind};
use pressure::watermark;
use units::{Bytes, Pages, Percent};

/// A look at one thing; nothing where it does not apply.
type Check = fn(&Case) -> Vec<Finding>;

/// All checks, in the order in which findings of one level are shown.
pub(super) const CHECKS: &[Check] = &[
    rivals,
    unreadable,
    refused,
    pressure,
    permission,
    container,
    hidepid,
    cgroups,
    min_free,
    dead_zone,
    boost,
    swap,
    zram,
    swappiness,
    overcommit,
    huge_pages,
    zone_reclaim,
    dirty,
];

impl Case {
    fn knob(&self, knob: Knob) -> Option<u64> {
        self.glance.sample.knobs.now.of(knob)
    }

    fn memory(&self) -> Option<Bytes> {
        self.glance.sample.memory.total
    }
}

fn rivals(case: &Case) -> Vec<Finding> {
    let rivals = &case.glance.rivals;
    if rivals.is_empty() {
        return vec![Finding::ok("nothing else tunes or guards memory here")];
    }
    let finding = |rival: &host::Rival| match rival.kind {
        RivalKind::Tuner => Finding::problem(
            rival.to_string(),
            "Two programs on one knob undo each other's work, and neither learns what its own did.",
            format!(
                "Stop one of them: systemctl disable --now {}, or warmsetd.",
                rival.name
            ),
        ),
        RivalKind::Guard => Finding::advice(
            rival.to_string(),
            "Two that end processes would both do it for the same shortage, so warmsetd ends nobody while it runs.",
            format!(
                "Nothing, if that is wanted. To take over: {}.",
                take_over(&rival.name)
            ),
        ),
        RivalKind::Damon => Finding::advice(
            rival.to_string(),
            "It reclaims by its own rules, so demand is seen with its work in it.",
            "Nothing, if that is wanted.",
        ),
        RivalKind::Sysctl => Finding::advice(
            rival.to_string(),
            "A fixed value was chosen by hand; the guard starts from it and never goes below.",
            "Delete the line to leave the knob to the guard.",
        ),
    };
    rivals.iter().map(finding).collect()
}

/// The commands by which warmsetd does what another guard did. To act takes a restart, as a reload may only lower the mode.
fn take_over(name: &str) -> String {
    let import = if crate::import::knows(name) {
        format!("warmset import {name} -o /etc/warmset/conf.d/50-{name}.toml")
    } else {
        "set mode = \"guard\" in /etc/warmset/warmset.toml".to_owned()
    };
    format!("{import}; systemctl disable --now {name}; systemctl restart warmsetd")
}

fn unreadable(case: &Case) -> Vec<Finding> {
    let finding = |error: &String| {
        Finding::problem(
            error.as_str(),
            "What cannot be read is unknown to every decision.",
            "See whether the kernel or a sandbox withholds it.",
        )
    };
    case.glance.warnings.iter().map(finding).collect()
}

fn refused(case: &Case) -> Vec<Finding> {
    // Who is not root may not be allowed to look at all that the guard does.
    let finding = |what: &String| {
        Finding::problem(
            what.as_str(),
            "The guard does not start with such a configuration, and a running one keeps the old.",
            "warmset check, until it says ok.",
        )
    };
    case.settings
        .refused
        .iter()
        .filter(|_| case.root)
        .map(finding)
        .collect()
}

fn pressure(case: &Case) -> Vec<Finding> {
    if case.glance.sample.memory_pressure.some_total.is_some() {
        return vec![Finding::ok("the kernel accounts for pressure (PSI)")];
    }
    vec![Finding::problem(
        "the kernel does not account for pressure (PSI)",
        "Without it no one knows how long tasks wait for memory, and the guard is not woken when they do: it looks at \
         times of its own choice.",
        "Boot with psi=1; the kernel needs CONFIG_PSI.",
    )]
}

fn permission(case: &Case) -> Vec<Finding> {
    if case.root {
        return Vec::new();
    }
    vec![Finding::advice(
        "this was not run by root",
        "Processes and files of others may be hidden from it, and so may a rival.",
        "sudo warmset doctor.",
    )]
}

fn container(case: &Case) -> Vec<Finding> {
    let Some(name) = &case.glance.facts.container else {
        return Vec::new();
    };
    vec![Finding::advice(
        format!("there are marks of a container ({name})"),
        "In a container the numbers are the host's, and so are the knobs: a guard there can only look.",
        "Run the guard on the host.",
    )]
}

fn hidepid(case: &Case) -> Vec<Finding> {
    if !case.glance.facts.hidepid {
        return Vec::new();
    }
    vec![Finding::advice(
        "processes of others are hidden (hidepid on /proc)",
        "Other guards and tuners cannot be seen by anyone but root.",
        "Run the guard as root, as the package does.",
    )]
}

fn cgroups(case: &Case) -> Vec<Finding> {
    let what = match case.glance.facts.cgroups {
        Cgroups::V2 => return vec![Finding::ok("control groups are of version 2")],
        Cgroups::Hybrid => "the memory controller is on version 1 of control groups",
        Cgroups::V1 => "only version 1 of control groups is mounted",
        Cgroups::Absent => "no control groups are mounted",
    };
    vec![Finding::advice(
        what,
        "Pressure, protection and limits of single services need version 2.",
        "Boot with systemd.unified_cgroup_hierarchy=1.",
    )]
}

fn min_free(case: &Case) -> Vec<Finding> {
    let (Some(kilobytes), Some(memory)) = (case.knob(Knob::MinFreeKbytes), case.memory()) else {
        return Vec::new();
    };
    let reserve = Bytes::kib(kilobytes);
    let share = reserve.share_of(memory).unwrap_or_default();
    if share <= Percent::new(5) {
        return vec![Finding::ok(format!(
            "vm.min_free_kbytes reserves {reserve} ({share} of memory)"
        ))];
    }
    vec![Finding::problem(
        format!("vm.min_free_kbytes reserves {reserve}, {share} of memory"),
        "That memory is for the kernel's emergencies only: below it every allocation reclaims for itself, and much \
         more of it brings the OOM killer.",
        "Take the line out of sysctl.d and reboot: the kernel then sizes it itself. A gap above it is the guard's work.",
    )]
}

fn dead_zone(case: &Case) -> Vec<Finding> {
    let (sample, page_size) = (&case.glance.sample, case.glance.facts.page_size);
    let factor = case.knob(Knob::WatermarkScaleFactor);
    let (Some(factor), Some(least)) = (factor, watermark::least_effective(sample, page_size))
    else {
        return Vec::new();
    };
    if factor >= least {
        return vec![Finding::ok(format!(
            "vm.watermark_scale_factor = {factor} sets the gap"
        ))];
    }
    let gap = watermark::observed_gap(sample, page_size)
        .map(|gap| format!(": {gap}"))
        .unwrap_or_default();
    vec![Finding::advice(
        format!("vm.watermark_scale_factor = {factor} has no effect on this machine"),
        format!("Below {least} the gap comes from vm.min_free_kbytes alone{gap}."),
        "Nothing while the guard runs: it takes the factor that the demand needs. Without it, set more than that.",
    )]
}

/// The kernel may raise the high watermark by this factor, in 1/10000, after fragmentation.
const USUAL_BOOST: u64 = 15_000;

fn boost(case: &Case) -> Vec<Finding> {
    let Some(factor) = case.knob(Knob::WatermarkBoostFactor) else {
        return Vec::new();
    };
    let high: Option<Pages> = case
        .glance
        .sample
        .zones
        .iter()
        .map(|zone| zone.amounts.high)
        .sum();
    let most = high.map(|high| {
        high.to_bytes(case.glance.facts.page_size)
            .scaled(factor, 10_000)
    });
    let share = most
        .zip(case.memory())
        .and_then(|(most, memory)| most.share_of(memory));
    let is_high = factor > USUAL_BOOST || share.is_some_and(|share| share > Percent::new(10));
    if !is_high {
        return vec![Finding::ok(format!("vm.watermark_boost_factor = {factor}"))];
    }
    let most = most
        .map(|most| format!(" up to {most}"))
        .unwrap_or_default();
    vec![Finding::advice(
        format!("vm.watermark_boost_factor = {factor}"),
        format!(
            "After fragmentation kswapd reclaims{most} beyond the high watermark at once, read again later."
        ),
        format!(
            "vm.watermark_boost_factor = {USUAL_BOOST} is the kernel's own; 0 switches it off."
        ),
    )]
}

fn swap(case: &Case) -> Vec<Finding> {
    match case.glance.sample.memory.swap_total {
        Some(Bytes::ZERO) => vec![Finding::advice(
            "there is no swap",
            "What programs have written and no longer use stays in memory, so only files can be evicted, programs' code \
             among them; pressure builds late and steeply.",
            "A swap file of a few GiB, or zram.",
        )],
        Some(size) => vec![Finding::ok(format!("there is swap: {size}"))],
        None => Vec::new(),
    }
}

fn zram(case: &Case) -> Vec<Finding> {
    let has_zram = case
        .glance
        .sample
        .swaps
        .iter()
        .any(|swap| swap.kind == SwapKind::Zram);
    match case.knob(Knob::PageCluster) {
        Some(cluster) if has_zram && cluster > 0 => vec![Finding::advice(
            format!("swap is on zram, and vm.page-cluster = {cluster}"),
            format!(
                "Each page wanted is read with {} neighbours: that pays on a disk, here it decompresses in vain.",
                (1u64 << cluster.min(10)) - 1
            ),
            "vm.page-cluster = 0.",
        )],
        _ => Vec::new(),
    }
}

fn swappiness(case: &Case) -> Vec<Finding> {
    let has_swap = case
        .glance
        .sample
        .memory
        .swap_total
        .is_some_and(|size| size > Bytes::ZERO);
    match case.knob(Knob::Swappiness) {
        Some(0) if has_swap => vec![Finding::advice(
            "vm.swappiness = 0 while there is swap",
            "Swap is used only when files are almost all evicted: by then the machine has long been reading them again.",
            "10 for a disk, 60 by default, up to 180 for zram.",
        )],
        Some(swappiness) => vec![Finding::ok(format!("vm.swappiness = {swappiness}"))],
        None => Vec::new(),
    }
}

fn overcommit(case: &Case) -> Vec<Finding> {
    let memory = &case.glance.sample.memory;
    match case.settings.overcommit {
        Some(0) => vec![Finding::ok(
            "vm.overcommit_memory = 0: promises are weighed",
        )],
        Some(1) => vec![Finding::advice(
            "vm.overcommit_memory = 1: memory is promised without limit",
            "No allocation ever fails, so a program that asks for too much meets the OOM killer instead of an error.",
            "0, unless a program here is documented to need 1.",
        )],
        Some(2) => strict_overcommit(memory.committed, memory.commit_limit),
        _ => Vec::new(),
    }
}

fn strict_overcommit(promised: Option<Bytes>, limit: Option<Bytes>) -> Vec<Finding> {
    let (Some(promised), Some(limit)) = (promised, limit) else {
        return Vec::new();
    };
    let share = promised.share_of(limit).unwrap_or(Percent::WHOLE);
    if share < Percent::new(90) {
        return vec![Finding::ok(format!(
            "vm.overcommit_memory = 2: {promised} of {limit} promised"
        ))];
    }
    vec![Finding::problem(
        format!("vm.overcommit_memory = 2, and {promised} of {limit} are promised ({share})"),
        "Above the limit allocations fail, however much memory is free.",
        "More swap, a higher vm.overcommit_ratio, or vm.overcommit_memory = 0.",
    )]
}

fn huge_pages(case: &Case) -> Vec<Finding> {
    let (Some(enabled), Some(defrag)) = (&case.settings.huge_pages, &case.settings.defrag) else {
        return Vec::new();
    };
    if enabled != "always" || defrag != "always" {
        return vec![Finding::ok(format!(
            "transparent huge pages: {enabled}, defrag {defrag}"
        ))];
    }
    vec![Finding::advice(
        "transparent huge pages: always, defrag always",
        "Any page fault may stop to compact memory; these are the compaction stalls above.",
        "echo defer+madvise > /sys/kernel/mm/transparent_hugepage/defrag: compact in the background but for those who ask.",
    )]
}

fn zone_reclaim(case: &Case) -> Vec<Finding> {
    match case.settings.zone_reclaim {
        Some(0) => vec![Finding::ok("vm.zone_reclaim_mode = 0")],
        Some(mode) => vec![Finding::advice(
            format!("vm.zone_reclaim_mode = {mode}"),
            "A full node evicts its own pages while other nodes have free memory, and allocations wait for it.",
            "0, unless the load was measured to gain by it.",
        )],
        None => Vec::new(),
    }
}

fn dirty(case: &Case) -> Vec<Finding> {
    let set = [
        ("vm.dirty_bytes", case.settings.dirty_bytes),
        (
            "vm.dirty_background_bytes",
            case.settings.dirty_background_bytes,
        ),
    ];
    let set = set
        .into_iter()
        .filter_map(|(name, bytes)| Some((name, Bytes::new(bytes.filter(|bytes| *bytes > 0)?))));
    let memory = case.memory().unwrap_or_default();
    set.filter(|(_, limit)| limit.share_of(memory).is_some_and(|share| share > Percent::new(20)))
        .map(|(name, limit)| {
            Finding::advice(
                format!("{name} is {limit}, more than a fifth of memory"),
                "A limit in bytes does not shrink when memory gets short: reclaim then waits for the disk.",
                format!("Less, or {name} = 0 and the ratio instead, which follows available memory."),
            )
        })
        .collect()
}
