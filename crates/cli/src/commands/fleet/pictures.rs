//! The pictures of a fleet.

use super::course::Moment;
use super::host::Host;
use report::{Axis, Band, Cell, Chart, Grid, Mark, Scale, Series};

/// Hosts in a picture of lines: more cannot be told apart.
pub(super) const LINES: usize = 6;
/// Columns of the map.
const COLUMNS: usize = 240;
/// Colours and words of the map, and from which share of time lost.
const KINDS: [(&str, &str, f64); 3] = [
    ("#2e7d32", "under 0.1 %", 0.0),
    ("#d99a00", "0.1 to 5 %", 0.001),
    ("#c62828", "5 % and more", 0.05),
];
const MIB: f64 = 1_048_576.0;

/// Hosts that were never recorded together are shown side by side if all of it is so many times as long as the longest of them.
const APART: f64 = 4.0;
/// Characters of a name beside a picture.
const NAME: usize = 16;

/// Time across a picture, in a unit that suits it.
struct Clock {
    /// When all began; `None` if each host has a clock of its own.
    from: Option<f64>,
    /// Length of all, in seconds.
    length: f64,
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

    /// Moments of a host, each with its time in seconds since the beginning.
    fn moments<'a>(&self, host: &'a Host) -> Vec<(f64, &'a Moment)> {
        let from = self
            .from
            .or_else(|| Some(host.course.span()?.0))
            .unwrap_or(0.0);
        host.course
            .moments()
            .map(|(time, moment)| (time - from, moment))
            .collect()
    }

    fn label(&self) -> String {
        let whose = if self.from.is_some() {
            "the first sample of all"
        } else {
            "each host's first sample"
        };
        format!("{} since {whose}", self.unit.1)
    }
}

/// A name that is too long for a picture, by its beginning and its end.
fn brief(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= NAME {
        return name.to_owned();
    }
    let end = letters.len() - (NAME - 7);
    letters[..6]
        .iter()
        .chain(['…'].iter())
        .chain(&letters[end..])
        .collect()
}

/// Hosts by time: who lost how much when.
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
            // It tells of the time before it, back to the sample before.
            for slot in &mut own[column(time - moment.seconds.max(half))..=column(time + half)] {
                *slot = (*slot).max_by_kind(cell);
            }
        }
    }
    let band = |(row, host): (usize, &Host)| Band {
        from: row,
        to: row + 1,
        name: brief(&host.name),
    };
    Grid {
        title: "Share of time in which some task waited for memory".to_owned(),
        x: (clock.label(), 0.0, clock.length / clock.unit.0),
        y: "hosts, the worst at the top".to_owned(),
        width: COLUMNS,
        cells,
        kinds: KINDS
            .iter()
            .map(|(colour, name, _)| (*colour, (*name).to_owned()))
            .collect(),
        bands: hosts.iter().rev().enumerate().map(band).collect(),
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
    let series = hosts.iter().take(LINES).map(|host| {
        let moments = clock.moments(host).into_iter();
        let points =
            moments.filter_map(|(time, moment)| Some((time / clock.unit.0, value(moment)?)));
        Series {
            name: brief(&host.name),
            points: points.collect(),
            mark: Mark::Line,
        }
    });
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
        series: series.collect(),
    }
}

/// Time lost, summed up.
pub(super) fn lost(hosts: &[Host]) -> String {
    let mut chart = lines(
        hosts,
        "Time lost, summed up",
        ("seconds in which some task waited", Scale::Linear),
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

/// What was withheld.
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
        "When room would be used up",
        ("seconds from then", Scale::Log),
        value,
    );
    chart
        .series
        .iter_mut()
        .for_each(|series| series.mark = Mark::Points);
    chart.svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_its_ends() {
        assert_eq!(brief("web07"), "web07");
        assert_eq!(brief("storm-6.12-1024-classic-1"), "storm-…classic-1");
    }
}
