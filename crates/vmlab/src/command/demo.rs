//! `demo` and `prove`: two machines at once, without and with.

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

/// Prove on this machine, in virtual ones of 1 GiB, what Warmset does: five minutes, one file to share
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
    /// Print the results as JSON lines, and nothing else
    #[arg(long)]
    json: bool,
    /// The guard to prove [default: beside this program]
    #[arg(long, value_name = "FILE")]
    warmsetd: Option<PathBuf>,
}

/// What two machines sent, and their results.
struct Pair {
    panes: [Pane; 2],
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
        let arms = ["none".to_owned(), "warmset".to_owned()];
        let size = Lengths {
            warm_up_s: Some(20),
            load_s: Some(60),
            calm_s: Some(30),
        };
        let show = Show {
            scenario: "storm",
            arms: &arms,
            kernel: &self.kernel,
            daemon: self.warmsetd.as_deref(),
            size,
            draws: !self.json,
        };
        let pair = show.run(store)?;
        if pair.interrupted || pair.lines.len() < 2 {
            return Ok(ended(&pair));
        }
        put(&self.out, &proof::page(&pair.panes, &pair.lines)?)?;
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

fn ended(pair: &Pair) -> ExitCode {
    if pair.interrupted {
        return ExitCode::from(super::run::INTERRUPTED);
    }
    let is_finished = |line: &&Line| line.state == State::Finished;
    let finished = pair.lines.iter().filter(is_finished).count();
    if finished == pair.panes.len() {
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
}

/// Both panes, and the recording of them.
struct Stage {
    panes: [Pane; 2],
    cast: Cast,
}

impl Show<'_> {
    /// Runs both machines at once.
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
            panes: [pane(left), pane(right)],
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
            panes: stage.panes,
            lines,
            cast: stage.cast,
            interrupted: interrupted.load(Ordering::Relaxed),
        })
    }

    /// Adds each state to its pane and to the recording, and draws it if there is a terminal.
    fn drawing(&self, heading: String, stage: Arc<Mutex<Stage>>) -> LiveReports {
        let began = Instant::now();
        let draws = self.draws && std::io::stdout().is_terminal();
        LiveReports::new(move |arm, now| {
            let mut stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
            let Stage { panes, cast } = &mut *stage;
            for pane in panes.iter_mut().filter(|pane| pane.title == arm) {
                pane.states.push(now);
            }
            let drawing = screen::draw(&heading, &panes[0], &panes[1]);
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
            reps: 1,
            cells: vec![Setting {
                kernel: self.kernel.to_owned(),
                lru: None,
                swap: Swap::None,
                memory_mib: 1024,
                cpus: 1,
                nodes: 1,
            }],
            jobs: 2,
            out,
            keep: None,
            size: self.size,
            daemon: super::run::daemon(self.daemon)?,
            command: super::run::command_line(),
            live: Some(live),
            profile: false,
            balanced: false,
        })
    }
}

fn pane(arm: &str) -> Pane {
    Pane {
        title: arm.to_owned(),
        states: Vec::new(),
    }
}
