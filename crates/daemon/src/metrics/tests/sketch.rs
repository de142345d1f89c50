//! The status of a guard that knows everything.

use crate::testing::status as bare;
use pressure::decision::{Action, BlockForecast, Exhaustion, Forecast, Phase, Reason, Step};
use pressure::distress::Outlook;
use pressure::knob::Knob;
use pressure::means::Means;
use pressure::sample::{Blocks, Wall, Zone, ZoneAmounts, ZoneKind};
use pressure::status::{Past, Status, Tally};
use units::{Bytes, Micros, Pages, Percent, Rate, Span};

/// A status with a value for every metric, with two zones of one node.
pub(super) fn busy() -> Status {
    let mut status = bare();
    status.only_observes = Some("not root".into());
    status.decision.phase = Phase::Guarding;
    status.decision.forecast = forecast();
    status.tally = tally();
    status.warnings = vec!["vm.swappiness: refused".into()];
    status.means = vec![
        Means::armed("signals", "a process can be ended"),
        Means::not_armed("floors of units", "no control groups of version 2", None),
    ];
    status.past = vec![past()];
    let sample = &mut status.sample;
    sample.memory.total = Some(Bytes::mib(4096));
    sample.memory.free = Some(Bytes::mib(200));
    sample.memory.available = Some(Bytes::mib(1000));
    sample.memory.swap_total = Some(Bytes::ZERO);
    sample.memory.swap_free = Some(Bytes::ZERO);
    sample.wall = Wall(1_700_000_100_500);
    sample.counters.pgsteal_kswapd = Some(1000);
    sample.counters.pgsteal_direct = Some(0);
    sample.counters.workingset_refault_anon = Some(2);
    sample.counters.workingset_refault_file = Some(900);
    sample.warm.sums.watching = Some(1);
    sample.warm.sums.events = Some(5000);
    sample.warm.sums.lost = Some(0);
    sample.warm.sums.held = Some(Bytes::mib(64));
    sample.memory_pressure.some_total = Some(Micros::new(1_234_567));
    sample.memory_pressure.full_total = Some(Micros::new(1_000_000));
    sample.cpu_pressure.some_total = Some(Micros::new(5));
    sample.knobs.now.put(Knob::WatermarkScaleFactor, Some(40));
    sample.knobs.found.put(Knob::WatermarkScaleFactor, Some(10));
    sample.knobs.ours.put(Knob::WatermarkScaleFactor, Some(40));
    sample.knobs.now.put(Knob::Swappiness, Some(60));
    sample.zones = vec![zone(ZoneKind::Dma32, 1000), zone(ZoneKind::Normal, 3000)];
    status
}

fn zone(kind: ZoneKind, pages: u64) -> Zone {
    let mut blocks = Blocks {
        orders: 3,
        ..Blocks::default()
    };
    blocks.counts[..3].copy_from_slice(&[8, 0, 2]);
    let pages = |part| Some(Pages::new(pages * part / 100));
    let amounts = ZoneAmounts {
        managed: pages(100),
        free: pages(10),
        min: pages(1),
        low: pages(2),
        high: pages(3),
        ..ZoneAmounts::default()
    };
    Zone {
        node: 0,
        kind,
        amounts,
        blocks,
    }
}

fn forecast() -> Forecast {
    Forecast {
        demand: Some(Rate::new(30_000_000)),
        reclaim: Some(Rate::new(20_000_000)),
        quantile: Some(Percent::hundredths(9901)),
        gap: Some(Bytes::mib(16)),
        gap_found: Some(Bytes::mib(4)),
        gap_needed: Some(Bytes::mib(17)),
        withheld: Some(Bytes::mib(24)),
        exhaustion: Some(Exhaustion {
            growth: Rate::new(1_000_000),
            earliest: Span::millis(90_500),
            expected: Span::secs(120),
            latest: None,
        }),
        until_min: Some(Span::secs(3)),
        blocks: Some(BlockForecast {
            order: 9,
            free: 12,
            needed: 40,
            fragmentation: Some(Percent::new(30)),
        }),
        orders: [BlockForecast {
            order: 3,
            free: 900,
            needed: 250,
            fragmentation: None,
        }]
        .into_iter()
        .collect(),
        outlook: Some(Outlook {
            headroom: Bytes::mib(600),
            swap: Bytes::ZERO,
            lent: Bytes::ZERO,
            managed: Bytes::mib(1000),
            floor: Bytes::mib(50),
            in_flight: Bytes::mib(8),
            growth: Rate::new(50_000_000),
            left: Some(Span::secs(12)),
            stalled: Some(Percent::new(12)),
            ..Outlook::default()
        }),
        squeezed: Some(Bytes::mib(84)),
    }
}

fn tally() -> Tally {
    Tally {
        protections: 0,
        cgroup_actions: 0,
        samples: 1000,
        pressure_wakeups: 3,
        writes: 5,
        put_back: 1,
        refused: 1,
        compactions: 2,
        reclaims: 4,
        allocation_stalls: 17,
        compaction_stalls: 6,
        stalled: Micros::new(250_000),
        refaults: 900,
        oom_kills: 0,
        asked: 2,
        killed: 1,
        missed: 0,
        peak_demand: Bytes::mib(300),
        gap_seconds: 1 << 40,
        squeezed_seconds: 1 << 39,
        lost_samples: 0,
        own_cpu: Micros::new(123_456),
        own_memory: Bytes::kib(2900),
    }
}

fn past() -> Past {
    let set = Action::Set {
        knob: Knob::WatermarkScaleFactor,
        from: 10,
        to: 40,
    };
    let stalls = Reason::Stalls {
        allocation: 17,
        compaction: 0,
        hit_quickly: 2,
        gap: Bytes::mib(4),
    };
    let kept = Reason::BoostKept {
        high_found: Bytes::mib(12),
        high: Bytes::mib(36),
    };
    let steps = [
        Step {
            action: set,
            why: stalls,
        },
        Step {
            action: set,
            why: kept,
        },
        Step {
            action: set,
            why: Reason::Stop,
        },
    ];
    Past {
        at: Span::secs(100),
        wall: Wall(1_700_000_100_000),
        phase: Phase::Guarding,
        done: true,
        steps: steps.into_iter().collect(),
        notices: <_>::default(),
    }
}
