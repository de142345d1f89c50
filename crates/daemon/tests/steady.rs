//! A steady tick of the whole guard allocates nothing on the loop's thread and opens nothing, on this machine.

use daemon::guard::{Guard, Parts};
use daemon::logger::Logger;
use daemon::notify::Notify;
use daemon::recorder::Recorder;
use daemon::shared_status::SharedStatus;
use host::{Machine, Permission, Places};
use pressure::config::{Log, Mode, Verbosity};
use pressure::status::{MAX_PAST, Status};
use pressure::{Config, History, decide};
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
    .expect("this machine can be guarded");
    let history = History::new(machine.facts(), &config);
    let status = Status {
        mode: config.mode,
        facts: machine.facts().clone(),
        decision: decide(&config, &history),
        past: Vec::with_capacity(MAX_PAST),
        ..testsupport::status()
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
        holder: host::holder::Start::Program("/nonexistent".into()),
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
        // A hundred times as fast as the fastest guard. The recorder still keeps up, so that no sample is lost and no
        // state is handed over.
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // Housekeeping every 30 s allocates, and so does an event of the machine; neither is a steady tick.
    assert!(allocating <= 3, "{allocating} of 1000 ticks allocated");
    for _ in 0..9000 {
        guard.tick();
    }
    // The recorder's thread may have opened its file meanwhile.
    assert!(
        descriptors() <= before + 1,
        "{before} descriptors became {}",
        descriptors()
    );
}
