//! The process that thaws frozen cgroups if the guard dies before it can: `warmset-hold --thaw`.
//!
//! It is started when a user can be asked, waits for the end of a socket, and needs nothing of the guard: the undo log
//! says what is frozen. A guard that ends in order has put everything back before, and leaves it nothing to do.

use crate::error::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, recv, socketpair};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time that it has to end with the guard. It has nothing to do then, so this only bounds a fault.
const GOODBYE: Duration = Duration::from_millis(500);

/// Time for its first message. One that does not come is taken for a program that does not know the option.
const READY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 300_000_000,
};

/// The waiting process.
#[derive(Debug)]
pub(crate) struct Thawer {
    child: Child,
    socket: Option<OwnedFd>,
}

impl Thawer {
    /// Starts `program`, `warmset-hold`, for the undo log in `run`, and waits a moment for its word.
    pub(crate) fn start(program: &Path, run: &Path) -> Result<Self, Error> {
        let start = || -> std::io::Result<Self> {
            let (ours, theirs) = socketpair(
                AddressFamily::UNIX,
                SocketType::SEQPACKET,
                SocketFlags::CLOEXEC,
                None,
            )?;
            let child = Command::new(program)
                .args([OsStr::new("--thaw"), run.as_os_str()])
                .stdin(Stdio::from(theirs))
                .stdout(Stdio::null())
                .env_clear()
                // A signal that a terminal sends to the guard's group must not reach it.
                .process_group(0)
                .spawn()?;
            let thawer = Self {
                child,
                socket: Some(ours),
            };
            if thawer.is_ready() {
                Ok(thawer)
            } else {
                Err(std::io::Error::other("--thaw did not answer within 300 ms"))
            }
        };
        start().map_err(|error| Error::unreadable(program, error))
    }

    fn is_ready(&self) -> bool {
        let Some(socket) = &self.socket else {
            return false;
        };
        let _ = poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&READY));
        matches!(recv(socket, &mut [0; 1], RecvFlags::DONTWAIT), Ok((1, _)))
    }

    /// Returns true if it runs.
    pub(crate) fn is_there(&self) -> bool {
        let Some(socket) = &self.socket else {
            return false;
        };
        matches!(
            recv(socket, &mut [0; 1], RecvFlags::DONTWAIT | RecvFlags::PEEK),
            Err(Errno::AGAIN | Errno::INTR)
        )
    }
}

impl Drop for Thawer {
    fn drop(&mut self) {
        drop(self.socket.take());
        let deadline = Instant::now() + GOODBYE;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_ended_is_seen_to_be_gone() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("thaws");
        testsupport::write_program(&program, "#!/bin/sh\nprintf r >&0\nsleep 0.3\n");
        let thawer = Thawer::start(&program, dir.path()).unwrap();
        assert!(thawer.is_there());
        let deadline = Instant::now() + Duration::from_secs(20);
        while thawer.is_there() {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_program_that_does_not_answer_at_once_is_refused() {
        // It does not know the option.
        assert!(Thawer::start(Path::new("/bin/cat"), Path::new("/")).is_err());
        assert!(Thawer::start(Path::new("/none"), Path::new("/")).is_err());
    }
}
