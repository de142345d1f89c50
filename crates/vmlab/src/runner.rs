//! Runs every arm in every cell, interleaved, each in a machine of its own. Each result is kept at once.

mod bench;
mod queue;
mod slots;

pub(crate) use bench::commit;
pub use bench::{Bench, Outcome};
pub use queue::{Job, Pull, Queue};

use crate::arm::Arm;
use crate::line::{self, Line, Setting};
use crate::plan::{Live, Size};
use crate::scenario::Scenario;
use crate::store::Store;
use crate::vm::recording::Recording;
use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What to run.
#[derive(Debug, Clone)]
pub struct Order {
    /// The load.
    pub scenario: &'static Scenario,
    /// Beside what.
    pub arms: Vec<Arm>,
    /// How often.
    pub reps: u32,
    /// On what.
    pub cells: Vec<Setting>,
    /// Machines under load at once.
    pub jobs: usize,
    /// The file of results, as JSON lines. A run with a line in it is not made again.
    pub out: PathBuf,
    /// Where the arms' own files go, such as recordings.
    pub keep: Option<PathBuf>,
    /// Lengths other than the scenario's own.
    pub size: Lengths,
    /// `warmsetd`.
    pub daemon: PathBuf,
    /// The command that was given.
    pub command: String,
    /// Called twice a second for each machine that runs, with its arm and repetition.
    pub live: Option<LiveReports>,
    /// Whether the guests count where their kernels are at the ticks of their clocks.
    pub profile: bool,
    /// Whether a static arm of equal mean is added beside warmset where the gap is judged.
    pub balanced: bool,
    /// What records every reference of the load, if it is recorded.
    pub recording: Option<Recording>,
}

/// A function that is called with what machines report while they run.
#[derive(Clone)]
pub struct LiveReports(Arc<Listener>);

/// Takes an arm's name, the repetition, and the state of its machine.
type Listener = dyn Fn(&str, u32, Live) + Send + Sync;

impl LiveReports {
    /// Calls this function.
    pub fn new(listener: impl Fn(&str, u32, Live) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }
}

impl std::fmt::Debug for LiveReports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LiveReports")
    }
}

/// Lengths in seconds; `None` is the scenario's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lengths {
    /// Before counting.
    pub warm_up_s: Option<u64>,
    /// The load.
    pub load_s: Option<u64>,
    /// After it.
    pub calm_s: Option<u64>,
}

impl Lengths {
    /// These lengths, and the scenario's own where none is given.
    pub fn or(self, own: Size, memory_mib: u64) -> Size {
        Size {
            memory_mib,
            warm_up_s: self.warm_up_s.unwrap_or(own.warm_up_s),
            load_s: self.load_s.unwrap_or(own.load_s),
            calm_s: self.calm_s.unwrap_or(own.calm_s),
        }
    }
}

/// Makes the ordered runs that have no line yet, and calls `finished` with each new line. Returns all lines of the order.
pub fn run(
    store: &Store,
    order: &Order,
    interrupted: &AtomicBool,
    finished: &(dyn Fn(&Line) + Sync),
) -> Result<Vec<Line>> {
    let there: Vec<Line> = line::read(&order.out)?
        .into_iter()
        .filter(|line| line.scenario == order.scenario.name)
        .collect();
    let queue = Queue::new(order, there);
    let bar = bar(queue.open() as u64);
    bar.set_message("kernels and disks");
    let bench = Bench::prepare(store, order)?;
    let queue = Mutex::new(queue);
    let failed: Mutex<Option<anyhow::Error>> = Mutex::new(None);
    thread::scope(|scope| {
        // Twice as many threads as machines under load: a machine in its calm phase needs a thread, and no CPU.
        for _ in 0..order.jobs.max(1) * 2 {
            scope.spawn(|| {
                if let Err(error) = work(&bench, &queue, interrupted, &bar, finished) {
                    interrupted.store(true, Ordering::Relaxed);
                    locked(&failed).get_or_insert(error);
                }
            });
        }
    });
    bar.finish_and_clear();
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    Ok(queue
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .into_lines())
}

/// One thread of several: takes jobs until there is none.
fn work(
    bench: &Bench<'_>,
    queue: &Mutex<Queue>,
    interrupted: &AtomicBool,
    bar: &ProgressBar,
    finished: &(dyn Fn(&Line) + Sync),
) -> Result<()> {
    const LOOK_AGAIN: Duration = Duration::from_millis(200);
    while !interrupted.load(Ordering::Relaxed) {
        let pulled = locked(queue).pull();
        let (job, gap) = match pulled {
            Pull::Job(job, gap) => (job, gap),
            Pull::Wait => {
                thread::sleep(LOOK_AGAIN);
                continue;
            }
            Pull::Empty => return Ok(()),
        };
        bar.set_message(job.to_string());
        match bench.run(&job, gap, interrupted)? {
            Outcome::Line(line) => {
                line::append(&bench.order().out, &line)?;
                finished(&line);
                locked(queue).done(&job, Some(*line));
            }
            Outcome::Interrupted => locked(queue).done(&job, None),
        }
        bar.inc(1);
    }
    Ok(())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Progress on standard error, if that is a terminal.
fn bar(runs: u64) -> ProgressBar {
    let bar = ProgressBar::new(runs);
    if let Ok(style) = ProgressStyle::with_template(
        "{bar:30} {pos}/{len} runs, {elapsed} gone, {eta} to go: {msg}",
    ) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}
