//! The desk: where others ask the guard, and where it leaves its metrics.
//!
//! One thread, off the loop's way. The loop pins its state to the [`SharedStatus`] without ever waiting;
//! the desk reads it there, answers `GET /status` and `GET /metrics` on a unix socket (and on a
//! loopback port, if asked to), and renews the textfile. With no visitor and no textfile it sleeps.

pub(crate) mod door;
mod http;
mod textfile;
mod visit;

use crate::metrics::{Dialect, exposition};
use crate::shared_status::SharedStatus;
use anyhow::{Context, Result};
use arrayvec::ArrayVec;
use door::Door;
use http::{Page, Refusal};
use pressure::config;
use pressure::status::Status;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use textfile::Textfile;
use visit::{Gone, Visit, timespec};

/// How often the textfile is renewed: a scrape interval is rarely shorter.
const RENEWAL: Duration = Duration::from_secs(10);
/// For a request to come in whole, and again for its answer to go out.
const PATIENCE: Duration = Duration::from_secs(2);
/// After a visitor could not be let in (no descriptors left), before the next try.
const PAUSE: Duration = Duration::from_millis(100);
/// Serialising nests a few calls deep; the text itself is on the heap.
const STACK: usize = 128 * 1024;

/// Who asks for everything is root.
const ROOT_ONLY: u32 = 0o600;
/// Room for an answer, made at start: the board should not be held while memory is sought.
const TEXT: usize = 64 * 1024;
/// As many as anyone reads.
const MAX_WARNINGS: usize = 64;

const INDEX: &str = "warmsetd keeps this machine's warm set in memory.\n\n\
    /status   what it sees, expects, does and did, as JSON\n\
    /metrics  the same in numbers, for Prometheus\n";

/// The running desk. Dropping it closes the sockets and removes their file and the textfile;
/// this takes no longer than one renewal of the textfile, whatever a visitor does.
#[derive(Debug)]
pub struct StatusServer {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl StatusServer {
    /// Opens `warmset.sock` in the folder `run`, and what `metrics` asks for.
    ///
    /// Errors, each with its path or address: a socket that another guard answers on, something
    /// that is no socket in its place, an address that is not of the loopback or is taken, a
    /// textfile folder that cannot be written to.
    pub fn open(
        run: &Path,
        metrics: &config::Metrics,
        shared_status: Arc<SharedStatus>,
    ) -> Result<Self> {
        let mut clerk = Clerk::new(run, metrics, shared_status)?;
        clerk.draw_up(Dialect::Prometheus);
        if let Some((textfile, _)) = &clerk.textfile {
            textfile.renew(&clerk.text)?;
        }
        Self::start(clerk)
    }

    fn start(clerk: Clerk) -> Result<Self> {
        let stop = Arc::clone(&clerk.stop);
        let work = thread::Builder::new().name("desk".into()).stack_size(STACK);
        let thread = work
            .spawn(move || clerk.work())
            .context("thread for the desk")?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        // An event counter takes the first write always.
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // A panic of the desk has been reported where it happened.
            let _ = thread.join();
        }
    }
}

/// Who sits at the desk. Buffers are kept, so that a scrape costs no memory after the first.
struct Clerk {
    stop: Arc<OwnedFd>,
    doors: ArrayVec<Door, 2>,
    textfile: Option<(Textfile, Instant)>,
    shared_status: Arc<SharedStatus>,
    patience: Duration,
    request: Vec<u8>,
    text: String,
}

impl Clerk {
    fn new(
        run: &Path,
        metrics: &config::Metrics,
        shared_status: Arc<SharedStatus>,
    ) -> Result<Self> {
        let mut doors = ArrayVec::new();
        doors.push(Door::unix(run.join("warmset.sock"), ROOT_ONLY)?);
        if let Some(address) = &metrics.listen {
            doors.push(Door::loopback(address)?);
        }
        let textfile = metrics.textfile.as_deref().map(Textfile::new).transpose()?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .context("event counter for the desk")?;
        Ok(Self {
            stop: Arc::new(stop),
            doors,
            textfile: textfile.map(|textfile| (textfile, Instant::now() + RENEWAL)),
            shared_status,
            patience: PATIENCE,
            request: Vec::with_capacity(http::HEAD),
            text: String::with_capacity(TEXT),
        })
    }

    fn work(mut self) {
        while let Some(knocks) = self.wait() {
            self.renew_if_due();
            for (index, _) in knocks.iter().enumerate().filter(|(_, knock)| **knock) {
                // A visitor who went is no trouble of ours.
                let _: Result<(), Gone> = self.answer(index);
            }
        }
    }

    /// Sleeps until someone knocks or the textfile is due; says at which doors; `None` at the end.
    fn wait(&self) -> Option<ArrayVec<bool, 2>> {
        let left = self
            .textfile
            .as_ref()
            .map(|(_, due)| due.saturating_duration_since(Instant::now()));
        let mut fds: ArrayVec<PollFd<'_>, 3> = ArrayVec::new();
        fds.push(PollFd::new(&self.stop, PollFlags::IN));
        fds.extend(
            self.doors
                .iter()
                .map(|door| PollFd::new(door, PollFlags::IN)),
        );
        // A failed poll leaves no events, and the next one tells again.
        let _ = poll(&mut fds, left.map(timespec).as_ref());
        let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        (!ready(&fds[0])).then(|| fds[1..].iter().map(ready).collect())
    }

    fn renew_if_due(&mut self) {
        let now = Instant::now();
        if self.textfile.as_ref().is_none_or(|(_, due)| *due > now) {
            return;
        }
        self.draw_up(Dialect::Prometheus);
        let Some((textfile, due)) = &mut self.textfile else {
            return;
        };
        *due = now + RENEWAL;
        if let Err(error) = textfile.renew(&self.text) {
            self.complain(format!("{error:#}"));
        }
    }

    /// Puts a trouble on the board, once.
    fn complain(&self, error: String) {
        let mut status = self.shared_status.read();
        if status.warnings.len() < MAX_WARNINGS && !status.warnings.contains(&error) {
            status.warnings.push(error);
        }
    }

    fn draw_up(&mut self, dialect: Dialect) {
        self.text.clear();
        exposition(&self.shared_status.read(), dialect, &mut self.text);
    }

    fn answer(&mut self, door: usize) -> Result<(), Gone> {
        let door = &self.doors[door];
        let socket = door.accept().map_err(|error| {
            if error.kind() != std::io::ErrorKind::WouldBlock {
                self.rest();
            }
            Gone
        })?;
        let stop = Arc::clone(&self.stop);
        let visit = Visit {
            socket,
            stop: stop.as_fd(),
            patience: self.patience,
        };
        let local_names_only = matches!(door, Door::Loopback(_));
        let answer = visit.hear(&mut self.request)?.and_then(|request| {
            let may = request.host_is_local || !local_names_only;
            if may {
                Ok(request.page)
            } else {
                Err(Refusal::ForeignHost)
            }
        });
        self.write(answer);
        let mut head = arrayvec::ArrayString::<512>::new();
        http::head(answer, self.text.len(), &mut head).map_err(|_| Gone)?;
        visit.say([head.as_bytes(), self.text.as_bytes()])
    }

    /// Puts the body of an answer into `text`.
    fn write(&mut self, answer: Result<Page, Refusal>) {
        self.text.clear();
        match answer {
            Ok(Page::Index) => self.text.push_str(INDEX),
            Ok(Page::Metrics(dialect)) => self.draw_up(dialect),
            Ok(Page::Status) => {
                self.text = json(&self.shared_status.read(), std::mem::take(&mut self.text));
            }
            Err(refusal) => self.text.push_str(refusal.says().1),
        }
    }

    /// Waits a moment, or for the end.
    fn rest(&self) {
        let mut fds = [PollFd::new(&self.stop, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&timespec(PAUSE)));
    }
}

/// Writes into the storage of `text`.
fn json(status: &Status, text: String) -> String {
    let mut bytes = text.into_bytes();
    // A status holds nothing that JSON cannot: no map, no number that is none.
    let _ = serde_json::to_writer(&mut bytes, status);
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests;
