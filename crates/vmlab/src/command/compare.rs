//! `compare`: tables of results.

use super::say;
use crate::{comparison, line};
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Print the tables and verdicts of results
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Files of JSON lines
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Compare {
    pub(super) fn run(&self) -> Result<()> {
        let mut lines = Vec::new();
        for file in &self.files {
            anyhow::ensure!(file.exists(), "{} is not there", file.display());
            lines.extend(line::read(file)?);
        }
        say(&comparison::tables(&lines)?)
    }
}
