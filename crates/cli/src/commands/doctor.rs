//! `warmset doctor`: what memory pressure has cost this machine, and what to do about it.

mod checks;
mod cost;
mod finding;
mod neighbours;
mod settings;

use crate::observation::Observation;
use crate::ui::text::{Page, Screen, Style, wrapped};
use crate::ui::{Context, Form, json};
use anyhow::Result;
use checks::CHECKS;
use cost::Cost;
use finding::{Case, Finding, Level};
use serde::Serialize;
use settings::Settings;
use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

/// All that the doctor found.
#[derive(Debug, Serialize)]
struct Report {
    cost: Cost,
    /// The worst first.
    findings: Vec<Finding>,
}

/// Show what memory pressure has cost since boot, and what to change
///
/// Looks for conflicts with other programs, and for settings that cost performance. The exit code is 1 if a problem was
/// found; advice leaves it at 0.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show only what memory pressure has cost; the exit code is 0
    #[arg(long)]
    cost: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let observed = Observation::take(&context.root)?;
    if args.cost {
        show_cost(&Cost::of(&observed.sample, &observed.facts), context, out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let root = rustix::process::geteuid().is_root();
    let report = examine(&Case {
        observed,
        settings: Settings::read(&context.root),
        root,
    });
    match context.form {
        Form::Json => json(out, &report)?,
        Form::Text => out.write_all(text(&report, Screen::of_environment()).as_bytes())?,
    }
    let worst = report.findings.iter().map(|finding| finding.level).max();
    if worst == Some(Level::Problem) {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn show_cost(cost: &Cost, context: &Context, out: &mut impl Write) -> Result<()> {
    match context.form {
        Form::Json => json(out, cost),
        Form::Text => {
            let mut page = Page::new(Screen::of_environment());
            cost.show(&mut page);
            Ok(out.write_all(page.text.as_bytes())?)
        }
    }
}

fn examine(case: &Case) -> Report {
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(case)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    Report {
        cost: Cost::of(&case.observed.sample, &case.observed.facts),
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
        show(&mut page, finding);
    }
    if !healthy.is_empty() {
        let painted = page.screen.paint.paint(Style::Good, "ok");
        let _ = writeln!(page.text, "\n{painted}:");
        for finding in healthy {
            page.paragraph(2, &finding.what);
        }
    }
    page.text
}

/// A problem or an advice, with its reason and its remedy.
fn show(page: &mut Page, finding: &Finding) {
    let (style, word) = match finding.level {
        Level::Problem => (Style::Bad, "problem"),
        _ => (Style::Notable, "advice"),
    };
    let line = format!("{word}: {}", finding.what);
    let lines = wrapped(&line, page.screen.columns).join("\n");
    let painted = page.screen.paint.paint(style, word);
    let _ = writeln!(page.text, "\n{}", lines.replacen(word, &painted, 1));
    page.paragraph(2, &finding.why);
    page.paragraph(2, &format!("→ {}", finding.remedy));
}

#[cfg(test)]
mod tests;
