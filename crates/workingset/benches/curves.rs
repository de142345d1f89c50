//! What LRU's curve and the policies take on a trace: curves TRACE RUNS WORK…
//!
//! TRACE is `zipf:PAGES:REFERENCES`, or a file of page numbers of 32 bits. WORK is `curve`, or a policy and shares of the
//! footprint, as `lru@0.1` and `fifo@0.1+0.2`. Each run prints a line: the work, CPU seconds of all threads, millions of references a second, the
//! most memory beside the trace in MB, and a sum of the result, which two versions of the program must agree on.
//! `bench/curves.sh` runs two versions in turns.
#![allow(
    clippy::disallowed_methods,
    reason = "the crate is pure, what measures it is not"
)]
#![allow(clippy::print_stdout, reason = "a program's output")]
#![allow(clippy::unwrap_used, reason = "it stops where something is wrong")]

use rustix::time::{ClockId, clock_gettime};
use std::fs;
use workingset::measure::MissCurve;
use workingset::policy::Choice;
use workingset::synth::{Kind, Recipe, Synth};
use workingset::{Batch, Loader, Trace};

fn main() {
    // Cargo adds an option of its own.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let [trace, runs, works @ ..] = args.as_slice() else {
        println!("curves: TRACE RUNS WORK… are missing, as in zipf:10000:1000000 5 curve lru@0.1");
        return;
    };
    let trace = load(trace);
    for _ in 0..runs.parse().unwrap() {
        for work in works {
            measure(work, &trace);
        }
    }
}

fn load(told: &str) -> Trace {
    let mut loader = Loader::default();
    let mut batch = Batch::default();
    if let Some(zipf) = told.strip_prefix("zipf:") {
        let (pages, references) = zipf.split_once(':').unwrap();
        let mut synth = Synth::new(Recipe {
            processes: vec![Kind::parse(&format!("zipf:pages={pages},alpha=1")).unwrap()],
            quantum: 1,
            references: references.parse().unwrap(),
            writes: 0.0,
            seed: 1,
        })
        .unwrap();
        while synth.fill(&mut batch, 1 << 16) {
            // Neither operations nor tasks: policies have a loop of their own with them.
            batch.op.clear();
            batch.task.clear();
            loader.push(&batch).unwrap();
        }
    } else {
        for part in fs::read(told).unwrap().chunks(1 << 18) {
            batch.page.clear();
            for bytes in part.chunks_exact(4) {
                let page = u32::from_le_bytes(bytes.try_into().unwrap());
                batch.page.push(u64::from(page));
            }
            loader.push(&batch).unwrap();
        }
    }
    loader.finish(workingset::About::default()).unwrap()
}

fn measure(work: &str, trace: &Trace) {
    forget_peak();
    let before = status("VmRSS:");
    let began = cpu_seconds();
    let sum = match work.split_once('@') {
        None => {
            let curve = MissCurve::of(trace);
            let mut sum = 0.0;
            for share in [0.01, 0.1, 0.5, 1.0] {
                sum += curve.misses((trace.pages() as f64 * share) as usize);
            }
            sum
        }
        Some((policy, shares)) => {
            let choice = Choice::parse(policy).unwrap();
            let share = |text: &str| text.parse::<f64>().unwrap() * trace.pages() as f64;
            let capacities: Vec<usize> = shares
                .split('+')
                .map(|text| (share(text) as usize).max(1))
                .collect();
            let scores = choice.spec.run_all(trace, &capacities, &choice.options);
            scores
                .unwrap()
                .iter()
                .map(|score| score.misses as f64)
                .sum()
        }
    };
    let seconds = cpu_seconds() - began;
    println!(
        "{work} {seconds:.4} {:.2} {:.1} {sum}",
        trace.len() as f64 / seconds / 1e6,
        (status("VmHWM:") - before) as f64 / 1e3
    );
}

/// CPU time of all threads of this process.
fn cpu_seconds() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

/// Lets the peak of resident memory begin anew.
fn forget_peak() {
    fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// A line of this process's status, in kB.
fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
