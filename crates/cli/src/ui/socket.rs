//! Asking a running guard: one HTTP request on its unix socket.

use crate::ui::hinted::Hinted;
use anyhow::{Context as _, Result};
use pressure::status::Status;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A guard answers in microseconds; one that does not in this time is stuck.
const PATIENCE: Duration = Duration::from_secs(5);
/// A status of the largest machine has a tenth.
const MOST: u64 = 16 << 20;

/// Whether a guard runs, as far as we can tell.
#[derive(Debug)]
pub(crate) enum Guard {
    /// It does, and this is its state.
    Running(Box<Status>),
    /// Nobody listens.
    Absent,
    /// Its socket is not ours to ask; the text says why.
    Closed(String),
}

/// Where the guard with this run directory answers.
pub(crate) fn path(run: &Path) -> PathBuf {
    run.join("warmset.sock")
}

/// Asks the guard whose socket is in `run`.
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
    let status = body(&reply)
        .and_then(|body| serde_json::from_slice(body).map_err(|error| error.to_string()));
    status.map(|status| Guard::Running(Box::new(status))).map_err(|what| {
        let hint = "warmset and warmsetd must be of one version: systemctl restart warmsetd after an upgrade";
        Hinted::new(format_args!("{}: {what}", path.display()), hint).into()
    })
}

fn converse(socket: &mut UnixStream) -> io::Result<Vec<u8>> {
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
    let mut reply = Vec::new();
    socket.take(MOST).read_to_end(&mut reply)?;
    Ok(reply)
}
/// What is behind the head of an HTTP reply that says 200.
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
    if !words
        .next()
        .is_some_and(|version| version.starts_with(b"HTTP/1."))
    {
        return Err(format!("{} is not an HTTP reply", quoted()));
    }
    if words.next() != Some(b"200") {
        return Err(format!("the guard replies {}", quoted()));
    }
    let end = reply.windows(4).position(|window| window == b"\r\n\r\n");
    end.map(|end| &reply[end + 4..])
        .ok_or_else(|| "the reply has no body".to_owned())
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
    fn a_socket_that_nobody_listens_at_is_no_guard() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(ask(dir.path()), Ok(Guard::Absent)));
        drop(std::os::unix::net::UnixListener::bind(dir.path().join("warmset.sock")).unwrap());
        assert!(matches!(ask(dir.path()), Ok(Guard::Absent)));
    }
}
