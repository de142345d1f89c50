//! Messages for people: chosen by topic, of bounded length, written by a thread of their own.
//!
//! [`Logger::say`] formats into a fixed buffer and hands it to a queue of fixed length: it neither
//! waits nor allocates. What finds the queue full is counted and reported; a flood of one topic
//! is cut to a burst and then one message a second, with the number of those left out.

mod budget;
mod line;
mod sink;

use budget::Budgets;
use line::Line;
use pressure::config::{self, Verbosity};
use sink::{Outlets, Sink};
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Messages that may wait for the thread.
const QUEUE: usize = 48;
/// The thread formats into buffers it owns and calls nothing deep.
const STACK: usize = 128 * 1024;
/// How long the end of the program waits for the last messages.
const FAREWELL: Duration = Duration::from_secs(2);

/// What a message is about: from which verbosity it is said, and how grave it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Something does not work. Always said.
    Error,
    /// What was done, and events (1).
    Action,
    /// Why (2).
    Reason,
    /// Rates and forecasts (3).
    Rate,
    /// Each tick (4).
    Tick,
}

impl Topic {
    const ALL: [Self; 5] = [
        Self::Error,
        Self::Action,
        Self::Reason,
        Self::Rate,
        Self::Tick,
    ];

    const fn verbosity(self) -> u8 {
        match self {
            Self::Error => 0,
            Self::Action => 1,
            Self::Reason => 2,
            Self::Rate => 3,
            Self::Tick => 4,
        }
    }

    /// As syslog counts: 3 error, 5 notice, 6 info, 7 debug.
    const fn priority(self) -> u8 {
        match self {
            Self::Error => 3,
            Self::Action => 5,
            Self::Reason => 6,
            Self::Rate | Self::Tick => 7,
        }
    }

    /// What opens a line on a terminal.
    const fn label(self) -> &'static str {
        match self {
            Self::Error => "error: ",
            Self::Action | Self::Reason | Self::Rate | Self::Tick => "",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Action => "action",
            Self::Reason => "reason",
            Self::Rate => "rate",
            Self::Tick => "tick",
        }
    }

    /// The journal's identifier for messages of one kind: decisions can be listed by it.
    const fn message_id(self) -> Option<&'static str> {
        match self {
            Self::Action => Some("5b6f3a0de1cd4c0f9a27c7c8d5be41f2"),
            Self::Error | Self::Reason | Self::Rate | Self::Tick => None,
        }
    }
}

/// The loop's end of the queue. Dropping it waits, for two seconds at most, until all is written.
#[derive(Debug)]
pub struct Logger {
    queue: Option<SyncSender<Line>>,
    finished: Receiver<Infallible>,
    verbosity: u8,
    lost: Arc<AtomicU64>,
}

impl Logger {
    /// Starts the thread. Errors: no socket, no thread.
    ///
    /// An outlet that is not there is no error: its messages go to standard error.
    pub fn open(log: config::Log, verbosity: Verbosity) -> io::Result<Self> {
        Self::through(&Outlets::usual(), log, verbosity)
    }

    fn through(outlets: &Outlets, log: config::Log, verbosity: Verbosity) -> io::Result<Self> {
        let sink = Sink::open(log, outlets)?;
        let (queue, lines) = sync_channel(QUEUE);
        let (running, finished) = channel::<Infallible>();
        let lost = Arc::new(AtomicU64::new(0));
        let mut speaker = Speaker {
            sink,
            lost: Arc::clone(&lost),
            budgets: Budgets::new(Instant::now()),
        };
        let speak = move || {
            speaker.speak(&lines);
            drop(running);
        };
        thread::Builder::new()
            .name("warmset-voice".into())
            .stack_size(STACK)
            .spawn(speak)?;
        Ok(Self {
            queue: Some(queue),
            finished,
            verbosity: verbosity.get(),
            lost,
        })
    }

    /// Follows a reloaded configuration.
    pub fn set_verbosity(&mut self, verbosity: Verbosity) {
        self.verbosity = verbosity.get();
    }

    /// Whether a message on `topic` would be said; asks before the text is made.
    pub fn says(&self, topic: Topic) -> bool {
        topic.verbosity() <= self.verbosity
    }

    /// Says `text`, cut at 512 bytes, if the verbosity has it. Neither waits nor allocates.
    pub fn say(&self, topic: Topic, text: impl fmt::Display) {
        if !self.says(topic) {
            return;
        }
        let line = Line::new(topic, format_args!("{text}"));
        // A full queue means that nobody reads: the line is lost, the loop is not.
        if self
            .queue
            .as_ref()
            .is_some_and(|queue| queue.try_send(line).is_err())
        {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Logger {
    fn drop(&mut self) {
        drop(self.queue.take());
        // Nothing is ever sent: this ends when the thread does, or when patience does.
        let _ = self.finished.recv_timeout(FAREWELL);
    }
}

/// The thread that writes.
struct Speaker {
    sink: Sink,
    lost: Arc<AtomicU64>,
    budgets: Budgets,
}

impl Speaker {
    fn speak(&mut self, lines: &Receiver<Line>) {
        while let Some(line) = self.next(lines) {
            let now = Instant::now();
            if let Ok(line) = line {
                if self.budgets.allows(line.topic, now) {
                    self.sink.write(&line);
                }
            }
            let reports: arrayvec::ArrayVec<_, { Topic::ALL.len() }> =
                self.budgets.reports(now).collect();
            self.report(&reports);
        }
        let rest: arrayvec::ArrayVec<_, { Topic::ALL.len() }> = self.budgets.rest().collect();
        self.report(&rest);
    }

    /// The next message; an error when it is only time to report; `None` at the end.
    fn next(&self, lines: &Receiver<Line>) -> Option<Result<Line, RecvTimeoutError>> {
        if !self.budgets.any_suppressed() {
            return lines.recv().ok().map(Ok);
        }
        match lines.recv_timeout(Duration::from_secs(1)) {
            Err(RecvTimeoutError::Disconnected) => None,
            next => Some(next),
        }
    }

    fn report(&mut self, suppressed: &[(Topic, u64)]) {
        for (topic, count) in suppressed {
            self.sink.write(&Line::new(
                *topic,
                format_args!("{count} more messages on {} left out", topic.name()),
            ));
        }
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            self.sink.write(&Line::new(
                Topic::Action,
                format_args!("{lost} messages lost: they came faster than they were written"),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;
    use std::path::Path;

    fn outlets(directory: &Path) -> Outlets {
        Outlets {
            journal_reads_stderr: false,
            journal: directory.join("journal"),
            syslog: directory.join("syslog"),
        }
    }

    fn verbosity(level: u8) -> Verbosity {
        Verbosity::try_from(level).unwrap()
    }

    fn heard(socket: &UnixDatagram) -> Vec<String> {
        socket.set_nonblocking(true).unwrap();
        let mut buffer = [0; 4096];
        std::iter::from_fn(|| {
            socket
                .recv(&mut buffer)
                .ok()
                .map(|n| String::from_utf8_lossy(&buffer[..n]).into_owned())
        })
        .collect()
    }

    #[test]
    fn what_was_said_is_written_before_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(directory.path().join("journal")).unwrap();
        let mut logger = Logger::through(
            &outlets(directory.path()),
            config::Log::Journal,
            verbosity(1),
        )
        .unwrap();
        logger.say(Topic::Action, "vm.x 1 → 2\nPRIORITY=0");
        logger.say(Topic::Reason, "not at this verbosity");
        logger.set_verbosity(verbosity(2));
        logger.say(Topic::Reason, "now");
        drop(logger);
        let heard = heard(&socket);
        assert_eq!(heard.len(), 2, "{heard:?}");
        assert!(
            heard[0].starts_with("MESSAGE=vm.x 1 → 2\\x0aPRIORITY=0\nPRIORITY=5\n"),
            "{heard:?}"
        );
        assert!(
            heard[1].starts_with("MESSAGE=now\nPRIORITY=6\n"),
            "{heard:?}"
        );
    }

    #[test]
    fn verbosity_decides_what_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let mut logger = Logger::through(
            &outlets(directory.path()),
            config::Log::Syslog,
            verbosity(0),
        )
        .unwrap();
        for level in 0..=5 {
            logger.set_verbosity(verbosity(level));
            let said = Topic::ALL
                .iter()
                .filter(|topic| logger.says(**topic))
                .count();
            assert_eq!(said, usize::from(level.min(4)) + 1);
        }
    }

    #[test]
    fn a_log_that_was_restarted_is_found_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("syslog");
        drop(UnixDatagram::bind(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        let logger = Logger::through(
            &outlets(directory.path()),
            config::Log::Syslog,
            verbosity(1),
        )
        .unwrap();
        let socket = UnixDatagram::bind(&path).unwrap();
        logger.say(Topic::Error, "here");
        drop(logger);
        assert_eq!(heard(&socket).len(), 1);
    }

    #[test]
    fn every_message_is_written_left_out_or_lost_and_counted() {
        let directory = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(directory.path().join("syslog")).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(500)))
            .unwrap();
        let logger = Logger::through(
            &outlets(directory.path()),
            config::Log::Syslog,
            verbosity(1),
        )
        .unwrap();
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            let read = || {
                socket
                    .recv(&mut buffer)
                    .ok()
                    .map(|n| String::from_utf8_lossy(&buffer[..n]).into_owned())
            };
            std::iter::from_fn(read).collect::<Vec<_>>()
        });
        for number in 0..500 {
            logger.say(Topic::Action, format_args!("number {number}"));
        }
        drop(logger);
        let heard = reader.join().unwrap();
        let count = |needle: &str| -> u64 {
            let counted = heard
                .iter()
                .filter_map(|line| line.split_once("]: ")?.1.strip_suffix(needle));
            counted.map(|number| number.parse::<u64>().unwrap()).sum()
        };
        let written = heard
            .iter()
            .filter(|line| line.contains("]: number "))
            .count() as u64;
        let lost = count(" messages lost: they came faster than they were written");
        assert_eq!(
            written + lost + count(" more messages on action left out"),
            500,
            "{heard:?}"
        );
        assert!((20..=22).contains(&written), "{written}");
    }
}
