//! Programs of a play, run on this machine for a moment: each takes the memory that its role says.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use warmset_vmlab::decisions::play::{Act, Forks, Memory, OnTerm, Phase, Role};

const GUEST: &str = env!("CARGO_BIN_EXE_warmset-guest");
const MIB: u64 = 1 << 20;
/// On a busy machine a program may be slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that is ended with the test.
struct Actor {
    child: Child,
    _directory: tempfile::TempDir,
}

impl Actor {
    fn start(act: Act) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let role = Role {
            name: "Isolated Web Content".to_owned(),
            file: GUEST.to_owned(),
            arguments: vec!["any".to_owned()],
            starts_ms: Some(0),
            act,
            ..Role::default()
        };
        let path = directory.path().join("0.json");
        fs::write(&path, serde_json::to_vec(&role).unwrap()).unwrap();
        let child = Command::new(GUEST)
            .args(["--any", "arguments"])
            .env("WARMSET_ACT", &path)
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        Self {
            child,
            _directory: directory,
        }
    }

    /// A value of its status, in KiB.
    fn kib(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.trim_start_matches(':').split_whitespace().next());
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        Command::new("kill")
            .args(["-s", name, &pid])
            .status()
            .unwrap();
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // With its copies.
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill")
            .args(["-s", "KILL", "--", &group])
            .status();
        let _ = self.child.wait();
    }
}

fn within(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "not in time: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn grows_to(mib: u64) -> Vec<Phase> {
    vec![
        Phase::Grow(200 * MIB, Some(mib * MIB)),
        Phase::Wait(100_000),
    ]
}

#[test]
fn it_has_its_name_grows_to_its_size_and_shrinks() {
    let actor = Actor::start(Act {
        has: 4 * MIB,
        phases: vec![
            Phase::Grow(200 * MIB, Some(40 * MIB)),
            Phase::Wait(1000),
            Phase::Shrink(8 * MIB),
            Phase::Wait(100_000),
        ],
        ..Act::default()
    });
    within("it grows", || actor.kib("RssAnon") >= 40 * 1024);
    let comm = fs::read_to_string(format!("/proc/{}/comm", actor.child.id())).unwrap();
    assert_eq!(comm, "Isolated Web Co\n");
    within("it shrinks", || actor.kib("RssAnon") < 12 * 1024);
}

#[test]
fn shared_memory_page_tables_and_a_memfd_grow_as_such() {
    for (memory, counter) in [(Memory::Shared, "RssShmem"), (Memory::PageTables, "VmPTE")] {
        let actor = Actor::start(Act {
            memory,
            phases: grows_to(12),
            ..Act::default()
        });
        within(counter, || actor.kib(counter) >= 12 * 1024);
        assert!(actor.kib("RssAnon") < 8 * 1024, "{counter}");
    }
    let actor = Actor::start(Act {
        memory: Memory::Memfd,
        phases: grows_to(12),
        ..Act::default()
    });
    let descriptors = format!("/proc/{}/fd", actor.child.id());
    within("the memfd grows", || {
        largest_file(Path::new(&descriptors)) >= 12 * MIB
    });
}

fn largest_file(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| Some(fs::metadata(entry.path()).ok()?.len()));
    sizes.max().unwrap_or(0)
}

#[test]
fn sigterm_ends_it_at_once_later_or_never() {
    let phases = grows_to(4);
    for (on_term, least) in [(OnTerm::Exits(0), 0), (OnTerm::Exits(400), 400)] {
        let mut actor = Actor::start(Act {
            on_term,
            phases: phases.clone(),
            ..Act::default()
        });
        within("it has grown", || actor.kib("RssAnon") >= 4 * 1024);
        let began = Instant::now();
        actor.signal("TERM");
        within("it ends", || actor.child.try_wait().unwrap().is_some());
        assert!(began.elapsed() >= Duration::from_millis(least));
    }
    let mut actor = Actor::start(Act {
        on_term: OnTerm::Ignores,
        phases,
        ..Act::default()
    });
    within("it has grown", || actor.kib("RssAnon") >= 4 * 1024);
    actor.signal("TERM");
    thread::sleep(Duration::from_millis(300));
    assert!(actor.child.try_wait().unwrap().is_none());
}

#[test]
fn copies_hold_memory_of_their_own() {
    let actor = Actor::start(Act {
        has: 6 * MIB,
        forks: Some(Forks {
            rate: 20.0,
            most: 3,
            all: false,
        }),
        ..Act::default()
    });
    let own = actor.child.id();
    let children = format!("/proc/{own}/task/{own}/children");
    let copies = || -> Vec<u32> {
        let text = fs::read_to_string(&children).unwrap_or_default();
        text.split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect()
    };
    within("there are three", || copies().len() == 3);
    for copy in copies() {
        // A copy that only shares its parent's pages has no private ones.
        let private = || {
            let text = fs::read_to_string(format!("/proc/{copy}/smaps_rollup")).unwrap_or_default();
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("Private_Dirty:"));
            let kib: Option<u64> =
                line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
            kib.unwrap_or(0)
        };
        within("it holds its own", || private() >= 6 * 1024);
    }
}
