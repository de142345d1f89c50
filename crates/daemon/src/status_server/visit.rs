//! One conversation, which ends at its deadline or when the desk closes, whatever the visitor does.

use super::http::{self, HEAD, Refusal, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How much of a refused request is read and thrown away, so that the refusal is not lost with it.
const LEFTOVER: usize = 64 * 1024;

/// A visitor who need not be waited for any longer.
#[derive(Debug)]
pub(super) struct Gone;

/// A visitor on a socket that does not block.
pub(super) struct Visit<'a> {
    pub(super) socket: OwnedFd,
    /// Readable once the desk closes.
    pub(super) stop: BorrowedFd<'a>,
    /// For reading the request, and again for writing the answer.
    pub(super) patience: Duration,
}

impl Visit<'_> {
    /// Reads the head of a request into `buffer`.
    pub(super) fn hear(&self, buffer: &mut Vec<u8>) -> Result<Result<Request, Refusal>, Gone> {
        let deadline = Instant::now() + self.patience;
        buffer.clear();
        loop {
            if let Some(request) = http::read(buffer) {
                return Ok(request);
            }
            let used = buffer.len();
            buffer.resize(HEAD, 0);
            let read = self.receive(&mut buffer[used..], deadline);
            buffer.truncate(used + read.as_ref().copied().unwrap_or(0));
            if read? == 0 {
                return Err(Gone);
            }
        }
    }

    /// Sends all of `parts` and ends the conversation.
    pub(super) fn say(self, parts: [&[u8]; 2]) -> Result<(), Gone> {
        let deadline = Instant::now() + self.patience;
        for mut rest in parts {
            while !rest.is_empty() {
                match send(&self.socket, rest, SendFlags::NOSIGNAL) {
                    Ok(sent) => rest = &rest[sent..],
                    Err(Errno::AGAIN) => self.wait(PollFlags::OUT, deadline)?,
                    Err(Errno::INTR) => {}
                    Err(_) => return Err(Gone),
                }
            }
        }
        shutdown(&self.socket, Shutdown::Write).map_err(|_| Gone)?;
        self.drain(deadline)
    }

    /// A socket closed with bytes unread takes back what it has sent.
    fn drain(&self, deadline: Instant) -> Result<(), Gone> {
        let mut scrap = [0; 4096];
        let mut left = LEFTOVER;
        while left > 0 {
            match self.receive(&mut scrap, deadline)? {
                0 => break,
                read => left = left.saturating_sub(read),
            }
        }
        Ok(())
    }

    fn receive(&self, buffer: &mut [u8], deadline: Instant) -> Result<usize, Gone> {
        loop {
            match recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((read, _)) => return Ok(read),
                Err(Errno::AGAIN) => self.wait(PollFlags::IN, deadline)?,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Gone),
            }
        }
    }

    fn wait(&self, events: PollFlags, deadline: Instant) -> Result<(), Gone> {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = [
            PollFd::new(&self.stop, PollFlags::IN),
            PollFd::new(&self.socket, events),
        ];
        let ready = poll(&mut fds, Some(&timespec(left)));
        let (stopped, socket) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        match ready {
            Ok(_) if stopped || !socket => Err(Gone),
            Ok(_) => Ok(()),
            Err(Errno::INTR) if !left.is_zero() => Ok(()),
            Err(_) => Err(Gone),
        }
    }
}

/// As the kernel takes it; a span too long for it never ends anyway.
pub(super) fn timespec(span: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(span.subsec_nanos()),
    }
}
