//! A recording of a program under Valgrind: lines in, references out, until the program ends or a limit is reached.

use super::arguments::Limits;
use super::lines::{Lines, Received, Scope};
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

/// Sleep while no line has come: the pipe holds more than thirty times what comes in this time.
const NAP: Duration = Duration::from_millis(1);
/// Time from SIGTERM to SIGKILL when we end the program: under Valgrind it needs seconds to clean up.
const GRACE: Duration = Duration::from_secs(5);
/// If children are not followed, what comes later than this after the program's end is theirs. Longer would record them,
/// shorter could lose the program's last lines.
const QUIET: Duration = Duration::from_millis(100);
/// Bytes read at once: 256 KiB is several thousand lines, so the system call costs little.
const PIECE: usize = 1 << 18;
/// The progress bar's text.
pub(crate) const RECORDS: &str = "recording";

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
    scope: Scope,
    /// The last signal that came to us; 0 for none.
    signal: Arc<AtomicUsize>,
    began: Instant,
    buffer: Vec<u8>,
    /// Why the trace is not the whole run, to follow "cut".
    cut: Option<String>,
    /// The program's exit status, and when we saw it.
    ended: Option<(ExitStatus, Instant)>,
    /// No more is recorded.
    over: bool,
}

impl Recording {
    /// Records a program that has been started. Handles SIGINT and SIGTERM from now on.
    pub(crate) fn new(
        child: Child,
        lines: Lines,
        scope: Scope,
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
            scope,
            signal,
            began: Instant::now(),
            buffer: vec![0; PIECE],
            cut: None,
            ended: None,
            over: false,
        })
    }

    /// Decodes what has come, or waits a little.
    fn step(&mut self, batch: &mut Batch) -> Result<(), Error> {
        match self
            .lines
            .read(&mut self.buffer)
            .map_err(|error| Error::Format(format!("{error:#}")))?
        {
            Received::Bytes(pid, size) => {
                self.decoder.push(pid, &self.buffer[..size], batch)?;
                self.show_skipped();
                let fresh = self.decoder.fresh();
                if !fresh.is_empty() {
                    self.regions.note(&fresh);
                }
            }
            Received::Nothing => {
                std::thread::sleep(NAP);
                self.check_child()?;
            }
            Received::End => {
                self.over = true;
                self.ended = Some((self.child.wait()?, Instant::now()));
            }
        }
        self.check_limits();
        self.check_signals();
        Ok(())
    }

    /// The bar counts what is recorded; before that it shows how much is still left out.
    fn show_skipped(&self) {
        match self.decoder.to_skip() {
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
        let references = self.decoder.references();
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
            self.decoder.references()
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
            if self.lines.read(&mut self.buffer)? == Received::Nothing {
                std::thread::sleep(NAP);
            }
        }
    }

    /// Time since the recording began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Why the trace is not the whole run, if it is not, to follow "cut".
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
        if let Some(why) = &self.cut {
            parameters.push(("cut".to_owned(), why.clone()));
        }
        if let Some((status, _)) = self.ended {
            parameters.push(("ended".to_owned(), ended(status)));
        }
        parameters.push((
            "pages not found in a mapping".to_owned(),
            self.regions.unknown().to_string(),
        ));
        About {
            tasks: self.decoder.tasks(),
            regions: self.regions.list(),
            parameters,
            ..self.about.clone()
        }
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

/// The head of the trace, before its first reference.
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
