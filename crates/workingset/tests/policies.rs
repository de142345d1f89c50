//! What holds for every policy, also for those not yet written.

#![allow(clippy::unwrap_used, reason = "a test may")]

use proptest::prelude::*;
use std::collections::BTreeSet;
use workingset::policy::{Choice, Step};
use workingset::{Access, POLICIES, Spec, Trace};

fn named(name: &str) -> &'static Spec {
    Choice::parse(name).expect("a policy").spec
}

fn misses(steps: &[Step]) -> usize {
    steps
        .iter()
        .filter(|step| step.access == Access::Miss)
        .count()
}

/// Few pages often, and some far away.
fn references() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(
        prop_oneof![4 => 0..6_u64, 3 => 0..20_u64, 1 => 1000..1030_u64],
        1..250,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A page is in memory from its miss until the policy evicts it. Memory is never overfilled. No
    /// policy of fixed memory has fewer misses than the optimum. The run counts what the steps
    /// show.
    #[test]
    fn every_policy_keeps_the_rules(pages in references(), wanted in 1..16_usize) {
        let trace = Trace::of(&pages).unwrap();
        let capacity = wanted.min(trace.pages());
        let optimum = misses(&named("opt").steps(&trace, capacity, &named("opt").defaults()).unwrap());
        for spec in POLICIES {
            let mut options = spec.defaults();
            if let Some(name) = spec.fitted {
                options = options.with(name, wanted as f64 * 2.0);
            }
            let steps = spec.steps(&trace, capacity, &options).unwrap();
            let mut set = BTreeSet::new();
            for (at, (step, page)) in steps.iter().zip(trace.refs()).enumerate() {
                // A variable policy evicts before it looks for the page, the others for a free
                // frame.
                if spec.variable {
                    let passing = spec.name == "vmin" && step.evicted.contains(page);
                    let there = set.contains(page) && (passing || !step.evicted.contains(page));
                    prop_assert_eq!(step.access == Access::Hit, there, "{} at {}", spec.name, at);
                    for left in &step.evicted {
                        prop_assert!(set.remove(left) || left == page, "{} at {}", spec.name, at);
                    }
                    if !passing {
                        set.insert(*page);
                    }
                    prop_assert_eq!(step.resident, set.len() + usize::from(passing), "{} at {}", spec.name, at);
                } else {
                    prop_assert_eq!(step.access == Access::Hit, set.contains(page), "{} at {}", spec.name, at);
                    set.insert(*page);
                    step.evicted.iter().for_each(|left| prop_assert_in(set.remove(left), spec, at));
                    prop_assert!(step.resident <= capacity, "{} overfilled", spec.name);
                    prop_assert_eq!(step.resident, set.len(), "{} at {}", spec.name, at);
                }
            }
            let score = spec.run(&trace, capacity, &options).unwrap();
            prop_assert_eq!(score.misses as usize, misses(&steps), "{}", spec.name);
            let mean = steps.iter().map(|step| step.resident).sum::<usize>() as f64 / steps.len() as f64;
            prop_assert!((score.mean_size - mean).abs() < 1e-9, "{}: {} is not {mean}", spec.name, score.mean_size);
            prop_assert!(spec.variable || misses(&steps) >= optimum, "{} beat the optimum", spec.name);
        }
    }

    /// Names of pages mean nothing to a policy.
    #[test]
    fn renaming_pages_changes_nothing(pages in references(), wanted in 1..16_usize) {
        let trace = Trace::of(&pages).unwrap();
        let renamed = Trace::of(&pages.iter().map(|p| p * 77 + 5).collect::<Vec<_>>()).unwrap();
        for spec in POLICIES {
            let options = spec.defaults();
            let capacity = wanted.min(trace.pages());
            prop_assert_eq!(spec.run(&trace, capacity, &options).unwrap(), spec.run(&renamed, capacity, &options).unwrap());
        }
    }

    /// VMIN misses where the working set does, in no more memory; more memory is never worse for
    /// stack algorithms.
    #[test]
    fn laws_between_policies(pages in references(), theta in 1..60_u32) {
        let trace = Trace::of(&pages).unwrap();
        let run = |name: &str, option: &str| {
            let spec = named(name);
            spec.run(&trace, 1, &spec.defaults().with(option, f64::from(theta))).unwrap()
        };
        let ws = run("ws", "theta");
        let vmin = run("vmin", "t");
        prop_assert_eq!(ws.misses, vmin.misses);
        prop_assert!(vmin.mean_size <= ws.mean_size + 1e-9);
        for name in ["lru", "opt"] {
            let spec = named(name);
            let all: Vec<u64> =
                (1..=trace.pages()).map(|c| spec.run(&trace, c, &spec.defaults()).unwrap().misses).collect();
            prop_assert!(all.windows(2).all(|pair| pair[0] >= pair[1]), "{name}: {all:?}");
        }
    }
}

#[track_caller]
fn prop_assert_in(was: bool, spec: &Spec, at: usize) {
    assert!(
        was,
        "{} at {at}: a page was evicted that was not in memory",
        spec.name
    );
}

#[test]
fn beladys_anomaly() {
    let trace = Trace::of(&[1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]).unwrap();
    let fifo = named("fifo");
    let at = |capacity| fifo.run(&trace, capacity, &fifo.defaults()).unwrap().misses;
    assert_eq!((at(3), at(4)), (9, 10));
}

#[test]
fn a_capacity_of_zero_is_refused() {
    let trace = Trace::of(&[1, 2, 3]).unwrap();
    for spec in POLICIES {
        let said = spec.run(&trace, 0, &spec.defaults()).unwrap_err();
        assert!(said.to_string().contains("a page of memory"), "{said}");
    }
}

/// What is more than the footprint is never used, so nothing else can come out.
#[test]
fn a_capacity_above_the_footprint_has_the_footprints_score() {
    let pages: Vec<u64> = (0..3000).map(|at| at * at % 211).collect();
    let trace = Trace::of(&pages).unwrap();
    let most = trace.pages();
    for spec in POLICIES {
        let options = spec.defaults();
        let whole = spec.run(&trace, most, &options).unwrap();
        let scores = spec
            .run_all(&trace, &[most / 2, most, most + 1, 50 * most], &options)
            .unwrap();
        let sizes: Vec<usize> = scores.iter().map(|score| score.capacity).collect();
        assert_eq!(
            sizes,
            [most / 2, most, most + 1, 50 * most],
            "{}",
            spec.name
        );
        assert_eq!(scores[0], spec.run(&trace, most / 2, &options).unwrap());
        for score in &scores[1..] {
            assert_eq!(
                score.misses, whole.misses,
                "{} at {}",
                spec.name, score.capacity
            );
        }
        if !spec.variable {
            assert_eq!(
                whole.misses, most as u64,
                "{}: a page is missed once",
                spec.name
            );
        }
    }
}

#[test]
fn a_fitted_policy_stays_within_its_mean() {
    let mut rng = workingset::rng::Rng::new(1);
    let pages: Vec<u64> = (0..20_000)
        .map(|at| rng.below(40) + at / 4000 * 20)
        .collect();
    let trace = Trace::of(&pages).unwrap();
    for spec in POLICIES.iter().filter(|spec| spec.variable) {
        let score = spec.run(&trace, 20, &spec.defaults()).unwrap();
        assert!(
            score.mean_size <= 20.0 && score.mean_size > 15.0,
            "{}: {score:?}",
            spec.name
        );
    }
}

#[test]
fn write_backs_are_counted_if_operations_are_known() {
    use workingset::{About, Batch, Loader, Op};
    let mut loader = Loader::default();
    let op = vec![Op::STORE, Op::LOAD, Op::LOAD, Op::STORE, Op::LOAD];
    loader
        .push(&Batch {
            page: vec![1, 2, 3, 1, 2],
            op,
            ..Batch::default()
        })
        .unwrap();
    let trace = loader.finish(About::default()).unwrap();
    let lru = named("lru");
    assert_eq!(
        lru.run(&trace, 1, &lru.defaults()).unwrap().writebacks,
        Some(2)
    );
    assert_eq!(
        lru.run(&trace, 3, &lru.defaults()).unwrap().writebacks,
        Some(0)
    );
    let unknown = Trace::of(&[1, 2, 3]).unwrap();
    assert_eq!(
        lru.run(&unknown, 1, &lru.defaults()).unwrap().writebacks,
        None
    );
}
