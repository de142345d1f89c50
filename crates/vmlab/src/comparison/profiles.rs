//! Where the kernels of each arm were at the ticks of their clocks.

use super::{Column, row};
use crate::plan::Profile;
use std::collections::BTreeSet;

/// Functions of each arm in the table: those that follow have a percent of the ticks or less each.
const SHOWN: usize = 12;

/// The functions with most ticks of any arm, in percent of each arm's ticks in the kernel; empty if none were counted.
pub(super) fn table(columns: &[Column<'_>]) -> String {
    let arms: Vec<(&str, Profile)> = columns
        .iter()
        .map(|column| (column.arm, sum(column)))
        .filter(|(_, profile)| profile.ticks > 0)
        .collect();
    if arms.is_empty() {
        return String::new();
    }
    let heads = arms.iter().map(|(arm, _)| (*arm).to_owned());
    let mut text = row("ticks in the kernel, %", heads);
    text += &row("---", arms.iter().map(|_| "---:".to_owned()));
    let ticks = arms.iter().map(|(_, profile)| profile.ticks.to_string());
    text += &row("all", ticks);
    for name in names(&arms) {
        let shares = arms.iter().map(|(_, profile)| share(profile, &name));
        text += &row(&name, shares);
    }
    text + "\n"
}

/// All runs of an arm together.
fn sum(column: &Column<'_>) -> Profile {
    let mut sum = Profile::default();
    for profile in column
        .finished
        .iter()
        .filter_map(|line| line.report.profile.as_ref())
    {
        sum.ticks += profile.ticks;
        for (name, ticks) in &profile.functions {
            *sum.functions.entry(name.clone()).or_default() += ticks;
        }
    }
    sum
}

/// Those with most ticks of each arm; first those that have most in all.
fn names(arms: &[(&str, Profile)]) -> Vec<String> {
    let mut names = BTreeSet::new();
    for (_, profile) in arms {
        let mut sorted: Vec<_> = profile.functions.iter().collect();
        sorted.sort_by_key(|(_, ticks)| std::cmp::Reverse(**ticks));
        names.extend(sorted.into_iter().take(SHOWN).map(|(name, _)| name.clone()));
    }
    let mut names: Vec<String> = names.into_iter().collect();
    names.sort_by_key(|name| std::cmp::Reverse(ticks(arms, name)));
    names
}

/// Ticks in a function, in all arms.
fn ticks(arms: &[(&str, Profile)], name: &str) -> u64 {
    let counts = arms
        .iter()
        .filter_map(|(_, profile)| profile.functions.get(name));
    counts.sum()
}

fn share(profile: &Profile, name: &str) -> String {
    let Some(ticks) = profile.functions.get(name) else {
        return "–".to_owned();
    };
    let percent = 100.0 * *ticks as f64 / profile.ticks.max(1) as f64;
    format!("{percent:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::columns;
    use crate::line::tests::line;

    #[test]
    fn each_arm_has_a_column_with_all_its_runs() {
        let of = |arm, rep, shrink| {
            let mut line = line(arm, rep);
            let functions = [("shrink".to_owned(), shrink), ("fault".to_owned(), 10)]
                .into_iter()
                .collect();
            line.report.profile = Some(Profile {
                ticks: 100,
                functions,
            });
            line
        };
        let lines = [
            of("none", 0, 20),
            of("none", 1, 40),
            of("other", 0, 50),
            line("third", 0),
        ];
        let text = table(&columns(&lines.iter().collect::<Vec<_>>()));
        assert!(
            text.contains("| all | 200 | 100 |\n| shrink | 30.0 | 50.0 |\n| fault | 10.0 | 10.0 |"),
            "{text}"
        );
        assert!(!text.contains("third"));
        assert_eq!(table(&columns(&[&line("none", 0)])), "");
    }
}
