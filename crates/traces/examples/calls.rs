//! What the calls of the Python package take without Python: calls REFERENCES
//!
//! Zipf's law over a million pages; a line for each call, its name and seconds: `bench/python.py`
//! sets them beside Python's.

use std::hint::black_box;
use std::time::Instant;
use workingset::measure::MissCurve;
use workingset::policy::Choice;
use workingset::synth::{Kind, Recipe, Synth};
use workingset::{Batch, Trace};

#[allow(clippy::print_stdout, reason = "a program's output")]
fn timed<T>(name: &str, call: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = black_box(call());
    println!("{name} {}", began.elapsed().as_secs_f64());
    done
}

fn main() -> Result<(), workingset::Error> {
    let references = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_000_000);
    let processes = vec![Kind::parse("zipf:pages=1000000,alpha=1")?];
    let mut synth = Synth::new(Recipe {
        processes,
        quantum: 1,
        references,
        writes: 0.0,
        seed: 1,
    })?;
    let mut pages = Vec::new();
    let mut batch = Batch::default();
    while synth.fill(&mut batch, 1 << 16) {
        pages.extend_from_slice(&batch.page);
    }
    let trace = timed("Trace", || Trace::of(&pages))?;
    let lru = Choice::parse("lru")?;
    timed("simulate", || lru.spec.run(&trace, 100_000, &lru.options))?;
    timed("curve", || MissCurve::of(&trace).all());
    Ok(())
}
