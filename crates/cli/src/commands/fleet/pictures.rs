//! The pictures of a fleet.

use super::course::Moment;
use super::host::Host;
use report::{Axis, Band, Cell, Chart, Grid, Mark, Scale, Series};
use std::collections::HashSet;

/// Hosts in a picture of lines: more could not be told apart.
pub(super) const LINES: usize = 6;
/// Columns of the map: with more a column would be narrower than a pixel on a phone.
const COLUMNS: usize = 240;
/// Colours and legend of the map, and the share of time lost from which each is used.
const KINDS: [(&str, &str, f64); 3] = [
    ("#2e7d32", "under 0.1 %", 0.0),
    ("#d99a00", "0.1 to 5 %", 0.001),
    ("#c62828", "5 % and more", 0.05),
];
const MIB: f64 = 1_048_576.0;

/// If all recordings together last this many times as long as the longest of them, each host has a clock of its own. With one
/// clock for all, the pictures would be mostly empty.
const APART: f64 = 4.0;
/// Characters of a name beside a picture: more do not fit.
const NAME: usize = 16;

/// The horizontal axis of a picture.
struct Clock {
    /// The first sample of all, in seconds since 1970; `None` if each host has a clock of its own.
    from: Option<f64>,
    /// Length of the axis, in seconds.
    length: f64,
    /// The unit's seconds and name.
    unit: (f64, &'static str),
}

impl Clock {
    fn of(hosts: &[Host]) -> Self {
        let spans = || hosts.iter().filter_map(|host| host.course.span());
        let from = spans().map(|span| span.0).fold(f64::INFINITY, f64::min);
        let all = spans().map(|span| span.1 - from).fold(0.0, f64::max);
        let longest = spans().map(|span| span.1 - span.0).fold(0.0, f64::max);
        let (from, length) = if all > APART * longest {
            (None, longest)
        } else {
            (Some(from), all)
        };
        let unit = match length {
            seconds if seconds < 600.0 => (1.0, "seconds"),
            seconds if seconds < 36_000.0 => (60.0, "minutes"),
            seconds if seconds < 864_000.0 => (3600.0, "hours"),
            _ => (86_400.0, "days"),
        };
        Self { from, length, unit }
    }

    /// Moments of a host, each with its time in seconds on this axis.
    fn moments<'a>(&self, host: &'a Host) -> Vec<(f64, &'a Moment)> {
        let own = host.course.span().map(|(from, _)| from);
        let from = self.from.or(own).unwrap_or(0.0);
        host.course
            .moments()
            .map(|(time, moment)| (time - from, moment))
            .collect()
    }

    fn label(&self) -> String {
        let origin = if self.from.is_some() {
            "the first sample of all"
        } else {
            "each host's first sample"
        };
        format!("{} since {origin}", self.unit.1)
    }
}

/// Names that fit beside a picture, each another: a long one keeps its beginning and its end, as much of each as tells it
/// from the others.
fn brief(hosts: &[Host]) -> Vec<String> {
    let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    shortened(&names)
}

fn shortened(names: &[&str]) -> Vec<String> {
    // The usual cut first; then more of the beginning, then more of the end.
    for head in [6, 7, 8, 9, 10, 11, 12, 13, 14, 5, 4, 3, 2, 1] {
        let cut: Vec<String> = names.iter().map(|name| cut(name, head)).collect();
        let distinct: HashSet<&String> = cut.iter().collect();
        if distinct.len() == cut.len() {
            return cut;
        }
    }
    // They differ in the middle: a number, as in the order of the table.
    let numbered = names.iter().enumerate();
    numbered
        .map(|(index, name)| {
            format!("{} {}", index + 1, cut(name, 6))
                .chars()
                .take(NAME)
                .collect()
        })
        .collect()
}

/// A name with so many letters of its beginning, and those of its end that fit.
fn cut(name: &str, head: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= NAME {
        return name.to_owned();
    }
    let tail = NAME - head - 1;
    let start: String = letters[..head].iter().collect();
    let end: String = letters[letters.len() - tail..].iter().collect();
    format!("{start}…{end}")
}

/// Hosts by time: the share of time lost.
pub(super) fn map(hosts: &[Host]) -> String {
    let clock = Clock::of(hosts);
    let mut cells = vec![None; COLUMNS * hosts.len()];
    let column = |time: f64| ((time / clock.length * COLUMNS as f64) as usize).min(COLUMNS - 1);
    // The worst is first in the list, and highest in the picture.
    for (row, host) in hosts.iter().rev().enumerate() {
        let own = &mut cells[row * COLUMNS..(row + 1) * COLUMNS];
        for (time, moment) in clock.moments(host) {
            let Some(cell) = cell(moment) else { continue };
            let half = host.course.width() / 2.0;
            // A sample counts the time since the one before it.
            for slot in &mut own[column(time - moment.seconds.max(half))..=column(time + half)] {
                *slot = (*slot).max_by_kind(cell);
            }
        }
    }
    let band = |(row, name): (usize, String)| Band {
        from: row,
        to: row + 1,
        name,
    };
    Grid {
        title: "Share of time in which at least one task waited for memory".to_owned(),
        x: (clock.label(), 0.0, clock.length / clock.unit.0),
        y: "hosts, the worst at the top".to_owned(),
        width: COLUMNS,
        cells,
        kinds: KINDS
            .iter()
            .map(|(colour, name, _)| (*colour, (*name).to_owned()))
            .collect(),
        bands: brief(hosts)
            .into_iter()
            .rev()
            .enumerate()
            .map(band)
            .collect(),
    }
    .svg()
}

/// The worse of two cells in one place.
trait Worse {
    fn max_by_kind(self, other: Cell) -> Self;
}

impl Worse for Option<Cell> {
    fn max_by_kind(self, other: Cell) -> Self {
        Some(self.filter(|cell| cell.kind > other.kind).unwrap_or(other))
    }
}

fn cell(moment: &Moment) -> Option<Cell> {
    let share = moment.lost.filter(|_| moment.seconds > 0.0)? / moment.seconds;
    let kind = KINDS
        .iter()
        .rposition(|(_, _, from)| share >= *from)
        .unwrap_or(0);
    Some(Cell {
        kind,
        strength: if kind == 0 { 0 } else { 2 },
    })
}

/// A line for each of the worst hosts.
fn lines(
    hosts: &[Host],
    title: &str,
    y: (&str, Scale),
    value: impl Fn(&Moment) -> Option<f64>,
) -> Chart {
    let clock = Clock::of(hosts);
    let mut series = Vec::new();
    let names = brief(hosts);
    for (host, name) in hosts.iter().zip(names).take(LINES) {
        let mut points = Vec::new();
        for (time, moment) in clock.moments(host) {
            if let Some(value) = value(moment) {
                points.push((time / clock.unit.0, value));
            }
        }
        series.push(Series {
            name,
            points,
            mark: Mark::Line,
        });
    }
    Chart {
        title: title.to_owned(),
        x: Axis {
            label: clock.label(),
            scale: Scale::Linear,
        },
        y: Axis {
            label: y.0.to_owned(),
            scale: y.1,
        },
        series,
    }
}

/// Time lost so far.
pub(super) fn lost(hosts: &[Host]) -> String {
    let mut chart = lines(
        hosts,
        "Time lost so far",
        ("seconds in which at least one task waited", Scale::Linear),
        |it| it.lost,
    );
    for series in &mut chart.series {
        let mut sum = 0.0;
        for point in &mut series.points {
            sum += point.1;
            point.1 = sum;
        }
    }
    chart.svg()
}

/// Available memory.
pub(super) fn available(hosts: &[Host]) -> String {
    let value = |moment: &Moment| moment.available.map(|bytes| bytes.get() as f64 / MIB);
    lines(
        hosts,
        "Available memory, the least of each moment",
        ("MiB", Scale::Linear),
        value,
    )
    .svg()
}

/// Withheld memory.
pub(super) fn withheld(hosts: &[Host]) -> String {
    let value = |moment: &Moment| moment.withheld.map(|bytes| bytes.get() as f64 / MIB);
    lines(
        hosts,
        "Withheld memory, the most of each moment",
        ("MiB", Scale::Linear),
        value,
    )
    .svg()
}

/// The shortest forecast of each moment.
pub(super) fn forecast(hosts: &[Host]) -> String {
    let value = |moment: &Moment| moment.left.map(|left| left.get().as_secs_f64().max(0.1));
    let mut chart = lines(
        hosts,
        "Forecast of the time until headroom is used up",
        ("seconds", Scale::Log),
        value,
    );
    for series in &mut chart.series {
        series.mark = Mark::Points;
    }
    chart.svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_its_ends() {
        assert_eq!(shortened(&["web07"]), ["web07"]);
        assert_eq!(
            shortened(&["storm-6.12-1024-classic-1"]),
            ["storm-…classic-1"]
        );
    }

    #[test]
    fn no_two_names_become_one() {
        let alike = ["storm-6.1-1024-classic-0", "storm-6.12-1024-classic-0"];
        assert_eq!(shortened(&alike), ["storm-6.1-…sic-0", "storm-6.12…sic-0"]);
        let ends = ["web.eu.example.org-0001", "web.eu.example.org-1001"];
        assert_eq!(shortened(&ends), ["web.eu….org-0001", "web.eu….org-1001"]);
        let middles = [
            "hosts-of-the-house-1-on-the-first-floor",
            "hosts-of-the-house-2-on-the-first-floor",
        ];
        assert_eq!(
            shortened(&middles),
            ["1 hosts-…rst-flo", "2 hosts-…rst-flo"]
        );
    }
}
