//! The way on which Valgrind's lines come to us, and the program that writes them.
//!
//! One program alone writes to a pipe: small writes share its pages, and it is as fast as a file. Where children are
//! followed all write to one socket, whose kernel names the writer of each piece: a fork shares its parent's descriptor,
//! so nothing in the text could. That costs more than twice the time (`bench/recorder.sh`).

use crate::hinted::Hinted;
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

/// What a pipe is asked to hold, so that the program seldom waits for us.
const PIPE: usize = 1 << 20;
/// What a socket is asked to hold, each line with the kernel's own record of it.
const SOCKET: usize = 8 << 20;

const VALGRIND: &str = "valgrind";

/// Whose references are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The program's, and those of all that it starts.
    Family,
    /// The program's own.
    Alone,
}

/// What a look at the lines gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// So many bytes of this process.
    Bytes(u32, usize),
    /// Nothing yet.
    Nothing,
    /// No one is left who could write.
    End,
}

/// Our end.
#[derive(Debug)]
pub(crate) struct Lines {
    end: OwnedFd,
    whose: Whose,
    /// The program's number, for a pipe does not tell.
    pid: u32,
}

/// Whether there are a program and Valgrind.
pub(crate) fn check(what: &[OsString]) -> Result<()> {
    let Some(program) = what.first().filter(|program| !program.is_empty()) else {
        return Err(Hinted::new(
            "no program is named",
            "such as: warmset trace -- ls -lR /usr",
        )
        .into());
    };
    find(program)?;
    find(OsStr::new(VALGRIND))
        .map_err(|_| Hinted::new("valgrind is not installed", "apt-get install valgrind"))?;
    Ok(())
}

/// Starts a program under Valgrind.
pub(crate) fn start(what: &[OsString], whose: Whose) -> Result<(Child, Lines)> {
    let (ours, theirs) = ends(whose).context("no pipe to Valgrind")?;
    let mut command = Command::new(VALGRIND);
    command.args([
        "--tool=lackey",
        "--basic-counts=no",
        "--trace-mem=yes",
        "--trace-sched=yes",
    ]);
    command.args(match whose {
        Whose::Family => ["--trace-children=yes", "--child-silent-after-fork=no"],
        Whose::Alone => ["--trace-children=no", "--child-silent-after-fork=yes"],
    });
    command
        .arg(format!("--log-fd={}", theirs.as_raw_fd()))
        .arg("--")
        .args(what);
    let child = command.spawn().context("valgrind cannot be started")?;
    let lines = Lines {
        end: ours,
        whose,
        pid: child.id(),
    };
    Ok((child, lines))
}

/// Our end, closed when others are started, and theirs, which is not.
fn ends(whose: Whose) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = match whose {
        Whose::Alone => {
            let (ours, theirs) = pipe_with(PipeFlags::empty())?;
            // The default will do where more is not allowed.
            let _ = fcntl_setpipe_size(&theirs, PIPE);
            (ours, theirs)
        }
        Whose::Family => {
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
    /// What has come, without waiting.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<Came> {
        let came = match self.whose {
            Whose::Alone => rustix::io::read(&self.end, buffer).map(|size| (self.pid, size)),
            Whose::Family => self.received(buffer),
        };
        match came {
            Ok((_, 0)) => Ok(Came::End),
            Ok((pid, size)) => Ok(Came::Bytes(pid, size)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Came::Nothing),
            Err(error) => Err(error).context("Valgrind's lines cannot be read"),
        }
    }

    /// The kernel never joins what two processes wrote.
    fn received(&self, buffer: &mut [u8]) -> rustix::io::Result<(u32, usize)> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut about = RecvAncillaryBuffer::new(&mut space);
        let got = recvmsg(
            &self.end,
            &mut [IoSliceMut::new(buffer)],
            &mut about,
            RecvFlags::empty(),
        )?;
        let writer = about.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmCredentials(who) => Some(who.pid.as_raw_nonzero().get()),
            _ => None,
        });
        Ok((writer.map_or(self.pid, i32::unsigned_abs), got.bytes))
    }
}

/// Where a program is, by `PATH` as the shell would.
///
/// Errors: there is none, or it may not be executed.
pub(crate) fn find(program: &OsStr) -> Result<PathBuf> {
    let name = Path::new(program).display().to_string();
    let is_file = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|about| about.is_file());
    let found = if name.contains('/') {
        Some(PathBuf::from(program)).filter(is_file)
    } else {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths)
            .map(|directory| directory.join(program))
            .find(is_file)
    };
    let found = found.ok_or_else(|| {
        Hinted::new(
            format!("{name}: no such program"),
            "its path, or a name on PATH",
        )
    })?;
    let mode = std::fs::metadata(&found)
        .with_context(|| name.clone())?
        .permissions()
        .mode();
    if mode & 0o111 == 0 {
        return Err(Hinted::new(
            format!("{name}: not executable"),
            format!("chmod +x {name}"),
        )
        .into());
    }
    Ok(found)
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
