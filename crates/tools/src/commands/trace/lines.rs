//! `--engine lackey`: the channel from Valgrind's own tool to us, and the program that runs under it.
//!
//! A program alone writes to a pipe: small writes share its pages, and it is as fast as a file. If children are followed,
//! all write to one socket, and the kernel names the writer of each piece. The text could not: a fork shares its parent's
//! descriptor. The socket takes more than twice the time (`bench/recorder.sh`).

use super::feed::{Feed, Progress, Scope, Step};
use super::program::VALGRIND;
use super::regions::Mappings;
use anyhow::Context as _;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
    recvmsg, socketpair, sockopt,
};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use std::ffi::OsString;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command};
use traces::Error;
use traces::live::Decoder;
use workingset::Batch;

/// Bytes of the pipe: 1 MiB is the most that an unprivileged program may have by default (pipe(7), pipe-max-size). With
/// less the program waits for us more often.
const PIPE: usize = 1 << 20;
/// Bytes of the socket's buffer: more than of the pipe, because the kernel's record of each line counts, too.
const SOCKET: usize = 8 << 20;

/// Bytes read at once: 256 KiB is several thousand lines, so the system call costs little.
const PIECE: usize = 1 << 18;

/// The result of reading once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// The writer's process number, and how many bytes it wrote.
    Bytes(u32, usize),
    /// Nothing has been written yet.
    Nothing,
    /// Every writer has ended.
    End,
}

/// Our end of the channel.
#[derive(Debug)]
pub(super) struct Lines {
    end: OwnedFd,
    scope: Scope,
    /// The program's number: a pipe does not name its writer.
    pid: u32,
}

/// Starts a program under Valgrind.
pub(super) fn start(what: &[OsString], scope: Scope) -> anyhow::Result<(Child, Lines)> {
    let (ours, theirs) = ends(scope).context("cannot make a pipe to Valgrind")?;
    let mut command = Command::new(VALGRIND);
    command.args([
        "--tool=lackey",
        "--basic-counts=no",
        "--trace-mem=yes",
        "--trace-sched=yes",
    ]);
    command.args(match scope {
        Scope::Family => ["--trace-children=yes", "--child-silent-after-fork=no"],
        Scope::Alone => ["--trace-children=no", "--child-silent-after-fork=yes"],
    });
    command
        .arg(format!("--log-fd={}", theirs.as_raw_fd()))
        .arg("--")
        .args(what);
    let child = command.spawn().context("cannot start valgrind")?;
    let lines = Lines {
        end: ours,
        scope,
        pid: child.id(),
    };
    Ok((child, lines))
}

/// Our end, which started programs do not inherit, and theirs, which they do.
fn ends(scope: Scope) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = match scope {
        Scope::Alone => {
            let (ours, theirs) = pipe_with(PipeFlags::empty())?;
            // Where more is not allowed the default size does, with more waiting.
            let _ = fcntl_setpipe_size(&theirs, PIPE);
            (ours, theirs)
        }
        Scope::Family => {
            let (ours, theirs) = socketpair(
                AddressFamily::UNIX,
                SocketType::STREAM,
                SocketFlags::empty(),
                None,
            )?;
            sockopt::set_socket_passcred(&ours, true)?;
            let forced = sockopt::set_socket_send_buffer_size_force(&theirs, SOCKET);
            forced.or_else(|_| sockopt::set_socket_send_buffer_size(&theirs, SOCKET))?;
            (ours, theirs)
        }
    };
    fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    fcntl_setfl(&ours, OFlags::NONBLOCK)?;
    Ok((ours, theirs))
}

impl Lines {
    /// Reads what has come, without waiting.
    pub(super) fn read(&self, buffer: &mut [u8]) -> anyhow::Result<Received> {
        let received = match self.scope {
            Scope::Alone => rustix::io::read(&self.end, buffer).map(|size| (self.pid, size)),
            Scope::Family => self.receive(buffer),
        };
        match received {
            Ok((_, 0)) => Ok(Received::End),
            Ok((pid, size)) => Ok(Received::Bytes(pid, size)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Received::Nothing),
            Err(error) => Err(error).context("cannot read Valgrind's lines"),
        }
    }

    /// Reads from the socket; the kernel never joins what two processes wrote.
    fn receive(&self, buffer: &mut [u8]) -> rustix::io::Result<(u32, usize)> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(
            &self.end,
            &mut [IoSliceMut::new(buffer)],
            &mut ancillary,
            RecvFlags::empty(),
        )?;
        let mut writer = self.pid;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmCredentials(credentials) = message {
                writer = credentials.pid.as_raw_nonzero().get().unsigned_abs();
                break;
            }
        }
        Ok((writer, received.bytes))
    }
}

/// References as lackey's lines tell them.
#[derive(Debug)]
pub(super) struct LackeyFeed {
    lines: Lines,
    decoder: Decoder,
    mappings: Mappings,
    buffer: Vec<u8>,
}

impl LackeyFeed {
    pub(super) fn new(lines: Lines, decoder: Decoder, page_size: u64) -> Self {
        Self {
            lines,
            decoder,
            mappings: Mappings::new(page_size),
            buffer: vec![0; PIECE],
        }
    }
}

impl Feed for LackeyFeed {
    type Out = Batch;

    fn step(&mut self, batch: &mut Batch) -> Result<Step, Error> {
        let received = self.lines.read(&mut self.buffer);
        match received.map_err(|error| Error::Format(format!("{error:#}")))? {
            Received::Bytes(pid, size) => {
                self.decoder.push(pid, &self.buffer[..size], batch)?;
                let fresh = self.decoder.fresh();
                if !fresh.is_empty() {
                    self.mappings.note(&fresh);
                }
                Ok(Step::Some)
            }
            Received::Nothing => Ok(Step::Nothing),
            Received::End => Ok(Step::End),
        }
    }

    fn finish(&mut self, _: &mut Batch) -> Result<(), Error> {
        Ok(())
    }

    fn discard(&mut self) -> anyhow::Result<bool> {
        Ok(self.lines.read(&mut self.buffer)? != Received::Nothing)
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
        self.mappings.list()
    }

    fn unknown(&self) -> u64 {
        self.mappings.unknown()
    }

    fn messages(&self) -> Vec<String> {
        let notes = self.decoder.notes();
        notes.into_iter().map(str::to_owned).collect()
    }

    fn lost(&self) -> Option<String> {
        None
    }
}
