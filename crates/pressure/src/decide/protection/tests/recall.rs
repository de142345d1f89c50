//! What protected cgroups have in swap is read back.

use super::Bench;
use super::protected::cgroup;
use crate::decide::decide;
use crate::decision::{Action, Reason};
use crate::groups::Protected;
use crate::protect::Why;
use units::{Bytes, Pages};

/// A machine of 1 GiB of which `used` MiB are used, and units with these MiB in swap.
fn bench(used: u64, swapped: &[u64]) -> Bench {
    let mut bench = Bench::new();
    let free = Some(Bytes::mib(1000 - used).to_pages(Bytes::kib(4)));
    bench.sample.zones[0].amounts.min = Some(Pages::new(1000));
    bench.sample.zones[0].amounts.free = free;
    bench.sample.counters.nr_free_pages = free;
    let memory = &mut bench.sample.memory;
    memory.anon = Some(Bytes::mib(used));
    memory.shmem = Some(Bytes::ZERO);
    memory.slab_unreclaimable = Some(Bytes::ZERO);
    memory.active_file = Some(Bytes::ZERO);
    memory.inactive_file = Some(Bytes::ZERO);
    let protected = swapped.iter().zip(5..);
    bench.sample.groups.protected = protected
        .map(|(swapped, id)| Protected {
            swapped: Some(Bytes::mib(*swapped)),
            ..cgroup(id, 20)
        })
        .collect();
    bench
}

/// A second passes, short or calm: which cgroup is read back, and how much.
fn recalled(bench: &mut Bench, stalls: u64) -> Option<(u64, u64)> {
    bench.second(stalls);
    decide(&bench.config, &bench.history)
        .steps
        .iter()
        .find_map(|step| match (step.action, step.why) {
            (Action::Recall { id, amount, .. }, Reason::Protect(Why::InSwap { .. })) => {
                Some((id, amount.get() >> 20))
            }
            _ => None,
        })
}

#[test]
fn swapped_memory_is_read_back_piece_by_piece_once_there_is_headroom() {
    let mut bench = bench(300, &[40, 24]);
    bench.seconds(3, 0);
    assert_eq!(recalled(&mut bench, 1), None, "short");
    let early: Vec<_> = (0..9).filter_map(|_| recalled(&mut bench, 0)).collect();
    assert_eq!(early, [], "it may still be");
    assert_eq!(
        recalled(&mut bench, 0),
        Some((6, 16)),
        "the nearest to the end first"
    );
    bench.sample.groups.protected[1].swapped_before = Some(Bytes::mib(24));
    assert_eq!(
        recalled(&mut bench, 0),
        Some((5, 16)),
        "not twice on one reading"
    );
    bench.sample.groups.protected[1].swapped = Some(Bytes::mib(8));
    assert_eq!(recalled(&mut bench, 0), Some((6, 8)));
    bench.sample.groups.protected[1].swapped = Some(Bytes::kib(900));
    bench.sample.groups.protected[0].swapped_before = Some(Bytes::mib(40));
    assert_eq!(
        recalled(&mut bench, 0),
        None,
        "the rest is nothing, and the other did not come back"
    );
    assert_eq!(recalled(&mut bench, 1), None);
}

#[test]
fn nothing_is_read_back_without_headroom() {
    let mut bench = bench(940, &[40]);
    let calm: Vec<_> = (0..30).filter_map(|_| recalled(&mut bench, 0)).collect();
    assert_eq!(calm, []);
}
