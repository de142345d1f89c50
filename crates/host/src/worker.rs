//! Slow work, out of the loop's way: compaction and reclaim of a node or of a unit may block for seconds, and the
//! search for rivals walks all of `/proc`.
//!
//! One thread takes jobs from a short queue. A full queue drops the job: the next decision asks again if it
//! still matters. Whatever is asked, a node is compacted at most once a minute and reclaimed from at most
//! once a second.

use crate::applied::Applied;
use crate::cgroups::squeezed::Squeezable;
use crate::knobs::rivals::{Rival, rivals};
use crate::processes::recall::recall;
use crate::writes;
use pressure::decision::Action;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use units::Bytes;

const STACK: usize = 128 * 1024;
/// Between two looks for rivals; each walks all of `/proc`, which takes 10 ms for 600 processes. A guard that starts is
/// seen by then, so for no longer do two of them kill.
const LOOK: Duration = Duration::from_secs(60);
/// Between two looks whether the rivals that were found still run, which reads one file of each. When a guard ends nobody
/// kills until we know, and memory may run out within seconds.
const STILL: Duration = Duration::from_secs(1);

/// One job.
#[derive(Debug)]
pub(crate) enum Job {
    Compact(u32),
    Reclaim(u32, Bytes),
    /// Read back so much of what a group has in swap.
    Recall(PathBuf, Bytes),
    /// Take so much of what a group does not use.
    Squeeze(Arc<Squeezable>, Bytes),
}

impl Job {
    fn path(&self, root: &Path) -> PathBuf {
        let (node, file) = match self {
            Self::Recall(group, _) => return root.join(group),
            Self::Squeeze(group, _) => return root.join(group.path()),
            Self::Compact(node) => (node, "compact"),
            Self::Reclaim(node, _) => (node, "reclaim"),
        };
        root.join(format!("sys/devices/system/node/node{node}/{file}"))
    }

    fn least_interval(&self) -> Duration {
        match self {
            Self::Compact(_) => Duration::from_secs(60),
            Self::Reclaim(..) => Duration::from_secs(1),
            // Its configuration says how often, and its readings.
            Self::Recall(..) | Self::Squeeze(..) => Duration::ZERO,
        }
    }
}

/// What the worker has found and done.
#[derive(Debug, Clone)]
pub(crate) struct Findings {
    pub(crate) rivals: Arc<[Rival]>,
    pub(crate) warnings: Vec<String>,
}

/// The thread and its queue.
#[derive(Debug)]
pub(crate) struct Worker {
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    findings: Arc<Mutex<Findings>>,
}

impl Worker {
    /// Starts the thread. The first look for rivals is done before this returns.
    pub(crate) fn start(root: &Path) -> io::Result<Self> {
        let findings = Arc::new(Mutex::new(Findings {
            rivals: rivals(root).into(),
            warnings: Vec::new(),
        }));
        let (queue, jobs) = sync_channel(8);
        let root = root.to_owned();
        let shared = Arc::clone(&findings);
        let thread = std::thread::Builder::new()
            .name("warmset-worker".to_owned())
            .stack_size(STACK)
            .spawn(move || work(&root, &jobs, &shared))?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
            findings,
        })
    }

    /// Hands a job over; drops it if the queue is full.
    pub(crate) fn ask(&self, job: Job) -> Applied {
        let queue = self.queue.as_ref();
        if queue.is_some_and(|queue| queue.try_send(job).is_ok()) {
            Applied::HandedToWorker
        } else {
            Applied::Dropped
        }
    }

    /// Hands over the request of an action; drops what is no request.
    pub(crate) fn apply(&self, action: &Action) -> Applied {
        let job = match *action {
            Action::Compact { node } => Job::Compact(node),
            Action::Reclaim { node, amount } => Job::Reclaim(node, amount),
            _ => return Applied::Dropped,
        };
        self.ask(job)
    }

    /// Requests that failed, one line each; a line stays for as long as the worker runs.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.peek(|findings| findings.warnings.clone())
            .unwrap_or_default()
    }

    /// Looks at the findings, unless the worker is just writing them.
    pub(crate) fn peek<T>(&self, look: impl FnOnce(&Findings) -> T) -> Option<T> {
        self.findings
            .try_lock()
            .ok()
            .map(|findings| look(&findings))
    }
}

/// Ends the queue. A write that blocks in the kernel is not waited for: the process may end meanwhile.
impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.queue.take());
        let Some(thread) = self.thread.take() else {
            return;
        };
        let deadline = Instant::now() + Duration::from_millis(200);
        while !thread.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

fn work(root: &Path, jobs: &Receiver<Job>, findings: &Mutex<Findings>) {
    let mut done: HashMap<PathBuf, Instant> = HashMap::new();
    let mut looked = Instant::now();
    let mut known = processes_of(root, findings);
    loop {
        // However many jobs there are, the look comes when it is due.
        let due = LOOK.saturating_sub(looked.elapsed());
        let pause = if known.is_empty() {
            due
        } else {
            due.min(STILL)
        };
        match jobs.recv_timeout(pause) {
            Ok(job) => {
                let path = job.path(root);
                let early = done
                    .get(&path)
                    .is_some_and(|last| last.elapsed() < job.least_interval());
                if early {
                    continue;
                }
                if job.least_interval() > Duration::ZERO {
                    done.insert(path.clone(), Instant::now());
                }
                if let Err(error) = run(&job, root, &path) {
                    note(findings, format!("{}: {error}", path.display()));
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                let is_due = looked.elapsed() >= LOOK;
                if is_due || known.iter().any(|process| !process.still_runs(root)) {
                    looked = Instant::now();
                    let found = rivals(root);
                    if let Ok(mut findings) = findings.lock() {
                        findings.rivals = found.into();
                    }
                    known = processes_of(root, findings);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// A process of a rival, by its number and its name.
#[derive(Debug)]
struct RivalProcess {
    pid: u32,
    comm: Vec<u8>,
}

impl RivalProcess {
    fn at(root: &Path, pid: u32) -> Option<Self> {
        let comm = std::fs::read(root.join(format!("proc/{pid}/comm"))).ok()?;
        Some(Self { pid, comm })
    }

    /// Whether the number is still that of a process of this name.
    fn still_runs(&self, root: &Path) -> bool {
        Self::at(root, self.pid).is_some_and(|now| now.comm == self.comm)
    }
}

/// The processes of the rivals that were found.
fn processes_of(root: &Path, findings: &Mutex<Findings>) -> Vec<RivalProcess> {
    let Ok(findings) = findings.lock() else {
        return Vec::new();
    };
    let pids = findings.rivals.iter().filter_map(|rival| rival.pid);
    pids.filter_map(|pid| RivalProcess::at(root, pid)).collect()
}

fn note(findings: &Mutex<Findings>, text: String) {
    if let Ok(mut findings) = findings.lock() {
        if findings.warnings.len() < 32 && !findings.warnings.contains(&text) {
            findings.warnings.push(text);
        }
    }
}

/// Does it. Reclaiming less than asked, or another reclaim under way, is no failure.
fn run(job: &Job, root: &Path, path: &Path) -> io::Result<()> {
    match job {
        Job::Recall(_, amount) => recall(root, path, *amount),
        Job::Squeeze(group, amount) => group.take(*amount),
        Job::Compact(_) => write(&writes::NODE_COMPACT, path, "1"),
        Job::Reclaim(_, amount) => {
            match write(&writes::NODE_RECLAIM, path, &amount.get().to_string()) {
                Err(error)
                    if matches!(
                        Errno::from_io_error(&error),
                        Some(Errno::AGAIN | Errno::BUSY | Errno::INTR)
                    ) =>
                {
                    Ok(())
                }
                result => result,
            }
        }
    }
}

fn write(entry: &writes::Entry, path: &Path, request: &str) -> io::Result<()> {
    entry
        .open(path, OFlags::empty())?
        .write_all(request.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// When a guard ends nobody kills until we know: so it is watched by its process, and not by the next look.
    #[test]
    fn a_rival_that_ends_is_seen_by_its_process() {
        let dir = tempfile::tempdir().unwrap();
        let process = dir.path().join("proc/12");
        fs::create_dir_all(&process).unwrap();
        fs::write(process.join("comm"), "earlyoom\n").unwrap();
        fs::write(process.join("status"), "Name:\tx\nUid:\t0\t0\n").unwrap();
        let findings = Mutex::new(Findings {
            rivals: rivals(dir.path()).into(),
            warnings: Vec::new(),
        });
        let known = processes_of(dir.path(), &findings);
        assert_eq!(known.len(), 1);
        assert!(known[0].still_runs(dir.path()));
        fs::write(process.join("comm"), "bash\n").unwrap();
        assert!(!known[0].still_runs(dir.path()), "another took its number");
        fs::remove_dir_all(&process).unwrap();
        assert!(!known[0].still_runs(dir.path()));
    }
}
