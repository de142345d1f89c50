//! What reclaim takes first: moved by refaults, put back when there are none.

use super::*;
use crate::sample::{Swap, SwapAmounts, SwapKind};

/// A machine is short of memory for `seconds`; in each tenth of one, `file` and `anon` pages refault.
fn short(bench: &mut Bench, seconds: u64, file: u64, anon: u64) {
    for _ in 0..seconds * 10 {
        bench.tick(Bytes::mib(12), |sample| {
            let counters = &mut sample.counters;
            for (counter, more) in [
                (&mut counters.workingset_refault_file, file),
                (&mut counters.workingset_refault_anon, anon),
            ] {
                *counter = Some(counter.unwrap_or(0) + more);
            }
        });
    }
}

fn bench(ask: fn(&mut Config), swap: SwapKind) -> Bench {
    let mut config = Config::default();
    ask(&mut config);
    let mut bench = Bench::new(config);
    let amounts = SwapAmounts {
        size: Some(Bytes::mib(1024)),
        used: Some(Bytes::mib(100)),
    };
    bench.sample.swaps.push(Swap {
        kind: swap,
        amounts,
    });
    bench
}

fn now(bench: &Bench, knob: Knob) -> u64 {
    bench.sample.knobs.now.of(knob).unwrap()
}

#[test]
fn nothing_moves_unless_it_is_requested() {
    let mut bench = bench(|_| {}, SwapKind::Zram);
    bench.sample.memory_pressure.full_avg10 = Some(units::Percent::new(40));
    short(&mut bench, 60, 90, 0);
    for (knob, found) in [
        (Knob::Swappiness, 60),
        (Knob::PageCluster, 3),
        (Knob::MinTtlMs, 0),
    ] {
        assert_eq!(now(&bench, knob), found, "{knob:?}");
    }
}

#[test]
fn what_is_missed_more_is_taken_less() {
    for (swap, file, anon, then) in [
        (SwapKind::Partition, 90, 10, 100),
        (SwapKind::Zram, 90, 10, 200),
        (SwapKind::Partition, 10, 90, 1),
        // One in eight from memory.
        (SwapKind::Zram, 10, 90, 60),
        (SwapKind::Partition, 50, 60, 60),
        // Too few to say anything.
        (SwapKind::Partition, 2, 0, 60),
    ] {
        let mut bench = bench(|config| config.balance.swappiness = true, swap);
        short(&mut bench, 120, file, anon);
        assert_eq!(
            now(&bench, Knob::Swappiness),
            then,
            "{swap:?} {file} {anon}"
        );
        bench.rest(90);
        assert_eq!(now(&bench, Knob::Swappiness), 60, "as found");
    }
}

#[test]
fn a_value_that_is_set_by_hand_stays() {
    let mut config = Config::default();
    config.balance.swappiness = true;
    config.tunables = vec![Tunable {
        knob: Knob::Swappiness,
        value: 80,
        on: Event::Start,
    }];
    let mut bench = Bench::new(config);
    bench.sample.swaps.push(Swap::default());
    short(&mut bench, 60, 90, 0);
    assert_eq!(now(&bench, Knob::Swappiness), 80);
}

#[test]
fn reading_ahead_goes_with_its_use() {
    let mut bench = bench(
        |config| config.balance.page_cluster = true,
        SwapKind::Partition,
    );
    let read = |bench: &mut Bench, used: u64| {
        for _ in 0..600 {
            // Nothing is read ahead at 0.
            assert!(now(bench, Knob::PageCluster) > 0);
            bench.tick(Bytes::mib(12), |sample| {
                sample.counters.swap_ra = Some(sample.counters.swap_ra.unwrap_or(0) + 100);
                sample.counters.swap_ra_hit = Some(sample.counters.swap_ra_hit.unwrap_or(0) + used);
            });
        }
        now(bench, Knob::PageCluster)
    };
    assert_eq!(read(&mut bench, 20), 1);
    assert_eq!(read(&mut bench, 70), 1);
    assert_eq!(read(&mut bench, 95), 3, "and no further than it was");
}

#[test]
fn the_youngest_pages_are_left_alone_while_all_tasks_wait_without_direct_reclaim() {
    let mut bench = bench(|config| config.balance.min_ttl = true, SwapKind::Partition);
    short(&mut bench, 60, 90, 0);
    assert_eq!(
        now(&bench, Knob::MinTtlMs),
        0,
        "the kernel does not say how long tasks wait"
    );
    bench.sample.memory_pressure.full_avg10 = Some(units::Percent::new(40));
    short(&mut bench, 31, 90, 0);
    let after = now(&bench, Knob::MinTtlMs);
    assert!((500..=700).contains(&after), "{after}");
    short(&mut bench, 60, 90, 0);
    assert_eq!(now(&bench, Knob::MinTtlMs), 1000);
    let stall = |bench: &mut Bench| {
        bench.tick(Bytes::mib(12), |sample| {
            sample.counters.allocstall_normal =
                sample.counters.allocstall_normal.map(|stalls| stalls + 1);
        });
    };
    for _ in 0..10 {
        short(&mut bench, 1, 90, 0);
        stall(&mut bench);
    }
    let halved = now(&bench, Knob::MinTtlMs);
    assert!(halved <= 500, "{halved}: one in a second is enough");
    bench.sample.memory_pressure.full_avg10 = Some(units::Percent::new(1));
    short(&mut bench, 60, 90, 0);
    assert_eq!(now(&bench, Knob::MinTtlMs), 0, "few wait");
}

#[test]
fn min_ttl_is_restored_before_the_kernel_would_oom_kill() {
    let mut bench = bench(|config| config.balance.min_ttl = true, SwapKind::Partition);
    bench.sample.memory_pressure.full_avg10 = Some(units::Percent::new(40));
    short(&mut bench, 60, 90, 0);
    assert_eq!(now(&bench, Knob::MinTtlMs), 1000);
    bench.tick(Bytes::mib(12), |sample| {
        sample.counters.oom_kill = sample.counters.oom_kill.map(|kills| kills + 1);
    });
    assert_eq!(now(&bench, Knob::MinTtlMs), 0, "it has");
    short(&mut bench, 60, 90, 0);
    assert_eq!(now(&bench, Knob::MinTtlMs), 0, "not again soon");
}

#[test]
fn what_is_no_longer_requested_is_as_found() {
    let mut bench = bench(|config| config.balance.swappiness = true, SwapKind::Zram);
    short(&mut bench, 60, 90, 0);
    assert!(now(&bench, Knob::Swappiness) > 100);
    bench.sample.swaps[0].kind = SwapKind::Partition;
    short(&mut bench, 10, 90, 0);
    assert_eq!(
        now(&bench, Knob::Swappiness),
        100,
        "swap is on a device now"
    );
    bench.config.balance.swappiness = false;
    short(&mut bench, 1, 90, 0);
    assert_eq!(now(&bench, Knob::Swappiness), 60);
}

#[test]
fn an_administrators_zero_stays() {
    let mut bench = bench(
        |config| config.balance.swappiness = true,
        SwapKind::Partition,
    );
    for values in [&mut bench.sample.knobs.now, &mut bench.sample.knobs.found] {
        values.put(Knob::Swappiness, Some(0));
    }
    short(&mut bench, 60, 10, 90);
    assert_eq!(now(&bench, Knob::Swappiness), 0);
}
