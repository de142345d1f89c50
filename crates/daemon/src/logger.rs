//! Messages for people: each has a topic and a bounded length, and a thread of their own writes them.
//!
//! [`Logger::say`] formats into a fixed buffer and hands it to a queue of fixed length: it neither waits nor allocates.
//! Messages that find the queue full are counted and reported. A flood of one topic is cut to a burst, and then to one
//! message a second; the number of those left out is written, too. Signals are a topic of their own: no flood hides one.

mod budget;
mod line;
mod sink;

use arrayvec::ArrayVec;
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

/// Messages that may wait for the thread. Each takes half a KiB of locked memory; a decision has at most some 20.
const QUEUE: usize = 48;
/// The thread formats into buffers it owns and calls nothing deep. Its stack is locked in memory, so it is small.
const STACK: usize = 128 * 1024;
/// How long the end of the program waits for the last messages: twice the time that a log gets for one of them.
const FAREWELL: Duration = Duration::from_secs(2);

/// Time between two looks whether messages that were left out may be reported: a topic's budget allows one a second.
const REPORT: Duration = Duration::from_secs(1);

/// What a message is about. The topic decides at which verbosity it is written, and its syslog priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Something does not work. Always written.
    Error,
    /// A process is signalled, or would be (verbosity 1).
    Signal,
    /// Other actions and events (1).
    Action,
    /// Reasons (2).
    Reason,
    /// Rates and forecasts (3).
    Rate,
    /// Every tick (4).
    Tick,
    /// What each tick has read (5).
    Reading,
}

impl Topic {
    const ALL: [Self; 7] = [
        Self::Error,
        Self::Signal,
        Self::Action,
        Self::Reason,
        Self::Rate,
        Self::Tick,
        Self::Reading,
    ];

    const fn verbosity(self) -> u8 {
        match self {
            Self::Error => 0,
            Self::Signal | Self::Action => 1,
            Self::Reason => 2,
            Self::Rate => 3,
            Self::Tick => 4,
            Self::Reading => 5,
        }
    }

    /// Syslog's number: 3 error, 5 notice, 6 info, 7 debug.
    const fn priority(self) -> u8 {
        match self {
            Self::Error => 3,
            Self::Signal | Self::Action => 5,
            Self::Reason => 6,
            Self::Rate | Self::Tick | Self::Reading => 7,
        }
    }

    /// What a line on a terminal begins with.
    const fn label(self) -> &'static str {
        match self {
            Self::Error => "error: ",
            Self::Signal
            | Self::Action
            | Self::Reason
            | Self::Rate
            | Self::Tick
            | Self::Reading => "",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Signal => "signal",
            Self::Action => "action",
            Self::Reason => "reason",
            Self::Rate => "rate",
            Self::Tick => "tick",
            Self::Reading => "reading",
        }
    }

    /// The journal's `MESSAGE_ID`: `journalctl MESSAGE_ID=…` lists all actions.
    const fn message_id(self) -> Option<&'static str> {
        match self {
            Self::Signal | Self::Action => Some("5b6f3a0de1cd4c0f9a27c7c8d5be41f2"),
            Self::Error | Self::Reason | Self::Rate | Self::Tick | Self::Reading => None,
        }
    }
}

/// The loop's end of the queue. Dropping it waits until all is written, at most 2 s.
#[derive(Debug)]
pub struct Logger {
    queue: Option<SyncSender<Line>>,
    /// Disconnected once the thread has ended; nothing is sent on it.
    finished: Receiver<Infallible>,
    verbosity: u8,
    lost: Arc<AtomicU64>,
}

impl Logger {
    /// Starts the thread. Errors: no socket, no thread.
    ///
    /// A missing journal or system log is no error: messages go to standard error then.
    pub fn open(log: config::Log, verbosity: Verbosity) -> io::Result<Self> {
        Self::through(&Outlets::usual(), log, verbosity)
    }

    fn through(outlets: &Outlets, log: config::Log, verbosity: Verbosity) -> io::Result<Self> {
        let sink = Sink::open(log, outlets)?;
        let (queue, lines) = sync_channel(QUEUE);
        let (running, finished) = channel::<Infallible>();
        let lost = Arc::new(AtomicU64::new(0));
        let mut writer = Writer {
            sink,
            lost: Arc::clone(&lost),
            budgets: Budgets::new(Instant::now()),
        };
        thread::Builder::new()
            .name("warmset-log".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                writer.write_all(&lines);
                drop(running);
            })?;
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

    /// Returns true if messages on `topic` are written. Ask before formatting a long text.
    pub fn says(&self, topic: Topic) -> bool {
        topic.verbosity() <= self.verbosity
    }

    /// Writes `text`, cut at 512 bytes, if the verbosity includes the topic. Neither waits nor allocates.
    pub fn say(&self, topic: Topic, text: impl fmt::Display) {
        if !self.says(topic) {
            return;
        }
        let line = Line::new(topic, format_args!("{text}"));
        let Some(queue) = &self.queue else { return };
        // When the log is slow the message is lost, and the loop goes on.
        if queue.try_send(line).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Logger {
    fn drop(&mut self) {
        drop(self.queue.take());
        // Nothing is ever sent: this returns when the thread ends, or after the time.
        let _ = self.finished.recv_timeout(FAREWELL);
    }
}

/// The thread that writes.
struct Writer {
    sink: Sink,
    lost: Arc<AtomicU64>,
    budgets: Budgets,
}

/// How many messages of each topic were left out.
type LeftOut = ArrayVec<(Topic, u64), { Topic::ALL.len() }>;

/// The loop's end of the queue was dropped.
struct Ended;

impl Writer {
    /// Writes messages until the loop's end of the queue is dropped.
    fn write_all(&mut self, lines: &Receiver<Line>) {
        while let Ok(line) = self.next(lines) {
            let now = Instant::now();
            if let Some(line) = line {
                if self.budgets.allows(line.topic, now) {
                    self.sink.write(&line);
                }
            }
            let due: LeftOut = self.budgets.reports(now).collect();
            self.report(&due);
        }
        let rest: LeftOut = self.budgets.rest().collect();
        self.report(&rest);
    }

    /// The next message; `None` when messages that were left out may be reported by now.
    fn next(&self, lines: &Receiver<Line>) -> Result<Option<Line>, Ended> {
        if !self.budgets.any_suppressed() {
            return lines.recv().map(Some).map_err(|_| Ended);
        }
        match lines.recv_timeout(REPORT) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Ended),
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

    /// The messages that arrive, until none does.
    fn received(socket: &UnixDatagram) -> Vec<String> {
        let mut buffer = [0; 4096];
        let mut messages = Vec::new();
        while let Ok(length) = socket.recv(&mut buffer) {
            messages.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
        }
        messages
    }

    fn received_now(socket: &UnixDatagram) -> Vec<String> {
        socket.set_nonblocking(true).unwrap();
        received(socket)
    }

    fn logger(directory: &Path, log: config::Log, level: u8) -> Logger {
        Logger::through(&outlets(directory), log, verbosity(level)).unwrap()
    }

    #[test]
    fn everything_is_written_before_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(directory.path().join("journal")).unwrap();
        let mut logger = logger(directory.path(), config::Log::Journal, 1);
        logger.say(Topic::Action, "vm.x 1 → 2\nPRIORITY=0");
        logger.say(Topic::Reason, "not at this verbosity");
        logger.set_verbosity(verbosity(2));
        logger.say(Topic::Reason, "now");
        drop(logger);
        let heard = received_now(&socket);
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
    fn verbosity_decides_what_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let mut logger = logger(directory.path(), config::Log::Syslog, 0);
        let expected = [1, 3, 4, 5, 6, 7];
        for (level, topics) in (0..).zip(expected) {
            logger.set_verbosity(verbosity(level));
            let said = Topic::ALL
                .iter()
                .filter(|topic| logger.says(**topic))
                .count();
            assert_eq!(said, topics, "verbosity {level}");
        }
    }

    #[test]
    fn a_log_that_was_restarted_is_found_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("syslog");
        drop(UnixDatagram::bind(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        let logger = logger(directory.path(), config::Log::Syslog, 1);
        let socket = UnixDatagram::bind(&path).unwrap();
        logger.say(Topic::Error, "here");
        drop(logger);
        assert_eq!(received_now(&socket).len(), 1);
    }

    #[test]
    fn every_message_is_written_or_counted_as_left_out_or_lost() {
        let directory = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(directory.path().join("syslog")).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(500)))
            .unwrap();
        let logger = logger(directory.path(), config::Log::Syslog, 1);
        let reader = thread::spawn(move || received(&socket));
        for number in 0..500 {
            logger.say(Topic::Action, format_args!("number {number}"));
        }
        drop(logger);
        let heard = reader.join().unwrap();
        // The sum of the numbers in the lines that end so.
        let count = |end: &str| -> u64 {
            let mut sum = 0;
            for line in &heard {
                let (_, text) = line.split_once("]: ").unwrap();
                if let Some(number) = text.strip_suffix(end) {
                    sum += number.parse::<u64>().unwrap();
                }
            }
            sum
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
