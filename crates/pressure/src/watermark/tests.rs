use super::*;
use crate::sample::{ZoneAmounts, ZoneKind};
use proptest::prelude::*;

const PAGE: Bytes = Bytes::kib(4);

fn machine(min_free_kbytes: u64, zones: &[(ZoneKind, u64)]) -> Sample {
    let mut sample = Sample::default();
    sample
        .knobs
        .now
        .put(Knob::MinFreeKbytes, Some(min_free_kbytes));
    sample
        .zones
        .extend(zones.iter().map(|&(kind, managed)| Zone {
            kind,
            amounts: ZoneAmounts {
                managed: Some(Pages::new(managed)),
                ..ZoneAmounts::default()
            },
            ..Zone::default()
        }));
    sample
}

/// A machine of `gib` GiB with 3 % taken by the kernel, as in the table of the design study.
fn sized(gib: u64, min_free_kbytes: u64) -> Sample {
    let managed = (gib << 18) * 97 / 100;
    machine(
        min_free_kbytes,
        &[(ZoneKind::Dma, 3840), (ZoneKind::Normal, managed - 3840)],
    )
}

/// The 1 GB guest with kernel 6.12 on which Σ high and `MemAvailable` were measured.
fn guest() -> Sample {
    let mut sample = machine(45_056, &[(ZoneKind::Dma, 3840), (ZoneKind::Dma32, 243_928)]);
    sample.counters.nr_active_file = Some(Pages::new(60_000));
    sample.counters.nr_inactive_file = Some(Pages::new(120_000));
    sample.memory.slab_reclaimable = Some(Bytes::mib(20));
    sample
}

fn marks(sample: &Sample, factor: u64) -> Vec<[u64; 3]> {
    let base = Base::of(sample, PAGE).unwrap();
    let numbers = |marks: Marks| [marks.min.get(), marks.low.get(), marks.high.get()];
    sample
        .zones
        .iter()
        .map(|zone| numbers(base.marks(zone, factor).unwrap()))
        .collect()
}

/// Linux 6.18, `min_free_kbytes` 67584, factor 10: managed pages in, marks out, from `/proc/zoneinfo`.
#[test]
fn a_real_zoneinfo_is_reproduced_to_the_page() {
    let zones = [
        (ZoneKind::Dma, 3840),
        (ZoneKind::Dma32, 772_918),
        (ZoneKind::Normal, 393_216),
    ];
    let sample = machine(67_584, &zones);
    assert_eq!(
        marks(&sample, 10),
        [[55, 68, 81], [11_161, 13_951, 16_741], [5678, 7097, 8516]]
    );
}

/// The kernel printed min, low and high 32 for a Movable zone without memory; 128 is the other bound.
#[test]
fn movable_memory_has_a_small_min_of_its_own() {
    let sample = machine(
        4096,
        &[
            (ZoneKind::Normal, 1 << 18),
            (ZoneKind::Movable, 0),
            (ZoneKind::Movable, 1 << 20),
        ],
    );
    assert_eq!(marks(&sample, 10)[1], [32, 32, 32]);
    assert_eq!(marks(&sample, 10)[2], [128, 128 + 1048, 128 + 2 * 1048]);
    assert_eq!(
        marks(&sample, 10)[0][0],
        1024,
        "Movable takes no share of min_free_kbytes"
    );
}

/// Σ high of the guest at four factors, from its `/proc/zoneinfo`; an empty Movable zone adds 32.
#[test]
fn the_guests_high_marks_are_reproduced() {
    for (factor, measured) in [
        (10, 16_925),
        (100, 16_925),
        (300, 26_159),
        (1000, 60_849),
        (2000, 110_403),
    ] {
        let high: u64 = marks(&guest(), factor)
            .iter()
            .map(|marks| marks[2])
            .sum::<u64>()
            + 32;
        assert!(
            high.abs_diff(measured) <= 4,
            "{factor}: {high} against {measured}"
        );
    }
}

/// Measured: `MemAvailable` 826160 kB at 10, 770540 at 300 (with 224 kB less free).
#[test]
fn what_is_withheld_agrees_with_the_guest() {
    let mut sample = guest();
    sample.memory.slab_reclaimable = Some(Bytes::mib(10));
    let kib = withheld(&sample, PAGE, 10, 300).unwrap().get() / 1024;
    assert!(kib.abs_diff(826_160 - 770_540 - 224) <= 32, "{kib}");
    assert_eq!(
        withheld(&sample, PAGE, 10, 100),
        Some(Bytes::ZERO),
        "dead zone"
    );
    assert_eq!(withheld(&sample, PAGE, 300, 10), Some(Bytes::ZERO));
    sample.counters.nr_active_file = None;
    assert_eq!(withheld(&sample, PAGE, 10, 300), None);
}

#[test]
fn the_dead_zone_ends_where_the_arithmetic_says() {
    // Memory, min_free_kbytes, and 10000·pages_min / (4·lowmem) rounded up.
    for (gib, min_free, expected) in [
        (1, 45_056, 111),
        (2, 45_056, 56),
        (4, 67_584, 42),
        (16, 67_584, 11),
        (64, 67_584, 3),
    ] {
        assert_eq!(
            least_effective(&sized(gib, min_free), PAGE),
            Some(expected),
            "{gib} GiB"
        );
    }
    assert_eq!(least_effective(&sized(768, 111_796), PAGE), Some(1));
}

#[test]
fn the_gap_is_the_tables() {
    let tenths = |gib, min_free, factor| {
        gap(&sized(gib, min_free), PAGE, factor).unwrap().get() * 10 / (1 << 20)
    };
    // 1 GiB: 11.0, 11, 50, 99 and 298 MiB at factors 10, 100, 500, 1000 and 3000.
    assert_eq!(
        [10, 100, 500, 1000, 3000].map(|factor| tenths(1, 45_056, factor)),
        [109, 109, 496, 993, 2979]
    );
    assert_eq!(
        [10, 100, 3000].map(|factor| tenths(4, 67_584, factor)),
        [164, 397, 11_919]
    );
    assert_eq!(tenths(768, 111_796, 10) / 10, 762);
}

#[test]
fn the_reported_gap_is_low_less_min() {
    let mut sample = sized(1, 45_056);
    assert_eq!(observed_gap(&sample, PAGE), None);
    for (zone, [min, low, _]) in sample
        .zones
        .iter_mut()
        .zip([[170, 212, 0], [11_093, 13_866, 0]])
    {
        zone.amounts.min = Some(Pages::new(min));
        zone.amounts.low = Some(Pages::new(low));
    }
    assert_eq!(
        observed_gap(&sample, PAGE),
        Some(Pages::new(42 + 2773).to_bytes(PAGE))
    );
    assert_eq!(observed_gap(&Sample::default(), PAGE), None);
}

#[test]
fn an_unknown_size_or_knob_is_unknown() {
    let mut sample = sized(1, 45_056);
    sample.zones[1].amounts.managed = None;
    assert_eq!(gap(&sample, PAGE, 10), None);
    assert_eq!(factor_for(&sample, PAGE, PAGE), None);
    assert_eq!(gap(&Sample::default(), PAGE, 10), None);
    assert_eq!(gap(&sized(1, 45_056), Bytes::ZERO, 10), None);
}

fn any_machine() -> impl Strategy<Value = Sample> {
    let zone =
        (0..6usize, 0..1u64 << 28).prop_map(|(kind, managed)| (ZoneKind::ALL[kind], managed));
    (128..1u64 << 20, prop::collection::vec(zone, 1..6))
        .prop_map(|(min_free, zones)| machine(min_free, &zones))
}

proptest! {
    #[test]
    fn the_factor_for_a_gap_is_the_smallest_that_holds_it(sample in any_machine(), wanted in 0..1u64 << 40) {
        let wanted = Bytes::new(wanted);
        if let Some(factor) = factor_for(&sample, PAGE, wanted) {
            prop_assert!((LEAST_FACTOR..=MOST_FACTOR).contains(&factor));
            prop_assert!(factor == MOST_FACTOR || gap(&sample, PAGE, factor).unwrap() >= wanted);
            prop_assert!(factor == LEAST_FACTOR || gap(&sample, PAGE, factor - 1).unwrap() < wanted);
        }
    }

    #[test]
    fn the_factor_for_a_gap_is_the_formula_outside_the_dead_zone(gib in 4..64u64, mib in 100..500u64) {
        let sample = sized(gib, 67_584);
        let managed = sample.managed().unwrap().to_bytes(PAGE).get();
        let formula = (Bytes::mib(mib).get() * 10_000).div_ceil(managed);
        // Each of the two zones rounds down by less than a page.
        let factor = factor_for(&sample, PAGE, Bytes::mib(mib)).unwrap();
        prop_assert!(factor == formula || factor == formula + 1, "{factor} {formula}");
    }

    #[test]
    fn a_larger_factor_never_withholds_less(sample in any_machine(), a in 1..3000u64, b in 1..3000u64) {
        let less = gap(&sample, PAGE, a.min(b));
        let more = gap(&sample, PAGE, a.max(b));
        if let (Some(less), Some(more)) = (less, more) {
            prop_assert!(less <= more);
        }
    }
}
