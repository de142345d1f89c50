//! `warmset doctor`: what memory pressure has cost, what is set wrong, and what to do.

use crate::{Context, Form, json, shown};
use anyhow::Result;
use host::{Eyes, RivalKind, rivals};
use pressure::knob::Knob;
use pressure::sample::{Cgroups, Facts, Sample, SwapKind};
use pressure::{rates, watermark};
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;
use units::{Bytes, Micros, Percent};

/// Say what memory pressure has cost since boot, and what to do
///
/// Exit code 1 if a problem was found.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

#[derive(Debug, Serialize)]
struct Report {
    cost: Cost,
    findings: Vec<Finding>,
}

/// What memory pressure has cost since boot.
#[derive(Debug, Serialize)]
struct Cost {
    up_seconds: u64,
    stalled: Option<Micros>,
    stalled_fully: Option<Micros>,
    allocation_stalls: Option<u64>,
    compaction_stalls: Option<u64>,
    refaults: Option<u64>,
    swapped_in_pages: Option<u64>,
    swapped_out_pages: Option<u64>,
    oom_kills: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Level {
    Problem,
    Advice,
    Note,
}

#[derive(Debug, Serialize)]
struct Finding {
    level: Level,
    what: String,
    why: &'static str,
    advice: &'static str,
}

pub(crate) fn run(_: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let mut eyes = Eyes::open(&context.root)?;
    let mut sample = Sample::default();
    eyes.read(&mut sample);
    let mut findings: Vec<Finding> = settings(&sample, eyes.facts());
    findings.extend(rivals(&context.root).into_iter().map(|rival| Finding {
        level: if rival.kind == RivalKind::Tuner { Level::Problem } else { Level::Note },
        what: rival.to_string(),
        why: "two programs on one knob fight",
        advice: if rival.kind == RivalKind::Tuner { "stop one of them" } else { "nothing" },
    }));
    findings.extend(eyes.troubles().map(|trouble| Finding {
        level: Level::Problem,
        what: trouble.to_string(),
        why: "what cannot be read is unknown to every decision",
        advice: "see whether the kernel or a sandbox withholds it",
    }));
    findings.sort_by_key(|finding| finding.level as u8);
    let report = Report { cost: cost(&sample), findings };
    match context.form {
        Form::Json => json(out, &report)?,
        Form::Text => text(out, &report)?,
    }
    let sick = report.findings.iter().any(|finding| finding.level == Level::Problem);
    Ok(if sick { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn cost(sample: &Sample) -> Cost {
    let c = &sample.counters;
    Cost {
        up_seconds: sample.at.get().as_secs(),
        stalled: sample.memory_pressure.some_total,
        stalled_fully: sample.memory_pressure.full_total,
        allocation_stalls: rates::allocation_stalls(c),
        compaction_stalls: c.compact_stall,
        refaults: rates::refaults(c),
        swapped_in_pages: c.pswpin,
        swapped_out_pages: c.pswpout,
        oom_kills: c.oom_kill,
    }
}

fn text(out: &mut impl Write, report: &Report) -> Result<()> {
    let cost = &report.cost;
    writeln!(out, "Memory pressure since boot, {} ago:", units::Span::secs(cost.up_seconds))?;
    writeln!(
        out,
        "  {} in which some task waited for memory, {} in which all did",
        shown(cost.stalled),
        shown(cost.stalled_fully)
    )?;
    writeln!(
        out,
        "  {} allocations reclaimed for themselves, {} compacted",
        shown(cost.allocation_stalls),
        shown(cost.compaction_stalls)
    )?;
    writeln!(
        out,
        "  {} pages read again after eviction; {} swapped in, {} out; {} processes killed",
        shown(cost.refaults),
        shown(cost.swapped_in_pages),
        shown(cost.swapped_out_pages),
        shown(cost.oom_kills)
    )?;
    if report.findings.is_empty() {
        writeln!(out, "\nNothing to complain about.")?;
    }
    for finding in &report.findings {
        let level = match finding.level {
            Level::Problem => "problem",
            Level::Advice => "advice",
            Level::Note => "note",
        };
        writeln!(out, "\n{level}: {}\n  why: {}\n  do:  {}", finding.what, finding.why, finding.advice)?;
    }
    Ok(())
}

fn settings(sample: &Sample, facts: &Facts) -> Vec<Finding> {
    let knob = |knob| sample.knobs.now.of(knob);
    let mut found = Vec::new();
    let mut see = |level, what: String, why, advice| found.push(Finding { level, what, why, advice });
    if sample.memory_pressure.some_total.is_none() {
        see(
            Level::Problem,
            "pressure stall information is off".to_owned(),
            "nothing tells how much time is lost",
            "boot with psi=1",
        );
    }
    if facts.cgroups != Cgroups::V2 {
        let why = "memory of groups can be protected only under version 2";
        see(
            Level::Advice,
            format!("control groups: {:?}", facts.cgroups),
            why,
            "boot with systemd.unified_cgroup_hierarchy=1",
        );
    }
    if let Some(container) = &facts.container {
        let why = "a container sees the host's memory but may not steer it";
        see(Level::Note, format!("there are marks of a container ({container})"), why, "run the guard on the host");
    }
    if facts.hidepid {
        see(
            Level::Advice,
            "/proc hides other users' processes".to_owned(),
            "rivals may go unseen",
            "mount /proc with gid=",
        );
    }
    if knob(Knob::Swappiness) == Some(0) && sample.memory.swap_total.is_some_and(|swap| swap > Bytes::ZERO) {
        see(
            Level::Advice,
            "vm.swappiness is 0 although there is swap".to_owned(),
            "file pages in use go before idle anonymous memory",
            "set 60, or 100 and more for zram",
        );
    }
    if sample.swaps.iter().any(|swap| swap.kind == SwapKind::Zram)
        && knob(Knob::PageCluster).is_some_and(|cluster| cluster > 0)
    {
        see(
            Level::Advice,
            "vm.page-cluster reads ahead from zram".to_owned(),
            "neighbours in zram are not neighbours in use",
            "set vm.page-cluster = 0",
        );
    }
    let five = sample.memory.total.map(|total| Percent::new(5).of(total));
    if let (Some(min), Some(five)) = (knob(Knob::MinFreeKbytes).map(Bytes::kib), five) {
        if min > five {
            see(
                Level::Problem,
                format!("vm.min_free_kbytes keeps {min}, more than 5 % of memory"),
                "that memory is lost, and programs die for want of it",
                "lower it",
            );
        }
    }
    let factor = knob(Knob::WatermarkScaleFactor);
    if let (Some(now), Some(least)) = (factor, watermark::least_effective(sample, facts.page_size)) {
        if now > 10 && now < least {
            see(
                Level::Advice,
                format!("vm.watermark_scale_factor = {now} has no effect below {least} here"),
                "the gap is never less than a quarter of the min watermark",
                "set it higher or leave it at 10",
            );
        }
        if now > 1000 {
            see(
                Level::Advice,
                format!("vm.watermark_scale_factor = {now} is set for good"),
                "a large gap withholds memory also when nobody needs it",
                "let the guard hold it only under demand",
            );
        }
    }
    found
}
