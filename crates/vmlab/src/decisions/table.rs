//! The table of all runs, in Markdown.

use super::arms::{ARMS, Arm};
use super::judge::verdict;
use super::lines::Line;
use anyhow::Result;
use situations::{Situation, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What stands in one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The verdict; `None` if there was no run, or it failed.
    pub verdict: Option<Verdict>,
    /// What happened, in a few words.
    pub what: String,
}

impl Cell {
    /// Of a run.
    pub fn of(line: &Line) -> Result<Self> {
        let Some(seen) = &line.seen else {
            let error = line.error.clone().unwrap_or_default();
            let first = error.lines().next().unwrap_or_default();
            let fault = format!("no result: {first}");
            let verdict = line.wedged.then(|| Verdict::Wrong(vec![fault.clone()]));
            return Ok(Self {
                verdict,
                what: fault,
            });
        };
        let situation = Situation::parse(&line.situation, &line.text)?;
        let verdict = verdict(&situation, &Arm::named(&line.arm)?, seen)?;
        let what = match &verdict {
            Verdict::Right => String::new(),
            Verdict::Late(why) | Verdict::Wrong(why) => why.join("; "),
        };
        Ok(Self {
            verdict: Some(verdict),
            what,
        })
    }

    /// One word.
    pub fn word(&self) -> &'static str {
        match self.verdict {
            None => "?",
            Some(Verdict::Right) => "right",
            Some(Verdict::Late(_)) => "late",
            Some(Verdict::Wrong(_)) => "**wrong**",
        }
    }
}

/// The tables: the sums, each situation beside each arm, and what was wrong.
pub fn markdown(lines: &[Line]) -> Result<String> {
    let mut cells: BTreeMap<(&str, &str), Cell> = BTreeMap::new();
    for line in lines {
        cells.insert((&line.situation, &line.arm), Cell::of(line)?);
    }
    let is_there = |arm: &&Arm| lines.iter().any(|line| line.arm == arm.name);
    let arms: Vec<&Arm> = ARMS.iter().filter(is_there).collect();
    let mut text = sums(&cells, &arms);
    text.push('\n');
    text.push_str(&head("situation", &arms));
    let mut names: Vec<&str> = lines.iter().map(|line| line.situation.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in &names {
        let _ = write!(text, "| {name} |");
        for arm in &arms {
            let cell = cells.get(&(*name, arm.name));
            let _ = write!(text, " {} |", cell.map_or("", Cell::word));
        }
        text.push('\n');
    }
    text.push_str("\nWhat was not right:\n\n");
    for ((name, arm), cell) in &cells {
        if cell.verdict != Some(Verdict::Right) {
            let _ = writeln!(text, "- {name}, {arm}: {}", short(&cell.what));
        }
    }
    Ok(text)
}

/// How many of each verdict an arm has.
fn sums(cells: &BTreeMap<(&str, &str), Cell>, arms: &[&Arm]) -> String {
    let mut text = head("", arms);
    for word in ["right", "late", "**wrong**", "?"] {
        let counts = arms.iter().map(|arm| {
            let mut own = cells.iter().filter(|((_, name), _)| *name == arm.name);
            own.by_ref().filter(|(_, cell)| cell.word() == word).count()
        });
        let counts: Vec<usize> = counts.collect();
        if word == "?" && counts.iter().all(|count| *count == 0) {
            continue;
        }
        let _ = write!(text, "| {word} |");
        for count in counts {
            let _ = write!(text, " {count} |");
        }
        text.push('\n');
    }
    text
}

fn head(first: &str, arms: &[&Arm]) -> String {
    let mut text = format!("| {first} |");
    for arm in arms {
        let _ = write!(text, " {} |", arm.name);
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(arms.len()));
    text.push('\n');
    text
}

/// The first faults: a storm of kills is one fault, not two hundred.
fn short(what: &str) -> String {
    const SHOWN: usize = 3;
    let parts: Vec<&str> = what.split("; ").collect();
    let more = parts.len().saturating_sub(SHOWN);
    let shown = parts
        .iter()
        .take(SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join("; ");
    if more == 0 {
        shown
    } else {
        format!("{shown}; and {more} more")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_never_answers_is_a_result_and_a_play_that_failed_is_none() {
        let line = Line {
            boot_s: Some(1.0),
            seen: None,
            error: Some("the machine did not answer in time\n  console".to_owned()),
            wedged: true,
            ..crate::decisions::lines::example()
        };
        let cell = Cell::of(&line).unwrap();
        assert_eq!(cell.word(), "**wrong**");
        assert!(cell.what.ends_with("in time"), "{}", cell.what);
        let failed = Line {
            wedged: false,
            ..line
        };
        assert_eq!(Cell::of(&failed).unwrap().word(), "?");
        assert!(!failed.counts());
    }

    #[test]
    fn a_storm_of_faults_is_cut() {
        assert_eq!(short("a; b"), "a; b");
        assert_eq!(short("a; b; c; d; e"), "a; b; c; and 2 more");
    }
}
