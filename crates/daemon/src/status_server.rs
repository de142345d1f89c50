//! The status server: answers requests for the guard's status and metrics, and renews the metrics textfile.
//!
//! It runs on one thread beside the loop. The loop publishes to [`SharedStatus`] without waiting; the server reads it there.
//! It answers `GET /status` and `GET /metrics` on a Unix socket, and `GET /metrics` on a loopback port if one is configured.
//! Without clients and without a textfile it sleeps.

mod connection;
mod http;
mod textfile;

use crate::listener::Listener;
use crate::metrics::{Dialect, exposition};
use crate::shared_status::SharedStatus;
use anyhow::{Context, Result};
use arrayvec::{ArrayString, ArrayVec};
use connection::{Closed, Connection, timespec};
use http::{Page, Refusal, Request};
use pressure::config;
use pressure::status::Status;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use textfile::Textfile;

/// Time between two renewals of the textfile: Prometheus rarely scrapes more often.
const RENEWAL: Duration = Duration::from_secs(10);
/// Time to receive a request, and again to send its answer. Clients are on this machine, and one slow client delays the others.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pause after a connection could not be accepted: without free descriptors, accepting again at once would only spin.
const PAUSE: Duration = Duration::from_millis(100);
/// Serialising nests a few calls deep, and the text is on the heap. The stack is locked in memory, so it is small.
const STACK: usize = 128 * 1024;
/// The Unix socket, in the directory for sockets.
const SOCKET: &str = "warmset.sock";
/// Mode of the Unix socket. The status names processes of all users, so it is for root and for the group that the guard runs
/// with: as packaged that is `warmset`, elsewhere root's own.
const OWN_GROUP: u32 = 0o660;
/// Size of the buffer for an answer, in bytes, allocated at the start.
///
/// A usual answer fits. A longer one grows the buffer once, while the shared status is locked.
const ANSWER: usize = 64 * 1024;
/// Size of the buffer for the head of an answer, in bytes; the longest head has about 250.
const ANSWER_HEAD: usize = 512;
/// Warnings in the status. More makes its JSON longer than anyone reads.
const MAX_WARNINGS: usize = 64;

/// Why nobody reaches the port of `metrics.listen`, and what to do.
const NO_NETWORK: &str = "metrics.listen: this service has a network of its own, so nobody reaches the port: install metrics.conf \
    from the documentation as a drop-in of warmsetd.service";

const INDEX: &str = "warmsetd keeps this machine's warm set in memory.\n\n\
    /status   what it sees, expects, does and did, as JSON\n\
    /metrics  the same in numbers, for Prometheus\n";

/// Returns true if these bytes are a request that gets a page.
pub fn gets_a_page(bytes: &[u8]) -> bool {
    matches!(http::read(bytes), Some(Ok(request)) if request.host_is_local)
}

/// The running server. Dropping it closes the sockets, and removes the socket's file and the textfile.
///
/// Dropping takes no longer than one renewal of the textfile, whatever a client does.
#[derive(Debug)]
pub struct StatusServer {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    warning: Option<String>,
}

impl StatusServer {
    /// Opens `warmset.sock` in the directory `run`, and the port and the textfile that `metrics` names.
    ///
    /// A port that cannot be had is no error: the guard matters more than its metrics. [`Self::warning`] says so then.
    ///
    /// Errors, each with its path: another guard answers on the socket; a file that is no socket has its name; the textfile
    /// cannot be written.
    pub fn open(
        run: &Path,
        metrics: &config::Metrics,
        shared_status: Arc<SharedStatus>,
    ) -> Result<Self> {
        let mut worker = Worker::new(run, metrics, shared_status)?;
        worker.write_metrics(Dialect::Prometheus);
        if let Some(renewed) = &worker.textfile {
            renewed.textfile.renew(&worker.answer)?;
        }
        Self::start(worker)
    }

    /// Why the port of `metrics.listen` does not answer; `None` if it does, or there is none.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    fn start(mut worker: Worker) -> Result<Self> {
        let stop = Arc::clone(&worker.stop);
        let warning = worker.warning.take();
        let thread = thread::Builder::new()
            .name("warmset-status".to_owned())
            .stack_size(STACK)
            .spawn(move || worker.serve())
            .context("cannot start the thread of the status server")?;
        Ok(Self {
            stop,
            thread: Some(thread),
            warning,
        })
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        // The first write to an event counter cannot fail.
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}

/// The thread that serves. It keeps its buffers, so that only the first requests allocate.
struct Worker {
    stop: Arc<OwnedFd>,
    listeners: ArrayVec<Listener, 2>,
    /// Why the port of `metrics.listen` does not answer.
    warning: Option<String>,
    textfile: Option<RenewedTextfile>,
    shared_status: Arc<SharedStatus>,
    patience: Duration,
    request: Vec<u8>,
    /// Body of the answer.
    answer: String,
}

struct RenewedTextfile {
    textfile: Textfile,
    due: Instant,
}

impl Worker {
    fn new(
        run: &Path,
        metrics: &config::Metrics,
        shared_status: Arc<SharedStatus>,
    ) -> Result<Self> {
        let mut listeners = ArrayVec::new();
        listeners.push(Listener::unix(run.join(SOCKET), OWN_GROUP)?);
        let mut warning = None;
        match metrics.listen.map(Listener::loopback) {
            Some(Ok(listener)) => {
                listeners.push(listener);
                if host::has_private_network(Path::new("/")) {
                    warning = Some(NO_NETWORK.to_owned());
                }
            }
            Some(Err(error)) => warning = Some(format!("{error:#}; metrics are on {SOCKET} only")),
            None => {}
        }
        let textfile = match &metrics.textfile {
            Some(directory) => Some(RenewedTextfile {
                textfile: Textfile::new(directory)?,
                due: Instant::now() + RENEWAL,
            }),
            None => None,
        };
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .context("cannot create the event counter of the status server")?;
        Ok(Self {
            stop: Arc::new(stop),
            listeners,
            warning,
            textfile,
            shared_status,
            patience: PATIENCE,
            request: Vec::with_capacity(http::HEAD),
            answer: String::with_capacity(ANSWER),
        })
    }

    fn serve(mut self) {
        while let Some(ready) = self.wait() {
            self.renew_if_due();
            for index in ready {
                // A connection that a client closed is no error.
                let _: Result<(), Closed> = self.serve_one(index);
            }
        }
    }

    /// Sleeps until a client connects or the textfile is due. Returns which listeners have a connection; `None` when the
    /// server stops.
    fn wait(&self) -> Option<ArrayVec<usize, 2>> {
        let timeout = self
            .textfile
            .as_ref()
            .map(|renewed| timespec(renewed.due.saturating_duration_since(Instant::now())));
        let mut fds: ArrayVec<PollFd<'_>, 3> = ArrayVec::new();
        fds.push(PollFd::new(&self.stop, PollFlags::IN));
        for listener in &self.listeners {
            fds.push(PollFd::new(listener, PollFlags::IN));
        }
        // A poll that fails leaves no events, and the next one reports them again.
        let _ = poll(&mut fds, timeout.as_ref());
        if !fds[0].revents().is_empty() {
            return None;
        }
        let mut ready = ArrayVec::new();
        for (index, fd) in fds[1..].iter().enumerate() {
            if !fd.revents().is_empty() {
                ready.push(index);
            }
        }
        Some(ready)
    }

    fn renew_if_due(&mut self) {
        let now = Instant::now();
        let Some(renewed) = &mut self.textfile else {
            return;
        };
        if renewed.due > now {
            return;
        }
        renewed.due = now + RENEWAL;
        self.write_metrics(Dialect::Prometheus);
        let Some(renewed) = &self.textfile else {
            return;
        };
        if let Err(error) = renewed.textfile.renew(&self.answer) {
            self.warn_once(format!("{error:#}"));
        }
    }

    /// Puts a warning into the status, if it is not there yet.
    fn warn_once(&self, warning: String) {
        let mut status = self.shared_status.read();
        if status.warnings.len() < MAX_WARNINGS && !status.warnings.contains(&warning) {
            status.warnings.push(warning);
        }
    }

    /// Accepts one connection, reads its request and answers it.
    fn serve_one(&mut self, index: usize) -> Result<(), Closed> {
        let listener = &self.listeners[index];
        let socket = match listener.accept() {
            Ok(socket) => socket,
            Err(error) => {
                if error.kind() != std::io::ErrorKind::WouldBlock {
                    self.pause();
                }
                return Err(Closed);
            }
        };
        let stop = Arc::clone(&self.stop);
        let connection = Connection {
            socket,
            stop: stop.as_fd(),
            patience: self.patience,
        };
        let is_loopback = matches!(listener, Listener::Loopback(_));
        let request = connection.read_request(&mut self.request)?;
        let page = request.and_then(|request| allowed_page(request, is_loopback));
        self.write_answer(page);
        let mut head = ArrayString::<ANSWER_HEAD>::new();
        http::head(page, self.answer.len(), &mut head).map_err(|_| Closed)?;
        connection.send_answer([head.as_bytes(), self.answer.as_bytes()])
    }

    /// Writes the body of an answer.
    fn write_answer(&mut self, page: Result<Page, Refusal>) {
        self.answer.clear();
        match page {
            Ok(Page::Index) => self.answer.push_str(INDEX),
            Ok(Page::Metrics(dialect)) => self.write_metrics(dialect),
            Ok(Page::Status) => {
                let buffer = std::mem::take(&mut self.answer);
                self.answer = json(&self.shared_status.read(), buffer);
            }
            Err(refusal) => self.answer.push_str(refusal.explanation()),
        }
    }

    fn write_metrics(&mut self, dialect: Dialect) {
        self.answer.clear();
        exposition(&self.shared_status.read(), dialect, &mut self.answer);
    }

    /// Waits a moment, or until the server stops.
    fn pause(&self) {
        let mut fds = [PollFd::new(&self.stop, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&timespec(PAUSE)));
    }
}

/// The page that a request asks for. The loopback is open to every user, and the status names processes of all users: there it
/// is the metrics only. A foreign `Host` there means that a website sent the browser.
fn allowed_page(request: Request, is_loopback: bool) -> Result<Page, Refusal> {
    if !is_loopback {
        return Ok(request.page);
    }
    match request.page {
        _ if !request.host_is_local => Err(Refusal::ForeignHost),
        Page::Metrics(dialect) => Ok(Page::Metrics(dialect)),
        Page::Index | Page::Status => Err(Refusal::OnlyMetrics),
    }
}

/// The status as JSON, in the storage of `buffer`, which is empty.
fn json(status: &Status, buffer: String) -> String {
    let mut bytes = buffer.into_bytes();
    // Serialising cannot fail: a status has no map with other keys than text, and no number that JSON cannot write.
    let _ = serde_json::to_writer(&mut bytes, status);
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests;
