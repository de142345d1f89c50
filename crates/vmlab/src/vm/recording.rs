//! What records every reference of a machine: Warmset's plugin for QEMU (`qemu/`), and the pipe that it writes to.
//!
//! The plugin learns the machine's physical addresses from where QEMU has the memory. So that is in one piece, below the
//! hole that a PC has under 4 GiB, and all CPUs run in one thread.

use super::accel;
use anyhow::{Context, Result};
use commandline::libexec;
use rustix::fs::fstat;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use units::Bytes;

/// The most memory of a machine that is recorded. QEMU's `q35` begins to move memory above 4 GiB at 2.75 GiB.
pub const MOST: Bytes = Bytes::mib(2048);

/// What records a machine.
#[derive(Debug, Clone)]
pub struct Recording {
    plugin: PathBuf,
    /// The machine's name in the trace.
    name: String,
    pipe: Arc<OwnedFd>,
}

/// Where a recording can be read.
#[derive(Debug)]
pub struct Recorded(pub OwnedFd);

impl Recording {
    /// Finds the plugin for the QEMU that is installed, and makes a pipe.
    ///
    /// Errors: QEMU or the plugin is not there; what to do.
    pub fn new(name: &str) -> Result<(Self, Recorded)> {
        let version = accel::qemu_version()?;
        let plugin = plugin(&version)?;
        let (ours, theirs) =
            pipe_with(PipeFlags::CLOEXEC).context("cannot make a pipe to the recorder")?;
        let recording = Self {
            plugin,
            name: name.to_owned(),
            pipe: Arc::new(theirs),
        };
        Ok((recording, Recorded(ours)))
    }

    /// Lets programs that are started from now on inherit the pipe: QEMU must, and what reads the other end must not.
    pub fn open(&self) -> Result<()> {
        Ok(fcntl_setfd(&*self.pipe, FdFlags::empty())?)
    }

    /// QEMU's arguments for a machine with so much memory.
    pub(super) fn arguments(&self, memory: Bytes) -> Result<Vec<String>> {
        let bytes = memory.get();
        let plugin = escaped(&self.plugin.display().to_string());
        let name = escaped(&self.name);
        let inode = fstat(&*self.pipe)?.st_ino;
        Ok(vec![
            "-object".to_owned(),
            format!("memory-backend-memfd,id=memory,size={bytes}"),
            "-machine".to_owned(),
            "memory-backend=memory".to_owned(),
            "-plugin".to_owned(),
            format!(
                "file={plugin},fd={},inode={inode},memory={bytes},name={name}",
                self.pipe.as_raw_fd()
            ),
        ])
    }
}

/// QEMU takes a comma for the end of an option, unless there are two.
fn escaped(text: &str) -> String {
    text.replace(',', ",,")
}

/// The plugin for this version of QEMU.
fn plugin(version: &str) -> Result<PathBuf> {
    let major = version.split('.').next().and_then(|word| word.parse().ok());
    let major: u32 = major.with_context(|| format!("QEMU's version is not known: '{version}'"))?;
    let found = libexec::qemu_plugin(major);
    found.context(
        "Warmset's plugin for QEMU was not built: qemu/build ~/.local/libexec/warmset in Warmset's source builds it",
    )
}
