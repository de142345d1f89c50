//! The process that lets go on who was stopped, should the guard die before it can.
//!
//! It is started when the first person can be asked, waits for the end of a socket, and needs nothing of the guard's: the
//! undo log says who was stopped. A guard that ends as it should has put everything back before, so nothing is left to it.

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

/// It has nothing to do at a good end, and ends as soon.
const GOODBYE: Duration = Duration::from_millis(500);

/// Until it says that it is there: a program that ends at once is none.
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
                // What a terminal sends to the guard is not for it.
                .process_group(0)
                .spawn()?;
            let thawer = Self {
                child,
                socket: Some(ours),
            };
            if thawer.is_ready() {
                Ok(thawer)
            } else {
                Err(std::io::Error::other("it is not there to thaw"))
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

    /// Whether it is there to do its work.
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
        crate::testing::write_program(&program, "#!/bin/sh\nprintf r >&0\nsleep 0.3\n");
        let thawer = Thawer::start(&program, dir.path()).unwrap();
        assert!(thawer.is_there());
        let deadline = Instant::now() + Duration::from_secs(20);
        while thawer.is_there() {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn one_that_is_not_there_at_once_is_none() {
        // It does not know the option.
        assert!(Thawer::start(Path::new("/bin/cat"), Path::new("/")).is_err());
        assert!(Thawer::start(Path::new("/none"), Path::new("/")).is_err());
    }
}
