//! Asking a running guard.

use anyhow::{Context as _, Result, bail};
use pressure::status::Status;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the guard with this run directory answers.
pub(crate) fn path(run: &Path) -> PathBuf {
    run.join("warmset.sock")
}

/// The status of the guard with its socket in `run`; `None` if no guard is running there.
pub(crate) fn status(run: &Path) -> Result<Option<Status>> {
    let path = path(run);
    let mut socket = match UnixStream::connect(&path) {
        Ok(socket) => socket,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => return Ok(None),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            bail!("{}: only root may ask the guard; try sudo", path.display())
        }
        Err(error) => return Err(error).with_context(|| format!("{}: cannot ask the guard", path.display())),
    };
    let ask = |socket: &mut UnixStream| -> std::io::Result<String> {
        socket.set_read_timeout(Some(Duration::from_secs(5)))?;
        socket.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask(&mut socket).with_context(|| format!("{}: the guard does not answer", path.display()))?;
    let (_, body) = answer.split_once("\r\n\r\n").with_context(|| format!("{}: no HTTP answer", path.display()))?;
    let status = serde_json::from_str(body);
    Ok(Some(status.with_context(|| format!("{}: a guard of another version?", path.display()))?))
}
