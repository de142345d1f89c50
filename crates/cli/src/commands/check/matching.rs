//! What each rule matches now, and which rules can match nothing.

use super::hints;
use host::processes::survey::{Process, Survey, survey};
use pressure::config::Guard;
use pressure::rules::{Key, Numbered};
use pressure::scan::Candidate;
use serde_json::{Value, json};
use std::path::Path;

/// Processes that a line names: as many as fit beside the rule.
const FEW: usize = 4;
/// Processes that JSON names, at most; the count is of all.
const MANY: usize = 100;

/// All rules of a configuration on this machine.
pub(super) struct Report<'c> {
    pub(super) rules: Vec<RuleReport<'c>>,
    /// What concerns more than one rule.
    pub(super) notes: Vec<String>,
}

/// One rule, and the processes that it names now.
pub(super) struct RuleReport<'c> {
    pub(super) numbered: Numbered<'c>,
    matches: Vec<Match>,
    /// Why it can match nothing.
    pub(super) error: Option<String>,
    note: Option<String>,
}

struct Match {
    pid: u32,
    name: String,
}

impl<'c> Report<'c> {
    /// Reads every process of the machine, if there is any rule.
    pub(super) fn of(root: &Path, guard: &'c Guard) -> Self {
        let mut report = Self {
            rules: Vec::new(),
            notes: Vec::new(),
        };
        if guard.rules().next().is_none() {
            return report;
        }
        let survey = match survey(root, guard) {
            Ok(survey) => survey,
            Err(error) => {
                let path = root.join("proc");
                report.notes.push(format!(
                    "{}: {error}; what rules match now is not known",
                    path.display()
                ));
                Survey::default()
            }
        };
        for numbered in guard.rules() {
            report
                .rules
                .push(RuleReport::of(numbered, root, &survey.processes));
        }
        report
            .notes
            .extend(contradictions(guard, &survey.processes));
        let unreadable = survey.unreadable;
        if unreadable > 0 && !rustix::process::geteuid().is_root() {
            report.notes.push(format!(
                "only root sees which file a process of others runs, {unreadable} here: sudo warmset check"
            ));
        }
        report
    }

    pub(super) fn json(&self) -> Value {
        self.rules.iter().map(RuleReport::json).collect()
    }
}

impl<'c> RuleReport<'c> {
    fn of(numbered: Numbered<'c>, root: &Path, processes: &[Process]) -> Self {
        let matches: Vec<Match> = processes
            .iter()
            .filter(|process| numbered.names(&process.candidate))
            .map(|process| Match::of(&process.candidate))
            .collect();
        let rule = numbered.rule;
        let machine = hints::Machine { root, processes };
        let mut error = None;
        let mut note = None;
        if matches.is_empty() {
            error = machine.why_never(rule);
            note = machine.why_not_now(rule);
        }
        if let Some(kept) = rule.cut_name() {
            note = Some(format!(
                "the kernel cuts names to 15 letters: compared is \"{kept}\""
            ));
        }
        Self {
            numbered,
            matches,
            error,
            note,
        }
    }

    /// The key and the rule, as in the configuration.
    pub(super) fn title(&self) -> String {
        let key = self.numbered.key.name();
        format!("{key} \"{}\"", self.numbered.rule)
    }

    /// One line, and a second one for a note.
    pub(super) fn lines(&self) -> Vec<String> {
        let title = self.title();
        let mut lines = Vec::new();
        let count = self.matches.len();
        if count == 0 {
            lines.push(format!("{title}: matches nothing now"));
        } else {
            let mut named: Vec<String> = self.matches.iter().take(FEW).map(Match::text).collect();
            if count > FEW {
                named.push("…".to_owned());
            }
            let noun = if count == 1 { "process" } else { "processes" };
            lines.push(format!("{title}: {count} {noun}: {}", named.join(", ")));
        }
        if let Some(note) = &self.note {
            lines.push(format!("  {note}"));
        }
        lines
    }

    fn json(&self) -> Value {
        let first = self.matches.iter().take(MANY);
        let matches: Vec<Value> = first
            .map(|it| json!({ "pid": it.pid, "name": it.name }))
            .collect();
        json!({
            "key": self.numbered.key.name(),
            "rule": self.numbered.rule.as_str(),
            "matches": matches,
            "count": self.matches.len(),
            "note": self.note,
            "error": self.error,
        })
    }
}

impl Match {
    fn of(candidate: &Candidate) -> Self {
        Self {
            pid: candidate.identity.pid,
            name: candidate.name.to_string(),
        }
    }

    fn text(&self) -> String {
        format!("{} ({})", self.name, self.pid)
    }
}

/// Rules of different lists that name the same process now, a sentence for each pair.
fn contradictions(guard: &Guard, processes: &[Process]) -> Vec<String> {
    let pairs = [
        (Key::Avoid, Key::Prefer, "neither counts for it"),
        (Key::Spare, Key::Prefer, "it is exempt"),
    ];
    let mut notes = Vec::new();
    for (one, other, what) in pairs {
        let ones = guard.rules().filter(|numbered| numbered.key == one);
        for first in ones {
            let others = guard.rules().filter(|numbered| numbered.key == other);
            for second in others {
                let common = processes.iter().find(|process| {
                    first.names(&process.candidate) && second.names(&process.candidate)
                });
                if let Some(process) = common {
                    notes.push(format!(
                        "{} \"{}\" and {} \"{}\" both name {}: {what}",
                        one.name(),
                        first.rule,
                        other.name(),
                        second.rule,
                        Match::of(&process.candidate).text()
                    ));
                }
            }
        }
    }
    notes
}
