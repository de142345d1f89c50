//! `demo` and `prove`: two machines at once, without and with.

use crate::arm::Arm;
use crate::line::{Line, Setting, State};
use crate::plan::{Live, Swap};
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
    /// 6.1, 6.12, 7, or the folder of one that was built
    #[arg(long, default_value = "6.12")]
    kernel: String,
    /// The recording, an asciicast
    #[arg(long, value_name = "FILE", default_value = "warmset-demo.cast")]
    cast: PathBuf,
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
    /// 6.1, 6.12, 7, or the folder of one that was built
    #[arg(long, default_value = "6.12")]
    kernel: String,
    /// Print the results as JSON lines, and nothing else
    #[arg(long)]
    json: bool,
    /// The guard to prove [default: beside this program]
    #[arg(long, value_name = "FILE")]
    warmsetd: Option<PathBuf>,
}

/// What two machines told, and what came of them.
struct Pair {
    panes: [Pane; 2],
    lines: Vec<Line>,
    cast: Cast,
    interrupted: bool,
}

impl Demo {
    pub(super) fn run(&self, store: &Store) -> Result<ExitCode> {
        let pair = show(
            store,
            &self.scenario,
            &self.arms,
            &self.kernel,
            self.warmsetd.as_deref(),
            Lengths::default(),
            true,
        )?;
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
        let arms = ["none".to_owned(), "warmset".to_owned()];
        let size = Lengths {
            warm_up_s: Some(20),
            load_s: Some(60),
            calm_s: Some(30),
        };
        let pair = show(
            store,
            "storm",
            &arms,
            &self.kernel,
            self.warmsetd.as_deref(),
            size,
            !self.json,
        )?;
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
    let finished = pair
        .lines
        .iter()
        .filter(|line| line.state == State::Finished)
        .count();
    if finished == pair.panes.len() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn put(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Runs both at once and draws them as they go.
fn show(
    store: &Store,
    name: &str,
    arms: &[String],
    kernel: &str,
    daemon: Option<&Path>,
    size: Lengths,
    draws: bool,
) -> Result<Pair> {
    anyhow::ensure!(arms.len() == 2, "two arms are shown, not {}", arms.len());
    let heading = format!("warmset-lab: {name}, kernel {kernel}, 1 GiB");
    let at = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let pane = |arm: &String| Pane {
        title: arm.clone(),
        told: Vec::new(),
    };
    let stage = Arc::new(Mutex::new((
        [pane(&arms[0]), pane(&arms[1])],
        Cast::new(&heading, at),
    )));
    let (shared, began, live) = (
        Arc::clone(&stage),
        Instant::now(),
        draws && std::io::stdout().is_terminal(),
    );
    let told = move |arm: &str, now: Live| {
        let mut stage = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (panes, cast) = &mut *stage;
        panes
            .iter_mut()
            .filter(|pane| pane.title == arm)
            .for_each(|pane| pane.told.push(now));
        let drawing = screen::draw(&heading, &panes[0], &panes[1]);
        cast.show(began.elapsed().as_secs_f64(), &drawing);
        if live {
            let _ = super::say(&format!("\x1b[H\x1b[J{drawing}"));
        }
    };
    let scratch = store.scratch()?;
    let order = Order {
        scenario: scenario::named(name)?,
        arms: arms
            .iter()
            .map(|name| Arm::parse(name))
            .collect::<Result<_>>()?,
        reps: 1,
        cells: vec![Setting {
            kernel: kernel.to_owned(),
            lru: None,
            swap: Swap::None,
            memory_mib: 1024,
            cpus: 1,
            nodes: 1,
        }],
        jobs: 2,
        out: scratch.path().join("lines"),
        keep: None,
        size,
        daemon: super::run::daemon(daemon)?,
        command: super::run::command_line(),
        live: Some(LiveReports::new(told)),
        profile: false,
        balanced: false,
    };
    let interrupted = super::run::watch_for_interrupts()?;
    let lines = runner::run(store, &order, &interrupted, &|_| {})?;
    drop(order);
    let interrupted = interrupted.load(Ordering::Relaxed);
    let (panes, cast) = Arc::into_inner(stage)
        .context("a machine still talks")?
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    Ok(Pair {
        panes,
        lines,
        cast,
        interrupted,
    })
}
