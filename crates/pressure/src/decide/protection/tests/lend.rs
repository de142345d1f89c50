//! A file that refaults late is released before a process is killed; one that refaults soon is not.

use super::{Bench, held, hot};
use crate::config::Share;
use crate::decide::decide;
use crate::decide::guard::tests::machine::process;
use crate::decision::Action;
use crate::protect::{Act, WarmFile, Why};
use std::time::Duration;
use units::{Bytes, Micros, Pages, Percent, Span};

const MACHINE: u64 = 1000;
const HELD: u64 = 200;

/// A machine of which 200 MiB are locked for a file with this refault time, and the rest is free.
fn bench(refault_time: Micros) -> Bench {
    let mut bench = Bench::new();
    bench.sample.zones[0].amounts.min = Some(Pages::new(1000));
    bench.config.protect.budget = Share::Percent(Percent::new(25));
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
    /// The only process has `mib`, what is held stays, and everything else is file cache.
    pub(super) fn has(&mut self, mib: u64) {
        let held = self.sample.warm.files[0].held.unwrap_or_default();
        let memory = &mut self.sample.memory;
        memory.anon = Some(Bytes::mib(mib));
        memory.shmem = Some(Bytes::ZERO);
        memory.slab_unreclaimable = Some(Bytes::ZERO);
        memory.active_file = Some(Bytes::ZERO);
        memory.inactive_file = Some(Bytes::mib(MACHINE).less(Bytes::mib(mib)).less(held));
        self.sample.scan.candidates[0].resident = Bytes::mib(mib);
    }

    /// The process grows to `mib`, and decisions about files are applied. Returns why files were released,
    /// and the number of kills.
    fn grows_to(&mut self, mib: u64) -> (Vec<Why>, usize) {
        let mut released = Vec::new();
        let mut ended = 0;
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
fn a_burst_that_fits_without_lent_memory_is_not_killed_for_it() {
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
fn a_process_that_does_not_fit_beside_a_file_in_use_is_killed() {
    let (released, ended) = bench(Micros::new(400_000)).grows_to(780);
    assert_eq!(released, []);
    assert!(ended > 0);
}

#[test]
fn a_full_machine_releases_although_no_process_grows() {
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
