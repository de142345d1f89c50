//! Where a message ends: standard error, the journal's socket, or the system log's.

use super::Line;
use pressure::config;
use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::Duration;

/// Our name in every message.
const IDENT: &str = "warmsetd";
/// The system log's number for daemons, shifted as `syslog(3)` has it.
const FACILITY_DAEMON: u8 = 3 << 3;
/// A log that does not take a message in this time does not get it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The outlets of a machine.
#[derive(Debug, Clone)]
pub(super) struct Outlets {
    pub(super) journal_reads_stderr: bool,
    pub(super) journal: PathBuf,
    pub(super) syslog: PathBuf,
}

impl Outlets {
    /// The usual ones, with what `JOURNAL_STREAM` says of standard error.
    pub(super) fn usual() -> Self {
        let stderr = rustix::fs::fstat(io::stderr())
            .ok()
            .map(|file| (file.st_dev, file.st_ino));
        let stream = std::env::var("JOURNAL_STREAM").ok();
        Self {
            journal_reads_stderr: stream.is_some_and(|stream| is_journal(&stream, stderr)),
            journal: "/run/systemd/journal/socket".into(),
            syslog: "/dev/log".into(),
        }
    }
}

/// Whether `stream` (`8:1234`, device and inode) is standard error; the variable may be inherited.
fn is_journal(stream: &str, stderr: Option<(u64, u64)>) -> bool {
    let numbers = stream
        .split_once(':')
        .and_then(|(device, inode)| Some((device.parse().ok()?, inode.parse().ok()?)));
    numbers.is_some() && numbers == stderr
}

/// How a message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// For a terminal.
    Plain,
    /// With `<N>` before the line, as `sd-daemon(3)` has it.
    Prefixed,
    /// The journal's own fields, a line each. Values cannot hold a line break: it is escaped.
    Journal,
    /// RFC 3164, without the time: it would have to be local, and the receiver stamps anyway (§4.3.2).
    Syslog,
}

/// One place for messages, with its scratch space.
#[derive(Debug)]
pub(super) struct Sink {
    form: Form,
    fallback: Form,
    socket: Option<(UnixDatagram, PathBuf)>,
    buffer: Vec<u8>,
}

impl Sink {
    /// Errors: no socket could be made.
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
        let open = |path| {
            let socket = UnixDatagram::unbound()?;
            socket.set_write_timeout(Some(PATIENCE))?;
            io::Result::Ok((socket, path))
        };
        let socket = path.map(open).transpose()?;
        Ok(Self {
            form,
            fallback,
            socket,
            buffer: Vec::with_capacity(2048),
        })
    }

    /// Writes the message, on standard error where its socket does not take it. The socket is
    /// addressed anew each time, so a log that was restarted is found again.
    pub(super) fn write(&mut self, line: &Line) {
        render(self.form, line, &mut self.buffer);
        if let Some((socket, path)) = &self.socket {
            if socket.send_to(&self.buffer, path).is_ok() {
                return;
            }
            render(self.fallback, line, &mut self.buffer);
        }
        // With standard error gone as well there is nobody left to tell.
        let _ = io::stderr().write_all(&self.buffer);
    }
}

fn render(form: Form, line: &Line, out: &mut Vec<u8>) {
    out.clear();
    let (priority, text) = (line.topic.priority(), line.text());
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
    let (priority, topic) = (line.topic.priority(), line.topic.name());
    writeln!(
        out,
        "MESSAGE={}\nPRIORITY={priority}\nSYSLOG_IDENTIFIER={IDENT}",
        line.text()
    )?;
    writeln!(out, "WARMSET_TOPIC={topic}")?;
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
    fn each_form_is_what_its_reader_expects() {
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
    fn an_inherited_journal_stream_is_not_trusted() {
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
