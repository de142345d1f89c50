//! A machine in a closed loop: a test loads it, and it obeys.

use super::*;

/// A machine of 4 GiB that a test can load, and that obeys what is decided.
pub(super) struct Bench {
    pub(super) config: Config,
    pub(super) history: History,
    pub(super) sample: Sample,
    pub(super) decision: Decision,
}

impl Bench {
    pub(super) fn new(config: Config) -> Self {
        let mut sample = Sample {
            at: Span::secs(100),
            ..Sample::default()
        };
        let managed = Some(Pages::new(1_048_576));
        let amounts = ZoneAmounts {
            managed,
            present: managed,
            free: Some(Pages::new(40_000)),
            ..ZoneAmounts::default()
        };
        let mut blocks = Blocks {
            orders: 11,
            ..Blocks::default()
        };
        blocks.counts[10] = 39;
        sample.zones.push(Zone {
            amounts,
            blocks,
            ..Zone::default()
        });
        let node = NodeAmounts {
            can_compact: Some(1),
            can_reclaim: Some(1),
            ..NodeAmounts::default()
        };
        sample.nodes.push(Node {
            id: 0,
            amounts: node,
        });
        sample.counters.nr_free_pages = Some(Pages::new(40_000));
        for counter in [
            &mut sample.counters.pgsteal_kswapd,
            &mut sample.counters.allocstall_normal,
            &mut sample.counters.compact_stall,
            &mut sample.counters.thp_fault_alloc,
            &mut sample.counters.thp_fault_fallback,
            &mut sample.counters.workingset_refault_file,
            &mut sample.counters.oom_kill,
        ] {
            *counter = Some(0);
        }
        sample.memory.total = Some(Bytes::mib(4096));
        sample.memory.available = Some(Bytes::mib(3000));
        let knobs = [
            (FACTOR, 10),
            (BOOST, 15_000),
            (Knob::MinFreeKbytes, 67_584),
            (Knob::CompactionProactiveness, 20),
            (Knob::VfsCachePressure, 100),
            (Knob::Swappiness, 60),
            (Knob::PageCluster, 3),
            (Knob::MinTtlMs, 0),
            (Knob::DentryNegative, 0),
        ];
        for (knob, value) in knobs {
            sample.knobs.now.put(knob, Some(value));
            sample.knobs.found.put(knob, Some(value));
        }
        let history = History::new(&facts(), &config);
        let decision = decide(&config, &history);
        let mut bench = Self {
            config,
            history,
            sample,
            decision,
        };
        bench.watermarks();
        bench
    }

    pub(super) fn watermarks(&mut self) {
        let factor = self.sample.knobs.now.of(FACTOR).unwrap();
        let base = crate::watermark::Base::of(&self.sample, Bytes::kib(4)).unwrap();
        for zone in &mut self.sample.zones {
            let marks = base.marks(zone, factor).unwrap();
            zone.amounts.min = Some(marks.min);
            zone.amounts.low = Some(marks.low);
            zone.amounts.high = Some(marks.high);
        }
    }

    /// One tick of 100 ms in which `taken` is allocated and kswapd frees at most 4 MiB of what is missing.
    /// Then the decision is applied.
    pub(super) fn tick(&mut self, taken: Bytes, change: impl Fn(&mut Sample)) {
        self.sample.at = Span::new(self.sample.at.get() + Duration::from_millis(100));
        let free = self
            .sample
            .counters
            .nr_free_pages
            .unwrap()
            .less(taken.to_pages(Bytes::kib(4)));
        let freed = Pages::new(40_000).less(free).min(Pages::new(1024));
        self.sample.counters.nr_free_pages = Some(free + freed);
        let stolen = &mut self.sample.counters.pgsteal_kswapd;
        *stolen = stolen.map(|stolen| stolen + freed.get());
        change(&mut self.sample);
        self.history.push(&self.sample);
        self.decision = decide(&self.config, &self.history);
        for step in &self.decision.steps {
            match step.action {
                Action::Set { knob, from, to } => {
                    assert_eq!(self.sample.knobs.now.of(knob), Some(from));
                    assert!(knob.spec().range.contains(&to));
                    self.sample.knobs.now.put(knob, Some(to));
                    self.sample.knobs.ours.put(knob, Some(to));
                }
                Action::PutBack { knob, to, .. } => {
                    assert_eq!(self.sample.knobs.found.of(knob), Some(to));
                    self.sample.knobs.now.put(knob, Some(to));
                    self.sample.knobs.ours.put(knob, None);
                }
                Action::Compact { .. }
                | Action::Reclaim { .. }
                | Action::Kill { .. }
                | Action::Protect(_)
                | Action::Group(_)
                | Action::Recall { .. }
                | Action::Squeeze { .. } => {}
            }
        }
        self.watermarks();
    }

    pub(super) fn factor(&self) -> u64 {
        self.sample.knobs.now.of(FACTOR).unwrap()
    }

    /// Bursts of 60 MiB in half a second, every two seconds.
    pub(super) fn load(&mut self, seconds: u64) {
        for step in 0..seconds * 10 {
            let taken = if step % 20 < 5 {
                Bytes::mib(12)
            } else {
                Bytes::ZERO
            };
            self.tick(taken, |_| {});
        }
    }

    pub(super) fn rest(&mut self, seconds: u64) {
        (0..seconds * 10).for_each(|_| self.tick(Bytes::ZERO, |_| {}));
    }
}
