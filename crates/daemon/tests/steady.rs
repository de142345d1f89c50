//! A steady tick of the whole guard allocates nothing on the loop's thread and opens nothing, on this machine.

use daemon::guard::{Guard, Parts, wall};
use daemon::logger::Logger;
use daemon::notify::Notify;
use daemon::recorder::Recorder;
use daemon::shared_status::SharedStatus;
use host::{Machine, Permission, Places};
use pressure::config::{Log, Mode, Verbosity};
use pressure::status::{Status, Tally};
use pressure::{Config, History, Sample, decide};
use std::sync::Arc;

fn guard(state: &std::path::Path) -> Guard {
    let config = Config {
        mode: Mode::Observe,
        ..Config::default()
    };
    let places = Places {
        root: "/".into(),
        run: state.join("run"),
    };
    let machine = Machine::at(
        &places,
        Permission::Observe("a test".to_owned()),
        &config.wake,
    )
    .expect("it works here");
    let history = History::new(machine.facts(), &config);
    let status = Status {
        version: String::new(),
        pid: 0,
        started: wall(),
        mode: config.mode,
        only_observes: None,
        predictor: config.predictor,
        facts: machine.facts().clone(),
        decision: decide(&config, &history),
        sample: Sample::default(),
        tally: Tally::default(),
        past: Vec::with_capacity(pressure::status::MAX_PAST),
        warnings: Vec::new(),
        rivals: Vec::new(),
        names: Vec::new(),
    };
    let recorder = Recorder::start(
        &state.join("recordings"),
        machine.facts(),
        &config,
        &history,
    )
    .expect("it works here");
    let logger = Logger::open(Log::Stderr, Verbosity::try_from(0).expect("it works here"))
        .expect("it works here");
    let shared_status = Arc::new(SharedStatus::new(status));
    Guard::new(Parts {
        machine,
        config,
        shared_status,
        recorder: Some(recorder),
        logger,
        notify: Notify::default(),
    })
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd")
        .expect("it works here")
        .count()
}

#[test]
fn a_steady_tick_allocates_nothing_and_opens_nothing() {
    let dir = tempfile::tempdir().expect("it works here");
    let mut guard = guard(dir.path());
    for _ in 0..200 {
        guard.tick();
    }
    let before = descriptors();
    let mut allocating = 0;
    for _ in 0..1000 {
        let taken = allocation_counter::measure(|| _ = guard.tick());
        allocating += u64::from(taken.count_total > 0);
        // Ten times as fast as the fastest wait: the scribe keeps up, so nothing is lost and restated.
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // Housekeeping comes every 30 s, an event of the machine when it comes; neither is a steady tick.
    assert!(allocating <= 3, "{allocating} of 1000 ticks allocated");
    for _ in 0..9000 {
        guard.tick();
    }
    // The recording's own file may have been opened meanwhile by its thread.
    assert!(
        descriptors() <= before + 1,
        "{before} descriptors became {}",
        descriptors()
    );
}
