//! A recording of a program under Valgrind: what its tool writes comes in, references go out, until the program ends or a limit
//! is reached.

use super::arguments::Limits;
use super::feed::{Feed, Scope, Step};
use anyhow::Result;
use indicatif::ProgressBar;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, IsTerminal, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use traces::{BATCH, Error, PageRows, RowSource, Source};
use workingset::{About, Batch};

/// Sleep while no line has come: the pipe holds more than thirty times what comes in this time.
const NAP: Duration = Duration::from_millis(1);
/// Time from SIGTERM to SIGKILL when we end the program: under Valgrind it needs seconds to clean up.
const GRACE: Duration = Duration::from_secs(5);
/// If children are not followed, what comes later than this after the program's end is theirs. Longer would record them,
/// shorter could lose the program's last lines.
const QUIET: Duration = Duration::from_millis(100);
/// The progress bar's text.
pub(crate) const RECORDS: &str = "recording";

/// The references of a running program, as its feed tells them.
#[derive(Debug)]
pub(crate) struct Recording<F> {
    pub(crate) child: Child,
    pub(crate) feed: F,
    pub(crate) limits: Limits,
    pub(crate) about: About,
    pub(crate) bar: ProgressBar,
    scope: Scope,
    /// The last signal that came to us; 0 for none.
    signal: Arc<AtomicUsize>,
    began: Instant,
    /// Why the trace is not the whole run, to follow "cut".
    cut: Option<String>,
    /// The program's exit status, and when we saw it.
    ended: Option<(ExitStatus, Instant)>,
    /// No more is recorded.
    over: bool,
}

impl<F: Feed> Recording<F> {
    /// Records a program that has been started. Handles SIGINT and SIGTERM from now on.
    pub(crate) fn new(child: Child, feed: F, scope: Scope, about: About) -> Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM] {
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        Ok(Self {
            child,
            feed,
            limits: Limits::default(),
            about,
            bar: ProgressBar::hidden(),
            scope,
            signal,
            began: Instant::now(),
            cut: None,
            ended: None,
            over: false,
        })
    }

    /// Decodes what has come, or waits a little.
    fn step(&mut self, out: &mut F::Out) -> Result<(), Error> {
        match self.feed.step(out)? {
            Step::Some => self.show_skipped(),
            Step::Nothing => {
                std::thread::sleep(NAP);
                self.check_child()?;
            }
            Step::End => {
                self.over = true;
                self.ended = Some((self.child.wait()?, Instant::now()));
            }
        }
        self.check_limits();
        self.check_signals();
        Ok(())
    }

    /// Records until there is a batch, or the end.
    fn fill_with(
        &mut self,
        out: &mut F::Out,
        length: impl Fn(&F::Out) -> usize,
    ) -> Result<bool, Error> {
        while length(out) < BATCH && !self.over {
            self.step(out)?;
            if self.over {
                self.feed.finish(out)?;
            }
        }
        self.bar.set_position(self.feed.progress().references);
        Ok(length(out) > 0)
    }

    /// The bar counts what is recorded; before that it shows how much is still left out.
    fn show_skipped(&self) {
        match self.feed.progress().to_skip {
            0 if self.bar.message() == RECORDS => {}
            0 => self.bar.set_message(RECORDS),
            left => self
                .bar
                .set_message(format!("{left} references to leave out")),
        }
    }

    fn check_child(&mut self) -> Result<(), Error> {
        if self.ended.is_none() {
            self.ended = self
                .child
                .try_wait()?
                .map(|status| (status, Instant::now()));
        }
        // Forks that are not followed may keep the program's descriptor open after its end.
        if self.scope == Scope::Alone {
            if let Some((_, when)) = self.ended {
                self.over |= when.elapsed() > QUIET;
            }
        }
        Ok(())
    }

    fn check_limits(&mut self) {
        if self.over {
            return;
        }
        let references = self.feed.progress().references;
        let elapsed = self.began.elapsed();
        if self
            .limits
            .references
            .is_some_and(|most| references >= most)
        {
            self.cut = Some(format!("after {references} references, as asked"));
            self.over = true;
        } else if self.limits.duration.is_some_and(|most| elapsed >= most) {
            self.cut = Some(format!("after {} s, as asked", elapsed.as_secs()));
            self.over = true;
        }
    }

    /// The first signal is passed on to the program; a second one ends the recording.
    fn check_signals(&mut self) {
        let signal = self.signal.swap(0, Ordering::Relaxed) as i32;
        if signal == 0 {
            return;
        }
        if self.cut.is_some() {
            self.over = true;
            return;
        }
        self.cut = Some(format!(
            "by a signal after {} references",
            self.feed.progress().references
        ));
        if signal == SIGTERM {
            self.send(Signal::TERM);
        } else if !io::stdin().is_terminal() {
            // A terminal has sent its Ctrl-C to the program as well.
            self.send(Signal::INT);
        }
        let _ = writeln!(
            commandline::stderr(),
            "the program was told to stop; a second signal ends the recording at once"
        );
    }

    fn send(&mut self, signal: Signal) {
        if self.ended.is_some() {
            return;
        }
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It fails if the program has just ended.
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits for the program to end, and reads what it still writes. Kills it after [`GRACE`] if the recording was cut.
    pub(crate) fn end(&mut self) -> Result<ExitStatus> {
        let began = Instant::now();
        if self.cut.is_some() {
            self.check_child()?;
            self.send(Signal::TERM);
        }
        loop {
            self.check_child()?;
            if let Some((status, _)) = self.ended {
                return Ok(status);
            }
            if began.elapsed() > GRACE && self.cut.is_some() {
                self.child.kill()?;
                return Ok(self.child.wait()?);
            }
            if !self.feed.discard()? {
                std::thread::sleep(NAP);
            }
        }
    }

    /// Time since the recording began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Why the trace is not the whole run, if it is not, to follow "cut".
    pub(crate) fn cut(&self) -> Option<String> {
        self.cut.clone().or_else(|| self.feed.lost())
    }
}

impl<F: Feed> Recording<F> {
    fn known(&self) -> About {
        let mut parameters = self.about.parameters.clone();
        let lost = self.feed.lost();
        if let Some(why) = self.cut.as_ref().or(lost.as_ref()) {
            parameters.push(("cut".to_owned(), why.clone()));
        }
        if let Some((status, _)) = self.ended {
            parameters.push(("ended".to_owned(), ended(status)));
        }
        parameters.push((
            "pages not found in a mapping".to_owned(),
            self.feed.unknown().to_string(),
        ));
        About {
            tasks: self.feed.tasks(),
            regions: self.feed.regions(),
            parameters,
            ..self.about.clone()
        }
    }
}

impl<F: Feed<Out = Batch> + Send> Source for Recording<F> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        self.fill_with(batch, Batch::len)
    }

    fn about(&self) -> About {
        self.known()
    }
}

impl<F: Feed<Out = PageRows> + Send> RowSource for Recording<F> {
    fn fill_rows(&mut self, rows: &mut PageRows) -> Result<bool, Error> {
        rows.clear();
        self.fill_with(rows, PageRows::len)
    }

    fn about(&self) -> About {
        self.known()
    }
}

/// `with 0`, `by signal 9`: to follow "the program ended".
pub(crate) fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "unknown".to_owned(),
    }
}
