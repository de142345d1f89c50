//! The desk: answers who asks, so that the loop never has to.
//!
//! One thread serves `GET /status` (JSON) and `GET /metrics` (OpenMetrics) over HTTP on a unix socket in the run
//! directory and, if configured, on a loopback address; and renews the textfile. One request is served at a
//! time, for two seconds at most. Whatever a client sends, it gets an answer or is cut off.

use crate::board::Board;
use crate::metrics::{Dialect, exposition};
use anyhow::{Context, Result, bail};
use pressure::config::Metrics;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const STACK: usize = 256 * 1024;
/// A client gets this long.
const DEADLINE: Duration = Duration::from_secs(2);
const MOST_REQUEST: usize = 16 * 1024;
/// Between two renewals of the textfile.
const RENEWAL: Duration = Duration::from_secs(10);

/// The thread, and what it leaves behind if it is not told to stop.
#[derive(Debug)]
pub struct Desk {
    stop: UnixStream,
    thread: Option<JoinHandle<()>>,
    socket: PathBuf,
}

struct Counter {
    board: Arc<Board>,
    unix: UnixListener,
    tcp: Option<TcpListener>,
    stop: UnixStream,
    textfile: Option<PathBuf>,
}

impl Desk {
    /// Opens the socket in `run` and what `metrics` asks for, and starts to answer.
    pub fn open(run: &Path, metrics: &Metrics, board: Arc<Board>) -> Result<Self> {
        let socket = run.join("warmset.sock");
        let unix = unix_listener(&socket).with_context(|| format!("{}: no socket", socket.display()))?;
        let tcp = metrics.listen.as_deref().map(loopback_listener).transpose()?;
        let textfile = metrics.textfile.as_ref().map(|folder| Path::new(folder).join("warmset.prom"));
        let (stop, stopped) = UnixStream::pair()?;
        let counter = Counter { board, unix, tcp, stop: stopped, textfile };
        let thread = std::thread::Builder::new()
            .name("warmset-desk".to_owned())
            .stack_size(STACK)
            .spawn(move || counter.serve())?;
        Ok(Self { stop, thread: Some(thread), socket })
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.stop.write_all(b".");
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = fs::remove_file(&self.socket);
    }
}

/// Replaces the socket of a guard that is gone; anything else in its place is left, and an error.
fn unix_listener(path: &Path) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.file_type().is_socket() => return Err(io::Error::other("something else is there")),
        Ok(_) if UnixStream::connect(path).is_ok() => return Err(io::Error::other("someone answers there already")),
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn loopback_listener(address: &str) -> Result<TcpListener> {
    let address: SocketAddr =
        address.parse().with_context(|| format!("metrics.listen = {address:?} is not ADDRESS:PORT"))?;
    if !address.ip().is_loopback() {
        bail!("metrics.listen = \"{address}\" is not a loopback address; the metrics have no password");
    }
    let listener = TcpListener::bind(address).with_context(|| format!("metrics.listen = \"{address}\""))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl Counter {
    fn serve(self) {
        let mut renewed = None::<Instant>;
        while self.wait(&mut renewed).is_ok() {
            while let Ok((client, _)) = self.unix.accept() {
                let _ = client.set_read_timeout(Some(DEADLINE)).and(client.set_write_timeout(Some(DEADLINE)));
                self.answer(client);
            }
            while let Some(Ok((client, _))) = self.tcp.as_ref().map(TcpListener::accept) {
                let _ = client.set_read_timeout(Some(DEADLINE)).and(client.set_write_timeout(Some(DEADLINE)));
                self.answer::<TcpStream>(client);
            }
        }
        if let Some(path) = &self.textfile {
            let _ = fs::remove_file(path);
        }
    }

    /// Waits for a client; `Err` when it is time to stop. Renews the textfile when that is due.
    fn wait(&self, renewed: &mut Option<Instant>) -> Result<(), ()> {
        let due = self
            .textfile
            .as_ref()
            .map(|_| renewed.map_or(Duration::ZERO, |last| RENEWAL.saturating_sub(last.elapsed())));
        let timeout = due.map(|due| Timespec { tv_sec: due.as_secs() as i64, tv_nsec: due.subsec_nanos().into() });
        let tcp = match &self.tcp {
            Some(tcp) => PollFd::new(tcp, PollFlags::IN),
            None => PollFd::new(&self.stop, PollFlags::IN),
        };
        let mut ends = [PollFd::new(&self.stop, PollFlags::IN), PollFd::new(&self.unix, PollFlags::IN), tcp];
        let ready = poll(&mut ends, timeout.as_ref());
        if !ends[0].revents().is_empty() {
            return Err(());
        }
        if let (Ok(0), Some(path)) = (ready, &self.textfile) {
            *renewed = Some(Instant::now());
            let _ = self.renew(path);
        }
        Ok(())
    }

    /// Replaces the textfile whole, so that a reader never sees half of it.
    fn renew(&self, path: &Path) -> io::Result<()> {
        let mut text = String::new();
        exposition(&self.board.read(), Dialect::Prometheus, &mut text);
        let draft = path.with_extension("prom.new");
        fs::write(&draft, text)?;
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o644))?;
        fs::rename(&draft, path)
    }

    fn answer<S: Read + Write>(&self, mut client: S) {
        let begun = Instant::now();
        let mut request = Vec::with_capacity(1024);
        let mut buffer = [0; 1024];
        while !ends(&request) && request.len() < MOST_REQUEST && begun.elapsed() < DEADLINE {
            match client.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(length) => request.extend_from_slice(&buffer[..length]),
            }
        }
        let (status, kind, body) = self.respond(&request);
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let _ = client.write_all(head.as_bytes()).and_then(|()| client.write_all(body.as_bytes()));
    }

    fn respond(&self, request: &[u8]) -> (&'static str, &'static str, String) {
        const TEXT: &str = "text/plain; charset=utf-8";
        match target(request) {
            Target::Path(b"/status") => match serde_json::to_string(&*self.board.read()) {
                Ok(json) => ("200 OK", "application/json", json),
                Err(error) => ("500 Internal Server Error", TEXT, format!("{error}\n")),
            },
            Target::Path(b"/metrics") => {
                let mut text = String::new();
                exposition(&self.board.read(), Dialect::OpenMetrics, &mut text);
                ("200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", text)
            }
            Target::Path(b"/") => ("200 OK", TEXT, "warmset: /status /metrics\n".to_owned()),
            Target::Path(_) => ("404 Not Found", TEXT, "there are /status and /metrics\n".to_owned()),
            Target::OtherMethod => ("405 Method Not Allowed", TEXT, "only GET\n".to_owned()),
            Target::Nonsense => ("400 Bad Request", TEXT, "not HTTP\n".to_owned()),
        }
    }
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum Target<'r> {
    Path(&'r [u8]),
    OtherMethod,
    Nonsense,
}

fn ends(request: &[u8]) -> bool {
    request.ends_with(b"\r\n\r\n") || request.ends_with(b"\n\n")
}

/// The path of `GET PATH HTTP/1.x`, without its query.
fn target(request: &[u8]) -> Target<'_> {
    let line = request.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line.trim_ascii().split(|byte| *byte == b' ');
    match (words.next(), words.next(), words.next()) {
        (Some(b"GET"), Some(path), Some(version)) if version.starts_with(b"HTTP/1.") => {
            Target::Path(path.split(|byte| *byte == b'?').next().unwrap_or_default())
        }
        (Some(_), Some(_), Some(version)) if version.starts_with(b"HTTP/1.") => Target::OtherMethod,
        _ => Target::Nonsense,
    }
}

#[cfg(test)]
mod tests;
