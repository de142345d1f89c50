//! What the daemon says, and where: standard error, the journal, or the system log.
//!
//! The loop hands a line over and goes on; a thread writes it. A full queue drops the line and counts it,
//! and a storm is thinned: twenty lines at once, then one a second. What programs call themselves may hold
//! anything, so control characters are escaped before a terminal sees them.

use pressure::config::{self, Verbosity};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const STACK: usize = 128 * 1024;
const QUEUE: usize = 64;
/// Lines at once, and a second between further ones.
const BURST: u32 = 20;
/// The journal groups decisions by this.
const DECISION: &str = "5b0f2c1c6c5e4d0b9a3df1a7a4f0e6d1";

/// What a line is about: the verbosity at which it is said, and how grave it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Something does not work.
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
}

struct Line {
    topic: Topic,
    text: String,
}

/// The loop's end of the queue.
#[derive(Debug)]
pub struct Voice {
    queue: Option<SyncSender<Line>>,
    thread: Option<JoinHandle<()>>,
    verbosity: u8,
    lost: Arc<AtomicU64>,
}

/// Where lines go.
enum Sink {
    Stderr { prefixed: bool },
    Journal(UnixDatagram),
    Syslog(UnixDatagram),
}

impl Voice {
    /// Opens the configured place; standard error if it cannot be reached.
    pub fn open(log: config::Log, verbosity: Verbosity) -> io::Result<Self> {
        let under_journal = std::env::var_os("JOURNAL_STREAM").is_some();
        let sink = match log {
            config::Log::Auto | config::Log::Stderr => Sink::Stderr { prefixed: under_journal },
            config::Log::Journal => {
                connected("/run/systemd/journal/socket").map_or(Sink::Stderr { prefixed: false }, Sink::Journal)
            }
            config::Log::Syslog => connected("/dev/log").map_or(Sink::Stderr { prefixed: false }, Sink::Syslog),
        };
        Self::into(sink, verbosity)
    }

    fn into(sink: Sink, verbosity: Verbosity) -> io::Result<Self> {
        let (queue, lines) = sync_channel(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        let theirs = Arc::clone(&lost);
        let thread = std::thread::Builder::new()
            .name("warmset-voice".to_owned())
            .stack_size(STACK)
            .spawn(move || speak(&lines, &sink, &theirs))?;
        Ok(Self { queue: Some(queue), thread: Some(thread), verbosity: verbosity.get(), lost })
    }

    /// Whether a line on `topic` would be said; asks before the text is made.
    pub fn says(&self, topic: Topic) -> bool {
        topic.verbosity() <= self.verbosity
    }

    /// Says a line, if the verbosity has it. Never waits.
    pub fn say(&self, topic: Topic, text: impl std::fmt::Display) {
        if !self.says(topic) {
            return;
        }
        let line = Line { topic, text: escaped(&text.to_string()) };
        // A full queue means that nobody reads: the line is lost, the loop is not.
        if self.queue.as_ref().is_some_and(|queue| queue.try_send(line).is_err()) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Follows a reloaded configuration.
    pub fn set_verbosity(&mut self, verbosity: Verbosity) {
        self.verbosity = verbosity.get();
    }
}

/// Says what is queued, then ends.
impl Drop for Voice {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn connected(path: impl AsRef<Path>) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(path)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn speak(lines: &Receiver<Line>, sink: &Sink, lost: &AtomicU64) {
    let (mut credit, mut since) = (BURST, Instant::now());
    for line in lines {
        let earned = since.elapsed().as_secs();
        if earned > 0 {
            credit = BURST.min(credit + u32::try_from(earned).unwrap_or(BURST));
            since += Duration::from_secs(earned);
        }
        if credit == 0 && line.topic != Topic::Error {
            lost.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        credit = credit.saturating_sub(1);
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            sink.write(&Line { topic: Topic::Action, text: format!("{lost} lines left out") });
        }
        sink.write(&line);
    }
}

impl Sink {
    fn write(&self, Line { topic, text }: &Line) {
        let priority = topic.priority();
        let sent = match self {
            Self::Stderr { prefixed: true } => writeln!(io::stderr(), "<{priority}>{text}"),
            Self::Stderr { prefixed: false } => writeln!(io::stderr(), "warmsetd: {text}"),
            Self::Journal(socket) => {
                let id = if *topic == Topic::Action { format!("MESSAGE_ID={DECISION}\n") } else { String::new() };
                let entry = format!("PRIORITY={priority}\nSYSLOG_IDENTIFIER=warmsetd\n{id}MESSAGE={text}\n");
                socket.send(entry.as_bytes()).map(drop)
            }
            Self::Syslog(socket) => {
                // Facility 3 is the daemons'.
                let entry = format!("<{}>warmsetd[{}]: {text}", 3 * 8 + priority, std::process::id());
                socket.send(entry.as_bytes()).map(drop)
            }
        };
        // Nobody is left to tell that nobody listens.
        let _ = sent;
    }
}

/// `text` on one line, without control characters.
fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.trim_end().chars() {
        if character.is_control() {
            let _ = write!(line, "{}", character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(sink: fn(UnixDatagram) -> Sink, verbosity: u8, say: impl FnOnce(&Voice)) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let listener = UnixDatagram::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let voice = Voice::into(sink(connected(&path).unwrap()), Verbosity::try_from(verbosity).unwrap()).unwrap();
        say(&voice);
        drop(voice);
        let mut buffer = [0; 4096];
        std::iter::from_fn(|| listener.recv(&mut buffer).ok().map(|n| String::from_utf8(buffer[..n].to_vec()).unwrap()))
            .collect()
    }

    #[test]
    fn the_journal_gets_fields_and_syslog_gets_a_priority() {
        let journal = heard(Sink::Journal, 1, |voice| voice.say(Topic::Action, "vm.x 1 → 2"));
        assert_eq!(journal.len(), 1);
        assert!(journal[0].contains("PRIORITY=5\nSYSLOG_IDENTIFIER=warmsetd\nMESSAGE_ID="), "{journal:?}");
        assert!(journal[0].ends_with("MESSAGE=vm.x 1 → 2\n"));
        let syslog = heard(Sink::Syslog, 1, |voice| voice.say(Topic::Error, "bad"));
        assert!(syslog[0].starts_with("<27>warmsetd[") && syslog[0].ends_with("]: bad"), "{syslog:?}");
    }

    #[test]
    fn verbosity_decides_what_is_said() {
        let all = [Topic::Error, Topic::Action, Topic::Reason, Topic::Rate, Topic::Tick];
        for verbosity in 0..=5u8 {
            let said = heard(Sink::Syslog, verbosity, |voice| all.iter().for_each(|topic| voice.say(*topic, "x")));
            assert_eq!(said.len(), usize::from(verbosity.min(4)) + 1);
        }
    }

    #[test]
    fn a_line_cannot_steer_a_terminal_or_forge_a_field() {
        let said = heard(Sink::Journal, 1, |voice| voice.say(Topic::Action, "a\u{1b}[2J\nPRIORITY=0"));
        assert!(said[0].ends_with("MESSAGE=a\\u{1b}[2J\\nPRIORITY=0\n"), "{said:?}");
    }

    #[test]
    fn a_storm_is_thinned() {
        let said = heard(Sink::Syslog, 1, |voice| {
            for index in 0..60 {
                voice.say(Topic::Action, index);
            }
        });
        assert!(said.len() <= 25, "{}", said.len());
    }
}
