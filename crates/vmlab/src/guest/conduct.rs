//! Conducts a run: starts the arm's program and the load's processes when they are due, and ends them.

use crate::clock::{self, Window};
use crate::setup::put;
use anyhow::{Context, Result};
use std::fs::{self, File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use warmset_vmlab::plan::{Plan, Role, When};

/// Where the processes of the load write what they measured.
pub(crate) const OUT: &str = "/run/out";
const ARM: &str = "/run/arm";
const STEP: Duration = Duration::from_millis(20);
/// After the load, its processes may finish what they are at.
const LINGER_MS: f64 = 15_000.0;
/// The arm's program may put things back.
const GOODBYE_MS: f64 = 20_000.0;

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Run {
    plan: Plan,
    window: Window,
    cast: Vec<Player>,
    program: Option<Child>,
    finished: Finished,
}

/// What became of the processes.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// Who was ended by a signal that was not ours, and when.
    pub(crate) kills: Vec<(f64, String)>,
    /// What went wrong.
    pub(crate) notes: Vec<String>,
}

/// One process of a role, which may have many lives.
#[derive(Debug)]
struct Player {
    role: Role,
    number: u32,
    due: f64,
    child: Option<Child>,
    lives: u32,
}

impl Run {
    /// Sets what the arm sets, starts its program, and begins the warm-up.
    pub(crate) fn start(plan: &Plan) -> Result<Self> {
        for (path, text) in &plan.arm.files {
            fs::create_dir_all(Path::new(path).parent().unwrap_or(Path::new("/")))?;
            put(path, text)?;
        }
        for (path, value) in &plan.arm.writes {
            put(path, value)?;
        }
        for (name, limit) in plan.roles.iter().filter_map(|role| role.group.as_ref()) {
            let group = Path::new("/sys/fs/cgroup").join(name);
            fs::create_dir_all(&group)?;
            for above in Path::new(name).ancestors().skip(1) {
                let children = Path::new("/sys/fs/cgroup")
                    .join(above)
                    .join("cgroup.subtree_control");
                put(&children.to_string_lossy(), "+memory +pids")?;
            }
            put(
                &group.join("memory.max").to_string_lossy(),
                &limit.to_string(),
            )?;
        }
        let program = plan
            .arm
            .program
            .as_ref()
            .map(|words| start_program(words))
            .transpose()?;
        let from = clock::now() + seconds(plan.size.warm_up_s);
        let window = Window {
            from,
            until: from + seconds(plan.size.load_s),
        };
        let cast = plan
            .roles
            .iter()
            .flat_map(|role| (0..role.count).map(|number| Player::new(role, number, window)))
            .collect();
        Ok(Self {
            plan: plan.clone(),
            window,
            cast,
            program,
            finished: Finished::default(),
        })
    }

    /// Until counting begins.
    pub(crate) fn warm_up(&mut self) {
        while clock::now() < self.window.from {
            self.step();
        }
    }

    /// When counting began and ends.
    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// The load, to its end.
    pub(crate) fn load(&mut self) {
        while clock::now() < self.window.until && !self.is_done() {
            self.step();
        }
        self.window.until = self.window.until.min(clock::now());
    }

    fn is_done(&self) -> bool {
        let ends = |player: &Player| {
            Some(&player.role.name) == self.plan.ends_with.as_ref() && player.lives > 0
        };
        self.cast
            .iter()
            .any(|player| ends(player) && player.child.is_none())
    }

    fn step(&mut self) {
        for player in &mut self.cast {
            player.tend(self.window, &mut self.finished);
        }
        let ended = self
            .program
            .as_mut()
            .and_then(|program| program.try_wait().ok().flatten());
        if let Some(status) = ended {
            self.program = None;
            self.finished.notes.push(format!(
                "the arm's program ended early ({status}): {}",
                last_words("program")
            ));
        }
        thread::sleep(STEP);
    }

    /// Lets the processes finish what they are at, and ends those that do not.
    pub(crate) fn stop_load(&mut self) {
        let patience = clock::now() + LINGER_MS;
        while clock::now() < patience && self.cast.iter_mut().any(Player::is_alive) {
            thread::sleep(STEP);
        }
        for child in self
            .cast
            .iter_mut()
            .filter_map(|player| player.child.as_mut())
        {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Nothing happens.
    pub(crate) fn calm(&mut self) {
        thread::sleep(Duration::from_secs(self.plan.size.calm_s));
    }

    /// Ends the arm's program as a service manager would.
    pub(crate) fn finish(mut self) -> Finished {
        if let Some(mut program) = self.program.take() {
            if let Err(problem) = end(&mut program) {
                self.finished.notes.push(format!(
                    "the arm's program: {problem:#}: {}",
                    last_words("program")
                ));
            }
        }
        self.finished
    }
}

impl Player {
    fn new(role: &Role, number: u32, window: Window) -> Self {
        let due = role
            .after_s
            .map_or(0.0, |after| window.from + seconds(after));
        Self {
            role: role.clone(),
            number,
            due,
            child: None,
            lives: 0,
        }
    }

    /// Starts it when it is due, and learns of its end.
    fn tend(&mut self, window: Window, finished: &mut Finished) {
        let now = clock::now();
        if let Some(status) = self
            .child
            .as_mut()
            .and_then(|child| child.try_wait().ok().flatten())
        {
            self.child = None;
            self.due = next(self.role.when, self.due, now);
            match status.signal() {
                Some(_) => finished.kills.push((now, self.role.name.clone())),
                None if !status.success() => {
                    finished.notes.push(format!(
                        "{} ended: {status}: {}",
                        self.role.name,
                        last_words("workers")
                    ));
                }
                None => {}
            }
        }
        if self.child.is_none() && now >= self.due {
            self.lives += 1;
            match self.spawn(window) {
                Ok(child) => self.child = Some(child),
                Err(error) => finished
                    .notes
                    .push(format!("{} did not start: {error:#}", self.role.name)),
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
            .arg(self.number.to_string());
        command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(log("workers")?);
        command
            .env("WARMSET_FROM", window.from.to_string())
            .env("WARMSET_UNTIL", window.until.to_string());
        command
            .env("WARMSET_NAME", &self.role.name)
            .env("WARMSET_OOM", self.role.oom_score_adj.to_string());
        if let Some((group, _)) = &self.role.group {
            command.env("WARMSET_GROUP", group);
        }
        command.spawn().context("cannot start /lab/guest")
    }

    fn is_alive(&mut self) -> bool {
        self.child
            .as_mut()
            .is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }
}

/// When a role is due again.
fn next(when: When, due: f64, now: f64) -> f64 {
    match when {
        When::Once => f64::INFINITY,
        When::Again(pause) => now + pause as f64,
        When::Every(period) => {
            let begun = if due > 0.0 { due } else { now };
            begun + ((now - begun) / period as f64).floor().max(0.0) * period as f64 + period as f64
        }
    }
}

fn seconds(count: u64) -> f64 {
    count as f64 * 1e3
}

fn log(name: &str) -> Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(format!("{ARM}/{name}.log"))
        .context("no log")
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

fn end(program: &mut Child) -> Result<()> {
    let pid = i32::try_from(program.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .context("no process number")?;
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    let patience = clock::now() + GOODBYE_MS;
    while clock::now() < patience {
        if let Some(status) = program.try_wait()? {
            let told = status.success() || status.signal().is_some();
            anyhow::ensure!(told, "ended with {status}");
            return Ok(());
        }
        thread::sleep(STEP);
    }
    program.kill()?;
    program.wait()?;
    anyhow::bail!("did not end when asked, and was killed")
}

/// The end of what was said in this log.
fn last_words(log: &str) -> String {
    let said = fs::read_to_string(format!("{ARM}/{log}.log")).unwrap_or_default();
    warmset_vmlab::tool::last_lines(&said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_late_is_due_at_the_next_multiple() {
        assert_eq!(next(When::Every(1000), 5000.0, 5300.0), 6000.0);
        assert_eq!(next(When::Every(1000), 5000.0, 7300.0), 8000.0);
        assert_eq!(next(When::Again(500), 5000.0, 7300.0), 7800.0);
        assert!(next(When::Once, 5000.0, 7300.0).is_infinite());
    }
}
