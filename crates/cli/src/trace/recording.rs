//! A recording under way: lines in, references out, until the program ends or someone has seen enough.

use super::lines::{Came, Lines, Whose};
use super::regions::Regions;
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
use traces::live::Decoder;
use traces::{BATCH, Error, Source};
use workingset::{About, Batch, Clock};

/// The longest that lines wait for us: a pipe holds more than thirty times what comes in it.
const NAP: Duration = Duration::from_millis(1);
/// A program that we end gets so long to end well.
const GRACE: Duration = Duration::from_secs(5);
/// With its children not followed, what comes later than this after its end is theirs.
const QUIET: Duration = Duration::from_millis(100);
const PIECE: usize = 1 << 18;
/// What the bar says.
pub(crate) const RECORDS: &str = "recording";

/// When to stop before the program does.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// After so many references.
    pub(crate) references: Option<u64>,
    /// After so long.
    pub(crate) duration: Option<Duration>,
}

/// The references of a running program.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) child: Child,
    pub(crate) lines: Lines,
    pub(crate) decoder: Decoder,
    pub(crate) regions: Regions,
    pub(crate) limits: Limits,
    pub(crate) about: About,
    pub(crate) bar: ProgressBar,
    whose: Whose,
    signal: Arc<AtomicUsize>,
    began: Instant,
    buffer: Vec<u8>,
    /// Why the trace is not the whole run.
    cut: Option<String>,
    /// How the program ended, and when we saw it.
    ended: Option<(ExitStatus, Instant)>,
    over: bool,
}

impl Recording {
    /// Of a program that has been started; signals come to us from now on.
    pub(crate) fn new(
        (child, lines): (Child, Lines),
        whose: Whose,
        skip: u64,
        about: About,
    ) -> Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM] {
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        Ok(Self {
            child,
            lines,
            decoder: Decoder::new(about.page_size, about.clock).skipping(skip),
            regions: Regions::new(about.page_size),
            limits: Limits::default(),
            about,
            bar: ProgressBar::hidden(),
            whose,
            signal,
            began: Instant::now(),
            buffer: vec![0; PIECE],
            cut: None,
            ended: None,
            over: false,
        })
    }

    /// Takes what has come, or waits a little.
    fn step(&mut self, batch: &mut Batch) -> Result<(), Error> {
        match self
            .lines
            .read(&mut self.buffer)
            .map_err(|error| Error::Format(format!("{error:#}")))?
        {
            Came::Bytes(pid, size) => {
                self.decoder.push(pid, &self.buffer[..size], batch)?;
                self.tell_what_is_skipped();
                let fresh = self.decoder.fresh();
                if !fresh.is_empty() {
                    self.regions.note(&fresh);
                }
            }
            Came::Nothing => {
                std::thread::sleep(NAP);
                self.look_after_child()?;
            }
            Came::End => {
                self.over = true;
                self.ended = Some((self.child.wait()?, Instant::now()));
            }
        }
        self.heed_limits();
        self.heed_signals();
        Ok(())
    }

    /// The bar counts what is recorded; until then it says how much is not.
    fn tell_what_is_skipped(&self) {
        match self.decoder.to_skip() {
            0 if self.bar.message() == RECORDS => {}
            0 => self.bar.set_message(RECORDS),
            left => self
                .bar
                .set_message(format!("{left} references to leave out")),
        }
    }

    fn look_after_child(&mut self) -> Result<(), Error> {
        if self.ended.is_none() {
            self.ended = self
                .child
                .try_wait()?
                .map(|status| (status, Instant::now()));
        }
        // Forks of the program that are not followed may live on with its descriptor.
        if self.whose == Whose::Alone && self.ended.is_some_and(|(_, when)| when.elapsed() > QUIET)
        {
            self.over = true;
        }
        Ok(())
    }

    fn heed_limits(&mut self) {
        let (references, elapsed) = (self.decoder.references(), self.began.elapsed());
        let reached = if self
            .limits
            .references
            .is_some_and(|most| references >= most)
        {
            format!("after {references} references, as asked")
        } else if self.limits.duration.is_some_and(|most| elapsed >= most) {
            format!("after {} s, as asked", elapsed.as_secs())
        } else {
            return;
        };
        if !self.over {
            self.cut = Some(reached);
            self.over = true;
        }
    }

    /// The first signal is the program's to heed; a second ends the recording.
    fn heed_signals(&mut self) {
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
            self.decoder.references()
        ));
        // A terminal has sent its Ctrl-C to the program as well.
        if signal == SIGTERM || !io::stdin().is_terminal() {
            self.send(if signal == SIGTERM {
                Signal::TERM
            } else {
                Signal::INT
            });
        }
        let _ = writeln!(
            io::stderr(),
            "the program has been told to stop; once more, and the recording ends at once"
        );
    }

    fn send(&mut self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let (None, Some(pid)) = (self.ended, pid) {
            // It may just have ended.
            let _ = kill_process(pid, signal);
        }
    }

    /// Lets a program that is still running end, and takes what it still says; then ends it.
    pub(crate) fn end(&mut self) -> Result<ExitStatus> {
        let began = Instant::now();
        if self.cut.is_some() {
            self.look_after_child()?;
            self.send(Signal::TERM);
        }
        loop {
            self.look_after_child()?;
            if let Some((status, _)) = self.ended {
                return Ok(status);
            }
            if began.elapsed() > GRACE && self.cut.is_some() {
                self.child.kill()?;
                return Ok(self.child.wait()?);
            }
            if self.lines.read(&mut self.buffer)? == Came::Nothing {
                std::thread::sleep(NAP);
            }
        }
    }

    /// How long it has taken so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Why the trace is not the whole run, if it is not.
    pub(crate) fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }
}

impl Source for Recording {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        while batch.len() < BATCH && !self.over {
            self.step(batch)?;
        }
        self.bar.set_position(self.decoder.references());
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        let mut parameters = self.about.parameters.clone();
        parameters.extend(self.cut.iter().map(|why| ("cut".to_owned(), why.clone())));
        if let Some((status, _)) = self.ended {
            parameters.push(("ended".to_owned(), ended(status)));
        }
        parameters.push((
            "pages not found in a mapping".to_owned(),
            self.regions.unknown().to_string(),
        ));
        About {
            tasks: self.decoder.tasks(),
            regions: self.regions.told(),
            parameters,
            ..self.about.clone()
        }
    }
}

/// `with 0`, `by signal 9`.
pub(crate) fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "unknown".to_owned(),
    }
}

/// What is known of a recording before it begins.
pub(crate) fn about(program: String, page_size: u64, clock: Clock) -> About {
    About {
        program,
        format: "lackey".to_owned(),
        page_size,
        clock,
        parameters: vec![("recorder".to_owned(), "valgrind --tool=lackey".to_owned())],
        ..About::default()
    }
}
