//! Several programs under one memory.

#![allow(clippy::unwrap_used, reason = "a test may")]

use proptest::prelude::*;
use workingset::engine::{Global, Local, Machine, Memory, Outcome, Pressure, Process, Rule, run};
use workingset::frames::{ActiveInactive, Clock, Floors, Generations, Kind, Lru, Tuning};
use workingset::policy::Choice;
use workingset::rng::Rng;
use workingset::{About, Batch, Loader, Op, Trace};

fn trace(pages: impl Iterator<Item = u64>, writes: bool) -> Trace {
    let mut loader = Loader::default();
    let mut batch = Batch::default();
    batch.page.extend(pages);
    batch.op = vec![if writes { Op::STORE } else { Op::LOAD }; batch.page.len()];
    loader.push(&batch).unwrap();
    loader
        .finish(About {
            page_size: 4096,
            ..About::default()
        })
        .unwrap()
}

fn random(seed: u64, count: u64, pages: u64) -> Trace {
    let mut rng = Rng::new(seed);
    trace((0..count).map(move |_| rng.below(pages)), false)
}

fn machine(frames: usize) -> Machine {
    Machine {
        min: 0,
        low: 0,
        high: 0,
        ..Machine::of(frames)
    }
}

/// A policy's name, and a function that runs processes under it.
type Manager = (
    &'static str,
    Box<dyn FnMut(&Machine, &[Process<'_>]) -> Outcome>,
);

fn policies(pages: usize) -> Vec<Manager> {
    fn go<M: Memory>(mut memory: M) -> impl FnMut(&Machine, &[Process<'_>]) -> Outcome {
        move |machine, processes| run(machine, processes, &mut memory).unwrap()
    }
    let tuning = Tuning {
        swappiness: 60.0,
        by_descriptor: false,
        min_ttl: 0,
        floors: Floors::NONE,
    };
    vec![
        ("lru", Box::new(go(Global::new(Lru::new(pages), pages)))),
        ("clock", Box::new(go(Global::new(Clock::new(pages), pages)))),
        (
            "linux",
            Box::new(go(Global::new(
                ActiveInactive::new(pages, 60.0, 0, Floors::NONE),
                pages,
            ))),
        ),
        (
            "mglru",
            Box::new(go(Global::new(Generations::new(pages, tuning), pages))),
        ),
        (
            "token",
            Box::new(go(Global::new(Lru::new(pages), pages).with_token())),
        ),
        (
            "up",
            Box::new(go(Global::new(Clock::new(pages), pages).pressed(
                Pressure {
                    on: |candidates| candidates.largest,
                    up: true,
                },
            ))),
        ),
        ("share", Box::new(go(Local::new(pages, 3, Rule::Share)))),
        (
            "ws",
            Box::new(go(Local::new(pages, 3, Rule::WorkingSet(500)))),
        ),
        (
            "pff",
            Box::new(go(Local::new(pages, 3, Rule::FaultFrequency(500)))),
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Every process ends, every reference is made, and the pages read are the misses, under every
    /// policy and machine.
    #[test]
    fn nothing_is_lost(frames in 4..60_usize, sizes in prop::collection::vec(1..40_u64, 3), marks in any::<bool>(), writes in any::<bool>()) {
        let traces: Vec<Trace> = sizes.iter().enumerate().map(|(at, pages)| {
            let mut rng = Rng::new(at as u64);
            trace((0..2000).map(move |_| rng.below(*pages)), writes)
        }).collect();
        let pages: usize = traces.iter().map(Trace::pages).sum();
        let machine = if marks { Machine::of(frames.max(16)) } else { machine(frames) };
        for (name, mut go) in policies(pages) {
            let kinds = [Kind::File, Kind::Anon, Kind::File];
            let processes: Vec<Process<'_>> =
                traces.iter().zip(kinds).map(|(trace, kind)| Process::new("p", trace).all(kind)).collect();
            let outcome = go(&machine, &processes);
            let done: u64 = outcome.processes.iter().map(|process| process.references).sum();
            prop_assert_eq!(done, 6000, "{}", name);
            prop_assert_eq!(outcome.oom_kills, 0, "{}", name);
            let read: u64 = outcome.processes.iter().map(|process| process.refaults_file + process.refaults_anon).sum();
            let first: u64 = outcome.processes.iter().zip(kinds).filter(|(_, kind)| *kind == Kind::File).map(|(p, _)| p.cold).sum();
            prop_assert_eq!(outcome.reads, read + first, "{}", name);
            prop_assert!(outcome.full_ns <= outcome.some_ns && outcome.some_ns <= outcome.makespan_ns, "{}", name);
            let most = outcome.processes.iter().map(|process| process.most).max().unwrap();
            prop_assert!(most <= machine.memory[0].1, "{}: {most}", name);
        }
    }
}

/// With one process, no watermarks and LRU, the engine is the policy.
#[test]
fn one_process_is_one_policy() {
    let trace = random(4, 20_000, 100);
    let lru = Choice::parse("lru").unwrap();
    for frames in [1, 10, 50, 99] {
        let outcome = run(
            &machine(frames),
            &[Process::new("one", &trace)],
            &mut Global::new(Lru::new(100), 100),
        )
        .unwrap();
        let score = lru.spec.run(&trace, frames, &lru.options).unwrap();
        let process = &outcome.processes[0];
        assert_eq!(
            process.cold + process.refaults_file,
            score.misses,
            "{frames}"
        );
    }
}

/// Without swap, a hog of anonymous memory is killed, and not the others.
#[test]
fn without_swap_the_hog_is_killed() {
    let hog = trace(0..5000, true);
    let small = random(1, 50_000, 30);
    let processes = [
        Process::new("hog", &hog).all(Kind::Anon),
        Process::new("small", &small).all(Kind::File),
    ];
    let pages = hog.pages() + small.pages();
    let mut memory = Global::new(ActiveInactive::new(pages, 60.0, 0, Floors::NONE), pages);
    let outcome = run(
        &Machine {
            swap: false,
            ..Machine::of(1000)
        },
        &processes,
        &mut memory,
    )
    .unwrap();
    assert_eq!(outcome.oom_kills, 1);
    assert!(outcome.processes[0].killed && !outcome.processes[1].killed);
    assert_eq!(outcome.processes[1].references, 50_000);
}

/// le9's claim on a trace: beside a hog on swap, a floor of clean file pages spares the file's
/// readers.
#[test]
fn a_floor_keeps_a_hot_file_beside_a_hog() {
    let hog = trace((0..120_000).map(|at| at % 1200), true);
    let hot = random(2, 400_000, 100);
    let processes = [
        Process::new("hog", &hog).all(Kind::Anon),
        Process::new("hot", &hot).all(Kind::File),
    ];
    let pages = hog.pages() + hot.pages();
    let refaults = |floors| {
        let mut memory = Global::new(ActiveInactive::new(pages, 60.0, 0, floors), pages);
        let slice = Machine {
            slice_ns: 20_000,
            ..Machine::of(1000)
        };
        run(&slice, &processes, &mut memory).unwrap().processes[1].refaults_file
    };
    let without = refaults(Floors::NONE);
    let with = refaults(Floors {
        clean_min: 0.15,
        ..Floors::NONE
    });
    assert!(with == 0 && without > 0, "{without} without, {with} with");
}

/// Memory may shrink while processes run.
#[test]
fn memory_may_change() {
    let trace = random(3, 40_000, 80);
    let whole = Machine {
        memory: vec![(0, 100)],
        ..machine(100)
    };
    let cut = Machine {
        memory: vec![(0, 100), (5_000_000, 40)],
        ..machine(100)
    };
    let misses = |machine: &Machine| {
        run(
            machine,
            &[Process::new("p", &trace)],
            &mut Global::new(Lru::new(80), 80),
        )
        .unwrap()
        .processes[0]
            .refaults_file
    };
    assert_eq!(misses(&whole), 0);
    assert!(misses(&cut) > 1000);
}

#[test]
fn a_machine_without_memory_marks_or_time_is_refused() {
    let trace = random(3, 10, 8);
    let mut memory = Global::new(Lru::new(8), 8);
    for machine in [
        machine(0),
        Machine {
            high: 50,
            ..machine(20)
        },
        Machine {
            slice_ns: 0,
            ..machine(20)
        },
    ] {
        assert!(
            run(&machine, &[Process::new("p", &trace)], &mut memory).is_err(),
            "{machine:?}"
        );
    }
    assert!(run(&machine(20), &[], &mut memory).is_err());
}
