//! The status line while it runs, and the summary at the end.

use crate::shared_status::SharedStatus;
use host::Restored;
use pressure::decision::Forecast;
use pressure::status::{Status, Tally};
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use units::{Bytes, Span};

/// Time between two drawings on a terminal: people read no faster.
const REDRAW: Duration = Duration::from_secs(1);
/// Time between two lines elsewhere, where they add up in a log.
const NEXT_LINE: Duration = Duration::from_secs(5);
/// The thread formats one short line and calls nothing deep. Its stack is locked in memory, so it is small.
const STACK: usize = 128 * 1024;

/// Redraws the line every second on a terminal; elsewhere prints a new line every 5 s. Dropping it ends that.
#[derive(Debug)]
pub struct StatusLine {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StatusLine {
    /// Starts the thread that shows `shared_status` on standard error.
    pub fn start(shared_status: Arc<SharedStatus>) -> io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::Builder::new()
            .name("warmset-live".to_owned())
            .stack_size(STACK)
            .spawn(move || show_until(&stopped, &shared_status))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Shows the line until the other end of `stopped` is dropped.
fn show_until(stopped: &Receiver<()>, shared_status: &SharedStatus) {
    let is_terminal = io::stderr().is_terminal();
    let pause = if is_terminal { REDRAW } else { NEXT_LINE };
    while matches!(stopped.recv_timeout(pause), Err(RecvTimeoutError::Timeout)) {
        let line = line(&shared_status.read());
        // A closed standard error is no reason to end the guard.
        let _ = if is_terminal {
            write!(io::stderr(), "\r\x1b[K{line}")
        } else {
            writeln!(io::stderr(), "{line}")
        };
    }
    if is_terminal {
        let _ = writeln!(io::stderr());
    }
}

/// The value, or "?" if it is unknown.
fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "?".to_owned(), |value| value.to_string())
}

/// One line of at most 80 columns: state, available memory, demand, gap, forecast, pressure.
fn line(status: &Status) -> String {
    let forecast = &status.decision.forecast;
    let mut line = format!(
        "{} · avail {} · demand {} · gap {}",
        status.decision.phase,
        shown(status.sample.memory.available),
        shown(forecast.demand),
        shown(forecast.gap),
    );
    if let Some(held) = forecast.withheld.filter(|held| *held > Bytes::ZERO) {
        let _ = write!(line, " (holds {held})");
    }
    if let Some(exhaustion) = forecast.exhaustion {
        let _ = write!(line, " · full in {}", exhaustion.expected);
    }
    if let Some(pressure) = status.sample.memory_pressure.some_avg10 {
        let _ = write!(line, " · psi {pressure}");
    }
    line
}

/// What a run did, as text for people.
pub fn summary(status: &Status, tally: &Tally, restored: &Restored, ran: Span) -> String {
    let mut text = format!("warmset ran for {ran}: {} samples", tally.samples);
    if let Some(why) = &status.only_observes {
        let _ = write!(text, ", observing only ({why})");
    }
    let forecast = &status.decision.forecast;
    let end = forecast_text(forecast);
    let _ = write!(
        text,
        "\n  demand     {} now, {}/s at most\n  gap        {} found, {} needed, {} now\n  forecast   {end}\n  \
         stalls     {} allocations, {} compactions, {} stalled; {} refaults, {} killed by the kernel\n  \
         changed    {} writes, {} put back, {} compactions, {} reclaims, {} refused\n  \
         cost       {} of CPU time, {} resident\n",
        shown(forecast.demand),
        tally.peak_demand,
        shown(forecast.gap_found),
        shown(forecast.gap_needed),
        shown(forecast.gap),
        tally.allocation_stalls,
        tally.compaction_stalls,
        tally.stalled,
        tally.refaults,
        tally.oom_kills,
        tally.writes,
        tally.put_back,
        tally.compactions,
        tally.reclaims,
        tally.refused,
        tally.own_cpu,
        tally.own_memory,
    );
    for past in &status.past {
        let prefix = if past.done { "" } else { "would: " };
        for step in &past.steps {
            let _ = writeln!(text, "  {prefix}{step}");
        }
    }
    for line in restored.to_string().lines() {
        let _ = writeln!(text, "  {line}");
    }
    text
}

fn forecast_text(forecast: &Forecast) -> String {
    let Some(exhaustion) = forecast.exhaustion else {
        return "no end of memory in sight".to_owned();
    };
    let latest = match exhaustion.latest {
        Some(latest) => latest.to_string(),
        None => "never".to_owned(),
    };
    format!(
        "memory full in {} ({} to {latest})",
        exhaustion.expected, exhaustion.earliest
    )
}
