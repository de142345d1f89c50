//! Conducts a run: starts the arm's program and the load's processes when they are due, and ends them.

use crate::clock::{self, Window};
use crate::setup::put;
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;
use warmset_vmlab::plan::{Plan, Role, When};
use warmset_vmlab::tool::last_lines;

/// The directory for the output of the load's processes.
pub(crate) const OUT: &str = "/run/out";
/// The directory for the logs of workers and of the arm's program.
const ARM: &str = "/run/arm";
/// Time between two checks of the processes. Longer delays their starts, shorter takes CPU from the load.
const STEP: Duration = Duration::from_millis(20);
/// Time after the load in which its processes may finish their operation: a burst takes some seconds without KVM.
const LINGER_MS: f64 = 15_000.0;
/// Time after SIGTERM in which the arm's program may put back what it holds.
const GOODBYE_MS: f64 = 20_000.0;

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Run {
    plan: Plan,
    window: Window,
    workers: Vec<Worker>,
    program: Option<Child>,
    finished: Finished,
}

/// How the processes ended.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// Processes that a signal of another program ended: when, in milliseconds since boot, and the role.
    pub(crate) kills: Vec<(f64, String)>,
    /// Errors.
    pub(crate) notes: Vec<String>,
}

/// One process of a role, which may be started again and again.
#[derive(Debug)]
struct Worker {
    role: Role,
    number: u32,
    /// When it is to be started, in milliseconds since boot.
    due: f64,
    child: Option<Child>,
    starts: u32,
}

impl Run {
    /// Sets what the arm sets, starts its program, and begins the warm-up.
    pub(crate) fn start(plan: &Plan) -> Result<Self> {
        for (path, text) in &plan.arm.files {
            if let Some(directory) = Path::new(path).parent() {
                fs::create_dir_all(directory)?;
            }
            put(path, text)?;
        }
        for (path, value) in &plan.arm.writes {
            put(path, value)?;
        }
        for role in &plan.roles {
            if let Some((name, limit)) = &role.group {
                make_cgroup(name, *limit)?;
            }
        }
        let program = match &plan.arm.program {
            Some(words) => Some(start_program(words)?),
            None => None,
        };
        let from = clock::now() + seconds(plan.size.warm_up_s);
        let window = Window {
            from,
            until: from + seconds(plan.size.load_s),
        };
        let mut workers = Vec::new();
        for role in &plan.roles {
            for number in 0..role.count {
                workers.push(Worker::new(role, number, window));
            }
        }
        Ok(Self {
            plan: plan.clone(),
            window,
            workers,
            program,
            finished: Finished::default(),
        })
    }

    /// Runs the load until counting begins.
    pub(crate) fn warm_up(&mut self) {
        while clock::now() < self.window.from {
            self.step();
        }
    }

    /// When counting began and ends.
    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Runs the load to its end.
    pub(crate) fn load(&mut self) {
        while clock::now() < self.window.until && !self.is_done() {
            self.step();
        }
        self.window.until = self.window.until.min(clock::now());
    }

    /// Returns true if the role that the load ends with has ended.
    fn is_done(&self) -> bool {
        let Some(last) = &self.plan.ends_with else {
            return false;
        };
        let has_ended = |worker: &Worker| worker.starts > 0 && worker.child.is_none();
        self.workers
            .iter()
            .any(|worker| worker.role.name == *last && has_ended(worker))
    }

    fn step(&mut self) {
        for worker in &mut self.workers {
            worker.step(self.window, &mut self.finished);
        }
        if let Some(status) = ended(self.program.as_mut()) {
            self.program = None;
            self.finished.notes.push(format!(
                "the arm's program ended early ({status}): {}",
                end_of_log("program")
            ));
        }
        thread::sleep(STEP);
    }

    /// Lets the processes finish their operation, and kills those that do not.
    pub(crate) fn stop_load(&mut self) {
        let deadline = clock::now() + LINGER_MS;
        while clock::now() < deadline && self.workers.iter_mut().any(Worker::is_alive) {
            thread::sleep(STEP);
        }
        for worker in &mut self.workers {
            if let Some(child) = &mut worker.child {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }

    /// Waits, with no load.
    pub(crate) fn calm(&mut self) {
        thread::sleep(Duration::from_secs(self.plan.size.calm_s));
    }

    /// Ends the arm's program as a service manager would.
    pub(crate) fn finish(mut self) -> Finished {
        if let Some(mut program) = self.program.take() {
            if let Err(error) = terminate(&mut program) {
                self.finished.notes.push(format!(
                    "the arm's program: {error:#}: {}",
                    end_of_log("program")
                ));
            }
        }
        self.finished
    }
}

impl Worker {
    fn new(role: &Role, number: u32, window: Window) -> Self {
        let due = match role.after_s {
            Some(after) => window.from + seconds(after),
            None => 0.0,
        };
        Self {
            role: role.clone(),
            number,
            due,
            child: None,
            starts: 0,
        }
    }

    /// Notes its end, and starts it when it is due.
    fn step(&mut self, window: Window, finished: &mut Finished) {
        let now = clock::now();
        let name = &self.role.name;
        if let Some(status) = ended(self.child.as_mut()) {
            self.child = None;
            self.due = next(self.role.when, self.due, now);
            if status.signal().is_some() {
                finished.kills.push((now, name.clone()));
            } else if !status.success() {
                let log = end_of_log("workers");
                finished
                    .notes
                    .push(format!("{name} ended: {status}: {log}"));
            }
        }
        if self.child.is_none() && now >= self.due {
            self.starts += 1;
            match self.spawn(window) {
                Ok(child) => self.child = Some(child),
                Err(error) => {
                    let note = format!("{} did not start: {error:#}", self.role.name);
                    finished.notes.push(note);
                }
            }
        }
    }

    fn spawn(&self, window: Window) -> Result<Child> {
        let path = format!("{OUT}/{}-{}", self.role.name, self.number);
        let output = OpenOptions::new().create(true).append(true).open(path)?;
        let mut command = Command::new("/lab/guest");
        command
            .arg("work")
            .args(&self.role.work)
            .arg(self.number.to_string())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(log("workers")?)
            .env("WARMSET_FROM", window.from.to_string())
            .env("WARMSET_UNTIL", window.until.to_string())
            .env("WARMSET_NAME", &self.role.name)
            .env("WARMSET_OOM", self.role.oom_score_adj.to_string());
        if let Some((group, _)) = &self.role.group {
            command.env("WARMSET_GROUP", group);
        }
        command.spawn().context("cannot start /lab/guest")
    }

    fn is_alive(&mut self) -> bool {
        match &mut self.child {
            Some(child) => matches!(child.try_wait(), Ok(None)),
            None => false,
        }
    }
}

/// The status of a process that has ended.
fn ended(child: Option<&mut Child>) -> Option<ExitStatus> {
    child?.try_wait().ok().flatten()
}

/// Makes a cgroup and those above it, with this limit in bytes.
fn make_cgroup(name: &str, limit: u64) -> Result<()> {
    let top = Path::new("/sys/fs/cgroup");
    let group = top.join(name);
    fs::create_dir_all(&group)?;
    let above: Vec<&Path> = Path::new(name).ancestors().skip(1).collect();
    // A cgroup can hand on only the controllers that it has been given.
    for above in above.into_iter().rev() {
        let controllers = top.join(above).join("cgroup.subtree_control");
        put(&controllers.to_string_lossy(), "+memory +pids")?;
    }
    let memory_max = group.join("memory.max");
    put(&memory_max.to_string_lossy(), &limit.to_string())
}

/// When a role that ended now is due again, in milliseconds since boot.
fn next(when: When, due: f64, now: f64) -> f64 {
    match when {
        When::Once => f64::INFINITY,
        When::Again(pause) => now + pause as f64,
        When::Every(period) => {
            let period = period as f64;
            let begun = if due > 0.0 { due } else { now };
            let whole_periods = ((now - begun) / period).floor().max(0.0);
            begun + whole_periods * period + period
        }
    }
}

fn seconds(count: u64) -> f64 {
    count as f64 * 1e3
}

fn log(name: &str) -> Result<File> {
    let path = format!("{ARM}/{name}.log");
    let log = OpenOptions::new().create(true).append(true).open(&path);
    log.with_context(|| format!("cannot open {path}"))
}

fn start_program(words: &[String]) -> Result<Child> {
    let (program, arguments) = words.split_first().context("an empty command")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log("program")?)
        .stderr(log("program")?);
    let child = command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").spawn();
    child.with_context(|| format!("cannot start {program}"))
}

/// Ends the arm's program by SIGTERM. The error says how it ended, if not by that signal or with success.
fn terminate(program: &mut Child) -> Result<()> {
    kill_process(Pid::from_child(program), Signal::TERM)?;
    let deadline = clock::now() + GOODBYE_MS;
    while clock::now() < deadline {
        if let Some(status) = program.try_wait()? {
            let as_wanted = status.success() || status.signal().is_some();
            anyhow::ensure!(as_wanted, "ended with {status}");
            return Ok(());
        }
        thread::sleep(STEP);
    }
    program.kill()?;
    program.wait()?;
    anyhow::bail!("did not end within 20 s of SIGTERM, and was killed")
}

/// The last lines of this log.
fn end_of_log(name: &str) -> String {
    let text = fs::read_to_string(format!("{ARM}/{name}.log")).unwrap_or_default();
    last_lines(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_role_is_due_at_the_next_multiple() {
        assert_eq!(next(When::Every(1000), 5000.0, 5300.0), 6000.0);
        assert_eq!(next(When::Every(1000), 5000.0, 7300.0), 8000.0);
        assert_eq!(next(When::Again(500), 5000.0, 7300.0), 7800.0);
        assert!(next(When::Once, 5000.0, 7300.0).is_infinite());
    }
}
