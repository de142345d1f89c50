//! The memory of each policy beside the trace: at most 32 bytes for each different page, at any
//! capacity. So it is for the measures at every window and every size.
#![allow(clippy::unwrap_used, reason = "a test may")]

use workingset::measure::{Intervals, MissCurve};
use workingset::{POLICIES, Trace};

/// The most bytes that `run` has allocated at once.
fn peak(run: impl FnOnce()) -> u64 {
    allocation_counter::measure(run).bytes_max
}

#[test]
fn a_page_costs_no_policy_more_than_32_bytes() {
    let pages = 3000;
    let refs: Vec<u64> = (0..3 * pages)
        .map(|at| workingset::rng::mix(at) % pages)
        .chain(0..pages)
        .collect();
    let trace = Trace::of(&refs).unwrap();
    assert_eq!(trace.pages() as u64, pages);
    // OPT and VMIN look at the next use of each reference: 4 bytes each, kept once, with the trace.
    trace.next_uses();
    let mut above = Vec::new();
    for spec in POLICIES {
        for capacity in [pages as usize / 50, pages as usize] {
            let bytes = peak(|| drop(spec.run(&trace, capacity, &spec.defaults()).unwrap()));
            let each = bytes as f64 / pages as f64;
            if each > 32.5 {
                above.push(format!(
                    "{} with {capacity} pages of memory: {each:.1} B for each page",
                    spec.name
                ));
            }
        }
    }
    assert!(above.is_empty(), "{above:#?}");
    let bins = 400 << 10;
    let intervals =
        peak(|| drop(Intervals::of(&trace, false))).saturating_sub(bins) as f64 / pages as f64;
    assert!(
        intervals <= 32.5,
        "intervals: {intervals:.1} B for each page"
    );
    let line = 4 << 10;
    let curve = peak(|| drop(MissCurve::of(&trace))).saturating_sub(line) as f64 / pages as f64;
    assert!(curve <= 24.5, "curve: {curve:.1} B for each page");
}
