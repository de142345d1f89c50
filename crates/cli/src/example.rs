//! A guard at work, for tests of what is printed.

use arrayvec::ArrayVec;
use inspect::survey::{By, Holding};
use pressure::decision::{
    Action, BlockForecast, Decision, Exhaustion, Forecast, Notice, Phase, Reason, Step,
};
use pressure::knob::Knob;
use pressure::sample::{Sample, Swap, SwapAmounts, SwapKind, Wall, Zone, ZoneAmounts, ZoneKind};
use pressure::scan::Place;
use pressure::status::{Past, Status, Tally};
use units::{Bytes, Micros, Pages, Percent, Rate, Span};

pub(crate) use testsupport::{decision, facts, status as unknown};

/// A guard that holds memory under load.
pub(crate) fn guarding() -> Status {
    Status {
        sample: sample(),
        decision: Decision {
            phase: Phase::Guarding,
            forecast: forecast(),
            ..decision()
        },
        tally: Tally {
            samples: 812,
            writes: 3,
            allocation_stalls: 3,
            stalled: Micros::new(12_500),
            refaults: 240,
            own_cpu: Micros::new(81_000),
            own_memory: Bytes::kib(3200),
            ..Tally::default()
        },
        past: past(),
        warnings: vec!["/proc/pressure/io: cannot read: Permission denied".to_owned()],
        rivals: vec![
            "earlyoom (process 12): we keep available memory above its threshold".to_owned(),
        ],
        ..unknown()
    }
}

fn forecast() -> Forecast {
    Forecast {
        demand: Some(Rate::new(60 << 20)),
        reclaim: Some(Rate::new(200 << 20)),
        quantile: Some(Percent::new(99)),
        gap: Some(Bytes::mib(156)),
        gap_found: Some(Bytes::mib(24)),
        gap_needed: Some(Bytes::mib(180)),
        withheld: Some(Bytes::mib(320)),
        exhaustion: Some(Exhaustion {
            growth: Rate::new(4 << 20),
            earliest: Span::secs(600),
            expected: Span::secs(900),
            latest: Some(Span::secs(1800)),
        }),
        until_min: Some(Span::secs(14)),
        blocks: Some(BlockForecast {
            order: 9,
            free: 40,
            needed: 12,
            fragmentation: Some(Percent::new(35)),
        }),
        orders: ArrayVec::new(),
        outlook: None,
        squeezed: None,
    }
}

pub(crate) fn sample() -> Sample {
    let mut sample = Sample {
        at: Span::secs(7260),
        wall: Wall(1_795_235_574_000),
        ..Sample::default()
    };
    let memory = &mut sample.memory;
    memory.total = Some(Bytes::mib(8000));
    memory.free = Some(Bytes::mib(1000));
    memory.available = Some(Bytes::mib(4200));
    memory.anon = Some(Bytes::mib(2900));
    memory.shmem = Some(Bytes::mib(100));
    memory.cached = Some(Bytes::mib(3400));
    memory.buffers = Some(Bytes::mib(100));
    memory.kernel_reclaimable = Some(Bytes::mib(200));
    memory.slab_unreclaimable = Some(Bytes::mib(200));
    memory.swap_total = Some(Bytes::mib(2048));
    memory.swap_free = Some(Bytes::mib(2000));
    sample.memory_pressure.some_avg10 = Some(Percent::hundredths(152));
    sample.memory_pressure.full_avg10 = Some(Percent::hundredths(30));
    sample.memory_pressure.some_total = Some(Micros::new(72_600_000));
    sample.memory_pressure.full_total = Some(Micros::new(9_000_000));
    sample.io_pressure.some_avg10 = Some(Percent::new(2));
    let knob = Knob::WatermarkScaleFactor;
    sample.knobs.found.put(knob, Some(10));
    sample.knobs.now.put(knob, Some(143));
    sample.knobs.ours.put(knob, Some(143));
    let zone = |kind, scale| {
        let pages = |pages: u64| Some(Pages::new(pages * scale));
        let amounts = ZoneAmounts {
            free: pages(1000),
            min: pages(40),
            low: pages(160),
            high: pages(280),
            managed: pages(8000),
            ..ZoneAmounts::default()
        };
        Zone {
            node: 0,
            kind,
            amounts,
            ..Zone::default()
        }
    };
    sample.zones = vec![zone(ZoneKind::Dma32, 64), zone(ZoneKind::Normal, 192)];
    let amounts = SwapAmounts {
        size: Some(Bytes::mib(2048)),
        used: Some(Bytes::mib(48)),
    };
    sample.swaps = vec![Swap {
        kind: SwapKind::Partition,
        amounts,
    }];
    sample
}

fn past() -> Vec<Past> {
    let knob = Knob::WatermarkScaleFactor;
    let demand = Reason::Demand {
        window: Span::secs(1),
        demand: Bytes::mib(176),
        reclaimed: Bytes::mib(20),
        gap: Bytes::mib(24),
    };
    let raise = Step {
        action: Action::Set {
            knob,
            from: 10,
            to: 143,
        },
        why: demand,
    };
    let ahead = Step {
        action: Action::Reclaim {
            node: 0,
            amount: Bytes::mib(32),
        },
        why: Reason::Ahead {
            free: Bytes::mib(80),
            low: Bytes::mib(180),
        },
    };
    vec![
        Past {
            at: Span::secs(7200),
            wall: Wall(1_795_235_514_000),
            phase: Phase::Watching,
            done: true,
            steps: ArrayVec::new(),
            notices: [Notice::Stalled {
                allocation: 3,
                compaction: 0,
            }]
            .into_iter()
            .collect(),
        },
        Past {
            at: Span::secs(7201),
            wall: Wall(1_795_235_515_000),
            phase: Phase::Guarding,
            done: true,
            steps: [raise, ahead].into_iter().collect(),
            notices: ArrayVec::new(),
        },
        Past {
            at: Span::secs(7202),
            wall: Wall(1_795_235_516_000),
            phase: Phase::Guarding,
            done: false,
            steps: [raise].into_iter().collect(),
            notices: ArrayVec::new(),
        },
    ]
}

/// A unit that uses so many MiB.
pub(crate) fn holding(name: &str, warm: u64) -> Holding {
    Holding {
        path: name.to_owned(),
        name: name.to_owned(),
        place: Place::App,
        used: Bytes::mib(warm + 200),
        warm: Bytes::mib(warm),
        by: By::Lists,
        swapped: None,
        floor: Bytes::mib(if warm < 100 { 16 } else { 0 }),
        refaults: Some(warm / 100),
        growth: Some((Rate::new(warm << 15), true)),
        refaulted: None,
        evicted: Some(Bytes::mib(warm / 10)),
    }
}
