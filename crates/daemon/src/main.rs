//! The program: options, configuration, parts, loop, summary.

use anyhow::{Context, Result};
use daemon::guard::{Guard, Parts, wall};
use daemon::live::{StatusLine, summary};
use daemon::logger::{Logger, Topic};
use daemon::notify::Notify;
use daemon::options::{self, Options, Task};
use daemon::recorder::Recorder;
use daemon::shared_status::SharedStatus;
use daemon::status_server::StatusServer;
use host::holder;
use host::settings::{self, Settings};
use host::{Machine, Permission, Places, Restored};
use pressure::config::{Mode, Verbosity};
use pressure::status::{Named, Status, Tally};
use pressure::{Config, History, Sample, decide};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use units::Span;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    let options = match options::parse(arguments) {
        Ok(options) => options,
        Err(error) => {
            let _ = writeln!(
                std::io::stderr(),
                "error: {error}\nhint: warmsetd --help lists the options"
            );
            return ExitCode::from(2);
        }
    };
    let mut code = ExitCode::SUCCESS;
    let text = match options.task {
        Task::Help => options::help(),
        Task::ListWrites => host::writes::list(),
        Task::Version => format!("warmsetd {}\n", env!("CARGO_PKG_VERSION")),
        Task::Guard => match guard(&options) {
            Ok((summary, restored)) => {
                if !restored.failed.is_empty() {
                    code = ExitCode::FAILURE;
                }
                summary
            }
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "error: {error:#}");
                return ExitCode::FAILURE;
            }
        },
    };
    let _ = std::io::stdout().write_all(text.as_bytes());
    code
}

/// The configuration of the files, with the command line over it.
fn configuration(options: &Options) -> Result<Settings, pressure::config::ConfigError> {
    let mut settings = match &options.config {
        Some(path) => settings::of_file(path)?,
        None => settings::of_machine(Path::new("/"))?,
    };
    let config = &mut settings.config;
    host::hook::check(Path::new("/"), &config.hooks)?;
    host::rules::Rules::read(&options.run)?.add_to(config);
    config.mode = options.mode.unwrap_or(config.mode);
    let level = config.verbosity.get().saturating_add(options.verbose);
    let level = level.min(5);
    config.verbosity = Verbosity::try_from(level).unwrap_or(config.verbosity);
    Ok(settings)
}

/// What this run may do: act as root if the mode says so, else only observe.
fn permission(mode: Mode) -> Permission {
    if mode == Mode::Observe {
        Permission::Observe("mode observe".to_owned())
    } else if !rustix::process::geteuid().is_root() {
        Permission::Observe("only root may act".to_owned())
    } else {
        Permission::Act
    }
}

/// Runs the guard until it ends; returns the summary, and what was put back.
fn guard(options: &Options) -> Result<(String, Restored)> {
    let begun = Instant::now();
    let Settings { config, notes, .. } = configuration(options)?;
    let places = Places {
        root: "/".into(),
        run: options.run.clone(),
    };
    let permission = permission(config.mode);
    let machine = Machine::at(&places, permission, &config.wake)?;
    let logger = Logger::open(config.log, config.verbosity)?;
    for note in &notes {
        logger.say(Topic::Action, note);
    }
    log_start(&machine, &logger);
    let first_status = first_status(&machine, &config);
    let shared_status = Arc::new(SharedStatus::new(first_status));
    let acts = *machine.permission() == Permission::Act;
    let mode = config.mode;
    let had_run_directory = places.run.exists();
    let status_server = status_server(acts, &places.run, &config, &shared_status, &logger)?;
    if let Some(warning) = status_server.as_ref().and_then(StatusServer::warning) {
        logger.say(Topic::Error, warning);
    }
    let recorder = recorder(options, &machine, &config, &logger);
    let line = status_line(options, &shared_status)?;
    let notify = Notify::from_environment();
    let holder = match &options.holder {
        Some(socket) => holder::Start::Socket(socket.clone()),
        None => holder::Start::Program(holder::program()),
    };
    let mut guard = Guard::new(Parts {
        machine,
        holder,
        config,
        shared_status,
        recorder,
        logger,
        notify,
    });
    if acts {
        protect_own_memory(&guard.logger);
        if mode.guards() {
            raise_own_priority(&guard.logger);
        }
    }
    guard.start_protection_if_configured();
    guard.squeeze_if_configured();
    guard.start_hooks_if_configured();
    guard.open_notice_server_if_guarding();
    guard.leave_startup();
    guard.notify.ready();
    let deadline = options.end_after.map(|span| begun + span.get());
    let mut reload = || match configuration(options) {
        Ok(settings) => Ok(settings.config),
        Err(error) => Err(error.to_string()),
    };
    guard.run(deadline, Notify::watchdog_from_environment(), &mut reload);
    drop(line);
    let (tally, restored) = guard.end();
    drop(status_server);
    if !acts && !had_run_directory {
        // Only if it is empty: a run that observes leaves nothing behind.
        let _ = std::fs::remove_dir(&places.run);
    }
    let status = guard.shared_status.read().clone();
    let ran = Span::new(begun.elapsed());
    Ok((summary(&status, &tally, &restored, ran), restored))
}

/// Logs what this run may do, and what was put back of a guard that was killed.
fn log_start(machine: &Machine, logger: &Logger) {
    if let Permission::Observe(why) = machine.permission() {
        logger.say(Topic::Action, format_args!("observing only: {why}"));
    }
    let leftover = machine.leftover();
    let topic = if leftover.failed.is_empty() {
        Topic::Action
    } else {
        Topic::Error
    };
    for line in leftover.to_string().lines() {
        if line != "nothing to put back" {
            logger.say(topic, format_args!("left by a guard before: {line}"));
        }
    }
}

/// Opens the status server. A run that only observes goes on without one where it cannot have one: a guard may answer there
/// already, or the directory may be root's.
fn status_server(
    acts: bool,
    run: &Path,
    config: &Config,
    shared_status: &Arc<SharedStatus>,
    logger: &Logger,
) -> Result<Option<StatusServer>> {
    let metrics = &config.metrics;
    let has_to_answer = acts || metrics.listen.is_some() || metrics.textfile.is_some();
    let opened = std::fs::create_dir_all(run)
        .with_context(|| format!("cannot create {}", run.display()))
        .and_then(|()| StatusServer::open(run, metrics, Arc::clone(shared_status)));
    match opened {
        Ok(server) => Ok(Some(server)),
        Err(error) if has_to_answer => Err(error),
        Err(error) => {
            logger.say(
                Topic::Action,
                format_args!("warmset status cannot ask this run: {error:#}"),
            );
            Ok(None)
        }
    }
}

/// Starts the status line, if `--live` is given.
fn status_line(options: &Options, shared_status: &Arc<SharedStatus>) -> Result<Option<StatusLine>> {
    if !options.live {
        return Ok(None);
    }
    let line = StatusLine::start(Arc::clone(shared_status))?;
    Ok(Some(line))
}

/// Starts the recording. If that fails, the guard goes on without: guarding matters more.
fn recorder(
    options: &Options,
    machine: &Machine,
    config: &Config,
    logger: &Logger,
) -> Option<Recorder> {
    if !config.recording.enabled {
        return None;
    }
    let directory = options.state.join("recordings");
    let state = History::new(machine.facts(), config);
    match Recorder::start(&directory, machine.facts(), config, &state) {
        Ok(recorder) => Some(recorder),
        Err(error) => {
            logger.say(Topic::Error, format_args!("nothing is recorded: {error:#}"));
            None
        }
    }
}

/// Locks this process in memory and exempts it from the OOM killer: it must work when memory is short.
fn protect_own_memory(logger: &Logger) {
    if let Err(error) = host::lock_in_memory() {
        logger.say(
            Topic::Error,
            format_args!("warmsetd is not locked in memory and may be paged out: {error}"),
        );
    }
    if let Err(error) = host::spare_from_oom(Path::new("/")) {
        logger.say(Topic::Error, error);
    }
}

/// Raises the CPU priority: the guard must not wait behind the process that it has to kill.
fn raise_own_priority(logger: &Logger) {
    if let Err(error) = host::be_first() {
        logger.say(
            Topic::Error,
            format_args!("warmsetd keeps its normal CPU priority: {error}"),
        );
    }
}

/// The status before the first tick.
fn first_status(machine: &Machine, config: &Config) -> Status {
    let facts = machine.facts().clone();
    let only_observes = match machine.permission() {
        Permission::Observe(why) => Some(why.clone()),
        Permission::Act => None,
    };
    Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        started: wall(),
        mode: config.mode,
        only_observes,
        predictor: config.predictor,
        decision: decide(config, &History::new(&facts, config)),
        facts,
        sample: Sample::default(),
        tally: Tally::default(),
        past: Vec::with_capacity(pressure::status::MAX_PAST),
        warnings: Vec::new(),
        rivals: machine.rivals(),
        means: Vec::new(),
        names: Vec::new(),
        named: Named::default(),
    }
}
