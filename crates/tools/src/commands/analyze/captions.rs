//! The sentences of an analysis.

use super::labels::{brief, clock, short};
use anyhow::Result;
use report::number;
use std::io::Write;
use units::Bytes;
use workingset::analysis::{Analysis, AtWindow, Claim, Curves, Program};
use workingset::measure::Knees;
use workingset::trace::Visibility;

/// `120 pages (480 KiB)`.
fn pages(count: f64, program: &Program) -> String {
    let bytes = Bytes::new((count * program.page_size as f64).round() as u64);
    format!("{} pages ({bytes})", number(count.round()))
}

/// The size of the trace and what it leaves out; `called` is its name in the sentence.
pub(super) fn whole(program: &Program, called: &str) -> String {
    let left_out = program
        .left_out
        .as_ref()
        .map(|what| format!(" It leaves out {what} of the run."));
    let cut = program
        .cut
        .as_ref()
        .map(|why| format!(" The trace was cut {why}: the rest of the run is not in it."));
    let looked = program.resolution.map(|resolution| {
        format!(
            " It was looked at up to {} {} apart; no shorter window is shown.",
            brief(resolution),
            clock(program.clock)
        )
    });
    format!(
        "{called}: {} references to {} in {} {}.{}{}{}",
        brief(program.references),
        pages(program.pages as f64, program),
        brief(program.time),
        clock(program.clock),
        looked.unwrap_or_default(),
        left_out.unwrap_or_default(),
        cut.unwrap_or_default()
    )
}

/// The memory that the program needs, and a floor that would protect its working set.
pub(super) fn needs(program: &Program) -> String {
    let mut sentences: Vec<String> = Vec::new();
    for need in &program.needs {
        sentences.push(format!(
            "At most {} % of references fault with {} under LRU, or with a working set of {} on average.",
            number(need.ratio * 100.0),
            pages(need.lru_pages as f64, program),
            pages(need.ws_pages, program)
        ));
    }
    if program.needs.is_empty() && program.visibility == Visibility::EveryReference {
        let why = "More than 1 % of references fault with any memory, because so many are first uses of a page.";
        sentences.push(why.to_owned());
    }
    if let Some(floor) = program.floor {
        sentences.push(format!(
            "For 95 % of the time, a floor (memory.low) of {} is enough for what the program used in the last {} {}.",
            pages(floor.pages as f64, program),
            brief(floor.theta),
            clock(program.clock)
        ));
    }
    sentences.join(" ")
}

pub(super) fn map(analysis: &Analysis) -> String {
    let program = &analysis.program;
    let largest = program.regions.iter().take(3);
    let all = program.uses.max(1) as f64;
    let names: Vec<String> = largest
        .map(|region| {
            format!(
                "{} {} pages, {:.0} % of uses",
                short(&region.name),
                region.pages,
                100.0 * region.uses as f64 / all
            )
        })
        .collect();
    format!(
        "Each row is a range of pages, each column an interval of time. The largest regions: {}.",
        names.join("; ")
    )
}

pub(super) fn size(analysis: &Analysis) -> String {
    let of = |at: &AtWindow| {
        format!(
            "θ = {}: {:.1} pages on average, at most {}, which is {:.1} times the average.",
            brief(at.theta),
            at.size,
            at.peak,
            at.peak as f64 / at.size.max(1e-9)
        )
    };
    analysis
        .windows
        .iter()
        .map(of)
        .collect::<Vec<_>>()
        .join(" ")
}

pub(super) fn spread(analysis: &Analysis) -> String {
    let Some(at) = analysis.windows.first() else {
        return String::new();
    };
    let parts = at.mixture.as_ref().map_or(1, |mixture| mixture.parts.len());
    let shape = if at.independent < 50 {
        format!(
            "too few to know their distribution: only {} windows do not overlap",
            at.independent / 2
        )
    } else if parts > 1 {
        format!("not one normal distribution: {parts} of them fit better (BIC)")
    } else if at.shape.deviation == 0.0 {
        "a single size".to_owned()
    } else {
        "fitted by one normal distribution as well as by any mixture (BIC)".to_owned()
    };
    format!(
        "The sizes are {shape}. Skewness {:.2}, excess kurtosis {:.2}: both are 0 for a normal distribution.",
        at.shape.skewness, at.shape.excess_kurtosis
    )
}

/// A mean that grows by one value at a time.
#[derive(Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    /// `None` without a value.
    fn get(&self) -> Option<f64> {
        (self.count > 0.0).then_some(self.sum / self.count)
    }
}

pub(super) fn moves(analysis: &Analysis) -> String {
    let transitions = analysis
        .moves
        .iter()
        .filter(|step| step.distance > 0.5)
        .count();
    let program = &analysis.program;
    let Some(at) = analysis.middle() else {
        return String::new();
    };
    let is_in_transition = |from: u64| {
        let step = analysis.moves.iter().rfind(|step| step.from <= from);
        step.is_some_and(|step| step.distance > 0.5)
    };
    let mut there = Mean::default();
    let mut elsewhere = Mean::default();
    for pixel in &at.sizes.pixels {
        if is_in_transition(pixel.from) {
            there.add(pixel.most as f64);
        } else {
            elsewhere.add(pixel.most as f64);
        }
    }
    let peaks = match (there.get(), elsewhere.get()) {
        (Some(there), Some(elsewhere)) => {
            format!(
                " At transitions the working set peaks at {there:.1} pages on average, elsewhere at {elsewhere:.1}."
            )
        }
        _ => String::new(),
    };
    format!(
        "In {transitions} of {} intervals of {} {}, more than half of the pages differ from the interval before: a transition.{peaks}",
        analysis.moves.len() + 1,
        brief(program.time / (analysis.moves.len() as u64 + 1)),
        clock(program.clock)
    )
}

/// Denning's claim, that the working set faults less than LRU at equal mean size, checked on this program.
pub(super) fn claim(curves: &Curves) -> String {
    let gain = |claim: &Claim| claim.lru / claim.ws;
    let Some(best) = curves
        .claims
        .iter()
        .max_by(|one, other| gain(one).total_cmp(&gain(other)))
    else {
        return String::new();
    };
    let better = curves
        .claims
        .iter()
        .filter(|claim| claim.ws < claim.lru)
        .count();
    let gained = format!(
        "At equal mean size the working set faults less than LRU at {better} of {} windows. It gains most at θ = {}: {:.1} \
         pages and {} faults, where LRU has {} ({:.1} times as many) and the optimum of fixed size {}.",
        curves.claims.len(),
        brief(best.theta),
        best.size,
        number(best.ws),
        number(best.lru),
        gain(best),
        number(best.opt)
    );
    let knees = match curves.knees.as_slice() {
        [(_, ws), (_, lru)] => format!(" Knees: working set {}, LRU {}.", knee(ws), knee(lru)),
        _ => String::new(),
    };
    gained + &knees
}

/// Where a curve has its knee.
fn knee(knees: &Knees) -> String {
    match knees.ray {
        Some(point) => format!(
            "{:.1} pages with {} between faults",
            point.size,
            brief(point.lifetime as u64)
        ),
        None => "none".to_owned(),
    }
}

pub(super) fn misses(curves: &Curves) -> String {
    let Some(claim) = curves.claims.get(curves.claims.len() / 2) else {
        return String::new();
    };
    format!(
        "Faults with {:.1} pages on average: FIFO {}, LRU {}, 2Q {}, a timer (half-life) {}, the working set {}, OPT {}. \
         VMIN has as many faults as the working set with {:.1} pages.",
        claim.size,
        number(claim.fifo),
        number(claim.lru),
        number(claim.two_q),
        number(claim.half_life),
        number(claim.ws),
        number(claim.opt),
        claim.vmin_size
    )
}

pub(super) fn space_time(curves: &Curves, program: &Program) -> String {
    // At the chosen time to serve a fault, or else at the next shorter one.
    let of = |policy: &str| {
        let mut entries = curves.space_time.iter().filter(|it| it.policy == policy);
        let exact = entries.clone().find(|it| it.service == curves.service);
        exact.or_else(|| entries.rfind(|it| it.service <= curves.service))
    };
    let Some(ws) = of("ws") else {
        return String::new();
    };
    let Some(lru) = of("lru") else {
        return String::new();
    };
    format!(
        "If a fault takes {} {}, space-time is least at θ = {} with {:.1} pages. The least of LRU, at {} pages, is {:.2} times as \
         much. Each fault counts with the mean size here, as in Denning's approximation; the tables have the exact sums.",
        number(ws.service),
        clock(program.clock),
        brief(ws.least.parameter),
        ws.least.size,
        lru.least.parameter,
        lru.value / ws.value
    )
}

/// Prints all sentences, for a terminal.
pub(super) fn summary(out: &mut impl Write, analysis: &Analysis) -> Result<()> {
    let program = &analysis.program;
    let command = if program.command.is_empty() {
        &program.name
    } else {
        &program.command
    };
    let mut lines = vec![
        whole(program, command),
        needs(program),
        size(analysis),
        spread(analysis),
        moves(analysis),
    ];
    if let Some(curves) = &analysis.curves {
        lines.extend([claim(curves), misses(curves), space_time(curves, program)]);
    }
    lines.extend(analysis.windows.first().map(|at| at.verdict.clone()));
    for line in lines.iter().filter(|line| !line.is_empty()) {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(writeln!(out)?)
}
