//! Asking a running guard: one HTTP request on its unix socket.

use crate::ui::hinted::Hinted;
use anyhow::{Context as _, Result};
use pressure::status::Status;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A guard answers in microseconds; one that has not answered after this time is stuck.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes of an answer: ten times the status of the largest machine.
const MOST: u64 = 16 << 20;

/// Who may ask a packaged guard.
pub(crate) const ANSWERS_TO: &str = "answers to root and to the group warmset";
/// How to become one of them.
pub(crate) const JOIN: &str = "sudo usermod -aG warmset $USER, and log in again";

/// The answer of the guard, if one runs.
#[derive(Debug)]
pub(crate) enum Guard {
    /// A guard runs, and this is its status.
    Running(Box<Status>),
    /// No guard listens.
    Absent,
    /// We may not connect to its socket; the text says why.
    Closed(String),
}

/// The socket of the guard with this run directory.
pub(crate) fn path(run: &Path) -> PathBuf {
    run.join("warmset.sock")
}

/// Asks the guard with this run directory for its status.
pub(crate) fn ask(run: &Path) -> Result<Guard> {
    let path = path(run);
    let mut socket = match UnixStream::connect(&path) {
        Ok(socket) => socket,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(Guard::Absent);
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return Ok(Guard::Closed(format!("{}: {error}", path.display())));
        }
        Err(error) => {
            return Err(error).with_context(|| format!("{}: cannot ask the guard", path.display()));
        }
    };
    let reply = converse(&mut socket)
        .with_context(|| format!("{}: the guard does not answer", path.display()))?;
    match status_of(&reply) {
        Ok(status) => Ok(Guard::Running(Box::new(status))),
        Err(what) => {
            let hint = "warmset and warmsetd must be of one version: systemctl restart warmsetd after an upgrade";
            Err(Hinted::new(format_args!("{}: {what}", path.display()), hint).into())
        }
    }
}

fn converse(socket: &mut UnixStream) -> io::Result<Vec<u8>> {
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
    let mut reply = Vec::new();
    socket.take(MOST).read_to_end(&mut reply)?;
    Ok(reply)
}

/// The status in an HTTP reply.
fn status_of(reply: &[u8]) -> Result<Status, String> {
    serde_json::from_slice(body(reply)?).map_err(|error| error.to_string())
}

/// The body of an HTTP reply with status 200.
fn body(reply: &[u8]) -> Result<&[u8], String> {
    let first = reply
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    let quoted = || {
        format!(
            "{:?}",
            String::from_utf8_lossy(&first[..first.len().min(80)])
        )
    };
    let mut words = first.split(|byte| *byte == b' ');
    let version = words.next().unwrap_or_default();
    if !version.starts_with(b"HTTP/1.") {
        return Err(format!("{} is not an HTTP reply", quoted()));
    }
    if words.next() != Some(b"200") {
        return Err(format!("the guard replies {}", quoted()));
    }
    match reply.windows(4).position(|window| window == b"\r\n\r\n") {
        Some(end) => Ok(&reply[end + 4..]),
        None => Err("the reply has no body".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_good_reply_has_a_body() {
        assert_eq!(body(b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n{}"), Ok(&b"{}"[..]));
        assert_eq!(body(b"HTTP/1.0 200 OK\r\n\r\n"), Ok(&b""[..]));
        assert_eq!(body(b"").unwrap_err(), "\"\" is not an HTTP reply");
        assert_eq!(
            body(b"\xff\x00 200").unwrap_err(),
            "\"\u{fffd}\\0 200\" is not an HTTP reply"
        );
        assert_eq!(
            body(b"HTTP/1.1 404 Not Found\r\n\r\n").unwrap_err(),
            "the guard replies \"HTTP/1.1 404 Not Found\""
        );
        assert_eq!(
            body(b"HTTP/1.1 200 OK\r\nX").unwrap_err(),
            "the reply has no body"
        );
    }

    #[test]
    fn a_socket_without_a_listener_is_no_guard() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(ask(dir.path()), Ok(Guard::Absent)));
        drop(std::os::unix::net::UnixListener::bind(dir.path().join("warmset.sock")).unwrap());
        assert!(matches!(ask(dir.path()), Ok(Guard::Absent)));
    }
}
