//! What is seen of a play: signals by the kernel's own record, limits of cgroups, OOM kills, what is left.

use super::{REACHED, groups};
use crate::clock::now;
use crate::setup::put;
use anyhow::Result;
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use warmset_vmlab::decisions::play::{KernelKillSeen, LeftSeen, LimitSeen, Play, Seen, SignalSeen};

const TRACING: &str = "/sys/kernel/tracing";
const EVENT: &str = "/sys/kernel/tracing/events/signal/signal_generate";
/// The record is read each so many looks: a signal need not be known at once.
const READ_EACH: u32 = 5;
/// Most lines of the guard's log that are kept, and most bytes of each.
const LOG_LINES: usize = 300;
const LOG_LINE: usize = 400;
/// The kernel's SIGKILL comes within this time of its message, in milliseconds.
const SAME_KILL: i64 = 3000;

/// Looks on.
pub(super) struct Watch<'p> {
    play: &'p Play,
    begun: f64,
    stalled: Option<u64>,
    looks: u32,
    seen: Seen,
    /// Each cgroup whose limits are looked at.
    limited: Vec<String>,
    /// Bytes of the guard's log that were read.
    logged: u64,
}

impl<'p> Watch<'p> {
    pub(super) fn start(play: &'p Play, begun: f64) -> Result<Self> {
        let is_mounted = Path::new(TRACING).join("trace").exists();
        if !is_mounted {
            crate::mounts::pseudo("tracefs", TRACING)?;
        }
        put(&format!("{TRACING}/trace_clock"), "mono")?;
        put(&format!("{TRACING}/buffer_size_kb"), "128")?;
        put(&format!("{EVENT}/filter"), "sig == 15 || sig == 9")?;
        put(&format!("{EVENT}/enable"), "1")?;
        let seen = Seen {
            available: available().unwrap_or_default(),
            ..Seen::default()
        };
        Ok(Self {
            play,
            begun,
            stalled: stalled_us(),
            looks: 0,
            seen,
            limited: with_ancestors(&groups::paths(play)),
            logged: 0,
        })
    }

    fn since_begun(&self, at_ms: f64) -> i64 {
        (at_ms - self.begun) as i64
    }

    /// Looks at limits, and now and then at signals.
    pub(super) fn look(&mut self, pids: &BTreeMap<u32, usize>) -> Result<()> {
        let at = self.since_begun(now());
        for cgroup in &self.limited {
            let directory = groups::directory(cgroup);
            let has = |file: &str, none: &str| {
                let text = fs::read_to_string(format!("{directory}/{file}"));
                text.is_ok_and(|text| text.trim() != none)
            };
            for (frozen, is_set) in [
                (false, has("memory.high", "max")),
                (true, has("cgroup.freeze", "0")),
            ] {
                let is_known = |one: &LimitSeen| one.cgroup == *cgroup && one.frozen == frozen;
                if is_set && !self.seen.limits.iter().any(is_known) {
                    self.seen.limits.push(LimitSeen {
                        at,
                        cgroup: cgroup.clone(),
                        frozen,
                    });
                }
            }
        }
        self.read_log(at)?;
        self.looks += 1;
        if self.looks % READ_EACH == 0 {
            self.read_signals(pids)?;
        }
        Ok(())
    }

    /// Takes the lines that the guard's log has more than before.
    fn read_log(&mut self, at: i64) -> Result<()> {
        let Some(path) = &self.play.log else {
            return Ok(());
        };
        let mut file = match File::open(path) {
            Ok(file) => file,
            // It has said nothing yet.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let mut text = String::new();
        file.seek(SeekFrom::Start(self.logged))?;
        file.read_to_string(&mut text)?;
        self.logged += text.len() as u64;
        for line in text.lines() {
            if self.seen.log.len() < LOG_LINES {
                let line = line.chars().take(LOG_LINE).collect();
                self.seen.log.push((at, line));
            }
        }
        Ok(())
    }

    fn read_signals(&mut self, pids: &BTreeMap<u32, usize>) -> Result<()> {
        let text = fs::read(Path::new(TRACING).join("trace"))?;
        for line in String::from_utf8_lossy(&text).lines() {
            let Some(signal) = parse(line) else { continue };
            let Some(role) = self.role_of(signal.pid, &signal.victim, pids) else {
                continue;
            };
            let is_known = |one: &SignalSeen| one.pid == signal.pid && one.signal == signal.number;
            if self.seen.signals.iter().any(is_known) {
                continue;
            }
            self.seen.signals.push(SignalSeen {
                at: self.since_begun(signal.at_ms),
                signal: signal.number,
                by: signal.by,
                role,
                pid: signal.pid,
            });
        }
        Ok(())
    }

    /// The role of a process that was started, or of a copy of one.
    fn role_of(&self, pid: u32, name: &str, pids: &BTreeMap<u32, usize>) -> Option<usize> {
        let by_name = || {
            let is_it = |own: &str| own.chars().take(15).collect::<String>() == name;
            self.play.cast.iter().position(|role| {
                // Only copies have numbers that were not started here.
                role.act.forks.is_some() && is_it(&role.name)
            })
        };
        pids.get(&pid).copied().or_else(by_name)
    }

    /// When the last signal came.
    pub(super) fn last_signal(&self) -> Option<i64> {
        self.seen.signals.iter().map(|signal| signal.at).max()
    }

    /// Whether a process of each of these names, or in such a cgroup, got a signal.
    pub(super) fn all_signalled(&self, names: &[String]) -> bool {
        names.iter().all(|name| {
            self.seen.signals.iter().any(|signal| {
                let role = self.play.cast.get(signal.role);
                role.is_some_and(|role| role.names().contains(name))
            })
        })
    }

    /// All that was seen.
    pub(super) fn finish(mut self, pids: &BTreeMap<u32, usize>) -> Result<Seen> {
        let end = now();
        let stalled = stalled_us();
        self.put_to_all("cgroup.freeze")?;
        self.read_signals(pids)?;
        self.seen.lasted_ms = self.since_begun(end) as u64;
        self.seen.stalled_ms = match (self.stalled, stalled) {
            (Some(before), Some(after)) => Some((after - before) / 1000),
            _ => None,
        };
        self.seen.left = self.left(pids);
        self.end_the_cast()?;
        self.read_reached();
        self.read_kernel(pids)?;
        if let (Some(service), None) = (&self.play.service, &self.play.log) {
            self.seen.log = self.journal(service)?;
        }
        for path in groups::paths(self.play) {
            let directory = groups::directory(&path);
            if path != "/" && !Path::new(&directory).join("memory.high").exists() {
                self.seen
                    .faults
                    .push(format!("{path} has lost its memory controller"));
            }
        }
        self.seen.signals.sort_by_key(|signal| signal.at);
        Ok(self.seen)
    }

    /// Writes 1 into this file of every cgroup of the play.
    fn put_to_all(&self, file: &str) -> Result<()> {
        for path in groups::paths(self.play).iter().filter(|path| *path != "/") {
            put(&format!("{}/{file}", groups::directory(path)), "1")?;
        }
        Ok(())
    }

    /// Ends all programs, so that what is still to be read needs no memory that is short.
    fn end_the_cast(&self) -> Result<()> {
        put(&format!("{EVENT}/enable"), "0")?;
        self.put_to_all("cgroup.kill")?;
        // Files on a tmpfs stay when their writer ends.
        for mount in &self.play.mounts {
            for entry in fs::read_dir(mount).into_iter().flatten().flatten() {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    /// How many processes of each role are there, with copies.
    fn left(&self, pids: &BTreeMap<u32, usize>) -> Vec<LeftSeen> {
        let mut counts: BTreeMap<usize, u32> = BTreeMap::new();
        for path in groups::paths(self.play) {
            let file = format!("{}/cgroup.procs", groups::directory(&path));
            let text = fs::read_to_string(file).unwrap_or_default();
            for pid in text.lines().filter_map(|line| line.parse::<u32>().ok()) {
                let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                if let Some(role) = self.role_of(pid, name.trim_end_matches('\n'), pids) {
                    *counts.entry(role).or_default() += u32::from(is_alive(pid));
                }
            }
        }
        let left = counts.into_iter().filter(|(_, count)| *count > 0);
        left.map(|(role, count)| LeftSeen { role, count }).collect()
    }

    fn read_reached(&mut self) {
        for role in 0..self.play.cast.len() {
            let path = Path::new(REACHED).join(role.to_string());
            let text = fs::read_to_string(path).unwrap_or_default();
            if let Ok(at) = text.trim().parse::<f64>() {
                let at = self.since_begun(at).max(0) as u64;
                self.seen.reached.push((role, at));
            }
        }
    }

    /// The kernel's messages: what it killed. Without a guard they are the log, too.
    fn read_kernel(&mut self, pids: &BTreeMap<u32, usize>) -> Result<()> {
        let mut messages = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open("/dev/kmsg")?;
        let mut buffer = vec![0; 8192];
        loop {
            let length = match messages.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => length,
                // Overwritten messages: the next read goes on after them.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => continue,
                Err(_) => break,
            };
            let message = buffer.get(..length).unwrap_or_default();
            let message = String::from_utf8_lossy(message).into_owned();
            let Some((at_ms, text)) = kernel_message(&message) else {
                continue;
            };
            let at = self.since_begun(at_ms);
            // What comes later is of the end, not of the play.
            if at < 0 || at as u64 > self.seen.lasted_ms {
                continue;
            }
            if let Some((name, pid)) = killed(text) {
                self.seen.kernel_kills.push(KernelKillSeen {
                    at,
                    role: self.role_of(pid, &name, pids),
                    name,
                    pid,
                    by_limit: text.contains("Memory cgroup"),
                });
            }
        }
        let kills = &self.seen.kernel_kills;
        self.seen.signals.retain(|signal| {
            let is_the_kernels = kills.iter().any(|kill| {
                let is_near = (kill.at - signal.at).abs() < SAME_KILL;
                kill.pid == signal.pid && signal.signal == 9 && is_near
            });
            !is_the_kernels
        });
        Ok(())
    }

    fn journal(&self, service: &str) -> Result<Vec<(i64, String)>> {
        let output = Command::new("/usr/bin/journalctl")
            .args([
                "-b",
                "-q",
                "--no-pager",
                "-o",
                "short-monotonic",
                "-u",
                service,
            ])
            .stdin(Stdio::null())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut log = Vec::new();
        for line in text.lines() {
            let Some((at_ms, text)) = journal_line(line) else {
                continue;
            };
            if log.len() < LOG_LINES {
                let text: String = text.chars().take(LOG_LINE).collect();
                log.push((self.since_begun(at_ms), text));
            }
        }
        Ok(log)
    }
}

/// Returns true if a process is there and is no zombie.
pub(super) fn is_alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_some_and(|rest| !rest.starts_with(['Z', 'X']))
}

/// A signal as the kernel recorded it.
#[derive(Debug, PartialEq)]
struct Recorded {
    at_ms: f64,
    number: u8,
    by: String,
    victim: String,
    pid: u32,
}

/// `  warmsetd-312 [000] d..2. 41.123456: signal_generate: sig=15 errno=0 code=0 comm=hog pid=345 grp=1 res=0`
fn parse(line: &str) -> Option<Recorded> {
    let (head, event) = line.split_once(": signal_generate: sig=")?;
    let (sender, rest) = head.trim_start().split_once(" [")?;
    let (by, _) = sender.trim_end().rsplit_once('-')?;
    let at: f64 = rest.rsplit(' ').next()?.parse().ok()?;
    let (number, rest) = event.split_once(' ')?;
    let (_, rest) = rest.split_once(" comm=")?;
    let (victim, rest) = rest.rsplit_once(" pid=")?;
    let pid = rest.split(' ').next()?;
    Some(Recorded {
        at_ms: at * 1e3,
        number: number.parse().ok()?,
        by: by.to_owned(),
        victim: victim.to_owned(),
        pid: pid.parse().ok()?,
    })
}

/// `6,1234,5678901,-;text`: the third number is microseconds since boot.
fn kernel_message(message: &str) -> Option<(f64, &str)> {
    let (head, text) = message.split_once(';')?;
    let microseconds: f64 = head.split(',').nth(2)?.parse().ok()?;
    Some((microseconds / 1e3, text))
}

/// `Out of memory: Killed process 88 (hog) total-vm:…`
fn killed(text: &str) -> Option<(String, u32)> {
    let (_, rest) = text.split_once("Killed process ")?;
    let (pid, rest) = rest.split_once(" (")?;
    let (name, _) = rest.split_once(") ")?;
    Some((name.to_owned(), pid.parse().ok()?))
}

/// `[   41.123456] host warmsetd[312]: text`
fn journal_line(line: &str) -> Option<(f64, &str)> {
    let (at, rest) = line.strip_prefix('[')?.split_once(']')?;
    let seconds: f64 = at.trim().parse().ok()?;
    let (_, text) = rest.split_once(": ")?;
    Some((seconds * 1e3, text))
}

/// Microseconds in which all tasks waited for memory, since boot.
fn stalled_us() -> Option<u64> {
    let text = fs::read_to_string("/proc/pressure/memory").ok()?;
    let full = text.lines().find(|line| line.starts_with("full"))?;
    full.rsplit("total=").next()?.trim().parse().ok()
}

fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

/// These cgroups and all above them but the root.
fn with_ancestors(paths: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for path in paths {
        let mut whole = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            whole.push('/');
            whole.push_str(part);
            if !all.contains(&whole) {
                all.push(whole.clone());
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_read_from_the_kernels_record() {
        let line = "        earlyoom-212     [000] d..1.    41.123456: signal_generate: sig=15 errno=0 code=0 comm=Isolated Web Co pid=345 grp=1 res=0";
        let signal = parse(line).unwrap();
        assert_eq!(signal.at_ms, 41_123.456);
        assert_eq!((signal.number, signal.pid), (15, 345));
        assert_eq!(signal.by, "earlyoom");
        assert_eq!(signal.victim, "Isolated Web Co");
        assert_eq!(parse("# tracer: nop"), None);
    }

    #[test]
    fn the_kernels_and_the_journals_lines_are_read() {
        let (at, text) =
            kernel_message("3,812,61234567,-;Out of memory: Killed process 88 (a (b) total-vm:1kB")
                .unwrap();
        assert_eq!(at, 61_234.567);
        assert_eq!(killed(text), Some(("a (b".to_owned(), 88)));
        assert_eq!(killed("oom_reaper: reaped process 88 (a)"), None);
        let (at, text) =
            journal_line("[   12.500000] debian warmsetd[300]: SIGTERM to hog: 1").unwrap();
        assert_eq!((at, text), (12_500.0, "SIGTERM to hog: 1"));
    }

    #[test]
    fn ancestors_are_looked_at_once() {
        let paths = ["/a.slice/b.service".to_owned(), "/a.slice".to_owned()];
        assert_eq!(with_ancestors(&paths), ["/a.slice", "/a.slice/b.service"]);
    }
}
