//! `warmset status`: how this machine's memory is, and what the guard does about it.

use crate::{Context, Form, json, shown, socket};
use anyhow::Result;
use host::Eyes;
use pressure::config::Mode;
use pressure::knob::KNOBS;
use pressure::sample::Zone;
use pressure::status::{Status, Tally};
use pressure::{Config, History, Sample, decide};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;
use units::{Bytes, Pages};

/// Show memory, demand, forecast, and what is held
///
/// Asks the running guard; where there is none, looks for three seconds and says what one would say.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let status = match socket::status(&context.run)? {
        Some(status) => status,
        None => look(context)?,
    };
    match context.form {
        Form::Json => json(out, &status)?,
        Form::Text => text(out, &status)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What a guard would say after a few samples.
fn look(context: &Context) -> Result<Status> {
    let config = Config { mode: Mode::Observe, ..Config::default() };
    let mut eyes = Eyes::open(&context.root)?;
    let mut history = History::new(eyes.facts(), &config);
    let mut sample = Sample::default();
    for turn in 0..4 {
        // A recorded machine stands still: one look is all there is.
        if turn > 0 && context.root.as_os_str() == "/" {
            std::thread::sleep(Duration::from_secs(1));
        }
        eyes.read(&mut sample);
        sample.knobs.found = sample.knobs.now;
        history.push(&sample);
    }
    Ok(Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        started: sample.wall,
        mode: config.mode,
        only_observes: Some("no guard is running; this is what one would say".to_owned()),
        predictor: config.predictor,
        facts: eyes.facts().clone(),
        decision: decide(&config, &history),
        sample,
        tally: Tally { samples: 4, ..Tally::default() },
        past: Vec::new(),
        troubles: eyes.troubles().map(ToString::to_string).collect(),
        rivals: host::rivals(&context.root).iter().map(ToString::to_string).collect(),
    })
}

/// A bar of 40 characters: programs and kernel, cache, free.
fn bar(sample: &Sample) -> Option<String> {
    const WIDTH: u64 = 40;
    let total = sample.memory.total?;
    let share = |bytes: Bytes| bytes.scaled(WIDTH, total.get().max(1)).get() as usize;
    let cache = sample.memory.cached? + sample.memory.buffers?;
    let free = share(sample.memory.free?);
    let cache = share(cache).min(WIDTH as usize - free);
    let used = WIDTH as usize - free - cache;
    Some(format!("[{}{}{}]", "#".repeat(used), "=".repeat(cache), ".".repeat(free)))
}

fn text(out: &mut impl Write, status: &Status) -> Result<()> {
    let (sample, forecast) = (&status.sample, &status.decision.forecast);
    let memory = &sample.memory;
    match &status.only_observes {
        Some(why) => writeln!(out, "{} (observing: {why})", status.decision.phase)?,
        None => writeln!(out, "{} (process {}, version {})", status.decision.phase, status.pid, status.version)?,
    }
    if let Some(bar) = bar(sample) {
        writeln!(out, "memory     {bar} # used = cache . free")?;
    }
    writeln!(
        out,
        "           {} in all, {} available, {} free; swap {} of {} free",
        shown(memory.total),
        shown(memory.available),
        shown(memory.free),
        shown(memory.swap_free),
        shown(memory.swap_total)
    )?;
    sample.zones.iter().try_for_each(|zone| writeln!(out, "{}", zone_line(zone, status.facts.page_size)))?;
    let quantile = forecast.quantile.map_or_else(String::new, |quantile| format!(" for {quantile} of it"));
    writeln!(out, "demand     {} now; kswapd frees {} while it runs", shown(forecast.demand), shown(forecast.reclaim))?;
    writeln!(
        out,
        "gap        {} now, {} found, {} needed{quantile}; {} withheld",
        shown(forecast.gap),
        shown(forecast.gap_found),
        shown(forecast.gap_needed),
        shown(forecast.withheld)
    )?;
    match forecast.exhaustion {
        Some(end) => {
            let latest = end.latest.map_or_else(|| "never".to_owned(), |latest| latest.to_string());
            writeln!(
                out,
                "forecast   full in {} ({} to {latest}), growing {}",
                end.expected, end.earliest, end.growth
            )?;
        }
        None => writeln!(out, "forecast   no end of memory in sight")?,
    }
    if let Some(blocks) = forecast.blocks {
        let fragmentation = shown(blocks.fragmentation);
        writeln!(
            out,
            "huge pages {} could be served, {} expected; {fragmentation} fragmented",
            blocks.free, blocks.needed
        )?;
    }
    let psi = &sample.memory_pressure;
    writeln!(
        out,
        "pressure   some {} of 10 s, {} since boot; full {} of 10 s, {} since boot",
        shown(psi.some_avg10),
        shown(psi.some_total),
        shown(psi.full_avg10),
        shown(psi.full_total)
    )?;
    for spec in KNOBS {
        if let (Some(now), Some(found), Some(_)) =
            (sample.knobs.now.of(spec.knob), sample.knobs.found.of(spec.knob), sample.knobs.ours.of(spec.knob))
        {
            writeln!(out, "held       {} {found} → {now}", spec.name)?;
        }
    }
    tail(out, status)
}

fn tail(out: &mut impl Write, status: &Status) -> Result<()> {
    let tally = &status.tally;
    if status.only_observes.is_none() || tally.own_cpu.get() > 0 {
        writeln!(
            out,
            "since start {} samples, {} writes, {} put back; {} + {} stalls; {} processor, {} resident",
            tally.samples,
            tally.writes,
            tally.put_back,
            tally.allocation_stalls,
            tally.compaction_stalls,
            tally.own_cpu,
            tally.own_memory
        )?;
    }
    status.decision.steps.iter().try_for_each(|step| writeln!(out, "now        {step}"))?;
    status.troubles.iter().try_for_each(|trouble| writeln!(out, "trouble    {trouble}"))?;
    Ok(status.rivals.iter().try_for_each(|rival| writeln!(out, "beside us  {rival}"))?)
}

fn zone_line(zone: &Zone, page_size: Bytes) -> String {
    let bytes = |pages: Option<Pages>| shown(pages.map(|pages| pages.to_bytes(page_size)));
    let a = &zone.amounts;
    let name = format!("{} {}", zone.node, zone.kind.name());
    format!(
        "  zone {name:<10} free {:>9}   min {:>9}   low {:>9}   high {:>9}",
        bytes(a.free),
        bytes(a.min),
        bytes(a.low),
        bytes(a.high)
    )
}
