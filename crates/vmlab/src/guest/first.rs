//! The first program: loads modules from memory, mounts the root disk and goes there.

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
/// A word on the kernel's command line that names another.
const INIT: &str = "warmset.init=";

/// Ends only by becoming the control program, or with an error.
pub(crate) fn switch_to_disk() -> Result<()> {
    at("devtmpfs", "/dev")?;
    at("proc", "/proc")?;
    load_modules()?;
    if fs::read_to_string("/proc/cmdline")?.contains("warmset.hello") {
        let mut line = crate::control::line()?;
        Frame::new("hello", "").write(&mut line)?;
        return Ok(rustix::system::reboot(
            rustix::system::RebootCommand::Restart,
        )?);
    }
    wait_for(Path::new("/dev/vda"))?;
    mount("/dev/vda", "/root", "ext4", MountFlags::NOATIME, None)
        .context("cannot mount the root disk")?;
    // What only the first root needed is given back.
    fs::remove_dir_all("/modules")?;
    fs::remove_file("/init")?;
    mount_move("/dev", "/root/dev")?;
    mount_move("/proc", "/root/proc")?;
    chdir("/root")?;
    mount_move("/root", "/")?;
    chroot(".")?;
    chdir("/")?;
    let words = fs::read_to_string("/proc/cmdline")?;
    match words
        .split_whitespace()
        .find_map(|word| word.strip_prefix(INIT))
    {
        Some(init) => Err(Command::new(init).exec()).with_context(|| format!("cannot run {init}")),
        None => Err(Command::new(CONTROL).arg("control").exec()).context("cannot run /lab/guest"),
    }
}

pub(crate) fn at(kind: &str, place: &str) -> Result<()> {
    mount(kind, place, kind, MountFlags::empty(), None)
        .with_context(|| format!("cannot mount {kind} at {place}"))
}

fn load_modules() -> Result<()> {
    let Ok(entries) = fs::read_dir("/modules") else {
        return Ok(());
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let none = c"";
        rustix::system::init_module(&fs::read(&path)?, none)
            .with_context(|| format!("cannot load {}", path.display()))?;
    }
    Ok(())
}

fn wait_for(path: &Path) -> Result<()> {
    for _ in 0..500 {
        if path.exists() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
    anyhow::bail!("{} did not appear", path.display())
}
