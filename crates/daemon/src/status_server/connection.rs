//! One request and its answer. It ends at its deadline or when the server stops, whatever the client does.

use super::http::{self, HEAD, Refusal, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How much of a refused request is read and thrown away, in bytes.
///
/// Closing a socket with unread bytes discards the answer. A client that sends more than this may not see its refusal.
const MAX_DRAINED: usize = 64 * 1024;

/// A request, or why it is refused.
type Parsed = Result<Request, Refusal>;

/// The connection is over: closed by the client, too slow, or the server stops.
#[derive(Debug)]
pub(super) struct Closed;

/// A client's connection, on a socket that does not block.
pub(super) struct Connection<'a> {
    pub(super) socket: OwnedFd,
    /// Readable once the server stops.
    pub(super) stop: BorrowedFd<'a>,
    /// Time to read the request, and the same again to write the answer.
    pub(super) patience: Duration,
}

impl Connection<'_> {
    /// Reads the head of a request into `buffer`.
    pub(super) fn read_request(&self, buffer: &mut Vec<u8>) -> Result<Parsed, Closed> {
        let deadline = Instant::now() + self.patience;
        buffer.clear();
        loop {
            if let Some(request) = http::read(buffer) {
                return Ok(request);
            }
            if self.read_more(buffer, deadline)? == 0 {
                return Err(Closed);
            }
        }
    }

    /// Appends what has arrived, up to [`HEAD`] bytes in all; returns how much that is.
    fn read_more(&self, buffer: &mut Vec<u8>, deadline: Instant) -> Result<usize, Closed> {
        let used = buffer.len();
        buffer.resize(HEAD, 0);
        let read = self.receive(&mut buffer[used..], deadline);
        let added = *read.as_ref().unwrap_or(&0);
        buffer.truncate(used + added);
        read
    }

    /// Sends all of `parts` and closes the connection.
    pub(super) fn send_answer(self, parts: [&[u8]; 2]) -> Result<(), Closed> {
        let deadline = Instant::now() + self.patience;
        for part in parts {
            self.send_all(part, deadline)?;
        }
        shutdown(&self.socket, Shutdown::Write).map_err(|_| Closed)?;
        self.drain(deadline)
    }

    fn send_all(&self, mut rest: &[u8], deadline: Instant) -> Result<(), Closed> {
        while !rest.is_empty() {
            match send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Ok(sent) => rest = &rest[sent..],
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, deadline)?,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Closed),
            }
        }
        Ok(())
    }

    /// Reads what the client still sends, so that closing the socket does not discard the answer.
    fn drain(&self, deadline: Instant) -> Result<(), Closed> {
        let mut scrap = [0; 4096];
        let mut left = MAX_DRAINED;
        while left > 0 {
            match self.receive(&mut scrap, deadline)? {
                0 => break,
                read => left = left.saturating_sub(read),
            }
        }
        Ok(())
    }

    fn receive(&self, buffer: &mut [u8], deadline: Instant) -> Result<usize, Closed> {
        loop {
            match recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((read, _)) => return Ok(read),
                Err(Errno::AGAIN) => self.wait(PollFlags::IN, deadline)?,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Closed),
            }
        }
    }

    fn wait(&self, events: PollFlags, deadline: Instant) -> Result<(), Closed> {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = [
            PollFd::new(&self.stop, PollFlags::IN),
            PollFd::new(&self.socket, events),
        ];
        let polled = poll(&mut fds, Some(&timespec(left)));
        let server_stops = !fds[0].revents().is_empty();
        let socket_is_ready = !fds[1].revents().is_empty();
        let may_go_on = match polled {
            Ok(_) => socket_is_ready && !server_stops,
            Err(Errno::INTR) => !left.is_zero(),
            Err(_) => false,
        };
        if may_go_on { Ok(()) } else { Err(Closed) }
    }
}

/// The span as the kernel takes it. A span too long for it becomes the longest, which is for ever.
pub(super) fn timespec(span: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(span.subsec_nanos()),
    }
}
