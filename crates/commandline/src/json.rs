//! Output for programs.

use anyhow::Result;
use serde::Serialize;
use std::io::{self, Write};

/// Prints `value` as indented JSON, on lines of its own.
pub fn json(out: &mut impl Write, value: &impl Serialize) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Prints `value` as JSON on one line.
pub fn json_line(out: &mut impl Write, value: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
