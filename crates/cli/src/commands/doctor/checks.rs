//! The checks, each a function of the case. To add one, write a function and a line in [`CHECKS`].
//!
//! Limits, reasons and remedies are those of the kernel's `Documentation/admin-guide/sysctl/vm.rst` and `mm/transhuge.rst`,
//! unless a check says otherwise.

use super::finding::{Case, Finding};
use super::neighbours::{rivals, sysctl_lines};
use crate::ui::text::counted;
use pressure::knob::Knob;
use pressure::sample::{Cgroups, SwapKind};
use pressure::watermark;
use units::{Bytes, Pages, Percent};

/// Looks at one thing; finds nothing where it does not apply.
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
    memory_controller,
    min_ttl,
    sysctl_lines,
    min_free,
    dead_zone,
    boost,
    zfs,
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
        self.observed.sample.knobs.now.of(knob)
    }

    fn memory(&self) -> Option<Bytes> {
        self.observed.sample.memory.total
    }
}

fn unreadable(case: &Case) -> Vec<Finding> {
    let finding = |error: &String| {
        Finding::problem(
            error.as_str(),
            "A file that cannot be read is unknown to every decision.",
            "Check whether the kernel lacks it, or a sandbox hides it.",
        )
    };
    case.observed.warnings.iter().map(finding).collect()
}

fn refused(case: &Case) -> Vec<Finding> {
    // Without root, a file may be refused that the guard can read.
    let finding = |what: &String| {
        Finding::problem(
            what.as_str(),
            "The guard does not start with this configuration, and a running guard keeps the old one.",
            "Correct it until warmset check says ok.",
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
    if case.observed.sample.memory_pressure.some_total.is_some() {
        return vec![Finding::ok("the kernel accounts for pressure (PSI)")];
    }
    vec![Finding::problem(
        "the kernel does not account for pressure (PSI)",
        "Without PSI the time that tasks wait for memory is unknown. The guard is not woken when they wait; it samples at \
         intervals instead.",
        with_psi(case),
    )]
}

/// How to get PSI, which came with Linux 4.20.
fn with_psi(case: &Case) -> String {
    let kernel = &case.observed.facts.kernel;
    let mut numbers = kernel.split('.').map(|part| part.parse::<u32>().ok());
    let version = (numbers.next().flatten(), numbers.next().flatten());
    match version {
        (Some(major), Some(minor)) if (major, minor) < (4, 20) => {
            format!("PSI came with Linux 4.20, and this is {kernel}: run a newer kernel.")
        }
        _ => by_command_line(
            case,
            "psi=1",
            "Boot with psi=1; the kernel needs CONFIG_PSI.",
        ),
    }
}

fn permission(case: &Case) -> Vec<Finding> {
    if case.root {
        return Vec::new();
    }
    vec![Finding::advice(
        "this was not run by root",
        "Processes and files of other users may be hidden from it, and so may a rival.",
        "Run sudo warmset doctor.",
    )]
}

fn container(case: &Case) -> Vec<Finding> {
    let Some(name) = &case.observed.facts.container else {
        return Vec::new();
    };
    if case.settings.lxcfs {
        return vec![Finding::advice(
            format!("this looks like a container ({name}) with lxcfs"),
            "lxcfs shows the container's own memory and swap. Zones, watermarks, knobs and what the kernel counts are the \
             host's, so no check here compares the two. A guard in the container can only observe.",
            "Run the guard on the host.",
        )];
    }
    vec![Finding::advice(
        format!("this looks like a container ({name})"),
        "In a container the numbers and the knobs are the host's: a guard there can only observe.",
        "Run the guard on the host.",
    )]
}

fn hidepid(case: &Case) -> Vec<Finding> {
    if !case.observed.facts.hidepid {
        return Vec::new();
    }
    vec![Finding::advice(
        "processes of other users are hidden (hidepid on /proc)",
        "Only root can see other guards and tuners.",
        "Run the guard as root, as the package does.",
    )]
}

fn cgroups(case: &Case) -> Vec<Finding> {
    let what = match case.observed.facts.cgroups {
        Cgroups::V2 => return vec![Finding::ok("control groups are of version 2")],
        Cgroups::Hybrid => "the memory controller is on version 1 of control groups",
        Cgroups::V1 => "only version 1 of control groups is mounted",
        Cgroups::Absent => "no control groups are mounted",
    };
    vec![Finding::advice(
        what,
        "Pressure, protection and limits of single services need version 2.",
        by_command_line(
            case,
            "cgroup_no_v1=all",
            "Boot with systemd.unified_cgroup_hierarchy=1.",
        ),
    )]
}

/// How to boot with `parameter`. WSL 2 has no boot loader, and its init is not systemd: its own file has the kernel's
/// command line (microsoft/WSL#6662).
fn by_command_line(case: &Case, parameter: &str, usual: &str) -> String {
    if !is_wsl2(case) {
        return usual.to_owned();
    }
    format!(
        "On Windows, have kernelCommandLine = {parameter} below [wsl2] in %UserProfile%\\.wslconfig, beside what that line has \
         already; then run wsl --shutdown."
    )
}

fn is_wsl2(case: &Case) -> bool {
    let kernel = &case.observed.facts.kernel;
    kernel.contains("WSL2") || kernel.contains("microsoft-standard")
}

/// The memory controller of version 2 is there unless the kernel was told to leave it out.
fn memory_controller(case: &Case) -> Vec<Finding> {
    let why = "Without the memory controller no unit can be measured, throttled or protected; a kill ends single processes only.";
    if case.settings.memory_controller_disabled {
        return vec![Finding::problem(
            "the kernel runs with cgroup_disable=memory",
            why,
            "Take cgroup_disable=memory off the kernel command line. Firmware of a Raspberry Pi adds it: there, append \
             cgroup_enable=memory to /boot/firmware/cmdline.txt. Then reboot.",
        )];
    }
    let is_missing = case
        .settings
        .controllers
        .as_ref()
        .is_some_and(|names| !names.split_whitespace().any(|name| name == "memory"));
    if !is_missing || case.observed.facts.cgroups != Cgroups::V2 {
        return Vec::new();
    }
    vec![Finding::problem(
        "the kernel has no memory controller of version 2",
        why,
        "Run a kernel with CONFIG_MEMCG, and boot it with cgroup_enable=memory if its distribution switches that off.",
    )]
}

/// `min_ttl_ms` of the kernel's multi-generational LRU (`Documentation/admin-guide/mm/multigen_lru.rst`): pages younger
/// than this are not evicted, and if none is older the kernel kills, however much memory is free otherwise
/// (raspberrypi/linux#7085).
fn min_ttl(case: &Case) -> Vec<Finding> {
    let Some(time) = case.knob(Knob::MinTtlMs).filter(|time| *time > 0) else {
        return Vec::new();
    };
    let kills = case.observed.sample.counters.oom_kill.unwrap_or(0);
    let setting = format!("mm.lru_gen.min_ttl_ms = {time}");
    let why = format!(
        "With it the kernel OOM-kills rather than evict what was used within {time} ms, even while memory is free."
    );
    let remedy = "echo 0 > /sys/kernel/mm/lru_gen/min_ttl_ms, and look for what sets it: a file in tmpfiles.d, a udev rule \
                  or a service of the distribution.";
    if kills == 0 {
        return vec![Finding::advice(
            setting,
            why,
            format!("Nothing, if that is wanted. Otherwise: {remedy}"),
        )];
    }
    let killed = counted(kills, "process", "processes");
    vec![Finding::problem(
        format!("{setting}, and the kernel has OOM-killed {killed}"),
        why,
        remedy,
    )]
}

/// Whether watermarks can be compared with the size of memory: lxcfs shows that of the container.
fn is_one_machine(case: &Case) -> bool {
    !case.settings.lxcfs
}

fn min_free(case: &Case) -> Vec<Finding> {
    if !is_one_machine(case) {
        return Vec::new();
    }
    let Some(kilobytes) = case.knob(Knob::MinFreeKbytes) else {
        return Vec::new();
    };
    let Some(memory) = case.memory() else {
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
        "That memory is for the kernel's emergencies only. Below it every allocation reclaims for itself, and a reserve that is \
         much larger brings the OOM killer.",
        "Take the line out of sysctl.d and reboot: the kernel then sizes it itself. The guard makes the gap above it.",
    )]
}

fn dead_zone(case: &Case) -> Vec<Finding> {
    if !is_one_machine(case) {
        return Vec::new();
    }
    let sample = &case.observed.sample;
    let page_size = case.observed.facts.page_size;
    let Some(factor) = case.knob(Knob::WatermarkScaleFactor) else {
        return Vec::new();
    };
    let Some(least) = watermark::least_effective(sample, page_size) else {
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
        "Nothing while the guard runs: it sets the factor that the demand needs. Without a guard, set a higher one.",
    )]
}

/// The kernel's default of vm.watermark_boost_factor: after fragmentation the high watermark may rise by this, in 1/10000.
const USUAL_BOOST: u64 = 15_000;

fn boost(case: &Case) -> Vec<Finding> {
    if !is_one_machine(case) {
        return Vec::new();
    }
    let Some(factor) = case.knob(Knob::WatermarkBoostFactor) else {
        return Vec::new();
    };
    let high: Option<Pages> = case
        .observed
        .sample
        .zones
        .iter()
        .map(|zone| zone.amounts.high)
        .sum();
    let most = high.map(|high| {
        high.to_bytes(case.observed.facts.page_size)
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
            "After fragmentation kswapd reclaims{most} beyond the high watermark at once; part of it refaults later."
        ),
        format!(
            "vm.watermark_boost_factor = {USUAL_BOOST} is the kernel's default; 0 switches it off."
        ),
    )]
}

fn zfs(case: &Case) -> Vec<Finding> {
    let returnable = &case.observed.sample.returnable;
    let Some(cache) = returnable.arc else {
        return Vec::new();
    };
    let above = cache.less(returnable.arc_min.unwrap_or_default());
    vec![Finding::ok(format!(
        "ZFS caches {cache} (ARC) and gives back {above} of it: that counts as headroom"
    ))]
}

fn swap(case: &Case) -> Vec<Finding> {
    match case.observed.sample.memory.swap_total {
        Some(Bytes::ZERO) => vec![Finding::advice(
            "there is no swap",
            "Without swap, anonymous memory stays in memory even if no program uses it. Only files can be evicted, programs' code \
             among them, so pressure builds late and steeply.",
            "Add a swap file of a few GiB, or zram.",
        )],
        Some(size) => vec![Finding::ok(format!("there is swap: {size}"))],
        None => Vec::new(),
    }
}

fn zram(case: &Case) -> Vec<Finding> {
    let has_zram = case
        .observed
        .sample
        .swaps
        .iter()
        .any(|swap| swap.kind == SwapKind::Zram);
    match case.knob(Knob::PageCluster) {
        Some(cluster) if has_zram && cluster > 0 => vec![Finding::advice(
            format!("swap is on zram, and vm.page-cluster = {cluster}"),
            format!(
                "Each page that is swapped in brings {} neighbours. That pays on a disk; on zram it only costs CPU time.",
                (1u64 << cluster.min(10)) - 1
            ),
            "Set vm.page-cluster = 0.",
        )],
        _ => Vec::new(),
    }
}

fn swappiness(case: &Case) -> Vec<Finding> {
    let has_swap = case
        .observed
        .sample
        .memory
        .swap_total
        .is_some_and(|size| size > Bytes::ZERO);
    match case.knob(Knob::Swappiness) {
        Some(0) if has_swap => vec![Finding::advice(
            "vm.swappiness = 0 while there is swap",
            "Swap is used only when nearly all files are evicted. By then the machine has been refaulting them for long.",
            "Set 10 for a disk, up to 180 for zram; the default is 60.",
        )],
        Some(swappiness) => vec![Finding::ok(format!("vm.swappiness = {swappiness}"))],
        None => Vec::new(),
    }
}

fn overcommit(case: &Case) -> Vec<Finding> {
    let memory = &case.observed.sample.memory;
    match case.settings.overcommit {
        Some(0) => vec![Finding::ok(
            "vm.overcommit_memory = 0: obvious overcommits are refused",
        )],
        Some(1) => vec![Finding::advice(
            "vm.overcommit_memory = 1: memory is promised without limit",
            "No allocation ever fails, so a program that allocates too much is OOM-killed instead of getting an error.",
            "Set 0, unless the documentation of a program here says that it needs 1.",
        )],
        Some(2) => strict_overcommit(memory.committed, memory.commit_limit),
        _ => Vec::new(),
    }
}

fn strict_overcommit(promised: Option<Bytes>, limit: Option<Bytes>) -> Vec<Finding> {
    let Some(promised) = promised else {
        return Vec::new();
    };
    let Some(limit) = limit else {
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
        "Add swap, raise vm.overcommit_ratio, or set vm.overcommit_memory = 0.",
    )]
}

fn huge_pages(case: &Case) -> Vec<Finding> {
    let Some(enabled) = &case.settings.huge_pages else {
        return Vec::new();
    };
    let Some(defrag) = &case.settings.defrag else {
        return Vec::new();
    };
    if enabled != "always" || defrag != "always" {
        return vec![Finding::ok(format!(
            "transparent huge pages: {enabled}, defrag {defrag}"
        ))];
    }
    vec![Finding::advice(
        "transparent huge pages: always, defrag always",
        "Any page fault may wait for compaction; these are the compaction stalls above.",
        "echo defer+madvise > /sys/kernel/mm/transparent_hugepage/defrag: then only programs that ask for huge pages wait for compaction.",
    )]
}

fn zone_reclaim(case: &Case) -> Vec<Finding> {
    match case.settings.zone_reclaim {
        Some(0) => vec![Finding::ok("vm.zone_reclaim_mode = 0")],
        Some(mode) => vec![Finding::advice(
            format!("vm.zone_reclaim_mode = {mode}"),
            "A full node evicts its own pages while other nodes have free memory, and allocations wait for that.",
            "Set 0, unless a measurement shows that the load gains by it.",
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
                "A limit in bytes does not shrink when memory is short; reclaim then waits for the disk.",
                format!("Set less, or {name} = 0 and the ratio, which follows available memory."),
            )
        })
        .collect()
}
