//! What comes back late is let go before anyone ends; what comes back soon is not.

use super::{Bench, held, hot};
use crate::decide::decide;
use crate::decide::runaway::tests::machine::process;
use crate::decision::Action;
use crate::protect::{Act, WarmFile, Why};
use std::time::Duration;
use units::{Bytes, Micros, Pages, Percent, Span};

const MACHINE: u64 = 1000;
const HELD: u64 = 200;

/// A machine of which 200 MiB are locked for a file that comes back so late, and the rest is free.
fn bench(refault_time: Micros) -> Bench {
    let mut bench = Bench::new();
    bench.sample.zones[0].amounts.min = Some(Pages::new(1000));
    bench.config.protect.budget = Percent::new(25);
    let file = WarmFile {
        refault_time: Some(refault_time),
        idle: Some(Micros::new(0)),
        ..hot(1, HELD)
    };
    bench.sample.warm.files[0] = WarmFile {
        asked: file.hot,
        held: Some(Bytes::mib(HELD)),
        ..file
    };
    bench
        .sample
        .scan
        .candidates
        .push(process(100, "burst", 300, 0).candidate);
    bench.has(300);
    bench.seconds(3, 0);
    bench
}

impl Bench {
    /// The one process has so much, what is held stays, and everything else is file cache.
    pub(super) fn has(&mut self, mib: u64) {
        let held = self.sample.warm.files[0].held.unwrap_or_default();
        let memory = &mut self.sample.memory;
        memory.anon = Some(Bytes::mib(mib));
        (memory.shmem, memory.slab_unreclaimable, memory.active_file) =
            (Some(Bytes::ZERO), Some(Bytes::ZERO), Some(Bytes::ZERO));
        memory.inactive_file = Some(Bytes::mib(MACHINE).less(Bytes::mib(mib)).less(held));
        self.sample.scan.candidates[0].resident = Bytes::mib(mib);
    }

    /// It grows to so much, and what is decided about files is done: what was let go, and who was ended.
    fn grows_to(&mut self, mib: u64) -> (Vec<Why>, usize) {
        let (mut released, mut ended) = (Vec::new(), 0);
        for now in (300..=mib).step_by(60) {
            self.has(now);
            self.sample.scan.at = Span::new(self.sample.at.get() + Duration::from_secs(1));
            for (act, why) in self.second(1) {
                if matches!(act, Act::Release { .. }) {
                    released.push(why);
                    self.sample.warm.files[0] = hot(1, HELD);
                    self.sample.warm.files[0].refault_time = Some(Micros::new(9_000_000));
                }
            }
            let steps = decide(&self.config, &self.history).steps;
            ended += steps
                .iter()
                .filter(|step| matches!(step.action, Action::Kill { .. }))
                .count();
        }
        (released, ended)
    }
}

#[test]
fn a_burst_that_fits_without_what_is_lent_is_not_ended_for_it() {
    let mut bench = bench(Micros::new(9_000_000));
    let (released, ended) = bench.grows_to(720);
    assert!(
        matches!(
            released[..],
            [Why::Needed {
                refault_time: Some(_),
                ..
            }]
        ),
        "{released:?}"
    );
    assert_eq!(ended, 0);
    bench.has(300);
    assert_eq!(held(&bench.short()), [0; 0], "not at once again");
    bench.seconds(50, 1);
    assert_eq!(held(&bench.short()), [0; 0]);
    bench.seconds(15, 1);
    assert_eq!(held(&bench.short()), [1], "a minute later");
}

#[test]
fn who_does_not_fit_beside_what_is_in_use_is_ended() {
    let (released, ended) = bench(Micros::new(400_000)).grows_to(780);
    assert_eq!(released, []);
    assert!(ended > 0);
}

#[test]
fn a_machine_that_is_full_lets_go_although_nobody_grows() {
    let mut bench = bench(Micros::new(9_000_000));
    bench.has(790);
    bench.seconds(20, 0);
    let acts = bench.short();
    assert!(
        acts.iter()
            .any(|(_, why)| matches!(why, Why::Needed { .. })),
        "{acts:?}"
    );
}
