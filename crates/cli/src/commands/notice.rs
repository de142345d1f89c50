//! `warmset notice`: what the guard tells a person, on their desktop, and what they answer.
//!
//! ```text
//! guard ── lines of JSON ──► this ── notify-send ──► the desktop's own notices
//!       ◄─ the answer ──────      ◄─ the action that was chosen
//! ```
//!
//! It runs as the user, and knows nothing that the guard does not tell this user. `notify-send` (libnotify 0.8) speaks to
//! the desktop. As a service of the system it warns programs instead of people.

mod messages;
mod monitor;

use crate::ui::hinted::Hinted;
use crate::ui::{Context, Form, NO_GUARD, json_line};
use anyhow::Result;
use messages::{Shown, shown};
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

/// A guard that is not there is looked for again after this.
const AGAIN: Duration = Duration::from_secs(5);
/// A notice has so long to go from the desktop.
const GRACE: Duration = Duration::from_secs(1);
/// Between two looks at whether it has gone.
const NAP: Duration = Duration::from_millis(10);

/// Show what the guard does on your desktop, and be asked before anything of yours ends
///
/// While it runs and the guard may end processes, a program of yours that has a unit of its own and would have to end is
/// stopped, and you are asked: end it, let it wait until there is room, or let it go on. It runs until it is ended, and
/// waits for a guard that is not there. For good: systemctl --user enable --now warmset-notice. With --json it shows
/// nothing, is asked nothing, and prints what it hears, one object a line.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The program that shows notices
    #[arg(long, value_name = "PROGRAM", default_value = "notify-send")]
    by: OsString,
    /// Show nothing, and warn the programs that listen for it: as org.freedesktop.LowMemoryMonitor on the system bus,
    /// which GLib's GMemoryMonitor knows (root; systemctl enable --now warmset-low-memory)
    #[arg(long, conflicts_with = "by")]
    low_memory_monitor: bool,
    /// End with the guard, instead of waiting for the next one
    #[arg(long)]
    once: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let path = context.run.join("notice.sock");
    if context.form == Form::Json && args.low_memory_monitor {
        let hint = "one prints what it hears, the other warns programs of it: run two";
        return Err(Hinted::new("--json and --low-memory-monitor do not go together", hint).into());
    }
    let ear = match context.form {
        Form::Json => Ear::Paper,
        Form::Text if args.low_memory_monitor => Ear::Programs(Monitor::open()?),
        Form::Text => Ear::Person(&args.by),
    };
    loop {
        match UnixStream::connect(&path) {
            Ok(socket) => listen(&socket, &ear, out)?,
            Err(error) if args.once => return Err(absent(&path, &error)),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::ConnectionRefused
                ) => {}
            Err(error) => return Err(absent(&path, &error)),
        }
        if args.once {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(AGAIN);
    }
}

fn absent(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let hint = "the guard opens it in the modes guard and protect: mode = \"guard\" in /etc/warmset/warmset.toml";
    Hinted::new(format_args!("{}: {error}", path.display()), hint)
        .with_code(NO_GUARD)
        .into()
}

/// Who is to hear it.
enum Ear<'a> {
    /// Whoever reads what is printed.
    Paper,
    /// A person, by the program that shows notices.
    Person(&'a OsStr),
    /// Every program that listens.
    Programs(Monitor),
}

/// Passes on what is told until the guard goes.
fn listen(socket: &UnixStream, ear: &Ear<'_>, out: &mut impl Write) -> Result<()> {
    if !matches!(ear, Ear::Person(_)) {
        // Nobody is here to be asked.
        socket.shutdown(Shutdown::Write)?;
    }
    let mut questions = Questions {
        socket: Arc::new(Mutex::new(socket.try_clone()?)),
        open: HashMap::new(),
    };
    for line in BufReader::new(socket).lines() {
        let Ok(line) = line else { break };
        // What a newer guard tells besides is not for us.
        let Ok(tell) = serde_json::from_str::<Tell>(&line) else {
            continue;
        };
        match ear {
            Ear::Paper => {
                json_line(out, &tell)?;
                out.flush()?;
            }
            Ear::Person(by) => questions.hear(&tell, by)?,
            Ear::Programs(monitor) => monitor.hear(&tell)?,
        }
    }
    Ok(())
}

/// Notices that wait for an answer.
struct Questions {
    socket: Arc<Mutex<UnixStream>>,
    open: HashMap<u64, Child>,
}

impl Questions {
    fn hear(&mut self, tell: &Tell, by: &OsStr) -> Result<()> {
        self.forget_closed();
        match tell {
            Tell::Settled { id } => self.settle(*id),
            _ => self.show(tell, by)?,
        }
        Ok(())
    }

    fn show(&mut self, tell: &Tell, by: &OsStr) -> Result<()> {
        let Some(shown) = shown(tell) else {
            return Ok(());
        };
        let mut child = start(&shown, by)?;
        match shown.question {
            Some(id) => {
                if let Some(chosen) = child.stdout.take() {
                    let socket = Arc::clone(&self.socket);
                    std::thread::spawn(move || answer(id, chosen, &socket));
                }
                close(self.open.insert(id, child));
            }
            // One that only shows ends at once.
            None => drop(child.wait()),
        }
        Ok(())
    }

    /// Notices that were answered or closed have ended by themselves.
    fn forget_closed(&mut self) {
        self.open
            .retain(|_, child| !matches!(child.try_wait(), Ok(Some(_))));
    }

    /// Its time is over: the notice goes.
    fn settle(&mut self, id: u64) {
        close(self.open.remove(&id));
    }
}

impl Drop for Questions {
    /// Nobody waits for these answers any more.
    fn drop(&mut self) {
        close(self.open.drain().map(|(_, child)| child));
    }
}

/// Begins to show one.
fn start(shown: &Shown, by: &OsStr) -> Result<Child> {
    let mut command = Command::new(by);
    command.args(["--app-name=Warmset", "--icon=dialog-warning"]);
    command.arg(format!("--urgency={}", shown.urgency));
    command.arg(format!("--expire-time={}", shown.lasts.as_millis()));
    if shown.question.is_some() {
        let action =
            |answer: &Answer| format!("--action={}={}", answer.name(), messages::label(*answer));
        command.arg("--wait").args(Answer::ALL.iter().map(action));
    }
    command.arg("--").args([&shown.title, &shown.text]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().map_err(|error| {
        let what = format!("{}: {error}", Path::new(by).display());
        Hinted::new(what, "notices need notify-send: apt install libnotify-bin").into()
    })
}

/// Takes notices from the desktop. notify-send closes its own when it is interrupted, and leaves it there when killed.
fn close(notices: impl IntoIterator<Item = Child>) {
    let mut notices: Vec<Child> = notices.into_iter().collect();
    for child in &mut notices {
        // Who has ended and is waited for has no number any more.
        let runs = matches!(child.try_wait(), Ok(None));
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        if let (true, Some(pid)) = (runs, pid) {
            let _ = kill_process(pid, Signal::INT);
        }
    }
    let until = Instant::now() + GRACE;
    for mut child in notices {
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(NAP);
        }
        let _ = child.kill().and_then(|()| child.wait());
    }
}

/// Sends the answer that was chosen. A notice that was closed says nothing: time goes on.
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
    // A guard that has gone has let everyone go on.
    let _ = socket
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .write_all(&line);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that does this when it is interrupted, and has said that it is ready.
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
    fn a_notice_is_asked_to_go_before_it_is_made_to() {
        let directory = tempfile::tempdir().unwrap();
        let asked = directory.path().join("asked");
        let notices = [
            notice(&format!("(open('{}','w'),sys.exit())", asked.display())),
            notice("None"),
        ];
        let numbers = [notices[0].id(), notices[1].id()];
        close(notices);
        assert!(asked.exists());
        assert!(
            numbers
                .iter()
                .all(|pid| !Path::new("/proc").join(pid.to_string()).exists()),
            "no zombies are left"
        );
    }
}
