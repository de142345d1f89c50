//! Sets the kernel as the plan says, and reads how it was found.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use warmset_vmlab::plan::{Lru, Plan, Swap, Thp};

const LRU_GEN: &str = "/sys/kernel/mm/lru_gen/enabled";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Files that tell how the kernel is set, each with its name in the report.
const FOUND: &[(&str, &str)] = &[
    ("lru_gen", LRU_GEN),
    ("lru_gen_min_ttl_ms", "/sys/kernel/mm/lru_gen/min_ttl_ms"),
    ("thp", THP),
    ("swaps", "/proc/swaps"),
    ("zram", "/sys/block/zram0/comp_algorithm"),
    ("psi_memory", "/proc/pressure/memory"),
    ("cgroup_controllers", "/sys/fs/cgroup/cgroup.controllers"),
    (
        "damon_reclaim",
        "/sys/module/damon_reclaim/parameters/enabled",
    ),
    (
        "clocksource",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    ("nodes", "/sys/devices/system/node/online"),
    ("command_line", "/proc/cmdline"),
    ("version", "/proc/version"),
];

/// Sets LRU, THP and swap. Returns how the kernel is set then.
pub(crate) fn apply(plan: &Plan) -> Result<BTreeMap<String, String>> {
    if let Some(lru) = plan.setup.lru {
        set_lru(lru)?;
    }
    if let Some(thp) = plan.setup.thp {
        let word = match thp {
            Thp::Always => "always",
            Thp::Madvise => "madvise",
            Thp::Never => "never",
        };
        put(THP, word)?;
    }
    match plan.setup.swap {
        Swap::None => {}
        Swap::Disk => swap_on("/dev/vdc")?,
        Swap::Zram => {
            // A kernel without lz4 keeps its own choice.
            let _ = fs::write("/sys/block/zram0/comp_algorithm", "lz4");
            let mib = plan.size.memory_mib / 2;
            put("/sys/block/zram0/disksize", &format!("{mib}M"))?;
            swap_on("/dev/zram0")?;
        }
    }
    Ok(found())
}

fn set_lru(lru: Lru) -> Result<()> {
    let has_mglru = Path::new(LRU_GEN).exists();
    match lru {
        // All three parts: the lists, the page table walks, and their use of non-leaf entries.
        Lru::Mglru if has_mglru => put(LRU_GEN, "7"),
        Lru::Mglru => anyhow::bail!("this kernel has no Multi-Gen LRU: {LRU_GEN} is not there"),
        Lru::Classic if has_mglru => put(LRU_GEN, "0"),
        Lru::Classic => Ok(()),
    }
}

fn found() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (name, path) in FOUND {
        if let Ok(text) = fs::read_to_string(path) {
            found.insert((*name).to_owned(), text.trim().to_owned());
        }
    }
    found
}

/// Writes a kernel file.
pub(crate) fn put(path: &str, value: &str) -> Result<()> {
    fs::write(path, value).with_context(|| format!("cannot write '{value}' into {path}"))
}

/// Makes a device a swap and turns it on, with busybox.
fn swap_on(device: &str) -> Result<()> {
    make_swap(device)?;
    let status = std::process::Command::new("/bin/busybox")
        .args(["swapon", device])
        .status()?;
    anyhow::ensure!(status.success(), "swapon {device} failed");
    Ok(())
}

/// Makes a device a swap. The header is one page that ends in its signature.
pub(crate) fn make_swap(device: &str) -> Result<()> {
    const PAGE: usize = 4096;
    let name = device.trim_start_matches("/dev/");
    let size = fs::read_to_string(format!("/sys/class/block/{name}/size"))?;
    let sectors: u64 = size.trim().parse()?;
    let pages = sectors * 512 / PAGE as u64;
    let mut header = vec![0; PAGE];
    // struct swap_header.info: 1024 bytes for a boot loader, then version, last page, bad pages.
    header.splice(1024..1028, 1_u32.to_le_bytes());
    header.splice(1028..1032, u32::try_from(pages - 1)?.to_le_bytes());
    header.splice(PAGE - 10..PAGE, *b"SWAPSPACE2");
    fs::OpenOptions::new()
        .write(true)
        .open(device)
        .and_then(|mut file| file.write_all(&header))
        .with_context(|| format!("cannot write the swap header of {device}"))
}
