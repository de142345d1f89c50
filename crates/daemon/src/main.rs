//! The program: options, configuration, parts, loop, summary.

use anyhow::{Context, Result};
use daemon::guard::{Guard, Parts, wall};
use daemon::live::{StatusLine, summary};
use daemon::logger::Logger;
use daemon::notify::Notify;
use daemon::options::{self, Options, Task};
use daemon::recorder::Recorder;
use daemon::shared_status::SharedStatus;
use daemon::status_server::StatusServer;
use host::settings::{self, Settings};
use host::{Machine, Permission, Places};
use pressure::config::{Mode, Verbosity};
use pressure::status::{Status, Tally};
use pressure::{Config, History, Sample, decide};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use units::Span;

fn main() -> ExitCode {
    let options = match options::parse(std::env::args_os().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            let _ = writeln!(
                std::io::stderr(),
                "error: {error}\nhint: warmsetd --help lists the options"
            );
            return ExitCode::from(2);
        }
    };
    let text = match options.task {
        Task::Help => options::help(),
        Task::ListWrites => host::writes::list(),
        Task::Version => format!("warmsetd {}\n", env!("CARGO_PKG_VERSION")),
        Task::Guard => match guard(&options) {
            Ok(summary) => summary,
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "error: {error:#}");
                return ExitCode::FAILURE;
            }
        },
    };
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
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
    config.protect.enabled |= options.protect;
    let level = config
        .verbosity
        .get()
        .saturating_add(options.verbose)
        .min(5);
    config.verbosity = Verbosity::try_from(level).unwrap_or(config.verbosity);
    Ok(settings)
}

/// Root acts, if the mode says so; anyone else observes, and is told so.
fn permission(mode: Mode) -> Permission {
    if mode == Mode::Observe {
        Permission::Observe("as asked".to_owned())
    } else if !rustix::process::geteuid().is_root() {
        Permission::Observe("only root may act".to_owned())
    } else {
        Permission::Act
    }
}

/// Runs the guard to its end; what it did is the result.
fn guard(options: &Options) -> Result<String> {
    let begun = Instant::now();
    let Settings { config, notes, .. } = configuration(options)?;
    let places = Places {
        root: "/".into(),
        run: options.run.clone(),
    };
    let machine = Machine::at(&places, permission(config.mode), &config.wake)?;
    let logger = Logger::open(config.log, config.verbosity)?;
    notes
        .iter()
        .for_each(|note| logger.say(daemon::logger::Topic::Action, note));
    let shared_status = Arc::new(SharedStatus::new(first_status(&machine, &config)));
    let (acts, mode) = (*machine.permission() == Permission::Act, config.mode);
    greet(&machine, &logger);
    // Who only observes leaves no file, unless someone asked for metrics.
    let asked = config.metrics.listen.is_some() || config.metrics.textfile.is_some();
    let status_server = (acts || asked)
        .then(|| status_server(&places.run, &config, &shared_status))
        .transpose()?;
    let recorder = recorder(options, &machine, &config, &logger);
    let line = options
        .live
        .then(|| StatusLine::start(Arc::clone(&shared_status)))
        .transpose()?;
    let notify = Notify::from_environment();
    let mut guard = Guard::new(Parts {
        machine,
        config,
        shared_status,
        recorder,
        logger,
        notify,
    });
    if acts {
        stay(&guard.logger);
        if mode.guards() {
            hurry(&guard.logger);
        }
    }
    guard.hold_if_asked();
    guard.hook_if_asked();
    guard.open_to_users();
    guard.notify.ready();
    let deadline = options.end_after.map(|span| begun + span.get());
    let mut reload = || {
        configuration(options)
            .map(|settings| settings.config)
            .map_err(|error| error.to_string())
    };
    guard.run(deadline, Notify::watchdog_from_environment(), &mut reload);
    drop(line);
    let (tally, restored) = guard.end();
    drop(status_server);
    let status = guard.shared_status.read().clone();
    Ok(summary(
        &status,
        &tally,
        &restored,
        Span::new(begun.elapsed()),
    ))
}

/// Says what was found of a guard before us, and what this one may do.
fn greet(machine: &Machine, logger: &Logger) {
    use daemon::logger::Topic;
    if let Permission::Observe(why) = machine.permission() {
        logger.say(Topic::Action, format_args!("observing only: {why}"));
    }
    for line in machine
        .leftover()
        .to_string()
        .lines()
        .filter(|line| *line != "nothing to put back")
    {
        logger.say(
            Topic::Action,
            format_args!("left by a guard before: {line}"),
        );
    }
}

/// Answers who asks, from the run directory.
fn status_server(
    run: &Path,
    config: &Config,
    shared_status: &Arc<SharedStatus>,
) -> Result<StatusServer> {
    std::fs::create_dir_all(run).with_context(|| format!("{}: cannot be made", run.display()))?;
    StatusServer::open(run, &config.metrics, Arc::clone(shared_status))
}

/// Keeps a recording where that is possible; a guard that cannot record still guards.
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
            logger.say(
                daemon::logger::Topic::Error,
                format_args!("nothing is recorded: {error:#}"),
            );
            None
        }
    }
}

/// A guard against memory shortage must not fall to one.
fn stay(logger: &Logger) {
    if let Err(error) = host::lock_in_memory() {
        logger.say(
            daemon::logger::Topic::Error,
            format_args!("not locked in memory: {error}"),
        );
    }
    if let Err(error) = host::spare_from_oom(Path::new("/")) {
        logger.say(daemon::logger::Topic::Error, error);
    }
}

/// Who ends a runaway must not wait behind it.
fn hurry(logger: &Logger) {
    if let Err(error) = host::be_first() {
        logger.say(
            daemon::logger::Topic::Error,
            format_args!("runs no sooner than others: {error}"),
        );
    }
}

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
        names: Vec::new(),
    }
}
