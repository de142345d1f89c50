//! The pictures of an analysis.

use super::labels::{brief, clock, short};
use report::{Axis, Band, Cell, Chart, Grid, Mark, Scale, Series, number};
use std::f64::consts::SQRT_2;
use workingset::Op;
use workingset::analysis::{Analysis, AtWindow, Curves};
use workingset::measure::Lifetime;

/// The colours of the founding report's maps: code red, loads blue, stores yellow, both green. Grey where the trace does not
/// say which.
const KINDS: [(&str, &str); 5] = [
    ("#c62828", "code"),
    ("#1565c0", "read"),
    ("#d99a00", "written"),
    ("#2e7d32", "read and written"),
    ("#707070", "used"),
];

/// Name and SVG of each picture.
pub(super) fn all(analysis: &Analysis) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("map", map(analysis)),
        ("size", size(analysis)),
        ("spread", spread(analysis)),
        ("moves", moves(analysis)),
    ];
    if let Some(curves) = &analysis.curves {
        all.push(("lifetime", lifetime(analysis, curves)));
        all.push(("misses", misses(analysis, curves)));
        all.push(("space-time", space_time(analysis, curves)));
    }
    all.extend([
        ("stays", stays(analysis)),
        ("intervals", intervals(analysis)),
    ]);
    all
}

/// Points up to which each is marked by a dot; with more the dots would hide the line.
const FEW: usize = 40;

fn axis(label: String, scale: Scale) -> Axis {
    Axis { label, scale }
}

fn line(name: &str, points: Vec<(f64, f64)>) -> Series {
    Series {
        name: name.to_owned(),
        points,
        mark: Mark::Line,
    }
}

/// Pages by time: which were used when.
pub(super) fn map(analysis: &Analysis) -> String {
    let map = &analysis.map;
    let program = &analysis.program;
    let has_ops = map.did.iter().any(|did| *did != 0);
    let most = map.count.iter().copied().max().unwrap_or(1).max(2);
    let cell = |(count, did): (&u32, &u8)| {
        let kind = match Op(*did) {
            _ if !has_ops => 0,
            op if op == Op::FETCH => 0,
            op if op == Op::LOAD => 1,
            op if op == Op::STORE => 2,
            // Code that is also data, and data read and written.
            _ => 3,
        };
        let share = f64::from(*count).ln_1p() / f64::from(most).ln_1p();
        (*count > 0).then_some(Cell {
            kind,
            strength: ((share * 3.0) as usize).min(2),
        })
    };
    // The last kind is for traces without operations.
    let kinds = if has_ops { &KINDS[..4] } else { &KINDS[4..] };
    Grid {
        title: format!("{}: which pages are used, and when", program.name),
        x: (
            clock(program.clock).to_owned(),
            program.start as f64,
            (program.start + program.time) as f64,
        ),
        y: format!("{} pages by address, low to high", program.pages),
        width: map.width,
        cells: map.count.iter().zip(&map.did).map(cell).collect(),
        kinds: kinds
            .iter()
            .map(|(colour, name)| (*colour, (*name).to_owned()))
            .collect(),
        bands: bands(analysis),
    }
    .svg()
}

/// Rows of pages that belong together.
fn bands(analysis: &Analysis) -> Vec<Band> {
    let mut bands: Vec<Band> = Vec::new();
    for (row, name) in analysis.rows.iter().enumerate() {
        let name = short(name);
        match bands.last_mut() {
            Some(band) if band.name == name => band.to = row + 1,
            _ => bands.push(Band {
                from: row,
                to: row + 1,
                name: name.to_owned(),
            }),
        }
    }
    bands
}

/// The size of the working set over time: a band from the least to the most, and the mean.
pub(super) fn size(analysis: &Analysis) -> String {
    let program = &analysis.program;
    let of = |at: &AtWindow| {
        let pixels = &at.sizes.pixels;
        let up = pixels
            .iter()
            .map(|pixel| (pixel.from as f64, pixel.most as f64));
        let down = pixels
            .iter()
            .rev()
            .map(|pixel| (pixel.from as f64, pixel.least as f64));
        let mean = pixels
            .iter()
            .map(|pixel| (pixel.from as f64, pixel.mean))
            .collect();
        let name = format!("θ = {}", brief(at.theta));
        [
            Series {
                name: format!("{name}, from least to most"),
                points: up.chain(down).collect(),
                mark: Mark::Band,
            },
            line(&name, mean),
        ]
    };
    Chart {
        title: format!("{}: the working set over time", program.name),
        x: axis(clock(program.clock).to_owned(), Scale::Linear),
        y: axis("pages used in the last θ".to_owned(), Scale::Linear),
        series: analysis.windows.iter().rev().flat_map(of).collect(),
    }
    .svg()
}

/// The distribution of the sizes with fitted normal distributions, at the shortest window: it has the most sizes.
pub(super) fn spread(analysis: &Analysis) -> String {
    let program = &analysis.program;
    let Some(at) = analysis.windows.first() else {
        return String::new();
    };
    let all: f64 = at.sizes.sizes.iter().map(|time| *time as f64).sum();
    let sizes = || (0..at.sizes.sizes.len()).map(|size| size as f64);
    let seen = sizes()
        .zip(&at.sizes.sizes)
        .map(|(size, time)| (size, 100.0 * *time as f64 / all))
        .collect();
    let mut series = vec![line("measured", seen)];
    if at.shape.deviation > 0.0 {
        let normal = workingset::measure::mixture::Part {
            weight: 1.0,
            mean: at.shape.mean,
            deviation: at.shape.deviation,
        };
        series.push(line(
            "one normal",
            sizes()
                .map(|size| (size, 100.0 * normal.density(size)))
                .collect(),
        ));
    }
    if let Some(mixture) = at
        .mixture
        .as_ref()
        .filter(|mixture| mixture.parts.len() > 1)
    {
        let density = |size: f64| {
            100.0
                * mixture
                    .parts
                    .iter()
                    .map(|part| part.density(size))
                    .sum::<f64>()
        };
        let name = format!("{} normals", mixture.parts.len());
        series.push(line(
            &name,
            sizes().map(|size| (size, density(size))).collect(),
        ));
    }
    Chart {
        title: format!(
            "{}: distribution of the size, θ = {}",
            program.name,
            brief(at.theta)
        ),
        x: axis("pages in the working set".to_owned(), Scale::Linear),
        y: axis("% of the time".to_owned(), Scale::Linear),
        series,
    }
    .svg()
}

/// How much each interval of time differs from the one before.
pub(super) fn moves(analysis: &Analysis) -> String {
    let program = &analysis.program;
    let points: Vec<(f64, f64)> = analysis
        .moves
        .iter()
        .map(|step| (step.from as f64, step.distance))
        .collect();
    let transitions = points
        .iter()
        .copied()
        .filter(|point| point.1 > 0.5)
        .collect();
    Chart {
        title: format!("{}: transitions between localities", program.name),
        x: axis(clock(program.clock).to_owned(), Scale::Linear),
        y: axis("share of pages that changed".to_owned(), Scale::Linear),
        series: vec![
            line("change", points),
            Series {
                name: "transition".to_owned(),
                points: transitions,
                mark: Mark::Points,
            },
        ],
    }
    .svg()
}

/// A series for each policy, with the policy's usual name.
fn curves_of(curves: &Curves, value: impl Fn(&Lifetime, usize) -> f64) -> Vec<Series> {
    let mut series = Vec::new();
    for curve in &curves.lifetimes {
        let mut points = Vec::new();
        for (at, point) in curve.points.iter().enumerate() {
            points.push((point.size, value(curve, at)));
        }
        let mark = if curve.points.len() < FEW {
            Mark::Dots
        } else {
            Mark::Line
        };
        let name = match curve.policy.as_str() {
            "ws" => "working set",
            "lru" => "LRU",
            "vmin" => "VMIN",
            "opt" => "OPT",
            "fifo" => "FIFO",
            "2q" => "2Q",
            other => other,
        };
        series.push(Series {
            name: name.to_owned(),
            points,
            mark,
        });
    }
    series
}

/// Mean time between faults by mean memory.
pub(super) fn lifetime(analysis: &Analysis, curves: &Curves) -> String {
    let program = &analysis.program;
    let mut series = curves_of(curves, |curve, at| curve.points[at].lifetime);
    let knees = curves
        .knees
        .iter()
        .filter_map(|(_, knees)| knees.ray)
        .map(|point| (point.size, point.lifetime))
        .collect();
    series.push(Series {
        name: "knees".to_owned(),
        points: knees,
        mark: Mark::Points,
    });
    Chart {
        title: format!("{}: lifetime by memory", program.name),
        x: axis("mean pages in memory".to_owned(), Scale::Log),
        y: axis(
            format!("{} between faults", clock(program.clock)),
            Scale::Log,
        ),
        series,
    }
    .svg()
}

/// Faults per reference by mean memory.
pub(super) fn misses(analysis: &Analysis, curves: &Curves) -> String {
    let references = analysis.program.references as f64;
    Chart {
        title: format!("{}: misses by memory", analysis.program.name),
        x: axis("mean pages in memory".to_owned(), Scale::Log),
        y: axis("faults per reference".to_owned(), Scale::Log),
        series: curves_of(curves, |curve, at| curve.points[at].misses / references),
    }
    .svg()
}

/// Space-time by window, for several times to serve a fault.
pub(super) fn space_time(analysis: &Analysis, curves: &Curves) -> String {
    let program = &analysis.program;
    let Some(ws) = curves.named("ws") else {
        return String::new();
    };
    let services = curves
        .space_time
        .iter()
        .filter(|entry| entry.policy == "ws" && entry.service > 0.0);
    let mut series: Vec<Series> = Vec::new();
    let mut least = Vec::new();
    for entry in services {
        let point = |point: &workingset::measure::Point| {
            (point.parameter as f64, ws.space_time(point, entry.service))
        };
        let name = format!("a fault takes {}", number(entry.service));
        series.push(line(&name, ws.points.iter().map(point).collect()));
        least.push((entry.least.parameter as f64, entry.value));
    }
    series.push(Series {
        name: "least".to_owned(),
        points: least,
        mark: Mark::Points,
    });
    Chart {
        title: format!("{}: space-time of the working set", program.name),
        x: axis(format!("window θ, {}", clock(program.clock)), Scale::Log),
        y: axis("pages × time".to_owned(), Scale::Log),
        series,
    }
    .svg()
}

/// How long pages stay, how long they would by chance, and a lognormal distribution.
pub(super) fn stays(analysis: &Analysis) -> String {
    let program = &analysis.program;
    let Some(at) = analysis.windows.first() else {
        return String::new();
    };
    let residence = &at.residence;
    let points: Vec<(f64, f64)> = residence
        .survival
        .iter()
        .map(|(stay, share)| (*stay, 100.0 * share))
        .collect();
    let by_chance = residence
        .survival_by_chance
        .iter()
        .map(|(stay, share)| (*stay, 100.0 * share))
        .collect();
    let (centre, spread) = residence.lognormal;
    let scale = spread.max(1e-9) * SQRT_2;
    let used = |stay: f64| (stay - residence.theta as f64).max(0.0) + 1.0;
    let beyond = |stay: f64| 50.0 * erfc((used(stay).ln() - centre) / scale);
    let lognormal = points
        .iter()
        .map(|(stay, _)| (*stay, beyond(*stay)))
        .collect();
    Chart {
        title: format!(
            "{}: how long pages stay, θ = {}",
            program.name,
            brief(at.theta)
        ),
        x: axis(format!("stay, {}", clock(program.clock)), Scale::Log),
        y: axis("% that stay longer".to_owned(), Scale::Linear),
        series: vec![
            line("measured", points),
            line("the same uses in random order", by_chance),
            line("lognormal", lognormal),
        ],
    }
    .svg()
}

/// The complementary error function, to 1.5e-7 (Hastings; Abramowitz, Stegun, 7.1.26).
fn erfc(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let terms = [
        0.254_829_592,
        -0.284_496_736,
        1.421_413_741,
        -1.453_152_027,
        1.061_405_429,
    ];
    let mut sum = 0.0;
    for term in terms.iter().rev() {
        sum = (sum + term) * t;
    }
    let beyond = sum * (-x * x).exp();
    if x < 0.0 { 2.0 - beyond } else { beyond }
}

/// The distribution of the time between two uses of a page.
pub(super) fn intervals(analysis: &Analysis) -> String {
    let program = &analysis.program;
    let points = analysis
        .intervals
        .iter()
        .map(|(edge, count)| (*edge as f64, *count as f64))
        .collect();
    Chart {
        title: format!("{}: time between two uses of a page", program.name),
        x: axis(clock(program.clock).to_owned(), Scale::Log),
        y: axis("references".to_owned(), Scale::Log),
        series: vec![line("references", points)],
    }
    .svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_is_exact_to_seven_digits() {
        for (x, expected) in [
            (0.0, 1.0),
            (1.0, 0.157_299_2),
            (-1.0, 1.842_700_8),
            (3.0, 2.209e-5),
        ] {
            assert!((erfc(x) - expected).abs() < 2e-7, "{x}");
        }
    }
}
