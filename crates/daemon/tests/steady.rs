//! A steady tick of the whole guard allocates nothing on the loop's thread and opens nothing.
//!
//! The guard reads a recorded machine whose clock and counters go on. On the machine of the test, what other programs do
//! changes the length of what is read, and with it what is allocated.

use daemon::guard::{Guard, Parts};
use daemon::logger::Logger;
use daemon::notify::Notify;
use daemon::recorder::Recorder;
use daemon::shared_status::SharedStatus;
use host::{Machine, Permission, Places};
use pressure::config::{Log, Mode, Verbosity};
use pressure::status::{MAX_PAST, Status};
use pressure::{Config, History, decide};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use testsupport::recorded_machine;

/// Ticks that are looked at.
const TICKS: u32 = 1000;
/// Most ticks until that many were steady. A machine that is too busy for this shows in what the test says.
const MOST: u32 = 100_000;
/// A little less than the time between two housekeepings, which allocate.
const HOUSEKEEPING: Duration = Duration::from_secs(29);

/// A copy of a recorded machine, of which time goes on.
struct Running {
    root: PathBuf,
    /// Nanoseconds since its boot.
    at: u64,
    vmstat: String,
    /// Page faults since its boot.
    faults: u64,
}

impl Running {
    fn new(root: PathBuf) -> Self {
        recorded_machine::copy(&recorded_machine::fixture(), &root);
        let read = |name| fs::read_to_string(root.join(name)).expect("a recorded file");
        let at = read("at").trim().parse().expect("a time");
        let vmstat = read("proc/vmstat");
        Self {
            root,
            at,
            vmstat,
            faults: 7_425_945,
        }
    }

    /// A tenth of a second later, with new page faults.
    fn go_on(&mut self) {
        let before = format!("pgfault {}", self.faults);
        self.at += 100_000_000;
        self.faults += 10;
        let after = format!("pgfault {}", self.faults);
        assert!(self.vmstat.contains(&before), "{before}");
        self.vmstat = self.vmstat.replace(&before, &after);
        // The guard keeps its files open: they are written in place.
        fs::write(self.root.join("at"), format!("{}\n", self.at)).expect("a file");
        fs::write(self.root.join("proc/vmstat"), &self.vmstat).expect("a file");
    }
}

fn guard(root: &Path, state: &Path) -> (Guard, Arc<SharedStatus>) {
    let config = Config {
        mode: Mode::Observe,
        ..Config::default()
    };
    let places = Places {
        root: root.to_owned(),
        run: state.join("run"),
    };
    let machine = Machine::at(
        &places,
        Permission::Observe("a test".to_owned()),
        &config.wake,
    )
    .expect("the recorded machine can be guarded");
    let history = History::new(machine.facts(), &config);
    let first = Status {
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
    let shared_status = Arc::new(SharedStatus::new(first));
    let status = Arc::clone(&shared_status);
    let guard = Guard::new(Parts {
        machine,
        holder: host::holder::Start::Program("/nonexistent".into()),
        config,
        shared_status,
        recorder: Some(recorder),
        logger,
        notify: Notify::default(),
    });
    (guard, status)
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd")
        .expect("it works here")
        .count()
}

#[test]
fn a_steady_tick_allocates_nothing_and_opens_nothing() {
    let dir = tempfile::tempdir().expect("it works here");
    let mut machine = Running::new(dir.path().join("machine"));
    let (mut guard, status) = guard(&machine.root, dir.path());
    let lost = || status.read().tally.lost_samples;
    for _ in 0..200 {
        machine.go_on();
        guard.tick();
    }
    let before = descriptors();
    let mut steady = 0;
    // A busy machine may starve the recorder's thread. After a sample that was lost, the state is handed over.
    let mut owes_state = false;
    let mut housekept = Instant::now();
    for _ in 0..MOST {
        if steady == TICKS {
            break;
        }
        machine.go_on();
        let lost_before = lost();
        let taken = allocation_counter::measure(|| _ = guard.tick());
        let hands_over = owes_state;
        owes_state = lost() > lost_before;
        if hands_over || owes_state {
            continue;
        }
        if taken.count_total > 0 && housekept.elapsed() > HOUSEKEEPING {
            housekept = Instant::now();
            continue;
        }
        assert_eq!(
            taken.count_total, 0,
            "steady tick {steady} allocated: {taken:?}"
        );
        steady += 1;
        // A hundred times as fast as the fastest guard. The recorder still keeps up where nothing else runs.
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(
        steady, TICKS,
        "of {MOST} ticks: samples were lost at the others"
    );
    for _ in 0..2000 {
        machine.go_on();
        guard.tick();
    }
    let at = guard.sample().at.get().as_nanos();
    assert_eq!(at, u128::from(machine.at), "the machine's time goes on");
    // The recorder's thread may have opened its file meanwhile.
    assert!(
        descriptors() <= before + 1,
        "{before} descriptors became {}",
        descriptors()
    );
}
