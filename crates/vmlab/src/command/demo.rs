//! `demo` and `prove`: the same load without and with. `demo` shows two machines at once. `prove` repeats each, and lets them
//! run one after the other where processors are few: beside each other they would measure the wait for one.

use crate::arm::Arm;
use crate::line::{Line, Setting, State};
use crate::plan::Swap;
use crate::runner::{self, Lengths, LiveReports, Order};
use crate::scenario;
use crate::screen::{self, Cast, Pane};
use crate::store::Store;
use crate::{comparison, proof};
use anyhow::{Context, Result};
use clap::Args;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Show two machines side by side, without and with Warmset, and record it
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The load
    #[arg(default_value = "storm")]
    scenario: String,
    /// Without, and with
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "none,warmset",
        value_name = "ARM,ARM"
    )]
    arms: Vec<String>,
    /// 6.1, 6.12, 7, or the directory of one that was built
    #[arg(long, default_value = "6.12")]
    kernel: String,
    /// The recording, an asciicast
    #[arg(long, value_name = "FILE", default_value = "warmset-demo.cast")]
    cast: PathBuf,
    /// Replace the recording if it is there
    #[arg(long)]
    force: bool,
    /// The guard to show [default: beside this program]
    #[arg(long, value_name = "FILE")]
    warmsetd: Option<PathBuf>,
}

/// Prove on this machine, in virtual ones of 1 GiB, what Warmset does: eight minutes, one file to share
#[derive(Debug, Args)]
pub(crate) struct Prove {
    /// Where the proof goes: one page with a picture, its numbers inside
    #[arg(long, value_name = "FILE", default_value = "warmset-proof.html")]
    out: PathBuf,
    /// Replace the page if it is there
    #[arg(long)]
    force: bool,
    /// 6.1, 6.12, 7, or the directory of one that was built
    #[arg(long, default_value = "6.12")]
    kernel: String,
    /// Runs without, and as many with
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    reps: u32,
    /// Print the results as JSON lines, and nothing else
    #[arg(long)]
    json: bool,
    /// The guard to prove [default: beside this program]
    #[arg(long, value_name = "FILE")]
    warmsetd: Option<PathBuf>,
}

/// What the machines sent, and their results.
struct Pair {
    /// Of each run, without and with.
    runs: [Vec<Pane>; 2],
    lines: Vec<Line>,
    cast: Cast,
    interrupted: bool,
}

impl Demo {
    pub(super) fn run(&self, store: &Store) -> Result<ExitCode> {
        check(&self.cast, self.force)?;
        let show = Show {
            scenario: &self.scenario,
            arms: &self.arms,
            kernel: &self.kernel,
            daemon: self.warmsetd.as_deref(),
            size: Lengths::default(),
            draws: true,
            reps: 1,
            jobs: 2,
        };
        let pair = show.run(store)?;
        put(&self.cast, pair.cast.text())?;
        writeln!(
            std::io::stderr(),
            "recorded in {}: show it with asciinema play {0}",
            self.cast.display()
        )?;
        super::say(&comparison::tables(&pair.lines)?)?;
        Ok(ended(&pair))
    }
}

impl Prove {
    pub(super) fn run(&self, store: &Store) -> Result<ExitCode> {
        check(&self.out, self.force)?;
        let arms = ["none".to_owned(), proof::WITH.to_owned()];
        let show = Show {
            scenario: "storm",
            arms: &arms,
            kernel: &self.kernel,
            daemon: self.warmsetd.as_deref(),
            size: PROOF,
            draws: !self.json,
            reps: self.reps,
            jobs: machines_at_once(),
        };
        let pair = show.run(store)?;
        let wanted = self.reps as usize * arms.len();
        if pair.interrupted || pair.lines.len() < wanted {
            return Ok(ended(&pair));
        }
        put(&self.out, &proof::page(&pair.runs, &pair.lines)?)?;
        for line in pair.lines.iter().filter(|_| self.json) {
            super::say(&format!("{}\n", serde_json::to_string(line)?))?;
        }
        if !self.json {
            super::say(&proof::summary(&pair.lines))?;
        }
        writeln!(std::io::stderr(), "the proof is in {}", self.out.display())?;
        Ok(ended(&pair))
    }
}

/// Nine bursts of the storm, after the page cache is full. A longer load tells no more.
const PROOF: Lengths = Lengths {
    warm_up_s: Some(15),
    load_s: Some(45),
    calm_s: Some(20),
};

/// A machine needs a processor for itself and, in part, another for its disk. Otherwise it is measured how long it waits
/// for one.
fn machines_at_once() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if processors >= 4 { 2 } else { 1 }
}

fn ended(pair: &Pair) -> ExitCode {
    if pair.interrupted {
        return ExitCode::from(super::run::INTERRUPTED);
    }
    let is_finished = |line: &&Line| line.state == State::Finished;
    let has_lines = !pair.lines.is_empty();
    if has_lines && pair.lines.iter().all(|line| is_finished(&line)) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// An error if the file is there and may not be replaced: it is told before the machines run.
fn check(path: &Path, force: bool) -> Result<()> {
    anyhow::ensure!(
        force || !path.is_file(),
        "{}: this file is there already: name another one, or add --force to replace it",
        path.display()
    );
    Ok(())
}

fn put(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Which runs to show.
struct Show<'s> {
    scenario: &'s str,
    arms: &'s [String],
    kernel: &'s str,
    daemon: Option<&'s Path>,
    size: Lengths,
    /// Whether the machines are drawn on the terminal while they run.
    draws: bool,
    reps: u32,
    /// Machines under load at once.
    jobs: usize,
}

/// All runs without and with, the last ones drawn, and the recording of that.
struct Stage {
    runs: [Vec<Pane>; 2],
    cast: Cast,
}

impl Show<'_> {
    /// Runs the machines.
    fn run(&self, store: &Store) -> Result<Pair> {
        let [left, right] = self.arms else {
            anyhow::bail!("two arms are shown, not {}", self.arms.len());
        };
        let heading = format!(
            "warmset-lab: {}, kernel {}, 1 GiB",
            self.scenario, self.kernel
        );
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let stage = Arc::new(Mutex::new(Stage {
            runs: [self.panes(left), self.panes(right)],
            cast: Cast::new(&heading, now.unwrap_or_default().as_secs()),
        }));
        let scratch = store.scratch()?;
        let order = self.order(
            scratch.path().join("lines"),
            self.drawing(heading, Arc::clone(&stage)),
        )?;
        let interrupted = super::run::watch_for_interrupts()?;
        let lines = runner::run(store, &order, &interrupted, &|_| {})?;
        // The order has the other reference to the stage.
        drop(order);
        let stage = Arc::into_inner(stage)
            .context("a machine still sends its state")?
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(Pair {
            runs: stage.runs,
            lines,
            cast: stage.cast,
            interrupted: interrupted.load(Ordering::Relaxed),
        })
    }

    /// Adds each state to its pane and to the recording, and draws it if there is a terminal.
    fn drawing(&self, heading: String, stage: Arc<Mutex<Stage>>) -> LiveReports {
        let began = Instant::now();
        let draws = self.draws && std::io::stdout().is_terminal();
        let reps = self.reps as usize;
        LiveReports::new(move |arm, rep, now| {
            let mut stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
            let Stage { runs, cast } = &mut *stage;
            let rep = rep as usize;
            for side in runs.iter_mut().filter(|side| side[rep].title == arm) {
                side[rep].states.push(now);
            }
            let heading = format!("{heading}, run {} of {reps}", rep + 1);
            let drawing = screen::draw(&heading, &runs[0][rep], &runs[1][rep]);
            cast.show(began.elapsed().as_secs_f64(), &drawing);
            if draws {
                let _ = super::say(&format!("\x1b[H\x1b[J{drawing}"));
            }
        })
    }

    fn order(&self, out: PathBuf, live: LiveReports) -> Result<Order> {
        let arms = self.arms.iter().map(|name| Arm::parse(name));
        Ok(Order {
            scenario: scenario::named(self.scenario)?,
            arms: arms.collect::<Result<_>>()?,
            reps: self.reps,
            cells: vec![Setting {
                kernel: self.kernel.to_owned(),
                lru: None,
                swap: Swap::None,
                memory_mib: 1024,
                cpus: 1,
                nodes: 1,
            }],
            jobs: self.jobs,
            out,
            keep: None,
            size: self.size,
            daemon: super::run::daemon(self.daemon)?,
            command: super::run::command_line(),
            live: Some(live),
            profile: false,
            balanced: false,
            recording: None,
        })
    }

    /// A pane for each run of an arm.
    fn panes(&self, arm: &str) -> Vec<Pane> {
        let pane = Pane {
            title: arm.to_owned(),
            states: Vec::new(),
        };
        vec![pane; self.reps as usize]
    }
}
