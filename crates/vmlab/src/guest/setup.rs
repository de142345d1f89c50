//! Sets the kernel as the plan says, and tells how it was found.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use warmset_vmlab::plan::{Lru, Plan, Swap, Thp};

const LRU_GEN: &str = "/sys/kernel/mm/lru_gen/enabled";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Sets LRU, THP and swap; gives what there is.
pub(crate) fn apply(plan: &Plan) -> Result<BTreeMap<String, String>> {
    if let Some(lru) = plan.setup.lru {
        let value = if lru == Lru::Mglru { "7" } else { "0" };
        match (Path::new(LRU_GEN).exists(), lru) {
            (true, _) => put(LRU_GEN, value)?,
            (false, Lru::Classic) => {}
            (false, Lru::Mglru) => anyhow::bail!("this kernel has no Multi-Gen LRU"),
        }
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
            let _ = fs::write("/sys/block/zram0/comp_algorithm", "lz4");
            put(
                "/sys/block/zram0/disksize",
                &format!("{}M", plan.size.memory_mib / 2),
            )?;
            swap_on("/dev/zram0")?;
        }
    }
    Ok(found())
}

fn found() -> BTreeMap<String, String> {
    let read = |path: &str| {
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let files = [
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
    files
        .iter()
        .filter_map(|(name, path)| Some(((*name).to_owned(), read(path)?)))
        .collect()
}

/// Writes a kernel file.
pub(crate) fn put(path: &str, value: &str) -> Result<()> {
    fs::write(path, value).with_context(|| format!("cannot write '{value}' into {path}"))
}

/// Makes a device a swap and turns it on: the header is one page that ends in its mark.
fn swap_on(device: &str) -> Result<()> {
    const PAGE: usize = 4096;
    let size = fs::read_to_string(format!(
        "/sys/class/block/{}/size",
        device.trim_start_matches("/dev/")
    ))?;
    let pages = size.trim().parse::<u64>()? * 512 / PAGE as u64;
    let mut header = vec![0; PAGE];
    // struct swap_header.info: 1024 bytes for a boot loader, then version, last page, bad pages.
    header.splice(1024..1028, 1_u32.to_le_bytes());
    header.splice(1028..1032, u32::try_from(pages - 1)?.to_le_bytes());
    header.splice(PAGE - 10..PAGE, *b"SWAPSPACE2");
    fs::OpenOptions::new()
        .write(true)
        .open(device)
        .and_then(|mut file| file.write_all(&header))
        .context(device.to_owned())?;
    let status = std::process::Command::new("/bin/busybox")
        .args(["swapon", device])
        .status()?;
    anyhow::ensure!(status.success(), "swapon {device} failed");
    Ok(())
}
