//! Tells programs of root's what happens: by a thread of its own that nothing waits for.
//!
//! The loop hands over what it did, as data, to a queue of fixed length: it neither waits nor allocates, and what finds
//! the queue full is counted. The thread makes the words, opens and checks the program anew, runs it, and sees that it
//! ends ([`host::hook`]).

use crate::news::{News, Turn, What};
use host::hook::{Ended, Hook};
use pressure::config::{Hooks as Config, Occasion};
use pressure::decision::{Action, Notice, Step};
use pressure::groups::CgroupAction;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What may wait for the thread.
const QUEUE: usize = 16;
const STACK: usize = 256 * 1024;
/// How long the end of the program waits for a hook that runs.
const FAREWELL: Duration = Duration::from_secs(1);
/// Complaints kept until the loop takes them.
const MOST_COMPLAINTS: usize = 16;

/// The loop's end of the queue.
#[derive(Debug)]
pub struct Hooks {
    queue: Option<SyncSender<News>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    config: Config,
}

#[derive(Debug, Default)]
struct Shared {
    lost: AtomicU64,
    complaints: Mutex<Vec<String>>,
}

impl Hooks {
    /// Starts the thread for the programs of the machine at `root`, run by `launcher`, if there are any.
    pub fn start(root: &Path, launcher: &Path, config: &Config) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut hooks = Self {
            queue: None,
            thread: None,
            shared,
            config: config.clone(),
        };
        if config.are_any() {
            let (queue, news) = sync_channel(QUEUE);
            let caller = Caller {
                root: root.to_owned(),
                launcher: launcher.to_owned(),
                config: config.clone(),
                shared: Arc::clone(&hooks.shared),
            };
            let call = move || caller.call(&news);
            let thread = std::thread::Builder::new()
                .name("warmset-hooks".to_owned())
                .stack_size(STACK)
                .spawn(call)?;
            (hooks.queue, hooks.thread) = (Some(queue), Some(thread));
        }
        Ok(hooks)
    }

    /// Whether these are the programs.
    pub fn are(&self, config: &Config) -> bool {
        self.config == *config
    }

    /// Takes nothing more, and waits for nothing.
    pub fn let_go(mut self) {
        self.queue = None;
        self.thread = None;
    }

    /// Hands over what happened in a turn of the loop. Neither waits nor allocates.
    pub fn tell(&self, turn: &Turn<'_>) {
        let Some(queue) = &self.queue else { return };
        for news in turn.news() {
            let is_asked =
                occasion(&news).is_some_and(|occasion| self.config.of(occasion).is_some());
            if is_asked && queue.try_send(news).is_err() {
                self.shared.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// What went wrong since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        let lost = self.shared.lost.swap(0, Ordering::Relaxed);
        let lost = (lost > 0)
            .then(|| format!("{lost} hooks were not run: things happened faster than they ended"));
        let mut complaints = self
            .shared
            .complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        complaints.drain(..).chain(lost).collect()
    }
}

/// A hook that runs is given a moment, then ends with us.
impl Drop for Hooks {
    fn drop(&mut self) {
        drop(self.queue.take());
        let Some(thread) = self.thread.take() else {
            return;
        };
        let deadline = Instant::now() + FAREWELL;
        while !thread.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The thread that runs them.
struct Caller {
    root: PathBuf,
    launcher: PathBuf,
    config: Config,
    shared: Arc<Shared>,
}

impl Caller {
    fn call(&self, news: &Receiver<News>) {
        for news in news {
            let Some(occasion) = occasion(&news) else {
                continue;
            };
            let Some(path) = self.config.of(occasion) else {
                continue;
            };
            if let Err(what) = self.run(path, &variables(&news, occasion)) {
                self.complain(format!("hooks.{}: {what}", occasion.name()));
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

    fn complain(&self, what: String) {
        let mut complaints = self
            .shared
            .complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if complaints.len() < MOST_COMPLAINTS {
            complaints.push(what);
        }
    }
}

fn occasion(news: &News) -> Option<Occasion> {
    match news.what {
        What::Done(Step {
            action: Action::Kill { .. },
            ..
        }) => Some(Occasion::Ended),
        What::Done(Step {
            action: Action::Group(CgroupAction::Throttle { .. }),
            ..
        }) => Some(Occasion::Throttled),
        What::Done(Step {
            action: Action::Group(CgroupAction::Freeze { .. }),
            ..
        }) => Some(Occasion::Asked),
        What::Seen(Notice::Distress { .. }) => Some(Occasion::Warn),
        What::Done(_) | What::Seen(_) => None,
    }
}

/// What the program is told.
fn variables(news: &News, occasion: Occasion) -> Vec<(&'static str, String)> {
    let mut told = vec![("WARMSET_EVENT", occasion.name().to_owned())];
    told.extend(news.user.map(|user| ("WARMSET_USER", user.to_string())));
    match &news.what {
        What::Done(Step {
            action:
                Action::Kill {
                    identity,
                    name,
                    unit,
                    signal,
                    size,
                    ..
                },
            why,
        }) => told.extend([
            ("WARMSET_PID", identity.pid.to_string()),
            ("WARMSET_NAME", name.to_string()),
            ("WARMSET_UNIT", unit.to_string()),
            ("WARMSET_SIGNAL", signal.name().to_owned()),
            ("WARMSET_BYTES", size.get().to_string()),
            ("WARMSET_REASON", why.to_string()),
        ]),
        What::Done(Step {
            action: Action::Group(cgroup_action),
            why,
        }) => {
            if let CgroupAction::Throttle {
                unit,
                memory_high: bytes,
                ..
            }
            | CgroupAction::Freeze {
                unit, used: bytes, ..
            } = cgroup_action
            {
                told.extend([
                    ("WARMSET_UNIT", unit.to_string()),
                    ("WARMSET_BYTES", bytes.get().to_string()),
                    ("WARMSET_REASON", why.to_string()),
                ]);
            }
        }
        What::Seen(notice @ Notice::Distress { headroom, .. }) => {
            told.extend([
                ("WARMSET_BYTES", headroom.get().to_string()),
                ("WARMSET_REASON", notice.to_string()),
            ]);
        }
        What::Done(_) | What::Seen(_) => {}
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::{Applied, Outcome};
    use pressure::decision::Reason;
    use pressure::distress::Extent;
    use pressure::scan::{Identity, Signal};
    use pressure::{Decision, Sample};
    use std::fs;
    use units::{Bytes, Rate, Span};

    /// A launcher that becomes nothing, and writes its environment down.
    fn machine(text: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("hook", ""), ("launcher", text)] {
            crate::programs::write_program(&dir.path().join(name), &format!("#!/bin/sh\n{text}\n"));
        }
        dir
    }

    fn start(dir: &tempfile::TempDir) -> Hooks {
        let hook = Some("/hook".to_owned());
        let timeout = Span::secs(20);
        let config = Config {
            warn: hook.clone(),
            throttled: None,
            asked: None,
            ended: hook,
            timeout,
        };
        Hooks::start(dir.path(), &dir.path().join("launcher"), &config).unwrap()
    }

    fn tell(hooks: &Hooks) {
        let sample = Sample::default();
        let outcome = Outcome::from_iter([Applied::Signalled]);
        hooks.tell(&Turn {
            sample: &sample,
            decision: &decision(),
            outcome: &outcome,
        });
    }

    fn decision() -> Decision {
        let mut decision = crate::testing::decision();
        let identity = Identity { pid: 77, start: 1 };
        let name = pressure::scan::Name::from("hog").unwrap();
        let unit = pressure::scan::UnitName::from("batch.service").unwrap();
        let (signal, extent, size) = (Signal::Kill, Extent::Process, Bytes::mib(3));
        let action = Action::Kill {
            identity,
            name,
            unit,
            signal,
            extent,
            size,
        };
        decision.steps.push(Step {
            action,
            why: Reason::Stop,
        });
        let (headroom, left) = (Bytes::mib(5), Span::secs(2));
        decision.notices.push(Notice::Distress {
            headroom,
            growth: Rate::new(1),
            left,
        });
        decision
    }

    #[test]
    fn what_was_done_and_seen_is_told_in_variables() {
        let dir = machine(&format!("env | grep ^WARMSET_ >>{}/told", "$(dirname $0)"));
        let hooks = start(&dir);
        tell(&hooks);
        let told = || fs::read_to_string(dir.path().join("told")).unwrap_or_default();
        let deadline = Instant::now() + Duration::from_secs(20);
        while !told().contains("WARMSET_EVENT=warn") && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(hooks);
        for line in [
            "EVENT=ended",
            "PID=77",
            "NAME=hog",
            "UNIT=batch.service",
            "SIGNAL=SIGKILL",
            "BYTES=3145728",
        ] {
            assert!(
                told().contains(&format!("WARMSET_{line}\n")),
                "{line}: {}",
                told()
            );
        }
        assert!(
            told().contains("WARMSET_EVENT=warn\n") && told().contains("WARMSET_BYTES=5242880\n"),
            "{}",
            told()
        );
    }

    #[test]
    fn what_fails_is_told_and_what_comes_too_fast_is_counted() {
        let dir = machine("sleep 0.3; exit 4");
        let hooks = start(&dir);
        for _ in 0..QUEUE {
            tell(&hooks);
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut warnings = Vec::new();
        while !warnings
            .iter()
            .any(|line: &String| line.contains("exit status: 4"))
        {
            assert!(Instant::now() < deadline, "{warnings:?}");
            warnings.extend(hooks.take_warnings());
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(
            warnings
                .iter()
                .any(|line| line.ends_with("things happened faster than they ended")),
            "{warnings:?}"
        );
        fs::remove_file(dir.path().join("hook")).unwrap();
    }

    #[test]
    fn nothing_runs_where_nothing_is_asked_for() {
        let dir = machine("");
        let hooks =
            Hooks::start(dir.path(), &dir.path().join("launcher"), &Config::default()).unwrap();
        assert!(hooks.thread.is_none());
        tell(&hooks);
        assert!(hooks.take_warnings().is_empty());
    }
}
