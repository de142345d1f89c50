//! The file systems that a machine needs before anything runs in it.

use anyhow::{Context, Result};
use rustix::mount::{MountFlags, mount};
use std::fs;
use std::path::Path;

/// Mounts a file system of the kernel's own, which has no device.
pub(crate) fn pseudo(kind: &str, place: &str) -> Result<()> {
    mount(kind, place, kind, MountFlags::empty(), None)
        .with_context(|| format!("cannot mount {kind} at {place}"))
}

/// Mounts the control groups as systemd does: what is kept for a cgroup is kept for all below it.
fn cgroups() -> Result<()> {
    let options = Some(c"memory_recursiveprot");
    mount(
        "cgroup2",
        "/sys/fs/cgroup",
        "cgroup2",
        MountFlags::empty(),
        options,
    )
    .context("cannot mount cgroup2 at /sys/fs/cgroup")
}

/// Mounts all that the control and the workers use.
pub(crate) fn all() -> Result<()> {
    pseudo("sysfs", "/sys")?;
    // A kernel without tracing has none.
    let _ = pseudo("tracefs", "/sys/kernel/tracing");
    pseudo("tmpfs", "/run")?;
    pseudo("tmpfs", "/tmp")?;
    cgroups()?;
    for place in ["/run/out", "/run/arm", "/dev/shm", "/dev/pts"] {
        fs::create_dir_all(place)?;
    }
    pseudo("devpts", "/dev/pts")?;
    let _ = fs::write(
        "/sys/fs/cgroup/cgroup.subtree_control",
        "+memory +cpu +io +pids",
    );
    if Path::new("/dev/vdb").exists() {
        mount("/dev/vdb", "/data", "ext4", MountFlags::NOATIME, None)
            .context("cannot mount the data disk, /dev/vdb")?;
    }
    Ok(())
}
