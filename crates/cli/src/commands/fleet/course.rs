//! A host over time, in as many moments as a picture can show.
//!
//! When there are too many moments, each two become one of twice the width. So a recording of any length takes the same
//! memory, and nothing is dropped: time lost is summed, and of headroom the least is kept.

use pressure::decision::Forecast;
use pressure::rates::Rates;
use pressure::sample::{Memory, Wall};
use serde::Serialize;
use std::collections::BTreeMap;
use units::{Bytes, Span};

/// Most moments: twice the columns of the map, so that none of its columns is empty.
const MOST: usize = 480;
/// Width of a moment at first, in milliseconds.
const FIRST: u64 = 1000;

/// A host in one moment.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub(super) struct Moment {
    /// Recorded time, in seconds.
    pub(super) seconds: f64,
    /// Part of it in which at least one task waited for memory, in seconds; unknown without PSI.
    pub(super) lost: Option<f64>,
    /// The least available memory.
    pub(super) available: Option<Bytes>,
    /// The least headroom.
    #[serde(rename = "room")]
    pub(super) headroom: Option<Bytes>,
    /// The most withheld memory.
    pub(super) withheld: Option<Bytes>,
    /// The shortest forecast of the time until headroom is used up.
    pub(super) left: Option<Span>,
}

impl Moment {
    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.lost = sum(self.lost, other.lost);
        self.available = either(self.available, other.available, Ord::min);
        self.headroom = either(self.headroom, other.headroom, Ord::min);
        self.withheld = either(self.withheld, other.withheld, Ord::max);
        self.left = either(self.left, other.left, Ord::min);
    }
}

/// The sum of what is known.
fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    either(a, b, |a, b| a + b)
}

/// One of the two by `choose`, or the one that is known.
fn either<T: Copy>(a: Option<T>, b: Option<T>, choose: fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(choose(a, b)),
        (known, None) | (None, known) => known,
    }
}

/// Moments by time.
#[derive(Debug, Serialize)]
pub(super) struct Course {
    /// Width of a moment, in milliseconds.
    width: u64,
    /// By the number of the moment since 1970.
    moments: BTreeMap<u64, Moment>,
}

impl Default for Course {
    fn default() -> Self {
        Self {
            width: FIRST,
            moments: BTreeMap::new(),
        }
    }
}

impl Course {
    /// Adds a sample, and the rates since the one before, if there are any.
    pub(super) fn sample(&mut self, wall: Wall, memory: &Memory, rates: Option<&Rates>) {
        let seconds = rates.map_or(0.0, |rates| rates.elapsed.as_secs_f64());
        let lost = rates
            .and_then(|rates| rates.stalled)
            .map(|stalled| stalled.span().get().as_secs_f64());
        let moment = Moment {
            seconds,
            lost,
            available: memory.available,
            ..Moment::default()
        };
        self.add(wall, moment);
    }

    /// Adds a forecast.
    pub(super) fn forecast(&mut self, wall: Wall, forecast: &Forecast) {
        let outlook = forecast.outlook;
        let expected = forecast.exhaustion.map(|exhaustion| exhaustion.expected);
        let left = either(outlook.and_then(|outlook| outlook.left), expected, Ord::min);
        let moment = Moment {
            headroom: outlook.map(|outlook| outlook.headroom),
            left,
            withheld: forecast.withheld,
            ..Moment::default()
        };
        self.add(wall, moment);
    }

    fn add(&mut self, wall: Wall, moment: Moment) {
        self.moments
            .entry(wall.0 / self.width)
            .or_default()
            .add(&moment);
        while self.moments.len() > MOST {
            self.width *= 2;
            for (at, moment) in std::mem::take(&mut self.moments) {
                self.moments.entry(at / 2).or_default().add(&moment);
            }
        }
    }

    /// Width of a moment, in seconds.
    pub(super) fn width(&self) -> f64 {
        self.width as f64 / 1000.0
    }

    /// The moments, each with its middle in seconds since 1970.
    pub(super) fn moments(&self) -> impl Iterator<Item = (f64, &Moment)> {
        let width = self.width();
        self.moments
            .iter()
            .map(move |(at, moment)| ((*at as f64 + 0.5) * width, moment))
    }

    /// Beginning and end, in seconds since 1970; `None` if there is no moment.
    pub(super) fn span(&self) -> Option<(f64, f64)> {
        let width = self.width();
        let first = *self.moments.keys().next()?;
        let last = *self.moments.keys().next_back()?;
        Some((first as f64 * width, (last + 1) as f64 * width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_course_loses_only_resolution() {
        let mut course = Course::default();
        for second in 0..100_000 {
            let moment = Moment {
                seconds: 1.0,
                lost: Some(0.25),
                left: Some(Span::secs(second)),
                ..Moment::default()
            };
            course.add(Wall(1_795_228_314_000 + second * 1000), moment);
        }
        let (count, seconds) = course
            .moments()
            .fold((0, 0.0), |(count, sum), (_, moment)| {
                (count + 1, sum + moment.seconds)
            });
        assert!(
            (MOST / 2..=MOST).contains(&count) && seconds == 100_000.0,
            "{count} {seconds}"
        );
        assert_eq!(
            course
                .moments()
                .filter_map(|(_, moment)| moment.lost)
                .sum::<f64>(),
            25_000.0
        );
        assert_eq!(course.moments().next().unwrap().1.left, Some(Span::secs(0)));
        let (from, to) = course.span().unwrap();
        assert!(
            from <= 1_795_228_314.0 && to - from >= 100_000.0 && to - from < 101_000.0,
            "{from} {to}"
        );
    }

    #[test]
    fn what_is_unknown_stays_so() {
        let mut course = Course::default();
        course.sample(Wall(1000), &Memory::default(), None);
        let (_, moment) = course.moments().next().unwrap();
        assert_eq!(
            (moment.lost, moment.available, moment.left),
            (None, None, None)
        );
    }
}
