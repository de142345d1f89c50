//! `warmset-hold`, the process that locks files in memory, as the guard sees it: its start, orders, reports and end.
//!
//! It is a process of its own, so that the guard keeps its budget and a fault there cannot stop the guard. It
//! holds nothing but mappings, which the kernel takes back when it ends, and it ends when the guard does, however
//! the guard ends: so nothing needs to be undone.
//!
//! As packaged, systemd starts it, with rights of its own, for a guard that connects to its socket. Elsewhere the guard starts
//! it as a child. Both talk over one socket, and it ends with that.

pub mod check;
pub mod wire;

use crate::applied::Applied;
use crate::own_process::other_program;
use pressure::means::Means;
use pressure::protect::{Act, FileId, MAX_FILES, Warm};
use pressure::status::NamedPath;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with, socketpair, sockopt,
};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wire::Tale;

/// Time before a holder that ended is started again; it doubles each time, so that one that crashes at once costs little.
const PAUSE: Duration = Duration::from_secs(10);
const MOST_PAUSE: Duration = Duration::from_secs(600);
/// Time that it has to unmap at the end before it is killed, or left to systemd. Its locks go with it either way.
const GOODBYE: Duration = Duration::from_millis(500);
/// A person who names files looks on for so long, ...
const LOOKS_ON: Duration = Duration::from_secs(4);
/// ... and what was found, ordered and locked is known after three ticks.
const SOON: Duration = Duration::from_millis(250);
/// Names kept: of all files in a report, and some of the one before.
const MOST_NAMES: usize = 4 * MAX_FILES;
/// Means kept: it has four.
const MOST_MEANS: usize = 16;
/// What its means are called together, where it does not run.
const HOLDER: &str = "files held in memory";

/// How the holder comes to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// Its own unit is started for a guard that connects to this socket.
    Socket(PathBuf),
    /// As a child, from this program.
    Program(PathBuf),
}

impl Start {
    /// What an error is about.
    fn path(&self) -> &Path {
        match self {
            Self::Socket(path) | Self::Program(path) => path,
        }
    }

    /// What to do if it fails.
    fn remedy(&self) -> String {
        match self {
            Self::Socket(_) => {
                "systemctl start warmset-hold.socket; warmsetd connects again by itself".to_owned()
            }
            Self::Program(path) => format!("install warmset-hold as {}", path.display()),
        }
    }
}

/// The process that locks.
#[derive(Debug)]
pub(crate) struct Holder {
    start: Start,
    programs: Vec<String>,
    /// Paths that were named by hand, with what is known of them.
    named: Vec<NamedPath>,
    has_new_named: bool,
    /// When the list of them last changed.
    renamed: Option<Instant>,
    /// How many of these messages the holder that runs was sent.
    told: usize,
    running: Option<Running>,
    warm: Warm,
    names: Vec<(FileId, String)>,
    means: Vec<Means>,
    has_new_means: bool,
    warnings: Vec<String>,
    again: Instant,
    pause: Duration,
}

#[derive(Debug)]
struct Running {
    /// `None` if systemd started it.
    child: Option<Child>,
    socket: OwnedFd,
}

impl Holder {
    /// Starts it. If that fails it is tried again later; [`Holder::means`] has the reason.
    pub(crate) fn start(start: &Start, programs: &[String]) -> Self {
        let mut holder = Self {
            start: start.clone(),
            programs: programs.to_vec(),
            named: Vec::new(),
            // That none is named is news, too: with it goes how much may be.
            has_new_named: true,
            renamed: None,
            told: 0,
            running: None,
            warm: Warm::default(),
            names: Vec::with_capacity(MOST_NAMES),
            means: Vec::new(),
            has_new_means: false,
            warnings: Vec::new(),
            again: Instant::now(),
            pause: PAUSE,
        };
        holder.start_again();
        holder
    }

    /// Has it hold these paths, in place of those that were named before.
    pub(crate) fn name_files(&mut self, files: &[String]) {
        let is_as_before = self.named.iter().map(|named| &named.path).eq(files);
        if is_as_before {
            return;
        }
        self.named = files.iter().map(|path| not_looked_at(path)).collect();
        self.has_new_named = true;
        self.renamed = Some(Instant::now());
        self.told = 0;
    }

    /// How long a tick may wait that would wait for so long: less where somebody has just named files and looks on.
    pub(crate) fn patience(&self, patience: Duration) -> Duration {
        match self.renamed {
            Some(renamed) if renamed.elapsed() < LOOKS_ON => patience.min(SOON),
            _ => patience,
        }
    }

    /// The paths that were named, if there is news of them since the last call.
    pub(crate) fn take_named(&mut self) -> Option<Vec<NamedPath>> {
        if !std::mem::take(&mut self.has_new_named) {
            return None;
        }
        Some(self.named.clone())
    }

    /// Sends what the holder does not know yet of the list of named paths, as far as it takes it now.
    fn tell_named(&mut self) {
        let Some(running) = &self.running else {
            return;
        };
        let of = self.named.len().max(1);
        while self.told < of {
            let path = self.named.get(self.told).map_or("", |named| &named.path);
            let message = wire::entry(&wire::Entry {
                place: self.told as u64,
                of: self.named.len() as u64,
                path,
            });
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            if send(&running.socket, &message, flags).is_err() {
                return;
            }
            self.told += 1;
        }
    }

    /// Receives its messages, and returns its last report. Allocates nothing but for names and means, and for what is new
    /// of named files.
    pub(crate) fn observe(&mut self) -> &Warm {
        if self.running.is_none() && Instant::now() >= self.again {
            self.start_again();
        }
        self.tell_named();
        let mut buffer = [0; wire::MOST_BYTES];
        while let Some(running) = &self.running {
            match recv(&running.socket, &mut buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) => self.ended(),
                Ok((length, _)) => self.take(&buffer[..length]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.ended(),
            }
        }
        &self.warm
    }

    /// Hands an act over; drops it if the process does not run.
    pub(crate) fn apply(&mut self, act: &Act) -> Applied {
        let Some(running) = &self.running else {
            return Applied::Dropped;
        };
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        if send(&running.socket, &wire::order(act), flags).is_err() {
            return Applied::Dropped;
        }
        // Until the next report this is what is asked, so that it is not asked again.
        let asked = match act {
            Act::Hold { file, ranges, .. } => Some((*file, Some(*ranges))),
            Act::Release { file } => Some((*file, None)),
            Act::Watch => {
                self.warm.sums.watching = Some(1);
                None
            }
            Act::Rest => {
                self.warm.sums.watching = Some(0);
                None
            }
            Act::HoldNamed { amount } => {
                self.warm.sums.named_asked = Some(*amount);
                None
            }
        };
        if let Some((id, ranges)) = asked {
            if let Some(file) = self
                .warm
                .files
                .iter_mut()
                .find(|file| file.id() == Some(id))
            {
                file.asked = ranges.map(|ranges| ranges.segments);
                if let Some(ranges) = ranges {
                    file.hot = Some(ranges.segments);
                    file.shift = Some(ranges.shift.into());
                }
            }
        }
        Applied::HandedToHolder
    }

    /// Names of files, as far as they are known.
    pub(crate) fn names(&self) -> &[(FileId, String)] {
        &self.names
    }

    /// Whether what it tried is news since the last call.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_new_means)
    }

    /// What it tried.
    pub(crate) fn means(&self) -> &[Means] {
        &self.means
    }

    /// What went wrong since the last call.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    fn take(&mut self, message: &[u8]) {
        match wire::tale(message, &mut self.warm) {
            Some(Tale::Name(file, name)) => {
                self.names.retain(|(known, _)| *known != file);
                if self.names.len() == MOST_NAMES {
                    self.names.remove(0);
                }
                self.names.push((file, name.to_owned()));
            }
            Some(Tale::Means(means)) => self.note(means),
            Some(Tale::Named(found)) => {
                let named = self.named.iter_mut();
                if let Some(known) = named.into_iter().find(|known| known.path == found.path) {
                    *known = found;
                    self.has_new_named = true;
                }
            }
            Some(Tale::Error(text)) if self.warnings.len() < 32 => {
                self.warnings.push(text.to_owned());
            }
            Some(Tale::Report | Tale::Error(_)) => {}
            None => self
                .warnings
                .push("warmset-hold: sent a message that makes no sense: dropped".to_owned()),
        }
    }

    /// Keeps what was tried, in place of what was found before.
    fn note(&mut self, means: Means) {
        self.means
            .retain(|known| known.name != means.name && known.name != HOLDER);
        if self.means.len() < MOST_MEANS {
            self.means.push(means);
        }
        self.has_new_means = true;
    }

    fn disarm(&mut self, why: &str) {
        self.means.clear();
        let remedy = self.start.remedy();
        self.note(Means::not_armed(HOLDER, why, Some(&remedy)));
    }

    fn ended(&mut self) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        let how = match &mut running.child {
            Some(child) => {
                let _ = child.kill();
                child
                    .wait()
                    .map_or_else(|error| error.to_string(), |status| status.to_string())
            }
            None => "it closed its socket".to_owned(),
        };
        self.warm = Warm::default();
        self.told = 0;
        for named in &mut self.named {
            *named = not_looked_at(&named.path);
            self.has_new_named = true;
        }
        self.disarm(&format!("warmset-hold ended ({how})"));
        self.warnings.push(format!(
            "warmset-hold ended ({how}): nothing is held; again in {} s",
            self.pause.as_secs()
        ));
        self.wait_longer();
    }

    fn wait_longer(&mut self) {
        self.again = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(MOST_PAUSE);
    }

    fn start_again(&mut self) {
        let begun = Running::start(&self.start).and_then(|running| {
            let message = wire::programs(&self.programs);
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            send(&running.socket, &message, flags)?;
            Ok(running)
        });
        match begun {
            Ok(running) => self.running = Some(running),
            Err(error) => {
                let why = format!("{}: {error}", self.start.path().display());
                self.disarm(&why);
                self.warnings
                    .push(format!("warmset-hold does not start: {why}"));
                self.wait_longer();
            }
        }
    }
}

/// A path of which nothing is known yet.
fn not_looked_at(path: &str) -> NamedPath {
    NamedPath {
        path: path.to_owned(),
        ..NamedPath::default()
    }
}

impl Running {
    fn start(start: &Start) -> io::Result<Self> {
        match start {
            Start::Socket(path) => Self::connect(path),
            Start::Program(path) => Self::spawn(path),
        }
    }

    /// Connects without waiting. Only what listens as root may be told what to lock.
    fn connect(path: &Path) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        if !sockopt::socket_peercred(&socket)?.uid.is_root() {
            return Err(io::Error::other("its socket is not root's"));
        }
        Ok(Self {
            child: None,
            socket,
        })
    }

    /// The child's end of the socket is its standard input. Called by the thread that lives as long as the guard:
    /// the kernel ends the child with the thread that started it.
    fn spawn(program: &Path) -> io::Result<Self> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let child = Command::new(program)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .env_clear()
            .spawn()?;
        Ok(Self {
            child: Some(child),
            socket: ours,
        })
    }

    /// Whether it has ended.
    fn is_gone(&mut self) -> bool {
        match &mut self.child {
            Some(child) => !matches!(child.try_wait(), Ok(None)),
            None => {
                let mut buffer = [0; wire::MOST_BYTES];
                match recv(&self.socket, &mut buffer, RecvFlags::DONTWAIT) {
                    Ok((length, _)) => length == 0,
                    Err(error) => !matches!(error, Errno::AGAIN | Errno::INTR),
                }
            }
        }
    }
}

/// Closing the socket orders it to end.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
        let deadline = Instant::now() + GOODBYE;
        while Instant::now() < deadline {
            if self.is_gone() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Where the program is: beside this one, in `libexec` beside its directory, or where Debian's package puts it.
pub fn program() -> PathBuf {
    other_program("warmset-hold").unwrap_or_else(|| PathBuf::from("/usr/libexec/warmset-hold"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No script of our own: while one is written, a child that another test starts may hold it open, and a file that is
    /// open for writing cannot be executed (`ETXTBSY`). Each of these ends at once, or with its standard input.
    fn started(program: &str) -> Holder {
        Holder::start(&Start::Program(program.into()), &[])
    }

    #[test]
    fn a_holder_that_ends_is_told_of_once_and_started_again_later() {
        let mut holder = started("/bin/cat");
        holder.warm.sums.watching = Some(1);
        let child = holder
            .running
            .as_mut()
            .and_then(|running| running.child.as_mut());
        child.unwrap().kill().unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while holder.running.is_some() && Instant::now() < deadline {
            holder.observe();
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(holder.warm.is_empty(), "nothing is held by nobody");
        let warnings = holder.take_warnings();
        assert!(
            warnings.len() == 1 && warnings[0].contains("ended"),
            "{warnings:?}"
        );
        assert_eq!(holder.apply(&Act::Watch), Applied::Dropped);
        holder.again = Instant::now();
        holder.observe();
        assert!(holder.running.is_some() || !holder.warnings.is_empty());
        assert!(holder.pause >= PAUSE * 2);
    }

    #[test]
    fn a_holder_that_cannot_start_is_a_means_that_is_not_armed() {
        let socket = Start::Socket("/nonexistent/hold.socket".into());
        let mut holder = Holder::start(&socket, &[]);
        assert!(
            holder.take_news() && !holder.take_news(),
            "news is told once"
        );
        let [means] = holder.means() else {
            panic!("{:?}", holder.means())
        };
        assert!(!means.is_armed);
        assert!(means.says.contains("/nonexistent/hold.socket"), "{means}");
        let remedy = means.remedy.as_deref().unwrap_or_default();
        assert!(remedy.contains("warmset-hold.socket"), "{means}");
        assert_eq!(holder.apply(&Act::Watch), Applied::Dropped);
    }

    #[test]
    fn named_paths_are_sent_once_to_each_holder_that_starts() {
        // It sends back what it is sent.
        let mut holder = started("/bin/cat");
        holder.name_files(&["/a".to_owned(), "/b".to_owned()]);
        assert_eq!(holder.take_named().map(|named| named.len()), Some(2));
        assert_eq!(holder.take_named(), None, "news is told once");
        holder.observe();
        assert_eq!(holder.told, 2);
        holder.name_files(&["/a".to_owned(), "/b".to_owned()]);
        assert_eq!(holder.told, 2, "it knows them");
        holder.ended();
        assert_eq!(holder.told, 0, "the next one does not");
        holder.name_files(&[]);
        assert_eq!(holder.take_named(), Some(Vec::new()));
        holder.start_again();
        holder.observe();
        assert_eq!(holder.told, 1, "an empty list is one message");
    }

    #[test]
    fn what_was_asked_is_shown_until_the_next_report() {
        let mut holder = started("/bin/cat");
        let file = FileId {
            device: 1,
            inode: 2,
        };
        holder.warm.places_mut()[0].device = Some(1);
        holder.warm.places_mut()[0].inode = Some(2);
        let ranges = pressure::protect::Ranges::whole(10);
        let hold = Act::Hold {
            file,
            ranges,
            amount: units::Bytes::ZERO,
        };
        assert_eq!(holder.apply(&hold), Applied::HandedToHolder);
        assert!(holder.observe().files[0].is_held());
        assert_eq!(
            holder.apply(&Act::Release { file }),
            Applied::HandedToHolder
        );
        assert!(!holder.observe().files[0].is_held());
    }
}
