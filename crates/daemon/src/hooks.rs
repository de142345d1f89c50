//! Runs root's programs when something happens, on a thread of its own that nothing waits for.
//!
//! The loop hands events over as plain data, by a queue of fixed length: it neither waits nor allocates. An event that finds
//! the queue full is counted and reported. The thread opens and checks the program anew each time, sets its environment,
//! runs it, and kills it at its timeout ([`host::hook`]).

use crate::events::{EventKind, Tick, TickEvent};
use host::hook::{Ended, Hook};
use pressure::config::{Hooks as Config, Occasion};
use pressure::decision::{Action, Notice, Step};
use pressure::groups::CgroupAction;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Events that may wait. A tick has a few; a hook that is slower than 16 of them falls behind for good anyway.
const QUEUE: usize = 16;
/// The thread starts a process and formats short texts. Its stack is locked in memory, so it is small.
const STACK: usize = 256 * 1024;
/// How long the end of the program waits for a hook that runs. systemd waits 15 s for the whole program.
const FAREWELL: Duration = Duration::from_secs(1);
/// Time between two looks whether the thread has ended.
const LOOK: Duration = Duration::from_millis(5);
/// Failures kept until housekeeping, every 30 s, takes them. More would repeat the same failure.
const MAX_WARNINGS: usize = 16;

/// The loop's end of the queue.
#[derive(Debug)]
pub struct Hooks {
    queue: Option<SyncSender<TickEvent>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    config: Config,
}

/// What the thread reports to the loop.
#[derive(Debug, Default)]
struct Shared {
    /// Events that found the queue full.
    lost: AtomicU64,
    warnings: Mutex<Vec<String>>,
}

impl Shared {
    fn warnings(&self) -> MutexGuard<'_, Vec<String>> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hooks {
    /// Starts the thread if `config` names a hook. Hooks are below `root` and started by the program `launcher`.
    pub fn start(root: &Path, launcher: &Path, config: &Config) -> io::Result<Self> {
        let mut hooks = Self {
            queue: None,
            thread: None,
            shared: Arc::new(Shared::default()),
            config: config.clone(),
        };
        if !config.are_any() {
            return Ok(hooks);
        }
        let (queue, events) = sync_channel(QUEUE);
        let runner = Runner {
            root: root.to_owned(),
            launcher: launcher.to_owned(),
            config: config.clone(),
            shared: Arc::clone(&hooks.shared),
        };
        let thread = std::thread::Builder::new()
            .name("warmset-hooks".to_owned())
            .stack_size(STACK)
            .spawn(move || runner.run_all(&events))?;
        hooks.queue = Some(queue);
        hooks.thread = Some(thread);
        Ok(hooks)
    }

    /// Returns true if this is the configuration it was started with.
    pub fn are_configured_as(&self, config: &Config) -> bool {
        self.config == *config
    }

    /// Takes no more events, and does not wait for a hook that runs.
    pub fn detach(mut self) {
        self.queue = None;
        self.thread = None;
    }

    /// Hands over the events of a tick. Neither waits nor allocates.
    pub fn hand_over(&self, tick: &Tick<'_>) {
        let Some(queue) = &self.queue else { return };
        for event in tick.events() {
            if self.hook_for(&event).is_none() {
                continue;
            }
            if queue.try_send(event).is_err() {
                self.shared.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn hook_for(&self, event: &TickEvent) -> Option<&str> {
        self.config.of(occasion(event)?)
    }

    /// What failed since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.shared.warnings().drain(..).collect();
        let lost = self.shared.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            warnings.push(format!(
                "{lost} hooks were not run: events came faster than the hooks ended"
            ));
        }
        warnings
    }
}

/// Gives a hook that runs a moment, then leaves it to its end with this process.
impl Drop for Hooks {
    fn drop(&mut self) {
        drop(self.queue.take());
        let Some(thread) = self.thread.take() else {
            return;
        };
        let deadline = Instant::now() + FAREWELL;
        while !thread.is_finished() && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
    }
}

/// The thread that runs the hooks.
struct Runner {
    root: PathBuf,
    launcher: PathBuf,
    config: Config,
    shared: Arc<Shared>,
}

impl Runner {
    /// Runs the hook for each event, until the loop's end of the queue is gone.
    fn run_all(&self, events: &Receiver<TickEvent>) {
        for event in events {
            let Some(occasion) = occasion(&event) else {
                continue;
            };
            let Some(path) = self.config.of(occasion) else {
                continue;
            };
            if let Err(error) = self.run(path, &variables(&event, occasion)) {
                self.warn(format!("hooks.{}: {error}", occasion.name()));
            }
        }
    }

    fn run(&self, path: &str, variables: &[(&str, String)]) -> Result<(), String> {
        let hook = Hook::open(&self.root, path).map_err(|error| error.to_string())?;
        let timeout = self.config.timeout;
        match hook.run(&self.launcher, variables, timeout.get()) {
            Ok(Ended::Itself(status)) if status.success() => Ok(()),
            Ok(Ended::Itself(status)) => Err(format!("{path}: {status}")),
            Ok(Ended::Late) => Err(format!("{path}: killed after {timeout}")),
            Err(error) => Err(format!("{path}: {error}")),
        }
    }

    fn warn(&self, warning: String) {
        let mut warnings = self.shared.warnings();
        if warnings.len() < MAX_WARNINGS {
            warnings.push(warning);
        }
    }
}

/// The hook that an event is for.
fn occasion(event: &TickEvent) -> Option<Occasion> {
    match &event.kind {
        EventKind::Done(step) => match step.action {
            Action::Kill { .. } => Some(Occasion::Ended),
            Action::Group(CgroupAction::Throttle { .. }) => Some(Occasion::Throttled),
            Action::Group(CgroupAction::Freeze { .. }) => Some(Occasion::Asked),
            _ => None,
        },
        EventKind::Noticed(
            Notice::Distress { .. }
            | Notice::Thrashing { .. }
            | Notice::SharedFills { .. }
            | Notice::KernelFills { .. },
        ) => Some(Occasion::Warn),
        EventKind::Noticed(_) => None,
    }
}

/// The environment of the hook.
fn variables(event: &TickEvent, occasion: Occasion) -> Vec<(&'static str, String)> {
    let mut variables = vec![("WARMSET_EVENT", occasion.name().to_owned())];
    if let Some(user) = event.user {
        variables.push(("WARMSET_USER", user.to_string()));
    }
    match &event.kind {
        EventKind::Done(step) => variables.extend(step_variables(step)),
        EventKind::Noticed(notice) => variables.extend(notice_variables(notice)),
    }
    variables
}

fn notice_variables(notice: &Notice) -> Vec<(&'static str, String)> {
    let bytes = match notice {
        Notice::Distress { headroom, .. } | Notice::Thrashing { headroom, .. } => *headroom,
        Notice::SharedFills { held, .. } | Notice::KernelFills { held, .. } => *held,
        _ => return Vec::new(),
    };
    vec![
        ("WARMSET_BYTES", bytes.get().to_string()),
        ("WARMSET_REASON", notice.to_string()),
    ]
}

fn step_variables(step: &Step) -> Vec<(&'static str, String)> {
    let reason = ("WARMSET_REASON", step.why.to_string());
    match step.action {
        Action::Kill {
            identity,
            name,
            unit,
            signal,
            size,
            ..
        } => vec![
            ("WARMSET_PID", identity.pid.to_string()),
            ("WARMSET_NAME", name.to_string()),
            ("WARMSET_UNIT", unit.to_string()),
            ("WARMSET_SIGNAL", signal.name().to_owned()),
            ("WARMSET_BYTES", size.get().to_string()),
            reason,
        ],
        Action::Group(
            CgroupAction::Throttle {
                unit,
                memory_high: bytes,
                ..
            }
            | CgroupAction::Freeze {
                unit, used: bytes, ..
            },
        ) => vec![
            ("WARMSET_UNIT", unit.to_string()),
            ("WARMSET_BYTES", bytes.get().to_string()),
            reason,
        ],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kill_step;
    use host::{Applied, Outcome};
    use pressure::{Decision, Sample};
    use std::fs;
    use units::{Bytes, Rate, Span};

    const PATIENCE: Duration = Duration::from_secs(20);

    /// A root with a hook, and a launcher that runs `text` instead of the hook.
    fn root(text: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let launcher = format!("#!/bin/sh\n{text}\n");
        testsupport::write_program(&root.path().join("hook"), "#!/bin/sh\n");
        testsupport::write_program(&root.path().join("launcher"), &launcher);
        root
    }

    fn start(root: &tempfile::TempDir) -> Hooks {
        let hook = Some("/hook".to_owned());
        let config = Config {
            warn: hook.clone(),
            throttled: None,
            asked: None,
            ended: hook,
            timeout: Span::new(PATIENCE),
        };
        Hooks::start(root.path(), &root.path().join("launcher"), &config).unwrap()
    }

    /// Hands over one tick with a kill and a warning.
    fn hand_over(hooks: &Hooks) {
        hooks.hand_over(&Tick {
            sample: &Sample::default(),
            decision: &decision(),
            outcome: &Outcome::from_iter([Applied::Signalled]),
        });
    }

    fn decision() -> Decision {
        let mut decision = testsupport::decision();
        decision.steps.push(kill_step("batch.service"));
        decision.notices.push(Notice::Distress {
            headroom: Bytes::mib(5),
            growth: Rate::new(1),
            left: Span::secs(2),
        });
        decision
    }

    #[test]
    fn a_hook_finds_what_happened_in_its_environment() {
        let root = root("env | grep ^WARMSET_ >>$(dirname $0)/environment");
        let hooks = start(&root);
        hand_over(&hooks);
        let written = || fs::read_to_string(root.path().join("environment")).unwrap_or_default();
        let deadline = Instant::now() + PATIENCE;
        while !written().contains("WARMSET_EVENT=warn") && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(hooks);
        let written = written();
        for line in [
            "EVENT=ended",
            "PID=77",
            "NAME=hog",
            "UNIT=batch.service",
            "SIGNAL=SIGKILL",
            "BYTES=3145728",
            "EVENT=warn",
            "BYTES=5242880",
        ] {
            assert!(
                written.contains(&format!("WARMSET_{line}\n")),
                "{line}: {written}"
            );
        }
    }

    #[test]
    fn a_failure_is_a_warning_and_lost_events_are_counted() {
        let root = root("sleep 0.3; exit 4");
        let hooks = start(&root);
        for _ in 0..QUEUE {
            hand_over(&hooks);
        }
        let deadline = Instant::now() + PATIENCE;
        let mut warnings = Vec::new();
        let failed = |line: &String| line.contains("exit status: 4");
        while !warnings.iter().any(failed) {
            assert!(Instant::now() < deadline, "{warnings:?}");
            warnings.extend(hooks.take_warnings());
            std::thread::sleep(Duration::from_millis(10));
        }
        let lost = |line: &String| line.ends_with("events came faster than the hooks ended");
        assert!(warnings.iter().any(lost), "{warnings:?}");
        fs::remove_file(root.path().join("hook")).unwrap();
    }

    #[test]
    fn no_thread_starts_without_a_hook() {
        let root = root("");
        let launcher = root.path().join("launcher");
        let hooks = Hooks::start(root.path(), &launcher, &Config::default()).unwrap();
        assert!(hooks.thread.is_none());
        hand_over(&hooks);
        assert!(hooks.take_warnings().is_empty());
    }
}
