//! `--engine uses` and `--engine qemu`: the pipe from Warmset's own tool to us, and the program that runs under Valgrind or QEMU.
//!
//! All processes write to one pipe. The kernel takes a piece of up to 4096 bytes whole, and each piece says of which process it
//! is. A full pipe makes the program wait, so nothing is lost.

use super::emulator::Emulator;
use super::feed::{Feed, Progress, Scope, Step};
use super::program::VALGRIND;
use super::tool::Tool;
use anyhow::{Context as _, Result};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, fstat, memfd_create};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command};
use traces::blocks::Decoder;
use traces::{Error, PageRows};

/// Bytes of the pipe: 1 MiB is the most that an unprivileged program may have by default (pipe(7), pipe-max-size). It holds
/// about two million references.
const PIPE: usize = 1 << 20;
/// Bytes read at once: many make rows more quickly, because what is in the processor's caches is used again.
const PIECE: usize = 1 << 16;
/// Bytes of Valgrind's messages that are looked at: the last dozen lines.
const MESSAGES: u64 = 2048;

/// References as the tool tells them.
#[derive(Debug)]
pub(super) struct UsesFeed {
    pipe: OwnedFd,
    decoder: Decoder,
    /// Valgrind's own messages. QEMU's are on the program's standard error.
    messages: Option<File>,
    buffer: Vec<u8>,
    /// Every writer has ended.
    is_at_end: bool,
}

/// Our pipe, and what a tool is told of it.
struct Channel {
    ours: OwnedFd,
    theirs: OwnedFd,
    inode: u64,
    /// Opening our end for writing makes another of theirs.
    path: String,
}

impl Channel {
    fn new() -> Result<Self> {
        let (ours, theirs) = ends().context("cannot make a pipe to the recorded program")?;
        let inode = fstat(&theirs)?.st_ino;
        let path = format!("/proc/{}/fd/{}", std::process::id(), ours.as_raw_fd());
        Ok(Self {
            ours,
            theirs,
            inode,
            path,
        })
    }

    fn feed(self, decoder: Decoder, messages: Option<File>) -> UsesFeed {
        UsesFeed {
            pipe: self.ours,
            decoder,
            messages,
            buffer: vec![0; PIECE],
            is_at_end: false,
        }
    }
}

/// Starts a program under Valgrind with the tool.
pub(super) fn start(
    what: &[OsString],
    scope: Scope,
    tool: &Tool,
    page_size: u64,
    decoder: Decoder,
) -> Result<(Child, UsesFeed)> {
    let channel = Channel::new()?;
    let page_bits = page_size.trailing_zeros();
    let messages = memfd_create("valgrind", MemfdFlags::empty())
        .context("cannot make a file for Valgrind's messages")?;
    let children = match scope {
        Scope::Family => "yes",
        Scope::Alone => "no",
    };
    let us = std::process::id();
    let child = Command::new(VALGRIND)
        .env("VALGRIND_LIB", &tool.directory)
        .args(["--tool=uses", "--quiet"])
        .arg(format!("--trace-children={children}"))
        .arg(format!("--log-fd={}", messages.as_raw_fd()))
        .arg(format!("--uses-fd={}", channel.theirs.as_raw_fd()))
        .arg(format!("--uses-path={}", channel.path))
        .arg(format!("--uses-inode={}", channel.inode))
        .arg(format!("--uses-recorder={us}"))
        .arg(format!("--uses-page-bits={page_bits}"))
        .arg("--")
        .args(what)
        .spawn()
        .context("cannot start valgrind")?;
    Ok((child, channel.feed(decoder, Some(File::from(messages)))))
}

/// Starts a program under QEMU with the plugin.
pub(super) fn start_emulated(
    what: &[OsString],
    scope: Scope,
    emulator: &Emulator,
    page_size: u64,
    decoder: Decoder,
) -> Result<(Child, UsesFeed)> {
    let channel = Channel::new()?;
    let page_bits = page_size.trailing_zeros();
    let children = match scope {
        Scope::Family => "on",
        Scope::Alone => "off",
    };
    let base = emulator.base();
    // QEMU takes a comma in a name for the end of the option, unless there are two.
    let mut plugin = OsString::from("file=");
    plugin.push(emulator.plugin.display().to_string().replace(',', ",,"));
    plugin.push(format!(
        ",fd={},path={},inode={},page-bits={page_bits},base={base},children={children}",
        channel.theirs.as_raw_fd(),
        channel.path,
        channel.inode,
    ));
    let mut command = Command::new(&emulator.program);
    if base > 0 {
        command.args(["-B", &format!("{base:#x}")]);
    }
    command.arg("-plugin").arg(plugin);
    let started = emulator.command(what);
    if let Some(name) = started.name {
        command.arg("-0").arg(name);
    }
    let child = command
        .args(started.words)
        .spawn()
        .with_context(|| format!("cannot start {}", emulator.name()))?;
    Ok((child, channel.feed(decoder, None)))
}

/// Our end, which started programs do not inherit, and theirs, which they do.
fn ends() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = pipe_with(PipeFlags::empty())?;
    // Where more is not allowed the default size does, with more waiting.
    let _ = fcntl_setpipe_size(&theirs, PIPE);
    fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    fcntl_setfl(&ours, OFlags::NONBLOCK)?;
    Ok((ours, theirs))
}

impl UsesFeed {
    /// Reads what has come, without waiting. `None` if nothing has; 0 at the end.
    fn read(&mut self) -> rustix::io::Result<Option<usize>> {
        match rustix::io::read(&self.pipe, &mut self.buffer) {
            Ok(size) => Ok(Some(size)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Feed for UsesFeed {
    type Out = PageRows;

    fn step(&mut self, rows: &mut PageRows) -> Result<Step, Error> {
        match self.read().map_err(std::io::Error::from)? {
            Some(0) => {
                self.is_at_end = true;
                Ok(Step::End)
            }
            Some(size) => {
                self.decoder.push(&self.buffer[..size], rows)?;
                Ok(Step::Some)
            }
            None => Ok(Step::Nothing),
        }
    }

    fn finish(&mut self, rows: &mut PageRows) -> Result<(), Error> {
        self.decoder.finish(rows)
    }

    fn discard(&mut self) -> Result<bool> {
        Ok(self.read()?.is_some())
    }

    fn progress(&self) -> Progress {
        Progress {
            references: self.decoder.references(),
            to_skip: self.decoder.to_skip(),
            pages: self.decoder.pages(),
            time: self.decoder.time(),
        }
    }

    fn tasks(&self) -> Vec<(u16, String)> {
        self.decoder.tasks()
    }

    fn regions(&self) -> Vec<(u64, u64, String)> {
        self.decoder.regions()
    }

    fn unknown(&self) -> u64 {
        self.decoder.unknown()
    }

    fn messages(&self) -> Vec<String> {
        let Some(messages) = &self.messages else {
            return Vec::new();
        };
        let size = messages.metadata().map_or(0, |data| data.len());
        let from = size.saturating_sub(MESSAGES);
        let mut bytes = vec![0; (size - from) as usize];
        if messages.read_exact_at(&mut bytes, from).is_err() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&bytes);
        text.lines().map(str::to_owned).collect()
    }

    fn lost(&self) -> Option<String> {
        if !self.is_at_end {
            return None;
        }
        let killed = self.decoder.unfinished();
        let others = self.decoder.became_others();
        if !killed.is_empty() {
            let names = killed.join(", ");
            return Some(format!(
                "at the end of {names}: killed, so that its last references are lost, at most some thousand"
            ));
        }
        if !others.is_empty() {
            let names = others.join(", ");
            return Some(format!(
                "where {names} became another program, which is not recorded"
            ));
        }
        None
    }
}
