//! What was found out, for a person.

use super::finding::{Finding, Reclaimed};
use anyhow::Result;
use std::fmt::Display;
use std::io::Write;
use units::{Bytes, Percent, Span};

/// Columns before what stands beside a label.
const LABEL: usize = 13;

pub(super) fn show(out: &mut impl Write, finding: &Finding) -> Result<()> {
    let unit = &finding.unit;
    writeln!(out, "{unit}: {}\n", headline(finding))?;
    let found = &finding.working_set;
    if let (Some(p50), Some(p95), Some(p99)) = (found.p50, found.p95, found.p99) {
        let sizes = found.sizes;
        line(
            out,
            "over time",
            format!("p50 {p50}, p95 {p95}, p99 {p99}, of {sizes} sizes"),
        )?;
    }
    if let Some([first, last]) = &finding.memory {
        line(out, "it had", first.used)?;
        let (anonymous, files, shared) = (last.anonymous, last.files, last.shared);
        let text = format!(
            "{}: {anonymous} anonymous, {files} files, of these {shared} shared",
            last.used
        );
        line(out, "it has", text)?;
    }
    if let Some(reclaim) = &finding.reclaim {
        show_reclaim(out, reclaim)?;
    }
    if let Some(beside) = &finding.accessed {
        let window = seconds(beside.window_seconds);
        let text = format!(
            "{} within {window}, for comparison, of {} that is mapped",
            beside.used, beside.resident
        );
        line(out, "accessed", text)?;
    }
    line(out, "measured", means(finding))?;
    for note in &finding.notes {
        line(out, "note", note)?;
    }
    show_advice(out, finding)
}

fn headline(finding: &Finding) -> String {
    let found = &finding.working_set;
    let usual = found
        .p50
        .map_or(String::new(), |p50| format!("working set {p50}, "));
    match (found.lower, found.upper) {
        (Some(lower), Some(upper)) if lower < upper => {
            format!("{usual}between {lower} and {upper}")
        }
        (_, Some(upper)) => format!("{usual}at most {upper}"),
        (Some(lower), None) => format!("{usual}more than {lower}"),
        (None, None) => "nothing is known of its working set".to_owned(),
    }
}

fn show_reclaim(out: &mut impl Write, reclaim: &Reclaimed) -> Result<()> {
    let Reclaimed {
        taken,
        came_back,
        answers,
        ..
    } = reclaim;
    let text =
        format!("{taken}, and {came_back} came back; {answers} times more than a part of a step");
    line(out, "taken", text)?;
    let text = format!(
        "all of its tasks waited for {} of {} at most; the budget is {}",
        percent(reclaim.pressure),
        seconds(reclaim.window_seconds),
        percent(reclaim.budget),
    );
    line(out, "waited", text)?;
    if let Some(resolution) = reclaim.resolution {
        line(out, "resolution", format!("{resolution}, the largest step"))?;
    }
    Ok(())
}

fn means(finding: &Finding) -> String {
    let looks = finding.looks;
    let time = seconds(finding.seconds);
    match &finding.why {
        None => format!("by memory.reclaim, in {looks} looks over {time}; no limit was set"),
        Some(why) => {
            let by = if finding.by == "damon" {
                "DAMON"
            } else {
                "accessed bits"
            };
            format!("by {by}, in {looks} windows over {time}; {why}")
        }
    }
}

fn show_advice(out: &mut impl Write, finding: &Finding) -> Result<()> {
    let Some(advised) = &finding.suggestions else {
        return Ok(());
    };
    writeln!(out, "\nsuggested")?;
    let setting = |out: &mut _, name: &str, value: String, why: &str| -> Result<()> {
        let setting = format!("{name}{value}");
        Ok(Write::write_fmt(
            out,
            format_args!("  {setting:<24} {why}\n"),
        )?)
    };
    if let Some(low) = advised.memory_low {
        setting(
            out,
            "MemoryLow=",
            mib(low, "M"),
            "p95: the kernel takes from others first while it has no more",
        )?;
    }
    setting(
        out,
        "MemoryHigh=",
        mib(advised.memory_high, "M"),
        "a quarter above the largest: it is slowed down beyond, also by what was not seen",
    )?;
    setting(
        out,
        "MemoryMax=",
        mib(advised.memory_max, "M"),
        "half above MemoryHigh: the kernel kills beyond, so only a leak gets there",
    )?;
    setting(
        out,
        "requests.memory: ",
        mib(advised.request, "Mi"),
        "as MemoryLow, for a container",
    )?;
    setting(
        out,
        "limits.memory: ",
        mib(advised.limit, "Mi"),
        "as MemoryMax: a container has no MemoryHigh",
    )?;
    if !finding.hints.is_empty() {
        writeln!(out, "\nhints")?;
    }
    for hint in &finding.hints {
        writeln!(
            out,
            "  {} about {}: {}",
            hint.setting, hint.value, hint.reason
        )?;
    }
    Ok(())
}

fn line(out: &mut impl Write, label: &str, text: impl Display) -> Result<()> {
    Ok(writeln!(out, "{label:<LABEL$}{text}")?)
}

/// As systemd and Kubernetes write it.
fn mib(size: Bytes, unit: &str) -> String {
    format!("{}{unit}", size.get() >> 20)
}

fn seconds(seconds: f64) -> Span {
    Span::new(std::time::Duration::from_secs_f64(seconds.max(0.0)))
}

fn percent(fraction: f64) -> Percent {
    Percent::hundredths((fraction * 10_000.0).round() as u64)
}
