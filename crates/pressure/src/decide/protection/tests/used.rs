//! Files in use are held before they are lost, once a process is about to fill memory.

use super::{Bench, held};
use crate::decide::guard::tests::machine::process;
use crate::protect::{Act, Ranges, WarmFile, Why};
use units::{Bytes, Micros, Pages};

/// A file of `mib` that is read from memory as a whole every other second.
fn used(inode: u64, mib: u64) -> WarmFile {
    let ranges = Ranges::whole(mib * 256);
    WarmFile {
        device: Some(8),
        inode: Some(inode),
        size: Some(Bytes::mib(mib)),
        shift: Some(ranges.shift.into()),
        uses: Some(mib * 128),
        every: Some(Micros::new(2_000_000)),
        used: Some(ranges.segments),
        ..WarmFile::default()
    }
}

/// A machine of 1000 MiB, 300 of them a process's, beside that file.
fn bench(file: WarmFile) -> Bench {
    let mut bench = Bench::new();
    bench.sample.zones[0].amounts.min = Some(Pages::new(1000));
    bench.sample.warm.files[0] = file;
    bench
        .sample
        .scan
        .candidates
        .push(process(100, "hog", 300, 0).candidate);
    bench.has(300);
    bench.seconds(8, 0);
    bench
}

/// The process grows by 40 MiB a second; what is decided about files.
fn grows(bench: &mut Bench) -> Vec<(Act, Why)> {
    let acts = (340..=900).step_by(40).flat_map(|mib| {
        bench.has(mib);
        bench.second(0)
    });
    acts.collect()
}

#[test]
fn a_file_in_use_is_held_once_memory_is_about_to_run_out_and_nothing_is_lost_yet() {
    let mut bench = bench(used(1, 100));
    assert_eq!(held(&bench.second(0)), [0; 0], "there is headroom");
    let acts = grows(&mut bench);
    assert!(
        matches!(acts[0], (Act::Watch, Why::Filling { .. })),
        "{acts:?}"
    );
    let hold = acts
        .iter()
        .find(|(act, _)| matches!(act, Act::Hold { .. }))
        .unwrap();
    assert!(
        matches!(hold.1, Why::InUse { uses: 12_800, held, .. } if held == Bytes::mib(100)),
        "{hold:?}"
    );
    assert!(
        acts.iter().all(|(act, _)| *act != Act::Rest),
        "it is no time to rest"
    );
    let file = &mut bench.sample.warm.files[0];
    file.asked = file.used;
    file.held = Some(Bytes::mib(100));
    bench.sample.warm.sums.watching = Some(1);
    bench.has(300);
    bench.seconds(50, 0);
    assert_eq!(
        bench.second(0),
        [],
        "nothing was reclaimed, and yet memory was short"
    );
    bench.seconds(8, 0);
    assert!(matches!(
        bench.second(0)[..],
        [(Act::Rest, _), (Act::Release { .. }, Why::Calm { .. })]
    ));
}

#[test]
fn of_a_file_of_which_a_part_is_in_use_nothing_else_is_held() {
    let file = used(1, 100);
    let part = Ranges {
        segments: 0xffff,
        ..file.used_ranges()
    };
    let acts = grows(&mut bench(WarmFile {
        used: Some(part.segments),
        ..file
    }));
    let ranges = acts.iter().find_map(|(act, _)| match act {
        Act::Hold { ranges, .. } => Some(*ranges),
        _ => None,
    });
    assert_eq!(ranges, Some(part));
}

#[test]
fn files_that_are_seldom_used_or_not_reported_are_not_held() {
    type Case = (&'static str, fn(&mut WarmFile));
    let cases: [Case; 4] = [
        ("a stream comes round", |file| {
            file.every = Some(Micros::new(11_000_000));
        }),
        ("next to nothing is used", |file| file.uses = Some(7)),
        ("it was not found", |file| file.size = None),
        ("the kernel does not tell", |file| {
            file.uses = None;
            file.every = None;
            file.used = None;
        }),
    ];
    for (what, change) in cases {
        let mut file = used(1, 100);
        change(&mut file);
        assert_eq!(held(&grows(&mut bench(file))), [0; 0], "{what}");
    }
}

#[test]
fn what_is_held_for_its_use_is_not_lent() {
    let file = WarmFile {
        asked: Some(1),
        ..used(1, 100)
    };
    assert!(!file.is_lent());
    assert!(
        WarmFile {
            every: Some(Micros::new(11_000_000)),
            ..file
        }
        .is_lent()
    );
    assert!(
        WarmFile {
            every: None,
            ..file
        }
        .is_lent(),
        "it is unknown when"
    );
}

#[test]
fn named_files_are_not_read_in_while_memory_runs_out() {
    let mut bench = bench(used(1, 100));
    grows(&mut bench);
    bench.has(940);
    bench.sample.warm.sums.named = Some(Bytes::mib(30));
    let orders = |acts: Vec<(Act, Why)>| {
        let of_named = |(act, _): &&(Act, Why)| matches!(act, Act::HoldNamed { .. });
        acts.iter().filter(of_named).count()
    };
    assert_eq!(orders(bench.second(0)), 0);
    bench.has(300);
    let later: usize = (0..8).map(|_| orders(bench.second(0))).sum();
    assert!(later > 0, "once there is headroom");
}
