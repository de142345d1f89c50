//! Unused memory of a unit is taken until what it uses comes back.

use super::*;
use crate::groups::Squeezed;
use crate::scan::UnitName;

/// A unit that uses so much of its memory, and reads again at once what it misses.
struct Service {
    uses: Bytes,
    told: Squeezed,
}

impl Service {
    fn new(used: Bytes, uses: Bytes) -> Self {
        let told = Squeezed {
            id: 7,
            unit: UnitName::from("backup.service").unwrap(),
            at: Span::default(),
            used,
            refaulted: Bytes::ZERO,
            waited: Micros::new(0),
            asked: Bytes::ZERO,
            taken: Bytes::ZERO,
        };
        Self { uses, told }
    }

    /// Five seconds, then a reading and the steps on it. Returns how much was asked for.
    fn reading(&mut self, bench: &mut Bench) -> Bytes {
        for _ in 0..49 {
            bench.tick(Bytes::ZERO, |_| {});
        }
        let missed = self.uses.less(self.told.used);
        self.told.used += missed;
        self.told.refaulted += missed;
        self.told.at = Span::new(bench.sample.at.get() + Duration::from_millis(100));
        let told = self.told;
        bench.tick(Bytes::ZERO, |sample| sample.groups.squeezed = vec![told]);
        let steps = bench.decision.steps.iter();
        let asked = steps
            .filter_map(|step| match step.action {
                Action::Squeeze { id: 7, amount, .. } => Some(amount),
                _ => None,
            })
            .sum();
        self.told.asked += asked;
        self.told.taken += asked;
        self.told.used = self.told.used.less(asked);
        asked
    }
}

#[test]
fn a_unit_is_squeezed_down_to_what_it_uses_and_then_rests() {
    let mut bench = Bench::new(Config::default());
    let mut service = Service::new(Bytes::mib(200), Bytes::mib(64));
    let mut rests = 0;
    // An hour.
    for _ in 0..720 {
        service.reading(&mut bench);
        let notices = bench.decision.notices.iter();
        rests += notices
            .filter(|notice| {
                matches!(
                    notice,
                    Notice::SqueezeRests {
                        is_empty: false,
                        ..
                    }
                )
            })
            .count();
    }
    let size = service.told.used;
    assert!(
        size >= Bytes::mib(60) && size <= Bytes::mib(68),
        "it has {size}"
    );
    assert!((3..12).contains(&rests), "it rested {rests} times");
    // 16 MiB came back in an hour, for 136 that did not.
    assert!(
        service.told.refaulted < Bytes::mib(16),
        "{} were read again",
        service.told.refaulted
    );
    let away = bench.decision.forecast.squeezed.unwrap();
    assert!(away >= Bytes::mib(130), "{away} are not missed");
}

#[test]
fn a_unit_that_uses_all_it_has_is_asked_seldom() {
    let mut bench = Bench::new(Config::default());
    let mut service = Service::new(Bytes::mib(200), Bytes::mib(200));
    let asked = (0..720).filter(|_| service.reading(&mut bench) > Bytes::ZERO);
    let asked = asked.count();
    assert!(asked < 24, "asked {asked} times in an hour");
}

#[test]
fn nothing_is_taken_with_the_kill_switch_on() {
    let mut bench = Bench::new(Config::default());
    bench.sample.circumstances.disabled = Some(1);
    let mut service = Service::new(Bytes::mib(200), Bytes::mib(64));
    for _ in 0..12 {
        assert_eq!(service.reading(&mut bench), Bytes::ZERO);
    }
}
