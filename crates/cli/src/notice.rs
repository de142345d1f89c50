//! `warmset notice`: what the guard tells a person, on their desktop, and what they answer.
//!
//! ```text
//! guard ── lines of JSON ──► this ── notify-send ──► the desktop's own notices
//!       ◄─ the answer ──────      ◄─ the action that was chosen
//! ```
//!
//! It runs as the user, and knows nothing that the guard does not tell this user. `notify-send` (libnotify 0.8) speaks to
//! the desktop, so no library for its bus is needed here.

mod words;

use crate::hinted::Hinted;
use crate::{Context, Form, json_line};
use anyhow::Result;
use pressure::groups::Answer;
use pressure::people::{Reply, Tell};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use words::{Shown, shown};

/// A guard that is not there is looked for again after this.
const AGAIN: Duration = Duration::from_secs(5);

/// Show what the guard does on your desktop, and be asked before anything of yours ends
///
/// While it runs and the guard may end processes, a program of yours that has a unit of its own and would have to end is
/// stopped, and you are asked: end it, let it wait until there is room, or let it go on. It runs until it is ended, and
/// waits for a guard that is not there. For good: systemctl --user enable --now warmset-notice. With --json it shows
/// nothing, and prints what it hears, one object a line.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The program that shows notices
    #[arg(long, value_name = "PROGRAM", default_value = "notify-send")]
    by: OsString,
    /// End with the guard, instead of waiting for the next one
    #[arg(long)]
    once: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let path = context.run.join("notice.sock");
    loop {
        match UnixStream::connect(&path) {
            Ok(socket) => listen(&socket, args, context.form, out)?,
            Err(error) if args.once => return Err(absent(&path, &error)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {}
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
    Hinted::new(format_args!("{}: {error}", path.display()), hint).with_code(crate::NO_GUARD).into()
}

/// Shows what is told until the guard goes.
fn listen(socket: &UnixStream, args: &Args, form: Form, out: &mut impl Write) -> Result<()> {
    let mut questions =
        Questions { by: &args.by, socket: Arc::new(Mutex::new(socket.try_clone()?)), open: HashMap::new() };
    for line in BufReader::new(socket).lines() {
        let Ok(line) = line else { break };
        // What a newer guard tells besides is not for us.
        let Ok(tell) = serde_json::from_str::<Tell>(&line) else { continue };
        if form == Form::Json {
            json_line(out, &tell)?;
            out.flush()?;
            continue;
        }
        questions.forget_closed();
        match &tell {
            Tell::Settled { id } => questions.settle(*id),
            _ => questions.show(&tell)?,
        }
    }
    Ok(())
}

/// Notices that wait for an answer.
struct Questions<'a> {
    by: &'a OsStr,
    socket: Arc<Mutex<UnixStream>>,
    open: HashMap<u64, Child>,
}

impl Questions<'_> {
    fn show(&mut self, tell: &Tell) -> Result<()> {
        let Some(shown) = shown(tell) else { return Ok(()) };
        let mut child = self.start(&shown)?;
        match shown.question {
            Some(id) => {
                if let Some(chosen) = child.stdout.take() {
                    let socket = Arc::clone(&self.socket);
                    std::thread::spawn(move || answer(id, chosen, &socket));
                }
                self.open.insert(id, child);
            }
            // One that only shows ends at once.
            None => drop(child.wait()),
        }
        Ok(())
    }

    fn start(&self, shown: &Shown) -> Result<Child> {
        let mut command = Command::new(self.by);
        command.args(["--app-name=Warmset", "--icon=dialog-warning"]);
        command.arg(format!("--urgency={}", shown.urgency));
        command.arg(format!("--expire-time={}", shown.lasts.as_millis()));
        if shown.question.is_some() {
            let action = |answer: &Answer| format!("--action={}={}", answer.name(), words::label(*answer));
            command.arg("--wait").args(Answer::ALL.iter().map(action));
        }
        command.arg("--").args([&shown.title, &shown.text]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.spawn().map_err(|error| {
            let what = format!("{}: {error}", Path::new(self.by).display());
            Hinted::new(what, "notices need notify-send: apt install libnotify-bin").into()
        })
    }

    /// Notices that were answered or closed have ended by themselves.
    fn forget_closed(&mut self) {
        self.open.retain(|_, child| !matches!(child.try_wait(), Ok(Some(_))));
    }

    /// Its time is over: the notice goes.
    fn settle(&mut self, id: u64) {
        if let Some(mut child) = self.open.remove(&id) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Sends the answer that was chosen. A notice that was closed says nothing: time goes on.
fn answer(id: u64, mut chosen: ChildStdout, socket: &Mutex<UnixStream>) {
    let mut name = String::new();
    let read = chosen.read_to_string(&mut name);
    let Some(answer) = read.ok().and_then(|_| Answer::from_name(name.trim())) else { return };
    let Ok(mut line) = serde_json::to_vec(&Reply { id, answer }) else { return };
    line.push(b'\n');
    // A guard that has gone has let everyone go on.
    let _ = socket.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
}
