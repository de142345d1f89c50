//! `run`: a scenario, arm against arm.

use super::say;
use crate::arm::Arm;
use crate::comparison;
use crate::line::{Line, Setting, State};
use crate::plan::{Lru, Swap};
use crate::runner::{self, Lengths, Order};
use crate::scenario;
use crate::store::Store;
use anyhow::{Context, Result};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code after Ctrl-C: 128 and the number of SIGINT, as shells have it.
pub(super) const INTERRUPTED: u8 = 130;

/// Run a scenario beside each arm, interleaved, and compare
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The load: see `warmset-lab scenarios`
    scenario: String,
    /// What to compare, the first is what others are compared with: see `warmset-lab arms` [default: the scenario's own]
    #[arg(long, value_delimiter = ',', value_name = "ARM,…")]
    arms: Vec<String>,
    /// Runs of each arm
    #[arg(long, default_value_t = 3)]
    reps: u32,
    /// 6.1, 6.12, 7, one with our patches (6.12+series), like it without them (6.12+plain), or the directory of one that
    /// was built; several make several tables
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "6.12",
        value_name = "KERNEL,…"
    )]
    kernel: Vec<String>,
    /// Which replacement algorithm [default: the kernel's own choice]
    #[arg(long, value_delimiter = ',', value_name = "LRU,…")]
    lru: Vec<Lru>,
    /// Where anonymous memory goes
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "none",
        value_name = "SWAP,…"
    )]
    swap: Vec<Swap>,
    /// Memory of the machine
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1G",
        value_name = "SIZE,…"
    )]
    memory: Vec<String>,
    /// Its CPUs; more than one needs KVM to be faster
    #[arg(long, default_value_t = 1)]
    cpus: u32,
    /// Its NUMA nodes
    #[arg(long, default_value_t = 1)]
    nodes: u32,
    /// Machines under load at once; each takes a CPU
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Seconds before counting begins [default: the scenario's own]
    #[arg(long, value_name = "S")]
    warm_up: Option<u64>,
    /// Seconds of load [default: the scenario's own]
    #[arg(long, value_name = "S")]
    load: Option<u64>,
    /// Seconds of calm after it [default: the scenario's own]
    #[arg(long, value_name = "S")]
    calm: Option<u64>,
    /// Add each result to this file at once; a run that it has is not made again
    #[arg(long, value_name = "FILE", default_value = "warmset-lab.jsonl")]
    out: PathBuf,
    /// Keep the arms' own files here, such as recordings
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Count where the kernels are at the ticks of their clocks; takes about 2 MiB of each machine
    #[arg(long)]
    profile: bool,
    /// Leave out the static arm of equal mean that is added beside warmset where the gap is judged
    #[arg(long)]
    no_equal_mean: bool,
    /// Print the JSON lines, and nothing else
    #[arg(long)]
    json: bool,
    /// The guard to try, with warmset-hold beside it [default: beside this program]
    #[arg(long, value_name = "FILE")]
    warmsetd: Option<PathBuf>,
}

impl Run {
    pub(super) fn run(&self, store: &Store) -> Result<ExitCode> {
        let order = self.order()?;
        let interrupted = watch_for_interrupts()?;
        let print = |line: &Line| {
            if !self.json {
                return;
            }
            if let Ok(text) = serde_json::to_string(line) {
                // A reader that is gone does not end the runs: their results are in the file.
                let _ = say(&format!("{text}\n"));
            }
        };
        let lines = runner::run(store, &order, &interrupted, &print)?;
        if !self.json {
            say(&comparison::tables(&lines)?)?;
        }
        // A wedged machine is a result. A guest that could not carry out its plan is a failure of the lab.
        let failed = lines.iter().any(|line| line.state == State::Failed);
        ended(lines.len(), &order.out, &interrupted, failed)
    }

    fn order(&self) -> Result<Order> {
        let scenario = scenario::named(&self.scenario)?;
        let mut names = self.arms.clone();
        if names.is_empty() {
            names = scenario.arms.split(',').map(str::to_owned).collect();
        }
        anyhow::ensure!(self.reps > 0, "--reps 0 runs nothing");
        let mut arms = Vec::new();
        for name in &names {
            let arm = Arm::parse(name)?;
            let least = arm.least_load_s();
            anyhow::ensure!(
                self.load.unwrap_or_default() >= least,
                "arm {name}: its first forecast comes after 8 samples, 30 s apart, so a shorter load shows nothing of it; \
                 give --load {least} or more"
            );
            arms.push(arm);
        }
        Ok(Order {
            scenario,
            arms,
            reps: self.reps,
            cells: self.cells()?,
            jobs: self.jobs,
            out: self.out.clone(),
            keep: self.keep.clone(),
            size: Lengths {
                warm_up_s: self.warm_up,
                load_s: self.load,
                calm_s: self.calm,
            },
            daemon: daemon(self.warmsetd.as_deref())?,
            command: command_line(),
            live: None,
            profile: self.profile,
            balanced: !self.no_equal_mean,
            recording: None,
        })
    }

    /// Every kernel with every LRU, swap and size.
    fn cells(&self) -> Result<Vec<Setting>> {
        let mut lrus: Vec<Option<Lru>> = self.lru.iter().copied().map(Some).collect();
        if lrus.is_empty() {
            lrus.push(None);
        }
        let mut cells = Vec::new();
        for kernel in &self.kernel {
            for &lru in &lrus {
                for &swap in &self.swap {
                    for memory in &self.memory {
                        cells.push(Setting {
                            kernel: kernel.clone(),
                            lru,
                            swap,
                            memory_mib: mib(memory)?,
                            cpus: self.cpus,
                            nodes: self.nodes,
                        });
                    }
                }
            }
        }
        Ok(cells)
    }
}

/// The guard that was named, the one beside this program, or the one that is installed.
pub(super) fn daemon(named: Option<&Path>) -> Result<PathBuf> {
    const INSTALLED: &str = "/usr/sbin/warmsetd";
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let beside = std::env::current_exe()?.with_file_name("warmsetd");
    if beside.exists() {
        return Ok(beside);
    }
    Ok(PathBuf::from(INSTALLED))
}

/// The command as a user would give it again.
pub(super) fn command_line() -> String {
    let mut words = vec!["warmset-lab".to_owned()];
    words.extend(std::env::args().skip(1));
    words.join(" ")
}

/// How runs ended: interrupted, which is told, failed, or done.
pub(super) fn ended(
    results: usize,
    out: &Path,
    interrupted: &AtomicBool,
    failed: bool,
) -> Result<ExitCode> {
    if interrupted.load(Ordering::Relaxed) {
        let kept = format!(
            "warmset-lab: interrupted; {results} results are in {}, the same command continues\n",
            out.display()
        );
        std::io::stderr().write_all(kept.as_bytes())?;
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// A flag that Ctrl-C sets. The machines are ended then, and all results are kept.
pub(super) fn watch_for_interrupts() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .context("cannot watch for Ctrl-C")?;
    Ok(interrupted)
}

/// MiB of `1G`, `768M`, `1536MiB`.
pub(super) fn mib(text: &str) -> Result<u64> {
    let end_of_digits = text.find(|letter: char| !letter.is_ascii_digit());
    let (digits, unit) = text.split_at(end_of_digits.unwrap_or(text.len()));
    let factor = match unit.trim_end_matches("iB") {
        "G" => 1024,
        "M" => 1,
        _ => anyhow::bail!("'{text}' is no size of memory: 1G or 768M"),
    };
    let number: u64 = digits.parse().unwrap_or_default();
    let mib = number.saturating_mul(factor);
    anyhow::ensure!(
        (64..=65_536).contains(&mib),
        "'{text}' is no size for a machine: 64M to 64G"
    );
    Ok(mib)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_memory_have_a_unit_and_limits() {
        assert_eq!(mib("1G").unwrap(), 1024);
        assert_eq!(mib("768M").unwrap(), 768);
        assert_eq!(mib("2GiB").unwrap(), 2048);
        for bad in ["", "1", "1T", "32M", "9999G", "G"] {
            assert!(mib(bad).is_err(), "{bad}");
        }
    }
}
