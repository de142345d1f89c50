//! Where messages are written: standard error, the journal's socket, or the system log's socket.

use super::Line;
use pressure::config;
use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::Duration;

/// The program's name in every message.
const IDENT: &str = "warmsetd";
/// The facility `LOG_DAEMON`, shifted as in `syslog(3)`.
const FACILITY_DAEMON: u8 = 3 << 3;
/// Time that a log gets to take a message; after it, the message goes to standard error. Longer fills the queue.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where this machine's logs are.
#[derive(Debug, Clone)]
pub(super) struct Outlets {
    pub(super) journal_reads_stderr: bool,
    pub(super) journal: PathBuf,
    pub(super) syslog: PathBuf,
}

impl Outlets {
    /// The usual paths; `JOURNAL_STREAM` tells whether the journal reads standard error.
    pub(super) fn usual() -> Self {
        let stderr = match rustix::fs::fstat(io::stderr()) {
            Ok(file) => Some((file.st_dev, file.st_ino)),
            Err(_) => None,
        };
        let journal_reads_stderr = match std::env::var("JOURNAL_STREAM") {
            Ok(stream) => is_journal(&stream, stderr),
            Err(_) => false,
        };
        Self {
            journal_reads_stderr,
            journal: "/run/systemd/journal/socket".into(),
            syslog: "/dev/log".into(),
        }
    }
}

/// Returns true if `stream` (`8:1234`, device and inode) is standard error. If not, the variable was inherited.
fn is_journal(stream: &str, stderr: Option<(u64, u64)>) -> bool {
    let Some((device, inode)) = stream.split_once(':') else {
        return false;
    };
    match (device.parse(), inode.parse()) {
        (Ok(device), Ok(inode)) => stderr == Some((device, inode)),
        _ => false,
    }
}

/// How a message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// For a terminal.
    Plain,
    /// With the priority as `<N>` before the line, as in `sd-daemon(3)`.
    Prefixed,
    /// The journal's native fields, a line each. A value has no line break, because messages escape it.
    Journal,
    /// RFC 3164 without the time, which would have to be local; the receiver adds it (section 4.3.2).
    Syslog,
}

/// An open log and its buffer.
#[derive(Debug)]
pub(super) struct Sink {
    form: Form,
    /// For standard error, when the socket takes nothing.
    fallback: Form,
    socket: Option<(UnixDatagram, PathBuf)>,
    buffer: Vec<u8>,
}

impl Sink {
    /// Errors: no socket could be created.
    pub(super) fn open(choice: config::Log, outlets: &Outlets) -> io::Result<Self> {
        let fallback = if outlets.journal_reads_stderr {
            Form::Prefixed
        } else {
            Form::Plain
        };
        let (form, path) = match choice {
            config::Log::Auto | config::Log::Stderr => (fallback, None),
            config::Log::Journal => (Form::Journal, Some(outlets.journal.clone())),
            config::Log::Syslog => (Form::Syslog, Some(outlets.syslog.clone())),
        };
        let socket = match path {
            Some(path) => {
                let socket = UnixDatagram::unbound()?;
                socket.set_write_timeout(Some(PATIENCE))?;
                Some((socket, path))
            }
            None => None,
        };
        Ok(Self {
            form,
            fallback,
            socket,
            buffer: Vec::with_capacity(2048),
        })
    }

    /// Writes the message; to standard error if the socket does not take it.
    ///
    /// Each message is sent to the socket's path, so that a log that was restarted is found again.
    pub(super) fn write(&mut self, line: &Line) {
        render(self.form, line, &mut self.buffer);
        if let Some((socket, path)) = &self.socket {
            if socket.send_to(&self.buffer, path).is_ok() {
                return;
            }
            render(self.fallback, line, &mut self.buffer);
        }
        // If standard error is closed as well, the message is lost.
        let _ = io::stderr().write_all(&self.buffer);
    }
}

fn render(form: Form, line: &Line, out: &mut Vec<u8>) {
    out.clear();
    let priority = line.topic.priority();
    let text = line.text();
    // Writing to memory cannot fail.
    let _ = match form {
        Form::Plain => writeln!(out, "{IDENT}: {}{text}", line.topic.label()),
        Form::Prefixed => writeln!(out, "<{priority}>{text}"),
        Form::Syslog => write!(
            out,
            "<{}>{IDENT}[{}]: {text}",
            FACILITY_DAEMON | priority,
            std::process::id()
        ),
        Form::Journal => journal(line, out),
    };
}

fn journal(line: &Line, out: &mut Vec<u8>) -> io::Result<()> {
    writeln!(out, "MESSAGE={}", line.text())?;
    writeln!(out, "PRIORITY={}", line.topic.priority())?;
    writeln!(out, "SYSLOG_IDENTIFIER={IDENT}")?;
    writeln!(out, "WARMSET_TOPIC={}", line.topic.name())?;
    if let Some(id) = line.topic.message_id() {
        writeln!(out, "MESSAGE_ID={id}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Topic;
    use super::*;

    fn rendered(form: Form, topic: Topic) -> String {
        let line = Line::new(topic, format_args!("gap raised\nto 12 MiB"));
        let mut out = Vec::new();
        render(form, &line, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_form_is_as_its_reader_expects() {
        assert_eq!(
            rendered(Form::Plain, Topic::Action),
            "warmsetd: gap raised\\x0ato 12 MiB\n"
        );
        assert_eq!(
            rendered(Form::Plain, Topic::Error),
            "warmsetd: error: gap raised\\x0ato 12 MiB\n"
        );
        assert_eq!(
            rendered(Form::Prefixed, Topic::Reason),
            "<6>gap raised\\x0ato 12 MiB\n"
        );
        let syslog = format!(
            "<27>warmsetd[{}]: gap raised\\x0ato 12 MiB",
            std::process::id()
        );
        assert_eq!(rendered(Form::Syslog, Topic::Error), syslog);
    }

    #[test]
    fn the_journal_gets_fields() {
        let expected = "MESSAGE=gap raised\\x0ato 12 MiB\nPRIORITY=5\nSYSLOG_IDENTIFIER=warmsetd\n\
            WARMSET_TOPIC=action\nMESSAGE_ID=5b6f3a0de1cd4c0f9a27c7c8d5be41f2\n";
        assert_eq!(rendered(Form::Journal, Topic::Action), expected);
        assert!(!rendered(Form::Journal, Topic::Tick).contains("MESSAGE_ID"));
    }

    #[test]
    fn an_inherited_journal_stream_is_ignored() {
        assert!(is_journal("8:1234", Some((8, 1234))));
        for (stream, stderr) in [
            ("8:1235", Some((8, 1234))),
            ("8", Some((8, 0))),
            ("", None),
            ("8:x", None),
        ] {
            assert!(!is_journal(stream, stderr), "{stream}");
        }
    }
}
