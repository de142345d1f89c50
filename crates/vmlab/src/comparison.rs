//! Tables of what was run: medians, intervals, and a verdict for each measure.

pub mod fit;
mod measures;
mod profiles;
pub mod statistics;

use crate::line::{Cell, Line, Machine, State};
use crate::scenario;
use anyhow::Result;
pub use measures::{MEASURES, Measure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The measure of this name.
pub fn measure(name: &str) -> Option<&'static Measure> {
    MEASURES.iter().find(|measure| measure.name == name)
}

/// How an arm compares with the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval of the difference is on the better side of zero.
    Better,
    /// The whole interval is on the worse side.
    Worse,
    /// The interval contains zero, or an arm has fewer than three runs.
    NotToldApart,
}

/// Markdown for all lines: one table for each scenario and cell.
pub fn tables(lines: &[Line]) -> Result<String> {
    let mut groups: BTreeMap<(String, Cell), Vec<&Line>> = BTreeMap::new();
    for line in lines {
        let group = (line.scenario.clone(), line.machine.setting.cell());
        groups.entry(group).or_default().push(line);
    }
    let mut text = String::new();
    for ((name, cell), lines) in &groups {
        text += &table(name, cell, lines)?;
    }
    text += &fit::time_against_memory(lines);
    Ok(text)
}

/// The runs of an arm.
struct Column<'a> {
    arm: &'a str,
    /// Those that finished.
    finished: Vec<&'a Line>,
    /// How many there are, finished or not.
    all: usize,
}

impl Column<'_> {
    fn values(&self, measure: &Measure) -> Vec<f64> {
        let finished = self.finished.iter();
        finished.filter_map(|line| (measure.of)(line)).collect()
    }
}

fn table(name: &str, cell: &Cell, lines: &[&Line]) -> Result<String> {
    let columns = columns(lines);
    let measures: Vec<&Measure> = scenario::named(name)?
        .measures
        .iter()
        .filter_map(|name| measure(name))
        .collect();
    let mut text = heading(name, cell, lines);
    text += &row(
        "measure",
        columns.iter().map(|column| column.arm.to_owned()),
    );
    text += &row("---", columns.iter().map(|_| "---:".to_owned()));
    text += &row("runs", columns.iter().map(|column| runs(column)));
    for measure in &measures {
        let is_unknown = |column: &Column<'_>| column.values(measure).is_empty();
        if columns.iter().all(is_unknown) {
            continue;
        }
        let mut first = measure.name.to_owned();
        if !measure.unit.is_empty() {
            let _ = write!(first, ", {}", measure.unit);
        }
        text += &row(&first, columns.iter().map(|column| value(column, measure)));
    }
    text.push('\n');
    if let Some((first, others)) = columns.split_first() {
        for other in others {
            text += &verdicts(first, other, &measures);
        }
    }
    text += &profiles::table(&columns);
    for line in lines.iter().filter(|line| line.state != State::Finished) {
        let why = one_line(line.console.as_deref().unwrap_or_default());
        let _ = writeln!(
            text,
            "- {} {}: {:?}: `{why}`",
            line.arm, line.rep, line.state
        );
    }
    text.push('\n');
    Ok(text)
}

/// The arms in the order in which they first ran.
fn columns<'a>(lines: &[&'a Line]) -> Vec<Column<'a>> {
    let mut columns: Vec<Column<'a>> = Vec::new();
    let mut sorted = lines.to_vec();
    sorted.sort_by_key(|line| (line.rep, line.machine.at));
    for line in sorted {
        let place = match columns.iter().position(|column| column.arm == line.arm) {
            Some(place) => place,
            None => {
                columns.push(Column {
                    arm: &line.arm,
                    finished: Vec::new(),
                    all: 0,
                });
                columns.len() - 1
            }
        };
        columns[place].all += 1;
        if line.state == State::Finished {
            columns[place].finished.push(line);
        }
    }
    // The arm that others are compared with comes first, whichever ran first.
    columns.sort_by_key(|column| column.arm != "none");
    columns
}

fn heading(name: &str, cell: &Cell, lines: &[&Line]) -> String {
    let Cell {
        kernel,
        lru,
        swap,
        memory_mib,
        cpus,
        nodes,
    } = cell;
    let plural = if *nodes == 1 { "" } else { "s" };
    let origin = all_of(lines, |machine| &machine.origin);
    let accel = all_of(lines, |machine| &machine.accel).to_uppercase();
    let qemu = all_of(lines, |machine| &machine.qemu);
    let loads = loads(lines);
    format!(
        "### {name}: kernel {kernel}, LRU {lru}, swap {swap}, {memory_mib} MiB, {cpus} CPU, {nodes} node{plural}\n\n\
         {origin}; {accel} in QEMU {qemu}; host load {loads}.\n\n"
    )
}

/// What these lines were run on. They may be of several days, so there may be several kernels or versions of QEMU.
fn all_of(lines: &[&Line], text: fn(&Machine) -> &str) -> String {
    let different: BTreeSet<&str> = lines.iter().map(|line| text(&line.machine)).collect();
    different.into_iter().collect::<Vec<_>>().join(" and ")
}

fn loads(lines: &[&Line]) -> String {
    let loads = lines.iter().filter_map(|line| line.machine.host_load);
    let low = loads.clone().reduce(f64::min);
    let high = loads.reduce(f64::max);
    match (low, high) {
        (Some(low), Some(high)) => format!("{low:.1} to {high:.1}"),
        _ => "unknown".to_owned(),
    }
}

fn row(first: &str, cells: impl Iterator<Item = String>) -> String {
    format!("| {first} | {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn runs(column: &Column<'_>) -> String {
    match column.all - column.finished.len() {
        0 => column.all.to_string(),
        failed => format!("{} ({failed} did not finish)", column.all),
    }
}

fn value(column: &Column<'_>, measure: &Measure) -> String {
    match statistics::estimate(&column.values(measure)) {
        None => "–".to_owned(),
        Some(estimate) if estimate.count == 1 || estimate.low == estimate.high => {
            number(estimate.median)
        }
        Some(estimate) => format!(
            "{} [{}, {}]",
            number(estimate.median),
            number(estimate.low),
            number(estimate.high)
        ),
    }
}

/// A number with at most two decimals, and with its thousands in groups.
fn number(value: f64) -> String {
    if value.abs() < 100.0 {
        let text = format!("{value:.2}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let digits = format!("{value:.0}");
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.as_str()),
    };
    let mut text = sign.to_owned();
    let first = digits.len() % 3;
    for (at, digit) in digits.char_indices() {
        if at > 0 && at % 3 == first {
            // A narrow space that no line breaks at.
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// How `other` compares with `first` in this measure, and by how many percent.
fn verdict(
    first: &Column<'_>,
    other: &Column<'_>,
    measure: &Measure,
) -> Option<(Verdict, Option<f64>)> {
    let before = first.values(measure);
    let after = other.values(measure);
    let from = statistics::median(&before)?;
    let to = statistics::median(&after)?;
    let percent = if from == 0.0 {
        None
    } else {
        Some((to - from) / from * 100.0)
    };
    let verdict = if !statistics::differ(&before, &after) {
        Verdict::NotToldApart
    } else if (to > from) == measure.more_is_better {
        Verdict::Better
    } else {
        Verdict::Worse
    };
    Some((verdict, percent))
}

fn verdicts(first: &Column<'_>, other: &Column<'_>, measures: &[&Measure]) -> String {
    let mut better = Vec::new();
    let mut worse = Vec::new();
    let mut not_told_apart = Vec::new();
    for measure in measures {
        let Some((verdict, percent)) = verdict(first, other, measure) else {
            continue;
        };
        let text = match percent {
            Some(percent) => format!("{} {percent:+.0} %", measure.name),
            None => measure.name.to_owned(),
        };
        match verdict {
            Verdict::Better => better.push(text),
            Verdict::Worse => worse.push(text),
            Verdict::NotToldApart => not_told_apart.push(text),
        }
    }
    format!(
        "- **{}** against {}: better: {}; worse: {}; not told apart: {}.\n",
        other.arm,
        first.arm,
        listed(&better),
        listed(&worse),
        listed(&not_told_apart)
    )
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}

/// The line that names the cause, else the last one.
fn one_line(text: &str) -> String {
    let cause = text
        .lines()
        .find(|line| line.contains("panic") || line.contains("BUG:"));
    let line = cause.or(text.lines().last()).unwrap_or_default().trim();
    line.replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::tests::line;

    fn with(arm: &str, rep: u32, stalls: i64) -> Line {
        let mut line = line(arm, rep);
        line.report.counters = BTreeMap::from([(
            "load".to_owned(),
            BTreeMap::from([("allocstall_normal".to_owned(), stalls)]),
        )]);
        line
    }

    #[test]
    fn a_table_has_medians_and_verdicts() {
        let mut lines = Vec::new();
        for (rep, (none, warmset)) in [(540, 3), (538, 0), (542, 1)].into_iter().enumerate() {
            lines.extend([
                with("warmset", rep as u32, warmset),
                with("none", rep as u32, none),
            ]);
        }
        let text = tables(&lines).unwrap();
        assert!(text.contains("| measure | none | warmset |"), "{text}");
        assert!(
            text.contains("| allocstall | 540 [538, 542] | 1 [0, 3] |"),
            "{text}"
        );
        assert!(
            text.contains("**warmset** against none: better: allocstall -100 %"),
            "{text}"
        );
    }

    #[test]
    fn a_wedged_machine_is_in_the_table() {
        let mut wedged = with("none", 0, 0);
        wedged.state = State::Wedged;
        wedged.console = Some("  first\n  rcu: INFO: stall\n".to_owned());
        let text = tables(&[wedged, with("none", 1, 5)]).unwrap();
        assert!(text.contains("2 (1 did not finish)"), "{text}");
        assert!(text.contains("Wedged: `rcu: INFO: stall`"), "{text}");
    }

    #[test]
    fn each_kernel_that_ran_is_named() {
        let mut later = with("warmset", 0, 0);
        later.machine.origin = "linux 6.12, built anew".to_owned();
        let text = tables(&[with("none", 0, 5), with("none", 1, 5), later]).unwrap();
        assert!(
            text.contains("\n\nlinux 6.12 and linux 6.12, built anew; "),
            "{text}"
        );
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(12.5), "12.5");
        assert_eq!(number(999.6), "1\u{202f}000");
        assert_eq!(number(-1_234_567.0), "-1\u{202f}234\u{202f}567");
    }
}
