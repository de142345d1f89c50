//! Tables of what was run: medians, intervals, and a verdict for each measure.

pub mod fit;
mod measures;
mod profiles;
pub mod statistics;

use crate::line::{Cell, Line, State};
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
    /// The interval of the difference is on the better side of zero.
    Better,
    /// It is on the worse side.
    Worse,
    /// It has zero in it, or there are fewer than three runs.
    NotToldApart,
}

/// Markdown for all lines: one table for each scenario and cell.
pub fn tables(lines: &[Line]) -> Result<String> {
    let mut groups: BTreeMap<(String, Cell), Vec<&Line>> = BTreeMap::new();
    for line in lines {
        groups
            .entry((line.scenario.clone(), line.machine.setting.cell()))
            .or_default()
            .push(line);
    }
    let mut text = String::new();
    for ((name, cell), lines) in &groups {
        text += &table(name, cell, lines)?;
    }
    text += &fit::time_against_memory(lines);
    Ok(text)
}

/// An arm's runs that finished.
struct Column<'a> {
    arm: &'a str,
    finished: Vec<&'a Line>,
    all: usize,
}

impl Column<'_> {
    fn values(&self, measure: &Measure) -> Vec<f64> {
        self.finished
            .iter()
            .filter_map(|line| (measure.of)(line))
            .collect()
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
        if columns
            .iter()
            .all(|column| column.values(measure).is_empty())
        {
            continue;
        }
        let unit = if measure.unit.is_empty() {
            String::new()
        } else {
            format!(", {}", measure.unit)
        };
        text += &row(
            &format!("{}{unit}", measure.name),
            columns.iter().map(|column| value(column, measure)),
        );
    }
    text.push('\n');
    if let Some((first, others)) = columns.split_first() {
        for other in others {
            text += &verdicts(first, other, &measures);
        }
    }
    text += &profiles::table(&columns);
    for line in lines.iter().filter(|line| line.state != State::Finished) {
        let _ = writeln!(
            text,
            "- {} {}: {:?}: `{}`",
            line.arm,
            line.rep,
            line.state,
            one_line(line.console.as_deref().unwrap_or_default())
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
        let place = columns
            .iter()
            .position(|column| column.arm == line.arm)
            .unwrap_or_else(|| {
                columns.push(Column {
                    arm: &line.arm,
                    finished: Vec::new(),
                    all: 0,
                });
                columns.len() - 1
            });
        columns[place].all += 1;
        columns[place]
            .finished
            .extend((line.state == State::Finished).then_some(line));
    }
    // What others are compared with comes first, whichever ran first.
    columns.sort_by_key(|column| column.arm != "none");
    columns
}

fn heading(name: &str, cell: &Cell, lines: &[&Line]) -> String {
    // Lines may be of several days: whatever ran them is told, not the first alone.
    let of = |text: fn(&crate::line::Machine) -> &str| {
        let said: BTreeSet<&str> = lines.iter().map(|line| text(&line.machine)).collect();
        said.into_iter().collect::<Vec<_>>().join(" and ")
    };
    format!(
        "### {name}: kernel {}, LRU {}, swap {}, {} MiB, {} CPU, {} node{}\n\n{}; {} in QEMU {}; host load {}.\n\n",
        cell.kernel,
        cell.lru,
        cell.swap,
        cell.memory_mib,
        cell.cpus,
        cell.nodes,
        if cell.nodes == 1 { "" } else { "s" },
        of(|machine| &machine.origin),
        of(|machine| &machine.accel).to_uppercase(),
        of(|machine| &machine.qemu),
        loads(lines),
    )
}

fn loads(lines: &[&Line]) -> String {
    let loads: Vec<f64> = lines
        .iter()
        .filter_map(|line| line.machine.host_load)
        .collect();
    let ends = (
        loads.iter().copied().reduce(f64::min),
        loads.iter().copied().reduce(f64::max),
    );
    match ends {
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

/// Three digits that say something, groups of thousands apart.
fn number(value: f64) -> String {
    if value.abs() < 100.0 {
        let text = format!("{value:.2}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let digits = format!("{value:.0}");
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits.as_str()), |digits| ("-", digits));
    let first = digits.len() % 3;
    let groups = digits.char_indices().map(|(at, digit)| {
        if at > 0 && at % 3 == first {
            format!("\u{202f}{digit}")
        } else {
            digit.to_string()
        }
    });
    format!("{sign}{}", groups.collect::<String>())
}

/// How `other` compares with `first` in this measure.
fn verdict(
    first: &Column<'_>,
    other: &Column<'_>,
    measure: &Measure,
) -> Option<(Verdict, Option<f64>)> {
    let (before, after) = (first.values(measure), other.values(measure));
    let (from, to) = (statistics::median(&before)?, statistics::median(&after)?);
    let change = (from != 0.0).then(|| (to - from) / from * 100.0);
    let verdict = match statistics::differ(&before, &after) {
        false => Verdict::NotToldApart,
        true if (to > from) == measure.more_is_better => Verdict::Better,
        true => Verdict::Worse,
    };
    Some((verdict, change))
}

fn verdicts(first: &Column<'_>, other: &Column<'_>, measures: &[&Measure]) -> String {
    let mut said: BTreeMap<u8, Vec<String>> = BTreeMap::new();
    for measure in measures {
        let Some((verdict, change)) = verdict(first, other, measure) else {
            continue;
        };
        let by = change
            .map(|percent| format!(" {percent:+.0} %"))
            .unwrap_or_default();
        said.entry(verdict as u8)
            .or_default()
            .push(format!("{}{by}", measure.name));
    }
    let list = |kind: Verdict| {
        said.get(&(kind as u8))
            .map_or("none".to_owned(), |names| names.join(", "))
    };
    format!(
        "- **{}** against {}: better: {}; worse: {}; not told apart: {}.\n",
        other.arm,
        first.arm,
        list(Verdict::Better),
        list(Verdict::Worse),
        list(Verdict::NotToldApart)
    )
}

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
    fn a_machine_that_stood_still_is_in_the_table() {
        let mut wedged = with("none", 0, 0);
        wedged.state = State::Wedged;
        wedged.console = Some("  first\n  rcu: INFO: stall\n".to_owned());
        let text = tables(&[wedged, with("none", 1, 5)]).unwrap();
        assert!(
            text.contains("2 (1 did not finish)") && text.contains("Wedged: `rcu: INFO: stall`"),
            "{text}"
        );
    }

    #[test]
    fn each_kernel_that_ran_is_told() {
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
        assert_eq!(
            (number(0.0), number(12.5), number(999.6)),
            ("0".to_owned(), "12.5".to_owned(), "1\u{202f}000".to_owned())
        );
        assert_eq!(number(-1_234_567.0), "-1\u{202f}234\u{202f}567");
    }
}
