use super::*;
use crate::scan::UnitName;

const PAGE: Bytes = Bytes::kib(4);
const PACE: u64 = 5;

/// A unit, its readings, and what was taken of it.
struct Unit {
    squeezes: Squeezes,
    told: Squeezed,
}

impl Unit {
    fn new() -> Self {
        let mut unit = Self {
            squeezes: Squeezes::new(&Keys::default()),
            told: Squeezed {
                id: 7,
                unit: UnitName::default(),
                at: Span::secs(100),
                used: Bytes::mib(512),
                refaulted: Bytes::mib(3),
                waited: Micros::new(40_000),
                asked: Bytes::ZERO,
                taken: Bytes::ZERO,
            },
        };
        unit.look();
        unit
    }

    fn look(&mut self) {
        self.squeezes.push(&[self.told], PAGE);
    }

    /// The next reading, after a step of so much of which `back` came back and for which it waited.
    fn next(&mut self, asked: Bytes, got: Bytes, back: Bytes, waited: Micros) {
        self.told.at = Span::secs(self.told.at.get().as_secs() + PACE);
        self.told.asked += asked;
        self.told.taken += got;
        self.told.refaulted += back;
        self.told.waited = Micros::new(self.told.waited.get() + waited.get());
        self.look();
    }

    fn takes(&mut self, times: usize) {
        for _ in 0..times {
            self.next(Bytes::mib(1), Bytes::mib(1), Bytes::ZERO, Micros::new(0));
        }
    }

    fn unit(&self) -> &Squeeze {
        self.squeezes.of(&self.told, self.told.at).unwrap()
    }

    fn step(&self) -> Option<Bytes> {
        let budget = self.squeezes.budget();
        self.unit().step(self.told.used, budget, PAGE)
    }
}

#[test]
fn a_step_costs_no_more_than_the_budget_if_all_of_it_comes_back() {
    let mut unit = Unit::new();
    assert_eq!(unit.step(), None, "one reading has no time");
    unit.takes(1);
    // 1 % of 5 s are 50 ms, for pages of 50 µs.
    assert_eq!(unit.step(), Some(Bytes::new(1000 * 4096)));
    unit.told.used = Bytes::mib(64);
    assert_eq!(unit.step(), Some(Bytes::mib(1)), "one part in 64");
    unit.told.used = Bytes::mib(4);
    assert_eq!(unit.step(), None, "too little to ask for");
}

#[test]
fn what_comes_back_ends_the_steps_each_time_for_longer() {
    let mut unit = Unit::new();
    let mut rests = Vec::new();
    for _ in 0..8 {
        unit.takes(2);
        unit.next(Bytes::mib(1), Bytes::mib(1), Bytes::mib(2), Micros::new(0));
        let answer = unit.unit().answer().unwrap();
        assert!(!answer.is_empty);
        rests.push(answer.rest.get().as_secs());
        assert!(unit.unit().rests(unit.told.at));
        // It is told once, and when the rest is over the steps go on.
        while unit.unit().rests(unit.told.at) {
            unit.next(Bytes::ZERO, Bytes::ZERO, Bytes::ZERO, Micros::new(0));
            assert_eq!(unit.unit().answer(), None);
        }
        assert!(unit.step().is_some());
    }
    assert_eq!(rests, [60, 120, 240, 480, 960, 1920, 3600, 3600]);
    // After a long time without an answer the first rest is short again.
    unit.takes(130);
    unit.next(Bytes::mib(1), Bytes::mib(1), Bytes::mib(2), Micros::new(0));
    assert_eq!(unit.unit().answer().unwrap().rest, Span::secs(60));
}

#[test]
fn a_unit_that_waits_for_longer_than_the_budget_rests() {
    let mut unit = Unit::new();
    unit.takes(3);
    // 200 ms of the last 15 s are 1.3 %.
    unit.next(
        Bytes::mib(1),
        Bytes::mib(1),
        Bytes::ZERO,
        Micros::new(200_000),
    );
    let answer = unit.unit().answer().unwrap();
    assert_eq!(answer.lately.waited, Percent::hundredths(133));
    // A larger budget lets it go on.
    let mut unit = Unit::new();
    unit.squeezes.go_on_by(&Keys {
        budget: Percent::new(2),
        ..Keys::default()
    });
    unit.takes(3);
    unit.next(
        Bytes::mib(1),
        Bytes::mib(1),
        Bytes::ZERO,
        Micros::new(200_000),
    );
    assert_eq!(unit.unit().answer(), None);
}

#[test]
fn when_nothing_is_left_it_is_asked_again_later() {
    let mut unit = Unit::new();
    for _ in 0..3 {
        unit.next(Bytes::mib(1), Bytes::kib(64), Bytes::ZERO, Micros::new(0));
    }
    let answer = unit.unit().answer().unwrap();
    assert!(answer.is_empty);
    assert_eq!(answer.rest, Span::secs(600));
}

#[test]
fn a_dear_page_makes_steps_smaller() {
    let mut unit = Unit::new();
    unit.takes(1);
    let cheap = unit.step().unwrap();
    // 512 pages came back, for 500 µs each: within what may come back of 12 MiB.
    for _ in 0..3 {
        unit.next(Bytes::mib(4), Bytes::mib(4), Bytes::ZERO, Micros::new(0));
    }
    unit.next(
        Bytes::mib(4),
        Bytes::mib(4),
        Bytes::mib(2),
        Micros::new(256_000),
    );
    let dear = unit.step().unwrap();
    assert_eq!(dear.get(), cheap.get() / 10);
}

#[test]
fn what_is_away_is_what_was_taken_and_not_read_again() {
    let mut unit = Unit::new();
    assert_eq!(unit.squeezes.away(), Some(Bytes::ZERO));
    unit.takes(4);
    unit.next(
        Bytes::mib(1),
        Bytes::mib(1),
        Bytes::kib(512),
        Micros::new(0),
    );
    assert_eq!(unit.squeezes.away(), Some(Bytes::kib(4608)));
    // More comes back than was ever taken: others had taken it.
    unit.next(Bytes::ZERO, Bytes::ZERO, Bytes::mib(50), Micros::new(0));
    assert_eq!(unit.squeezes.away(), Some(Bytes::ZERO));
    unit.squeezes.push(&[], PAGE);
    assert_eq!(unit.squeezes.away(), None, "it is gone");
}

#[test]
fn a_reading_that_is_not_new_changes_nothing() {
    let mut unit = Unit::new();
    unit.takes(2);
    let before = unit.squeezes.clone();
    unit.look();
    assert_eq!(unit.squeezes, before);
    assert!(
        unit.squeezes.of(&unit.told, Span::secs(1)).is_none(),
        "no step without a new reading"
    );
}
