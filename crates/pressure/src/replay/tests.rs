use super::reservoir::{Flow, Kswapd, Reservoir};
use super::*;
use crate::config::Config;
use crate::decide;
use crate::history::History;
use crate::knob::Knob;
use crate::recording::tests::facts;
use crate::recording::{Entry, Header, Shape, decode};
use crate::sample::{Sample, ZoneKind};
use crate::watermark::{self, Marks};
use proptest::prelude::*;
use units::{Bytes, Pages, Span};

const PAGE: Bytes = Bytes::kib(4);

/// A real machine would do the same: 1 GiB, `min_free_kbytes` 45056, one zone.
fn machine() -> Sample {
    let mut sample = Shape {
        zones: vec![(0, ZoneKind::Normal)],
        ..Shape::default()
    }
    .unknown();
    sample.zones[0].amounts.managed = Some(Pages::new(247_768));
    sample.knobs.now.put(Knob::MinFreeKbytes, Some(45_056));
    sample.counters.nr_inactive_file = Some(Pages::new(100_000));
    sample.counters.nr_active_file = Some(Pages::new(50_000));
    sample.memory.kernel_reclaimable = Some(Bytes::mib(20));
    sample.memory.available = Some(Bytes::mib(700));
    sample.memory.total = Some(Pages::new(247_768).to_bytes(PAGE));
    sample
}

fn with_factor(mut sample: Sample, factor: u64) -> Sample {
    let marks = watermark::total(&sample, PAGE, factor).unwrap();
    let zone = &mut sample.zones[0].amounts;
    zone.min = Some(marks.min);
    zone.low = Some(marks.low);
    zone.high = Some(marks.high);
    sample
        .knobs
        .now
        .put(Knob::WatermarkScaleFactor, Some(factor));
    sample
}

fn header() -> Entry {
    let facts = facts();
    let config = Config::default();
    let state = Some(History::new(&facts, &config));
    let shape = Shape::of(&machine());
    Entry::Header(Box::new(Header {
        facts,
        config: Some(config),
        state,
        shape,
        notes: Vec::new(),
    }))
}

/// A machine lived through in steps of 10 ms, recorded every 100 ms: `demand` pages in each tick.
fn lived(demand: impl IntoIterator<Item = i64>, factor: impl Fn(usize) -> u64) -> Vec<Entry> {
    let mut free = 20_000_i64;
    let mut by_kswapd = 0_u64;
    let mut direct = 0_u64;
    let mut stalls = 0_u64;
    let mut runs = false;
    let mut entries = vec![header()];
    for (tick, demand) in demand.into_iter().enumerate() {
        let marks = watermark::total(&machine(), PAGE, factor(tick)).unwrap();
        let [min, low, high] =
            [marks.min, marks.low, marks.high].map(|mark| i64::try_from(mark.get()).unwrap());
        for step in 0..10 {
            free -= demand * (step + 1) / 10 - demand * step / 10;
            runs |= free < low;
            let freed = if runs {
                200.min((high - free).max(0))
            } else {
                0
            };
            free += freed;
            runs &= free < high;
            by_kswapd += freed as u64;
            let short = (min - free).max(0);
            free += short;
            direct += short as u64;
            stalls += (short as u64).div_ceil(32);
        }
        let mut sample = with_factor(machine(), factor(tick));
        sample.at = Span::millis(100 * (tick as u64 + 1));
        sample.zones[0].amounts.free = Some(Pages::new(free as u64));
        sample.counters.nr_free_pages = Some(Pages::new(free as u64));
        sample.memory.free = Some(Pages::new(free as u64).to_bytes(PAGE));
        sample.counters.pgsteal_kswapd = Some(by_kswapd);
        sample.counters.pgsteal_direct = Some(direct);
        sample.counters.allocstall_normal = Some(stalls);
        entries.push(Entry::Sample(Box::new(sample)));
    }
    entries
}

/// A steady 1000 pages in each 100 ms, and 12000 pages within 300 ms once in every five seconds. Bursts
/// come at different distances, as each finds kswapd at another place of its cycle.
fn bursts(ticks: i64) -> Vec<Entry> {
    let is_burst = |tick: i64| {
        let start = 14 + (tick / 50) * 37 % 31;
        (start..start + 3).contains(&(tick % 50))
    };
    lived(
        (0..ticks).map(|tick| if is_burst(tick) { 4000 } else { 1000 }),
        |_| 10,
    )
}

fn outcomes(entries: &[Entry], arms: &[Arm]) -> Vec<Outcome> {
    compare(entries, &Plan::of(arms)).unwrap().arms
}

#[test]
fn a_burst_is_worked_out_by_hand() {
    let marks = Marks {
        min: Pages::new(100),
        low: Pages::new(200),
        high: Pages::new(300),
    };
    let kswapd = Kswapd {
        rate: 1000,
        response: Duration::from_millis(50),
    };
    let mut reservoir = Reservoir::holding(Pages::new(250));
    // 25 pages in each step of 10 ms. The third leaves 175 and wakes kswapd, which frees 10 in a step from
    // the eighth on. The sixth leaves 100; in the next four the allocations find 25, 15, 15 and 15.
    let flow = reservoir.flow(marks, kswapd, (250, Duration::from_millis(100)));
    let expected = Flow {
        stalled: Pages::new(70),
        stalled_time: Duration::from_millis(40),
        stalls: Some((Duration::from_millis(60), Duration::from_millis(100))),
        reclaimed: Pages::new(30),
    };
    assert_eq!(flow, expected);
    assert_eq!(reservoir.free(), Pages::new(100));
    // Quiet: kswapd runs up to high and sleeps, and sleeps on while free is above low.
    let flow = reservoir.flow(marks, kswapd, (0, Duration::from_secs(1)));
    assert_eq!(
        (flow.reclaimed, flow.stalled, reservoir.free()),
        (Pages::new(200), Pages::ZERO, Pages::new(300))
    );
    let flow = reservoir.flow(marks, kswapd, (90, Duration::from_secs(1)));
    assert_eq!(
        (flow.reclaimed, reservoir.free()),
        (Pages::ZERO, Pages::new(210))
    );
}

#[test]
fn the_model_stalls_as_the_machine_did() {
    // That machine's kswapd is at work within a step.
    let plan = Plan {
        response: Duration::from_millis(10),
        ..Plan::of(&[Arm::Recorded])
    };
    let comparison = compare(&bursts(2400), &plan).unwrap();
    let recorded = comparison.recorded;
    let modelled = &comparison.arms[0];
    assert_eq!((recorded.episodes, modelled.episodes), (48, 48));
    let ratio = modelled.stalled.get() as f64 / recorded.stalled.get() as f64;
    assert!((0.5..2.0).contains(&ratio), "{modelled:?} {recorded:?}");
    assert_eq!(comparison.bursts, 48);
    assert!(!comparison.reclaim_assumed);
}

#[test]
fn a_gap_that_holds_the_burst_prevents_the_stalls_and_has_its_price() {
    let [none, narrow, wide] = &outcomes(
        &bursts(600),
        &[Arm::Nothing, Arm::Static(10), Arm::Static(1000)],
    )[..] else {
        panic!()
    };
    assert_eq!(
        Outcome {
            arm: none.arm.clone(),
            ..narrow.clone()
        },
        *none
    );
    assert!(
        none.episodes == 12 && none.bursts_met == 0 && none.lead.is_none() && none.writes == 0,
        "{none:?}"
    );
    assert!(
        wide.episodes == 0 && wide.stalled == Bytes::ZERO,
        "{wide:?}"
    );
    assert_eq!(
        (wide.bursts_met, wide.writes, wide.raises, wide.mean_factor),
        (12, 1, 1, 1000.0)
    );
    let gap = |factor| watermark::gap(&machine(), PAGE, factor).unwrap();
    assert_eq!(
        wide.gap_seconds,
        gap(1000).less(gap(10)).scaled(599, 10).get()
    );
    assert_eq!(none.gap_seconds, 0);
}

/// The gap is raised at 2 s for a burst that comes at 4 s, put back at 6 s, and raised for nothing at 20 s.
#[test]
fn lead_time_and_false_alarms_are_those_of_the_story() {
    let demand = (0..400).map(|tick| if (41..44).contains(&tick) { 4000 } else { 0 });
    let entries = lived(demand, |tick| {
        if (19..59).contains(&tick) || tick >= 199 {
            1000
        } else {
            10
        }
    });
    let [recorded, none] = &outcomes(&entries, &[Arm::Recorded, Arm::Nothing])[..] else {
        panic!()
    };
    assert_eq!(
        (recorded.bursts_met, recorded.lead),
        (1, Some(Span::millis(2100)))
    );
    assert_eq!(
        (recorded.raises, recorded.false_alarms, recorded.writes),
        (2, 1, 3)
    );
    assert_eq!((none.bursts_met, none.raises, none.false_alarms), (0, 0, 0));
}

#[test]
fn arms_that_decide_run_and_repeat_themselves() {
    let entries = bursts(300);
    let arms = [Arm::Warmset, Arm::Classic];
    let first = outcomes(&entries, &arms);
    assert_eq!(first, outcomes(&entries, &arms));
    assert_eq!(
        first
            .iter()
            .map(|outcome| outcome.arm.as_str())
            .collect::<Vec<_>>(),
        ["warmset", "classic"]
    );
}

/// Decides over `samples` as the daemon would, and records it.
fn decided(samples: Vec<Entry>, config: &Config) -> Vec<Entry> {
    let mut history = History::new(&facts(), config);
    samples.into_iter().fold(Vec::new(), |mut entries, entry| {
        let decision = if let Entry::Sample(sample) = &entry {
            history.push(sample);
            Some(Entry::Decision(Box::new(decide(config, &history))))
        } else {
            None
        };
        entries.push(entry);
        entries.extend(decision);
        entries
    })
}

#[test]
fn deciding_again_gives_the_same_and_from_the_middle_too() {
    let config = Config::default();
    let mut entries = decided(bursts(300), &config);
    let again = decide_again(&entries, None).unwrap();
    assert_eq!(
        (again.samples, again.decisions, again.differing.len()),
        (300, 300, 0)
    );
    // A later file opens with the state so far.
    let mut state = History::new(&facts(), &config);
    let samples = entries[..301].iter().filter_map(|entry| {
        if let Entry::Sample(s) = entry {
            Some(s)
        } else {
            None
        }
    });
    samples.for_each(|sample| state.push(sample));
    let Entry::Header(mut opening) = header() else {
        unreachable!()
    };
    opening.state = Some(state);
    entries.splice(..301, [Entry::Header(opening)]);
    let again = decide_again(&entries, None).unwrap();
    assert_eq!(
        (again.samples, again.differing.len(), again.without_state),
        (150, 0, 0)
    );
}

#[test]
fn a_recording_that_is_written_anew_verifies_and_has_the_same_samples() {
    let mut entries = decided(bursts(200), &Config::default());
    for entry in &mut entries {
        if let Entry::Decision(decision) = entry {
            decision.patience = Span::secs(12_345);
        }
    }
    // A second file of the same run without its state, and samples that are missing.
    let Entry::Header(mut second) = header() else {
        unreachable!()
    };
    second.state = None;
    entries.insert(201, Entry::Header(second));
    entries.insert(300, Entry::Lost(7));
    let text = rewrite(&entries).unwrap();
    let anew: Vec<Entry> = decode(&text).map(Result::unwrap).collect();
    let samples = |entries: &[Entry]| -> Vec<Sample> {
        let mut samples = Vec::new();
        for entry in entries {
            if let Entry::Sample(sample) = entry {
                samples.push((**sample).clone());
            }
        }
        samples
    };
    assert!(samples(&anew) == samples(&entries));
    let again = decide_again(&anew, None).unwrap();
    assert_eq!(again.decisions, 200);
    assert_eq!(again.differing.len(), 0);
    assert_eq!(again.without_state, 0);
    assert_eq!(again.lost, 7);
    assert_eq!(
        rewrite(&anew).unwrap(),
        text,
        "there is nothing left to change"
    );
    assert_eq!(rewrite(&[header()]), Err(ReplayError::TooShort));
}

#[test]
fn a_decision_that_was_not_ours_is_found() {
    let mut entries = decided(bursts(60), &Config::default());
    let Entry::Decision(decision) = &mut entries[10] else {
        panic!()
    };
    decision.patience = Span::secs(12_345);
    let again = decide_again(&entries, None).unwrap();
    assert_eq!(again.differing.len(), 1);
    assert_eq!(again.differing[0].at, Span::millis(500));
    assert_eq!(again.differing[0].recorded.patience, Span::secs(12_345));
}

#[test]
fn what_cannot_be_replayed_says_why() {
    let arms = Plan::of(&[Arm::Nothing]);
    assert_eq!(compare(&[], &arms), Err(ReplayError::TooShort));
    assert_eq!(compare(&bursts(1), &arms), Err(ReplayError::TooShort));
    assert_eq!(decide_again(&[header()], None), Err(ReplayError::TooShort));
    let mut entries = bursts(10);
    for entry in &mut entries {
        if let Entry::Sample(sample) = entry {
            sample.zones[0].amounts.managed = None;
        }
    }
    assert!(
        matches!(compare(&entries, &arms), Err(ReplayError::Unknown(what)) if what.contains("min_free_kbytes"))
    );
    let mut entries = bursts(10);
    let Entry::Header(header) = &mut entries[0] else {
        panic!()
    };
    header.config = None;
    assert_eq!(
        compare(&entries, &Plan::of(&[Arm::Warmset])),
        Err(ReplayError::NoConfig)
    );
    assert_eq!(decide_again(&entries, None), Err(ReplayError::NoConfig));
}

/// A reboot between two files: the counters start again, and the machine of the second is another.
#[test]
fn a_counter_that_went_back_is_no_demand() {
    let mut entries = bursts(100);
    let second: Vec<Entry> = bursts(100).split_off(1);
    entries.extend(second);
    let comparison = compare(&entries, &Plan::of(&[Arm::Recorded])).unwrap();
    assert_eq!(comparison.time, Span::millis(2 * 9900));
    assert_eq!(comparison.samples, 200);
    let once = compare(&bursts(100), &Plan::of(&[Arm::Recorded])).unwrap();
    assert!(
        comparison.arms[0]
            .stalled
            .get()
            .abs_diff(2 * once.arms[0].stalled.get())
            < 1 << 20
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Only of gaps far enough apart: kswapd sleeps at high, so a gap a little wider may happen to be
    /// nearer its low mark when the burst comes. Where the wider low is above the narrower high by what
    /// kswapd frees while it wakes, the wider is ahead at all times.
    #[test]
    fn a_gap_twice_as_wide_never_stalls_more_and_never_costs_less(
        demand in prop::collection::vec(prop_oneof![-500..2500_i64, 3000..9000_i64], 20..200),
        factor in 10..800_u64,
    ) {
        let entries = lived(demand, |_| 10);
        let rate = compare(&entries, &Plan::of(&[])).unwrap().reclaim;
        let margin = rate.during(2 * RESPONSE);
        let machine = machine();
        let gap = |factor| watermark::gap(&machine, PAGE, factor).unwrap();
        let wider = watermark::factor_for(&machine, PAGE, gap(factor) + gap(factor) + margin).unwrap();
        prop_assume!(gap(wider) >= gap(factor) + gap(factor) + margin);
        let both = outcomes(&entries, &[Arm::Static(factor), Arm::Static(wider)]);
        prop_assert!(both[1].stalled <= both[0].stalled, "{both:?}");
        prop_assert!(both[1].stalled_time <= both[0].stalled_time, "{both:?}");
        prop_assert!(both[1].gap_seconds >= both[0].gap_seconds, "{both:?}");
    }
}
