//! `warmset notice`: the guard's notices on the desktop, and the user's answers.
//!
//! ```text
//! guard ── lines of JSON ──► this ── notify-send ──► the desktop's own notices
//!       ◄─ the answer ──────      ◄─ the action that was chosen
//! ```
//!
//! It runs as the user, and knows only what the guard tells this user. `notify-send` (libnotify 0.8) speaks to the desktop.
//! As a system service it warns programs instead of a person.

mod messages;
mod monitor;

use crate::ui::hinted::Hinted;
use crate::ui::{Context, Form, NO_GUARD, json_line};
use anyhow::Result;
use messages::{Message, message};
use monitor::Monitor;
use pressure::groups::Answer;
use pressure::users::{Reply, Tell};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two attempts to connect to a guard that is not there.
const AGAIN: Duration = Duration::from_secs(5);
/// Time from SIGINT to SIGKILL of notify-send: it needs a moment to take its notice from the desktop.
const GRACE: Duration = Duration::from_secs(1);
/// Time between two checks of whether notify-send has ended.
const NAP: Duration = Duration::from_millis(10);

/// Show the guard's notices on your desktop, and answer before a program of yours is killed
///
/// The guard then freezes a program of yours that it would kill, if the program has a unit of its own. A notice asks you to
/// kill it, to leave it frozen until there is memory, or to let it go on. Runs until it is interrupted, and waits for
/// a guard that is not there. To have it always: systemctl --user enable --now warmset-notice. With --json it shows no
/// notices, answers nothing, and prints what the guard sends, one object on a line.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Program that shows notices, called like notify-send
    #[arg(long, value_name = "PROGRAM", default_value = "notify-send")]
    by: OsString,
    /// Show no notices; warn programs as org.freedesktop.LowMemoryMonitor on the system bus, which GLib's GMemoryMonitor
    /// uses. For root: systemctl enable --now warmset-low-memory
    #[arg(long, conflicts_with = "by")]
    low_memory_monitor: bool,
    /// Exit when the guard ends, instead of waiting for the next one
    #[arg(long)]
    once: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let path = context.run.join("notice.sock");
    if context.form == Form::Json && args.low_memory_monitor {
        let hint = "--json prints what the guard sends, --low-memory-monitor warns programs: run warmset notice twice";
        return Err(Hinted::new(
            "--json and --low-memory-monitor cannot be used together",
            hint,
        )
        .into());
    }
    let receiver = match context.form {
        Form::Json => Receiver::Output,
        Form::Text if args.low_memory_monitor => Receiver::Programs(Monitor::open()?),
        Form::Text => Receiver::Desktop(&args.by),
    };
    loop {
        match UnixStream::connect(&path) {
            Ok(socket) => listen(&socket, &receiver, out)?,
            Err(error) if args.once || !is_absence(&error) => return Err(absent(&path, &error)),
            Err(_) => {}
        }
        if args.once {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(AGAIN);
    }
}

/// Returns true if no guard listens.
fn is_absence(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::ConnectionRefused
    )
}

fn absent(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let hint = "the guard opens it in the modes guard and protect: mode = \"guard\" in /etc/warmset/warmset.toml";
    Hinted::new(format_args!("{}: {error}", path.display()), hint)
        .with_code(NO_GUARD)
        .into()
}

/// What becomes of the guard's messages.
enum Receiver<'a> {
    /// They are printed as JSON.
    Output,
    /// This program shows them as notices.
    Desktop(&'a OsStr),
    /// Programs are warned on the system bus.
    Programs(Monitor),
}

/// Passes on messages until the guard ends.
fn listen(socket: &UnixStream, receiver: &Receiver<'_>, out: &mut impl Write) -> Result<()> {
    if !matches!(receiver, Receiver::Desktop(_)) {
        // A client that cannot write is asked no questions: no one would answer.
        socket.shutdown(Shutdown::Write)?;
    }
    let mut questions = Questions {
        socket: Arc::new(Mutex::new(socket.try_clone()?)),
        open: HashMap::new(),
    };
    for line in BufReader::new(socket).lines() {
        let Ok(line) = line else { break };
        // A newer guard may send messages that this version does not know.
        let Ok(tell) = serde_json::from_str::<Tell>(&line) else {
            continue;
        };
        match receiver {
            Receiver::Output => {
                json_line(out, &tell)?;
                out.flush()?;
            }
            Receiver::Desktop(by) => questions.handle(&tell, by)?,
            Receiver::Programs(monitor) => monitor.warn(&tell)?,
        }
    }
    Ok(())
}

/// Notices that wait for an answer.
struct Questions {
    /// Where answers go.
    socket: Arc<Mutex<UnixStream>>,
    /// The program that shows each question, by the question's number.
    open: HashMap<u64, Child>,
}

impl Questions {
    fn handle(&mut self, tell: &Tell, by: &OsStr) -> Result<()> {
        self.forget_closed();
        match tell {
            // The question's time is over: its notice goes.
            Tell::Settled { id } => close(self.open.remove(id)),
            _ => self.show(tell, by)?,
        }
        Ok(())
    }

    fn show(&mut self, tell: &Tell, by: &OsStr) -> Result<()> {
        let Some(message) = message(tell) else {
            return Ok(());
        };
        let mut child = start(&message, by)?;
        match message.question {
            Some(id) => {
                if let Some(chosen) = child.stdout.take() {
                    let socket = Arc::clone(&self.socket);
                    std::thread::spawn(move || answer(id, chosen, &socket));
                }
                close(self.open.insert(id, child));
            }
            // Without a question notify-send ends at once.
            None => drop(child.wait()),
        }
        Ok(())
    }

    /// Forgets notices that were answered or closed: their programs have ended.
    fn forget_closed(&mut self) {
        self.open
            .retain(|_, child| !matches!(child.try_wait(), Ok(Some(_))));
    }
}

impl Drop for Questions {
    /// The guard has ended, so no answer is wanted any more.
    fn drop(&mut self) {
        close(self.open.drain().map(|(_, child)| child));
    }
}

/// Starts the program that shows a notice.
fn start(message: &Message, by: &OsStr) -> Result<Child> {
    let mut command = Command::new(by);
    command.args(["--app-name=Warmset", "--icon=dialog-warning"]);
    command.arg(format!("--urgency={}", message.urgency));
    command.arg(format!("--expire-time={}", message.lasts.as_millis()));
    if message.question.is_some() {
        command.arg("--wait");
        for answer in Answer::ALL {
            let label = messages::label(answer);
            command.arg(format!("--action={}={label}", answer.name()));
        }
    }
    command.arg("--").args([&message.title, &message.text]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().map_err(|error| {
        let what = format!("{}: {error}", Path::new(by).display());
        Hinted::new(what, "notices need notify-send: apt install libnotify-bin").into()
    })
}

/// Takes notices from the desktop. notify-send closes its notice when it is interrupted, and leaves it there when killed.
fn close(notices: impl IntoIterator<Item = Child>) {
    let mut notices: Vec<Child> = notices.into_iter().collect();
    for child in &mut notices {
        // A process that has ended and was reaped may have passed its number on.
        if !matches!(child.try_wait(), Ok(None)) {
            continue;
        }
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::INT);
        }
    }
    let until = Instant::now() + GRACE;
    for mut child in notices {
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(NAP);
        }
        if child.kill().is_ok() {
            let _ = child.wait();
        }
    }
}

/// Sends the answer that was chosen. A notice that was closed gives none, and the question stays open until its time is over.
fn answer(id: u64, mut chosen: ChildStdout, socket: &Mutex<UnixStream>) {
    let mut name = String::new();
    let read = chosen.read_to_string(&mut name);
    let Some(answer) = read.ok().and_then(|_| Answer::from_name(name.trim())) else {
        return;
    };
    let Ok(mut line) = serde_json::to_vec(&Reply { id, answer }) else {
        return;
    };
    line.push(b'\n');
    // A guard that has ended has thawed every program.
    let _ = socket
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .write_all(&line);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that does this when it is interrupted, and is ready for it.
    fn notice(interrupted: &str) -> Child {
        let text = format!(
            "import signal,sys,time\nsignal.signal(2,lambda *_:{interrupted})\nprint(1,flush=True)\ntime.sleep(9)"
        );
        let mut child = Command::new("python3")
            .args(["-c", &text])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    }

    #[test]
    fn a_notice_is_interrupted_before_it_is_killed() {
        let directory = tempfile::tempdir().unwrap();
        let interrupted = directory.path().join("interrupted");
        let notices = [
            notice(&format!(
                "(open('{}','w'),sys.exit())",
                interrupted.display()
            )),
            notice("None"),
        ];
        let numbers = [notices[0].id(), notices[1].id()];
        close(notices);
        assert!(interrupted.exists());
        assert!(
            numbers
                .iter()
                .all(|pid| !Path::new("/proc").join(pid.to_string()).exists()),
            "no zombies are left"
        );
    }
}
