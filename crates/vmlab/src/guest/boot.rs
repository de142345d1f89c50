//! The machine's first program: loads modules, mounts the root disk, and becomes the program on it.

use crate::{mounts, serial};
use anyhow::{Context, Result};
use rustix::mount::{MountFlags, mount, mount_move};
use rustix::process::{chdir, chroot};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;
use warmset_vmlab::frame::Frame;

/// The control program on the root disk.
const CONTROL: &str = "/lab/guest";
/// A word on the kernel's command line that names another program than [`CONTROL`].
const INIT: &str = "warmset.init=";
/// A word on the kernel's command line of a machine that only shows that it boots.
const HELLO: &str = "warmset.hello";

/// Returns only with an error, or after the reboot that ends a machine that only says hello.
pub(crate) fn switch_to_disk() -> Result<()> {
    mounts::pseudo("devtmpfs", "/dev")?;
    mounts::pseudo("proc", "/proc")?;
    load_modules()?;
    if fs::read_to_string("/proc/cmdline")?.contains(HELLO) {
        let mut port = serial::open()?;
        Frame::new("hello", "").write(&mut port)?;
        return Ok(rustix::system::reboot(
            rustix::system::RebootCommand::Restart,
        )?);
    }
    wait_for(Path::new("/dev/vda"))?;
    mount("/dev/vda", "/root", "ext4", MountFlags::NOATIME, None)
        .context("cannot mount the root disk, /dev/vda")?;
    // Files of the first root are memory that nothing can reclaim.
    fs::remove_dir_all("/modules")?;
    fs::remove_file("/init")?;
    mount_move("/dev", "/root/dev")?;
    mount_move("/proc", "/root/proc")?;
    chdir("/root")?;
    mount_move("/root", "/")?;
    chroot(".")?;
    chdir("/")?;
    let command_line = fs::read_to_string("/proc/cmdline")?;
    let named = command_line
        .split_whitespace()
        .find_map(|word| word.strip_prefix(INIT));
    match named {
        Some(init) => Err(Command::new(init).exec()).with_context(|| format!("cannot run {init}")),
        None => Err(Command::new(CONTROL).arg("control").exec())
            .with_context(|| format!("cannot run {CONTROL}")),
    }
}

/// Loads the modules in the order of their numbers, which is the order in which they need each other.
fn load_modules() -> Result<()> {
    let Ok(entries) = fs::read_dir("/modules") else {
        return Ok(());
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let no_parameters = c"";
        rustix::system::init_module(&fs::read(&path)?, no_parameters)
            .with_context(|| format!("cannot load {}", path.display()))?;
    }
    Ok(())
}

/// Ten seconds: a machine without KVM on a busy host takes some to find its disk.
fn wait_for(path: &Path) -> Result<()> {
    for _ in 0..500 {
        if path.exists() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
    anyhow::bail!("{} did not appear within 10 s", path.display())
}
