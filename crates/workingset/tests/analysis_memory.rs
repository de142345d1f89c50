//! What an analysis takes is told before it is made.
#![allow(clippy::unwrap_used, reason = "a test may")]

use workingset::analysis::{Analysis, Wanted};
use workingset::uses::{Gatherer, UseCounter};
use workingset::{About, Batch};

const REFERENCES: u64 = 40_000;

/// References to random pages, in batches. Timed ones are 7 to 11 units apart, so that each is listed.
fn batches(pages: u64, timed: bool) -> Vec<Batch> {
    let mut batches = Vec::new();
    for from in (0..REFERENCES).step_by(4000) {
        let mut batch = Batch::default();
        for at in from..from + 4000 {
            let random = workingset::rng::mix(at);
            batch.page.push((random >> 32) % pages);
            if timed {
                batch.time.push(at * 7 + random % 5);
            }
        }
        batches.push(batch);
    }
    batches
}

fn gathered(batches: &[Batch]) -> Gatherer {
    let mut gatherer = Gatherer::default();
    for batch in batches {
        gatherer.push(batch).unwrap();
    }
    gatherer
}

/// The most bytes that an analysis allocates at once on one thread, the uses included.
fn peak(batches: &[Batch]) -> u64 {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let taken = || {
        allocation_counter::measure(|| {
            let uses = gathered(batches).finish(About::default()).unwrap();
            drop(Analysis::of("it", &uses, &Wanted::default()).unwrap());
        })
    };
    one.unwrap().install(taken).bytes_max
}

/// What is told for a trace of nothing: as much as histograms and pictures of a long trace take, and more than those of a short one.
const FIXED: u64 = 24 << 20;

#[test]
fn the_memory_of_an_analysis_is_told_before() {
    for (pages, timed) in [(300, false), (300, true), (10_000, false)] {
        let batches = batches(pages, timed);
        let told = gathered(&batches).analysis_bytes();
        let taken = peak(&batches);
        assert!(
            told >= taken && told <= 2 * taken + FIXED,
            "{pages} pages, timed {timed}: told {told}, taken {taken}"
        );
    }
}

#[test]
fn a_counter_tells_what_a_gatherer_would_without_holding_it() {
    let batches = batches(300, true);
    let (first, rest) = batches.split_at(7);
    let mut counter = UseCounter::of(gathered(first));
    let held = allocation_counter::measure(|| {
        for batch in rest {
            counter.push(batch).unwrap();
        }
    });
    assert_eq!(
        counter.analysis_bytes(),
        gathered(&batches).analysis_bytes()
    );
    assert_eq!(counter.references(), REFERENCES);
    assert_eq!(counter.pages(), 300);
    // A batch's numbers, uses and times. The uses of all take 14 bytes a reference, 560 kB.
    assert!(held.bytes_max < 200_000, "{held:?}");
}
