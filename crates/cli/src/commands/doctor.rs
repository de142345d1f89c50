//! `warmset doctor`: what memory pressure has cost this machine, and what to do about it.

mod checks;
mod cost;
mod settings;

use crate::observation::Glance;
use crate::ui::text::{Page, Screen, Style, wrapped};
use crate::ui::{Context, Form, json};
use anyhow::Result;
use checks::CHECKS;
use cost::Cost;
use serde::Serialize;
use settings::Settings;
use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

/// What the checks look at.
#[derive(Debug)]
struct Case {
    glance: Glance,
    settings: Settings,
    /// Whether we are root.
    root: bool,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    level: Level,
    /// What is so.
    what: String,
    /// Why it matters; empty where all is well.
    why: String,
    /// What to do about it; empty where nothing is to be done.
    remedy: String,
}

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Level {
    /// As it should be.
    Ok,
    /// Could be better.
    Advice,
    /// Wrong: the exit code is 1.
    Problem,
}

impl Finding {
    fn ok(what: impl Into<String>) -> Self {
        Self {
            level: Level::Ok,
            what: what.into(),
            why: String::new(),
            remedy: String::new(),
        }
    }

    fn advice(what: impl Into<String>, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            level: Level::Advice,
            what: what.into(),
            why: why.into(),
            remedy: remedy.into(),
        }
    }

    fn problem(what: impl Into<String>, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            level: Level::Problem,
            ..Self::advice(what, why, remedy)
        }
    }
}

/// Everything the doctor has to say.
#[derive(Debug, Serialize)]
struct Report {
    cost: Cost,
    /// The gravest first.
    findings: Vec<Finding>,
}

/// Say what memory pressure has cost since boot, and what to do
///
/// Looks for conflicts, settings and chances. Exit code 1 if a problem was found; advice is none.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let glance = Glance::take(&context.root)?;
    let root = rustix::process::geteuid().is_root();
    let report = examine(&Case {
        glance,
        settings: Settings::read(&context.root),
        root,
    });
    match context.form {
        Form::Json => json(out, &report)?,
        Form::Text => out.write_all(text(&report, Screen::of_environment()).as_bytes())?,
    }
    let is_ill = report
        .findings
        .iter()
        .any(|finding| finding.level == Level::Problem);
    Ok(if is_ill {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn examine(case: &Case) -> Report {
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(case)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    Report {
        cost: Cost::of(&case.glance.sample, &case.glance.facts),
        findings,
    }
}

fn text(report: &Report, screen: impl Into<Screen>) -> String {
    let mut page = Page::new(screen);
    report.cost.show(&mut page);
    let (healthy, others): (Vec<_>, Vec<_>) = report
        .findings
        .iter()
        .partition(|finding| finding.level == Level::Ok);
    for finding in others {
        let (style, word) = match finding.level {
            Level::Problem => (Style::Bad, "problem"),
            _ => (Style::Notable, "advice"),
        };
        let painted = page.screen.paint.paint(style, word);
        let lines = wrapped(&format!("{word}: {}", finding.what), page.screen.columns).join("\n");
        let _ = writeln!(page.text, "\n{}", lines.replacen(word, &painted, 1));
        page.paragraph(2, &finding.why);
        page.paragraph(2, &format!("→ {}", finding.remedy));
    }
    if !healthy.is_empty() {
        let painted = page.screen.paint.paint(Style::Good, "ok");
        let _ = writeln!(page.text, "\n{painted}:");
        healthy
            .iter()
            .for_each(|finding| page.paragraph(2, &finding.what));
    }
    page.text
}

#[cfg(test)]
mod tests;
