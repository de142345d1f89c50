//! `decisions`: situations beside the kernel alone, other guards and Warmset.

use super::run::{daemon, ended, watch_for_interrupts};
use super::say;
use crate::decisions::lines::{self, Line};
use crate::decisions::runs::{self, Order};
use crate::decisions::table::{self, Cell};
use crate::store::Store;
use anyhow::{Context, Result};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Play situations beside each guard, in machines with systemd, and print which decided right
///
/// Each situation that has a table [vm] runs beside the kernel alone, earlyoom, nohang, systemd-oomd and warmsetd. What the
/// kernel records of signals is judged by the situation's own [right]. All runs take less than two hours on two CPUs. A
/// command that was interrupted goes on where it stopped. Needs root, as it makes a Debian by mmdebstrap.
#[derive(Debug, Args)]
pub(crate) struct Decisions {
    /// Only these situations
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    only: Vec<String>,
    /// Only these arms: none, earlyoom, nohang, systemd-oomd, warmset
    #[arg(long, value_delimiter = ',', value_name = "ARM,…")]
    arms: Vec<String>,
    /// Machines at once; each takes a CPU
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Add each result to this file at once; a run that it has is not made again
    #[arg(long, value_name = "FILE", default_value = "decisions.jsonl")]
    json: PathBuf,
    /// Keep the guards' own files here, such as recordings for `warmset why`
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Where the situations are
    #[arg(long, value_name = "DIR", default_value = "situations")]
    situations: PathBuf,
    /// 6.1, 6.12, 7, or the directory of one that was built
    #[arg(long, default_value = "6.12")]
    kernel: String,
    /// The guard to try, with warmset-hold beside it [default: beside this program]
    #[arg(long, value_name = "FILE")]
    warmsetd: Option<PathBuf>,
    /// Run nothing, and print the table of the results that are there
    #[arg(long)]
    table: bool,
}

impl Decisions {
    pub(super) fn run(&self, store: &Store) -> Result<ExitCode> {
        if self.table {
            let lines = lines::read(&self.json)?;
            say(&table::markdown(&lines)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let order = self.order()?;
        let interrupted = watch_for_interrupts()?;
        let lines = runs::run(store, &order, &interrupted, &tell)?;
        say(&table::markdown(&lines)?)?;
        // A run that failed is the lab's fault, whatever a guard does.
        let failed = lines.iter().any(|line| !line.counts());
        ended(lines.len(), &order.out, &interrupted, failed)
    }

    fn order(&self) -> Result<Order> {
        let mut situations = runs::chosen(&self.situations)?;
        for name in &self.only {
            let is_there = situations.iter().any(|named| named.name == *name);
            let all: Vec<&str> = situations.iter().map(|named| named.name.as_str()).collect();
            anyhow::ensure!(
                is_there,
                "no situation '{name}' with a table [vm]: {}",
                all.join(", ")
            );
        }
        if !self.only.is_empty() {
            situations.retain(|named| self.only.contains(&named.name));
        }
        Ok(Order {
            situations,
            arms: runs::arms(&self.arms)?,
            jobs: self.jobs,
            out: self.json.clone(),
            keep: self.keep.clone(),
            daemon: daemon(self.warmsetd.as_deref()).context("no warmsetd")?,
            kernel: self.kernel.clone(),
        })
    }
}

/// Says on standard error what came of a run.
fn tell(line: &Line, left: usize) {
    let said = match Cell::of(line) {
        Ok(cell) => format!("{} {}", cell.word().trim_matches('*'), cell.what),
        Err(error) => format!("{error:#}"),
    };
    let _ = writeln!(
        std::io::stderr(),
        "{}, {}: {} ({:.0} s, {left} to go)",
        line.situation,
        line.arm,
        said.trim(),
        line.wall_s
    );
}
