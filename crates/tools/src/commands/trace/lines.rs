//! The channel from Valgrind to us, and the program that runs under it.
//!
//! A program alone writes to a pipe: small writes share its pages, and it is as fast as a file. If children are followed,
//! all write to one socket, and the kernel names the writer of each piece. The text could not: a fork shares its parent's
//! descriptor. The socket takes more than twice the time (`bench/recorder.sh`).

use crate::ui::hinted::Hinted;
use anyhow::{Context as _, Result};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
    recvmsg, socketpair, sockopt,
};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use std::ffi::{OsStr, OsString};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Bytes of the pipe: 1 MiB is the most that an unprivileged program may have by default (pipe(7), pipe-max-size). With
/// less the program waits for us more often.
const PIPE: usize = 1 << 20;
/// Bytes of the socket's buffer: more than of the pipe, because the kernel's record of each line counts, too.
const SOCKET: usize = 8 << 20;

const VALGRIND: &str = "valgrind";

/// The processes to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The program, and all that it starts.
    Family,
    /// The program itself.
    Alone,
}

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

/// Checks that the program and Valgrind can be run.
///
/// Errors: what is missing, with a hint.
pub(super) fn check(what: &[OsString]) -> Result<()> {
    let program = what.first().map(OsString::as_os_str).unwrap_or_default();
    if program.is_empty() {
        let hint = "such as: warmset trace -- ls -lR /usr";
        return Err(Hinted::new("no program is named", hint).into());
    }
    find(program)?;
    find(OsStr::new(VALGRIND))
        .map_err(|_| Hinted::new("valgrind is not installed", "apt-get install valgrind"))?;
    Ok(())
}

/// Starts a program under Valgrind.
pub(super) fn start(what: &[OsString], scope: Scope) -> Result<(Child, Lines)> {
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
    pub(super) fn read(&self, buffer: &mut [u8]) -> Result<Received> {
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

/// Finds a program by `PATH`, as a shell does.
///
/// Errors: there is none, or it may not be executed.
fn find(program: &OsStr) -> Result<PathBuf> {
    let name = Path::new(program).display().to_string();
    let candidates = if name.contains('/') {
        vec![PathBuf::from(program)]
    } else {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths)
            .map(|directory| directory.join(program))
            .collect()
    };
    for path in candidates {
        let Ok(metadata) = std::fs::metadata(&path) else {
            continue;
        };
        if !metadata.is_file() {
            continue;
        }
        if metadata.permissions().mode() & 0o111 == 0 {
            let what = format!("{name}: not executable");
            return Err(Hinted::new(what, format!("chmod +x {name}")).into());
        }
        return Ok(path);
    }
    let what = format!("{name}: no such program");
    Err(Hinted::new(what, "give its path, or a name on PATH").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        assert!(find(OsStr::new("sh")).unwrap().ends_with("sh"));
        assert!(find(OsStr::new("/bin/sh")).is_ok());
        for (name, says) in [
            ("no-such-program", "no such program"),
            ("/", "no such program"),
            ("/etc/passwd", "not executable"),
        ] {
            assert!(
                find(OsStr::new(name))
                    .unwrap_err()
                    .to_string()
                    .contains(says),
                "{name}"
            );
        }
    }
}
