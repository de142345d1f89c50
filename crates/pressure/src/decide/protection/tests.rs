mod lend;
mod named;
mod protected;
mod recall;
mod used;

use crate::config::Share;
use crate::config::{Config, Mode};
use crate::decide::decide;
use crate::decision::{Action, Reason};
use crate::history::History;
use crate::knob::Knob;
use crate::protect::{Act, FileId, Ranges, WarmFile, Why};
use crate::sample::{Cgroups, Facts, Sample, Swap, SwapAmounts, SwapKind, Zone, ZoneAmounts};
use std::time::Duration;
use units::{Bytes, Micros, Pages, Percent, Span};

/// A machine of 1 GiB that is short of memory all the time.
struct Bench {
    config: Config,
    history: History,
    sample: Sample,
}

impl Bench {
    fn new() -> Self {
        let mut config = Config {
            mode: Mode::Protect,
            ..Config::default()
        };
        config.protect.budget = Share::Percent(Percent::new(20));
        let facts = Facts {
            page_size: Bytes::kib(4),
            kernel: String::new(),
            boot_id: String::new(),
            cpus: 1,
            pmd_order: None,
            cgroups: Cgroups::V2,
            container: None,
            hidepid: false,
        };
        let mut sample = Sample {
            at: Span::secs(100),
            ..Sample::default()
        };
        let managed = Some(Pages::new(262_144));
        let amounts = ZoneAmounts {
            managed,
            free: Some(Pages::new(3000)),
            ..ZoneAmounts::default()
        };
        sample.zones.push(Zone {
            amounts,
            ..Zone::default()
        });
        sample.counters.nr_free_pages = Some(Pages::new(3000));
        sample.counters.allocstall_normal = Some(0);
        sample.counters.workingset_refault_file = Some(0);
        sample.warm.sums.watching = Some(0);
        sample.warm.places_mut();
        let history = History::new(&facts, &config);
        Self {
            config,
            history,
            sample,
        }
    }

    /// A second passes, short or calm; the acts that are decided.
    fn second(&mut self, stalls: u64) -> Vec<(Act, Why)> {
        self.sample.at = Span::new(self.sample.at.get() + Duration::from_secs(1));
        let grow = |counter: &mut Option<u64>, by: u64| *counter = counter.map(|count| count + by);
        grow(&mut self.sample.counters.allocstall_normal, stalls);
        grow(
            &mut self.sample.counters.workingset_refault_file,
            stalls * 1000,
        );
        self.history.push(&self.sample);
        let decision = decide(&self.config, &self.history);
        let acts = decision
            .steps
            .iter()
            .filter_map(|step| match (step.action, step.why) {
                (Action::Protect(act), Reason::Protect(why)) => Some((act, why)),
                _ => None,
            });
        acts.collect()
    }

    /// A second passes; the knobs that are set or put back.
    fn sets(&mut self, stalls: u64) -> Vec<(Knob, u64)> {
        self.second(stalls);
        let decision = decide(&self.config, &self.history);
        let sets = decision.steps.iter().filter_map(|step| match step.action {
            Action::Set { knob, to, .. } | Action::PutBack { knob, to, .. } => Some((knob, to)),
            _ => None,
        });
        sets.collect()
    }

    /// These knobs exist, and the guard has not set them.
    fn finds<const N: usize>(&mut self, knobs: [(Knob, u64); N]) {
        for (knob, found) in knobs {
            self.sample.knobs.now.put(knob, Some(found));
            self.sample.knobs.found.put(knob, Some(found));
        }
    }

    /// The guard has set these.
    fn holds<const N: usize>(&mut self, knobs: [(Knob, u64); N]) {
        for (knob, to) in knobs {
            self.sample.knobs.now.put(knob, Some(to));
            self.sample.knobs.ours.put(knob, Some(to));
        }
    }

    fn short(&mut self) -> Vec<(Act, Why)> {
        self.second(1)
    }

    fn seconds(&mut self, count: u64, stalls: u64) {
        for _ in 0..count {
            self.second(stalls);
        }
    }
}

/// A file of `mib` that refaults as a whole every other second.
fn hot(inode: u64, mib: u64) -> WarmFile {
    let pages = mib * 256;
    let ranges = Ranges::whole(pages);
    WarmFile {
        device: Some(8),
        inode: Some(inode),
        size: Some(Bytes::mib(mib)),
        shift: Some(ranges.shift.into()),
        hot: Some(ranges.segments),
        refaults: Some(pages / 2),
        refault_time: Some(Micros::new(1_500_000)),
        again: Some(Percent::new(95)),
        ..WarmFile::default()
    }
}

fn held(acts: &[(Act, Why)]) -> Vec<u64> {
    let inodes = acts.iter().filter_map(|(act, _)| match act {
        Act::Hold { file, .. } => Some(file.inode),
        _ => None,
    });
    inodes.collect()
}

#[test]
fn it_watches_while_memory_is_short_and_rests_when_it_is_not() {
    let mut bench = Bench::new();
    bench.seconds(3, 0);
    assert_eq!(bench.second(0), [], "nothing is short");
    assert!(matches!(
        bench.short()[..],
        [(Act::Watch, Why::Short { refaults: 1000 })]
    ));
    bench.sample.warm.sums.watching = Some(1);
    assert_eq!(bench.short(), []);
    bench.seconds(58, 0);
    assert_eq!(bench.second(0), [], "59 s");
    assert!(matches!(
        bench.second(0)[..],
        [(Act::Rest, Why::Calm { .. })]
    ));
}

#[test]
fn a_file_that_thrashes_is_held_and_released_when_unused() {
    let mut bench = Bench::new();
    bench.sample.warm.files[3] = hot(7, 100);
    bench.seconds(3, 1);
    let acts = bench.short();
    let file = FileId {
        device: 8,
        inode: 7,
    };
    let amount = Bytes::mib(100);
    assert!(
        acts.contains(&(
            Act::Hold {
                file,
                ranges: Ranges::whole(25_600),
                amount
            },
            Why::Thrashes {
                refaults: 12_800,
                refault_time: Micros::new(1_500_000),
                held: amount,
                budget: Bytes::new(214_748_364)
                    .to_pages(Bytes::kib(4))
                    .to_bytes(Bytes::kib(4))
            }
        ))
    );
    let place = &mut bench.sample.warm.files[3];
    *place = WarmFile {
        asked: place.hot,
        held: Some(amount),
        idle: Some(Micros::new(2_000_000)),
        ..*place
    };
    assert_eq!(held(&bench.short()), [0; 0], "it is held already");
    bench.sample.warm.files[3].idle = Some(Micros::new(61_000_000));
    bench.sample.warm.files[3].refaults = None;
    assert!(matches!(
        bench.short()[..],
        [(Act::Watch, _), (Act::Release { .. }, Why::Idle { .. })]
    ));
}

#[test]
fn streams_and_cold_files_are_not_held() {
    type Case = (&'static str, fn(&mut WarmFile));
    let cases: [Case; 6] = [
        ("most of what comes in is new", |file| {
            file.again = Some(Percent::new(30));
        }),
        ("it refaults too late", |file| {
            file.refault_time = Some(Micros::new(75_000_000));
        }),
        ("it seldom refaults", |file| file.refaults = Some(300)),
        ("hardly any of it refaults", |file| {
            file.refaults = Some(7);
            file.size = Some(Bytes::kib(64));
        }),
        ("it was not found", |file| file.size = None),
        ("nothing is known of its pages", |file| file.hot = None),
    ];
    for (what, change) in cases {
        let mut bench = Bench::new();
        bench.sample.warm.files[0] = hot(1, 100);
        change(&mut bench.sample.warm.files[0]);
        bench.seconds(3, 1);
        assert_eq!(held(&bench.short()), [0; 0], "{what}");
    }
}

#[test]
fn the_densest_are_held_first_and_never_more_than_the_budget() {
    let mut bench = Bench::new();
    for (place, mib) in [(0, 300), (1, 120), (2, 60), (3, 100)] {
        bench.sample.warm.files[place] = hot(place as u64, mib);
    }
    bench.sample.warm.files[3].refaults = Some(40_000);
    bench.seconds(3, 1);
    // 204 MiB: the densest, and what still fits beside it.
    assert_eq!(held(&bench.short()), [3, 2]);
}

#[test]
fn a_stream_that_is_held_in_part_makes_way_for_a_file_that_refaults_much_sooner() {
    let mut bench = Bench::new();
    let stream = WarmFile {
        refault_time: Some(Micros::new(10_300_000)),
        ..hot(1, 190)
    };
    bench.sample.warm.files[0] = WarmFile {
        asked: stream.hot,
        idle: Some(Micros::new(0)),
        ..stream
    };
    bench.sample.warm.files[1] = WarmFile {
        refault_time: Some(Micros::new(5_000_000)),
        ..hot(2, 60)
    };
    bench.seconds(3, 1);
    assert_eq!(
        held(&bench.short()),
        [0; 0],
        "twice as soon is not much sooner"
    );
    bench.sample.warm.files[1].refault_time = Some(Micros::new(206_000));
    let acts = bench.short();
    assert!(
        matches!(acts[..], [.., (Act::Release { file }, Why::Lesser { .. }), (Act::Hold { .. }, _)] if file.inode == 1),
        "{acts:?}"
    );
    assert_eq!(held(&acts), [2]);
}

#[test]
fn of_a_file_that_does_not_fit_most_is_held_or_nothing() {
    for (mib, part) in [(300, Some(204)), (420, None)] {
        let mut bench = Bench::new();
        bench.sample.warm.files[0] = hot(1, mib);
        bench.seconds(3, 1);
        let acts = bench.short();
        let amounts = acts.iter().find_map(|(act, _)| match act {
            Act::Hold { amount, .. } => Some(amount.get() >> 20),
            _ => None,
        });
        let is_near = |amount: u64, part: u64| amount <= part && amount + 8 > part;
        assert_eq!(
            amounts
                .zip(part)
                .map(|(amount, part)| is_near(amount, part)),
            part.map(|_| true),
            "{acts:?}"
        );
    }
}

#[test]
fn a_file_that_refaults_late_is_a_stream_unless_all_of_it_fits() {
    for (mib, refault_time, is_held) in [
        (300, 10_300_000, false),
        (190, 10_300_000, true),
        (300, 1_500_000, true),
    ] {
        let mut bench = Bench::new();
        // The part that a first round has shown.
        let seen = WarmFile {
            hot: Some(Ranges::whole(20 * 256).segments),
            ..hot(1, mib)
        };
        bench.sample.warm.files[0] = WarmFile {
            refault_time: Some(Micros::new(refault_time)),
            refaults: Some(20_000),
            ..seen
        };
        bench.seconds(3, 1);
        assert_eq!(
            !held(&bench.short()).is_empty(),
            is_held,
            "{mib} MiB, refault time {refault_time} µs"
        );
    }
}

#[test]
fn more_of_a_file_that_is_held_costs_only_the_rest() {
    let mut bench = Bench::new();
    bench.sample.warm.files[0] = WarmFile {
        asked: Some(u64::MAX >> 24),
        ..hot(1, 200)
    };
    bench.seconds(3, 1);
    let acts = bench.short();
    assert!(
        matches!(acts[..], [.., (Act::Hold { amount, .. }, _)] if amount == Bytes::mib(200)),
        "{acts:?}"
    );
}

#[test]
fn what_is_held_counts_as_what_it_is_and_not_as_the_segments_it_is_told_in() {
    let mut bench = Bench::new();
    // 100 MiB, told in 50 segments of 4 MiB, each of them half held: as segments they are 200 of a budget of 204.
    bench.sample.warm.files[0] = WarmFile {
        asked: Some(u64::MAX >> 14),
        amount: Some(Bytes::mib(100)),
        held: Some(Bytes::mib(100)),
        idle: Some(Micros::new(0)),
        ..hot(1, 256)
    };
    bench.sample.warm.files[0].refaults = None;
    bench.sample.warm.files[1] = hot(2, 90);
    bench.seconds(3, 1);
    let acts = bench.short();
    assert_eq!(held(&acts), [2], "{acts:?}");
    assert!(
        !acts
            .iter()
            .any(|(act, _)| matches!(act, Act::Release { .. })),
        "{acts:?}"
    );
    // More than the budget is released.
    bench.sample.warm.files[0].amount = Some(Bytes::mib(206));
    assert!(
        bench
            .short()
            .iter()
            .any(|(_, why)| matches!(why, Why::Budget { .. }))
    );
}

#[test]
fn a_part_in_coarser_segments_than_what_is_held_fits_the_budget_as_well() {
    let mut bench = Bench::new();
    // All of it is wanted, in segments of 8 MiB. Of the first one half is held, as two segments of 2 MiB.
    bench.sample.warm.files[0] = WarmFile {
        shift: Some(9),
        hot: Some(u64::MAX),
        asked: Some(0b11),
        amount: Some(Bytes::mib(4)),
        held: Some(Bytes::mib(4)),
        idle: Some(Micros::new(0)),
        ..hot(1, 300)
    };
    bench.seconds(3, 1);
    let acts = bench.short();
    let held = acts.iter().find_map(|(act, why)| match (act, why) {
        (Act::Hold { amount, .. }, Why::Thrashes { held, budget, .. }) => {
            Some((*amount, *held, *budget))
        }
        _ => None,
    });
    let (amount, held, budget) = held.unwrap();
    assert!(amount > Bytes::mib(190), "{amount}");
    assert!(held <= budget, "{held} of {budget}");
}

#[test]
fn it_looks_often_while_a_file_may_be_held_and_not_after() {
    let mut bench = Bench::new();
    bench.sample.warm.sums.watching = Some(1);
    bench.seconds(3, 1);
    let patience = |bench: &Bench| decide(&bench.config, &bench.history).patience();
    assert!(patience(&bench) <= Duration::from_millis(400));
    bench.sample.warm.files[0] = WarmFile {
        asked: Some(1),
        amount: Some(Bytes::mib(204)),
        idle: Some(Micros::new(0)),
        ..hot(1, 256)
    };
    bench.seconds(1, 1);
    assert!(
        patience(&bench) > Duration::from_millis(400),
        "there is no room for more"
    );
    bench.sample.warm.files[0] = WarmFile::EMPTY;
    bench.seconds(4, 0);
    assert!(patience(&bench) <= Duration::from_millis(400));
    bench.seconds(30, 0);
    assert!(patience(&bench) >= Duration::from_secs(1));
}

#[test]
fn programs_come_first_and_go_in_a_calm() {
    let mut bench = Bench::new();
    bench.sample.warm.files[0] = hot(1, 190);
    bench.sample.warm.files[1] = WarmFile {
        program: Some(1),
        refaults: None,
        refault_time: None,
        again: None,
        ..hot(2, 30)
    };
    bench.seconds(3, 1);
    assert_eq!(
        held(&bench.short()),
        [2, 1],
        "and most of what does not fit beside it"
    );
    bench.sample.warm.files[1].asked = bench.sample.warm.files[1].hot;
    bench.sample.warm.files[1].idle = Some(Micros::new(70_000_000));
    bench.seconds(30, 0);
    assert_eq!(bench.second(0), [], "it may be needed at any moment");
    bench.seconds(40, 0);
    assert!(matches!(
        bench.second(0)[..],
        [(Act::Release { .. }, Why::Calm { .. })]
    ));
}

#[test]
fn everything_is_released_when_it_is_switched_off() {
    let off: [fn(&mut Bench); 3] = [
        |bench| bench.config.mode = Mode::Guard,
        |bench| bench.config.mode = Mode::Tune,
        |bench| bench.sample.circumstances.disabled = Some(1),
    ];
    for change in off {
        let mut bench = Bench::new();
        let file = hot(1, 100);
        bench.sample.warm.files[0] = WarmFile {
            asked: file.hot,
            ..file
        };
        bench.sample.warm.sums.watching = Some(1);
        bench.seconds(3, 1);
        change(&mut bench);
        let acts = bench.short();
        assert!(
            matches!(
                acts[..],
                [(Act::Release { .. }, Why::Off), (Act::Rest, Why::Off)]
            ),
            "{acts:?}"
        );
    }
}

#[test]
fn a_smaller_machine_holds_less() {
    let mut bench = Bench::new();
    for place in 0..2 {
        let file = hot(place as u64, 100);
        bench.sample.warm.files[place] = WarmFile {
            asked: file.hot,
            idle: Some(Micros::new(0)),
            ..file
        };
    }
    bench.seconds(3, 1);
    assert_eq!(held(&bench.short()), [0; 0]);
    bench.sample.zones[0].amounts.managed = Some(Pages::new(160_000));
    let acts = bench.short();
    assert!(
        acts.iter()
            .any(|(act, why)| matches!((act, why), (Act::Release { .. }, Why::Budget { .. }))),
        "{acts:?}"
    );
}

#[test]
fn a_floor_under_anonymous_memory_covers_what_refaults() {
    let mut bench = Bench::new();
    bench.finds([
        (Knob::WorkingsetProtection, 1),
        (Knob::CleanMinRatio, 15),
        (Knob::AnonMinRatio, 15),
    ]);
    bench.sample.memory.active_anon = Some(Bytes::mib(205));
    bench.sample.swaps.push(Swap {
        kind: SwapKind::Partition,
        amounts: SwapAmounts::default(),
    });
    bench.sample.counters.workingset_refault_anon = Some(0);
    bench.seconds(3, 1);
    assert_eq!(bench.sets(1), [], "none of it refaults");
    let anon = |bench: &mut Bench| {
        bench.sample.counters.workingset_refault_anon = bench
            .sample
            .counters
            .workingset_refault_anon
            .map(|count| count + 2000);
        bench.sets(1)
    };
    let first = (0..5)
        .map(|_| anon(&mut bench))
        .find(|sets| !sets.is_empty());
    assert_eq!(
        first,
        Some(vec![(Knob::AnonMinRatio, 21)]),
        "a fifth of 1 GiB"
    );
    bench.holds([(Knob::AnonMinRatio, 21)]);
    bench.sample.memory.active_anon = Some(Bytes::mib(600));
    assert_eq!(
        anon(&mut bench),
        [(Knob::AnonMinRatio, 25)],
        "never more than a quarter"
    );
    bench.seconds(62, 0);
    assert_eq!(bench.sets(0), [(Knob::AnonMinRatio, 15)], "as found");
}

#[test]
fn a_kernel_with_a_floor_has_it_made_to_measure_and_put_back() {
    let mut bench = Bench::new();
    bench.finds([
        (Knob::WorkingsetProtection, 0),
        (Knob::CleanLowRatio, 0),
        (Knob::CleanMinRatio, 15),
    ]);
    bench.seconds(3, 1);
    assert_eq!(bench.sets(1), [], "nothing thrashes");
    bench.sample.warm.files[0] = hot(1, 50);
    let expected = [
        (Knob::CleanMinRatio, 5),
        (Knob::CleanLowRatio, 6),
        (Knob::WorkingsetProtection, 1),
    ];
    assert_eq!(bench.sets(1), expected);
    bench.holds(expected);
    assert_eq!(bench.sets(1), [], "as it is");
    bench.sample.warm.files[0] = WarmFile::default();
    bench.seconds(58, 0);
    assert_eq!(bench.sets(0), []);
    let found = [
        (Knob::WorkingsetProtection, 0),
        (Knob::CleanMinRatio, 15),
        (Knob::CleanLowRatio, 0),
    ];
    assert_eq!(bench.sets(0), found);
}
