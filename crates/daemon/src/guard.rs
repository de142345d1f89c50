//! The loop. Each tick takes these steps, in this order:
//!
//! ```text
//! sample ─► decide ─► record ─► act ─► publish ─► wait ─┐
//!    ▲                                                  │
//!    └──────────────────────────────────────────────────┘
//! ```
//!
//! *Publish* is counting, logging, handing events to the threads of hooks and notices, and updating the shared status.
//! Every 30 s it also collects warnings and rivals. *Wait* ends early at memory pressure, SIGHUP (reload) or SIGTERM.

mod publish;
mod reload;
mod tally;

use crate::hooks::Hooks;
use crate::logger::{Logger, Topic};
use crate::notice_server::NoticeServer;
use crate::notify::Notify;
use crate::recorder::Recorder;
use crate::shared_status::SharedStatus;
use host::holder;
use host::{Machine, OwnCost, Permission, Restored, Woken};
use pressure::config::Mode;
use pressure::decision::Phase;
use pressure::sample::Wall;
use pressure::status::Tally;
use pressure::{Config, Decision, History, Sample, decide};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tally::Counted;

/// The wait after a tick is at least this many times as long as the tick took.
///
/// A machine short of memory can be so slow that sampling takes long. This keeps the guard below a fifth of one CPU.
const REST: u32 = 4;
/// The same in phase distress, where finding the process that grows matters more than CPU: at most half of one CPU.
const DISTRESSED_REST: u32 = 1;

/// A running guard.
#[derive(Debug)]
pub struct Guard {
    /// Reads samples, carries out decisions, waits.
    pub machine: Machine,
    /// How the process that holds files is started.
    holder: holder::Start,
    /// The configuration in force.
    pub config: Config,
    /// The state of the decision core.
    pub history: History,
    /// What the status server, the metrics and the status line show.
    pub shared_status: Arc<SharedStatus>,
    /// Keeps the recording; `None` if none is kept.
    pub recorder: Option<Recorder>,
    /// Writes messages.
    pub logger: Logger,
    /// The service manager.
    pub notify: Notify,
    hooks: Option<Hooks>,
    notice_server: Option<NoticeServer>,
    sample: Sample,
    tally: Tally,
    counted: Option<Counted>,
    cost: OwnCost,
    /// The decision of the tick before, to tell what is new in this one.
    last_decision: Option<Decision>,
    /// When allocations last stalled.
    last_stalls: Option<Instant>,
    /// When a step of squeezing was last reported.
    last_squeezed: Option<Instant>,
    last_rates: Option<Instant>,
    /// Warnings and rivals that are in the log already.
    logged: HashSet<String>,
    last_housekeeping: Option<Instant>,
    /// Writes refused and signals missed that it knew of.
    failures_told: u64,
}

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The time given by `--for` is over.
    Time,
    /// SIGTERM or SIGINT.
    Signal,
}

/// What a guard is made of.
#[derive(Debug)]
pub struct Parts {
    /// Reads samples, carries out decisions, waits.
    pub machine: Machine,
    /// How the process that holds files is started.
    pub holder: holder::Start,
    /// The configuration.
    pub config: Config,
    /// What the status server, the metrics and the status line show.
    pub shared_status: Arc<SharedStatus>,
    /// Keeps the recording; `None` keeps none.
    pub recorder: Option<Recorder>,
    /// Writes messages.
    pub logger: Logger,
    /// The service manager.
    pub notify: Notify,
}

impl Guard {
    /// A guard before its first tick.
    pub fn new(parts: Parts) -> Self {
        let Parts {
            mut machine,
            holder,
            config,
            shared_status,
            recorder,
            logger,
            notify,
        } = parts;
        let history = History::new(machine.facts(), &config);
        machine.rule(&config.guard);
        Self {
            machine,
            holder,
            config,
            history,
            shared_status,
            recorder,
            logger,
            notify,
            hooks: None,
            notice_server: None,
            sample: Sample::default(),
            tally: Tally::default(),
            counted: None,
            cost: OwnCost::open(),
            last_decision: None,
            last_stalls: None,
            last_squeezed: None,
            last_rates: None,
            logged: HashSet::new(),
            last_housekeeping: None,
            failures_told: 0,
        }
    }

    /// Runs until a signal or `deadline`. `reload` reads the configuration again on SIGHUP.
    pub fn run(
        &mut self,
        deadline: Option<Instant>,
        watchdog: Option<Duration>,
        reload: &mut dyn FnMut() -> Result<Config, String>,
    ) -> Ended {
        loop {
            let mut wait = self.tick();
            self.notify.alive();
            if let Some(interval) = watchdog {
                wait = wait.min(interval);
            }
            if let Some(deadline) = deadline {
                wait = wait.min(deadline.saturating_duration_since(Instant::now()));
            }
            match self.machine.wait(wait) {
                Woken::Stop => return Ended::Signal,
                Woken::Reload => self.reload(reload()),
                Woken::Pressure => self.tally.pressure_wakeups += 1,
                Woken::Timer => {}
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.tick();
                return Ended::Time;
            }
        }
    }

    /// One tick without its wait; returns how long to wait. A steady tick allocates nothing.
    pub fn tick(&mut self) -> Duration {
        let begun = Instant::now();
        self.machine.sample(&mut self.sample);
        let state = self.state_for_recording();
        let decision = self.decide();
        self.record(&decision, state);
        let outcome = self.machine.act(&decision);
        self.publish(&decision, &outcome);
        time_to_wait(&decision, begun.elapsed())
    }

    /// The state of the decision core before this sample, when the recording needs it to continue after a gap.
    fn state_for_recording(&self) -> Option<Box<History>> {
        let recorder = self.recorder.as_ref()?;
        if recorder.wants_state(&self.sample) {
            Some(Box::new(self.history.clone()))
        } else {
            None
        }
    }

    fn decide(&mut self) -> Decision {
        self.history.push(&self.sample);
        decide(&self.config, &self.history)
    }

    fn record(&mut self, decision: &Decision, state: Option<Box<History>>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.push(&self.sample, decision, state);
        }
    }

    /// In the modes guard and protect, tries the means for it. In mode protect, also starts `warmset-hold` and finds the
    /// units to protect. What fails is reported, and the guard goes on without.
    pub fn start_protection_if_configured(&mut self) {
        if self.config.mode.ends_processes() {
            self.machine.try_means();
        }
        if self.config.mode != Mode::Protect {
            self.machine.protect_units(&[]);
            self.machine.name_files(&[]);
            return;
        }
        self.machine.protect_units(&self.config.protect.units);
        self.machine
            .hold(&self.holder, &self.config.protect.programs);
        self.machine.name_files(&self.config.protect.files);
    }

    /// Finds the units that are squeezed. None are in mode observe.
    pub fn squeeze_if_configured(&mut self) {
        let units = match self.config.mode {
            Mode::Observe => &[][..],
            Mode::Tune | Mode::Guard | Mode::Protect => &self.config.squeeze.units[..],
        };
        self.machine.squeeze_units(units);
    }

    /// Starts the thread that runs the hooks of the configuration, if this run may act. If that fails, the guard goes on
    /// without.
    pub fn start_hooks_if_configured(&mut self) {
        if let Some(hooks) = &self.hooks {
            if hooks.are_configured_as(&self.config.hooks) {
                return;
            }
        }
        self.detach_hooks();
        if *self.machine.permission() != Permission::Act {
            return;
        }
        match Hooks::start(Path::new("/"), &holder::program(), &self.config.hooks) {
            Ok(hooks) => self.hooks = Some(hooks),
            Err(error) => self.logger.say(
                Topic::Error,
                format_args!("[hooks]: no hook is run: {error}"),
            ),
        }
    }

    /// Takes the hooks away. One that runs is not waited for: its own timeout ends it.
    fn detach_hooks(&mut self) {
        if let Some(hooks) = self.hooks.take() {
            hooks.detach();
        }
    }

    /// Opens the socket for `warmset notice`, if it is not open and this run may signal processes.
    pub fn open_notice_server_if_guarding(&mut self) {
        let acts = *self.machine.permission() == Permission::Act && self.config.mode.guards();
        if !acts || self.notice_server.is_some() {
            return;
        }
        match NoticeServer::open(Path::new("/"), self.machine.run_directory()) {
            Ok(server) => {
                self.machine.ask(server.users());
                self.notice_server = Some(server);
            }
            Err(error) => self.logger.say(
                Topic::Error,
                format_args!("users get no notices and are not asked: {error:#}"),
            ),
        }
    }

    /// Puts back everything that this guard changed; returns what it did.
    pub fn end(&mut self) -> (Tally, Restored) {
        self.notify.stopping();
        let restored = self.machine.put_everything_back();
        // Its socket is in the run directory, which goes with the machine.
        self.notice_server = None;
        self.tally.put_back += restored.back.len() as u64;
        (self.tally, restored)
    }

    /// The last sample.
    pub fn sample(&self) -> &Sample {
        &self.sample
    }
}

/// As long as the decision says, but not so short that sampling takes most of the time.
fn time_to_wait(decision: &Decision, tick_took: Duration) -> Duration {
    let rest = if decision.phase == Phase::Distress {
        DISTRESSED_REST
    } else {
        REST
    };
    decision.patience().max(tick_took * rest)
}

/// The wall clock, for people.
pub fn wall() -> Wall {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    Wall(u64::try_from(now.tv_sec * 1000 + now.tv_nsec / 1_000_000).unwrap_or(0))
}
