//! A user's program at the guard's notice socket: it prints all notices, and answers questions or does not.

use super::Words;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

/// A notice, as far as it matters here.
#[derive(Deserialize)]
struct Notice {
    /// Its kind.
    tell: String,
    /// The number of a question.
    id: Option<u64>,
}

/// Prints all notices until the guard ends, and gives every question the same answer.
pub(super) fn user(words: &Words<'_>) -> Result<()> {
    let path = words.text(0)?;
    let answer = words.text(1)?;
    let mut socket =
        UnixStream::connect(path).with_context(|| format!("cannot connect to {path}"))?;
    let mut out = io::stdout().lock();
    for line in BufReader::new(socket.try_clone()?).lines() {
        let line = line?;
        writeln!(out, "{line}")?;
        out.flush()?;
        let notice: Notice =
            serde_json::from_str(&line).with_context(|| format!("not a notice: {line}"))?;
        if notice.tell != "ask" || answer == "nothing" {
            continue;
        }
        if let Some(id) = notice.id {
            writeln!(socket, "{{\"id\":{id},\"answer\":\"{answer}\"}}")?;
        }
    }
    Ok(())
}
