//! Someone at the screen, as the guard knows one: a visitor at its socket who hears questions, and answers or does not.

use super::Words;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

/// What matters of what a person is told.
#[derive(Deserialize)]
struct Told {
    tell: String,
    id: Option<u64>,
}

/// Writes down what it hears, until the guard goes, and gives every question the same answer.
pub(super) fn person(words: &Words<'_>) -> Result<()> {
    let (path, answer) = (words.text(0)?, words.text(1)?);
    let mut socket = UnixStream::connect(path).with_context(|| path.to_owned())?;
    let mut out = io::stdout().lock();
    for line in BufReader::new(socket.try_clone()?).lines() {
        let line = line?;
        writeln!(out, "{line}")?;
        out.flush()?;
        let told: Told =
            serde_json::from_str(&line).with_context(|| format!("the guard says {line}"))?;
        if let (true, Some(id)) = (told.tell == "ask" && answer != "nothing", told.id) {
            writeln!(socket, "{{\"id\":{id},\"answer\":\"{answer}\"}}")?;
        }
    }
    Ok(())
}
