//! Runs one situation and prints what happens.
//!
//!     cargo run -p warmset-situations --example run -- situations/NAME.toml [--trace] [--record FILE]
//!
//! `--trace` prints every decision, not one a second. `--record` writes a recording that `warmset replay` and
//! `warmset why --recording` read.

#![allow(clippy::print_stdout, reason = "it prints")]

use anyhow::{Context, bail};
use pressure::recording::{Encoder, Opening};
use pressure::{Config, Decision, History, Sample};
use situations::model::Model;
use situations::{Situation, Watch, judge, watch};

/// Prints a line a second, or one for every decision.
struct Line {
    config: Config,
    is_trace: bool,
    next: u64,
    recording: Option<(Encoder, Vec<u8>)>,
}

fn main() -> anyhow::Result<()> {
    let mut file = None;
    let mut is_trace = false;
    let mut record = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--trace" => is_trace = true,
            "--record" => record = Some(arguments.next().context("--record takes a file")?),
            _ if argument.starts_with('-') => bail!("{argument}: there is --trace and --record"),
            _ => file = Some(argument),
        }
    }
    let file = file.context("say which text, such as situations/fast-fits-3-5gib.toml")?;
    let text = std::fs::read_to_string(&file).with_context(|| file.clone())?;
    let situation = Situation::parse(&file, &text)?;
    let mut line = Line {
        config: situation.config(&file)?,
        is_trace,
        next: 0,
        recording: record.is_some().then(|| (Encoder::new(), Vec::new())),
    };
    println!("{}\n{}", situation.title, situation.source);
    let outcome = watch(&situation, &mut line)?;
    for (at, names) in &outcome.kernel_kills {
        println!(
            "{:7.2} s the kernel killed {}",
            *at as f64 / 1000.0,
            names[0]
        );
    }
    let seconds = outcome.stalled as f64 / 1000.0;
    println!(
        "{} decisions, all tasks stalled {seconds:.1} s",
        outcome.decisions
    );
    println!("{}", judge(&situation, &outcome));
    if let (Some(path), Some((_, bytes))) = (record, line.recording) {
        std::fs::write(&path, bytes).with_context(|| path)?;
    }
    Ok(())
}

impl Watch for Line {
    fn decided(&mut self, model: &Model, before: &History, sample: &Sample, decision: &Decision) {
        self.record(model, before, sample, decision);
        let is_due = self.is_trace || model.now() >= self.next || !decision.steps.is_empty();
        if !is_due {
            return;
        }
        self.next = model.now() + 1000;
        let seconds = model.now() as f64 / 1000.0;
        let free = sample.memory.free.unwrap_or_default().to_string();
        let swap = sample.memory.swap_free.unwrap_or_default().to_string();
        let full = sample.memory_pressure.full_avg10.unwrap_or_default();
        let mut text = format!(
            "{seconds:7.2} s {:<9} free {free:>8} swap {swap:>8} full {full:>6}",
            decision.phase.name()
        );
        if let Some(outlook) = &decision.forecast.outlook {
            let left = outlook.left.map_or("-".to_owned(), |left| left.to_string());
            text.push_str(&format!(
                " headroom {:>8} growth {:>10} left {left:>8}",
                outlook.headroom.to_string(),
                outlook.growth.to_string()
            ));
        }
        println!("{text}");
        for step in &decision.steps {
            println!("            {:?}", step.action);
            println!("              because {:?}", step.why);
        }
        if self.is_trace {
            for notice in &decision.notices {
                println!("            {notice:?}");
            }
            for candidate in &sample.scan.candidates {
                println!(
                    "            {:>6} {:<16} {:<24} {}",
                    candidate.identity.pid,
                    candidate.name.escape_default().to_string(),
                    candidate.unit.as_str(),
                    candidate.size()
                );
            }
        }
    }
}

impl Line {
    fn record(&mut self, model: &Model, before: &History, sample: &Sample, decision: &Decision) {
        let Some((encoder, bytes)) = &mut self.recording else {
            return;
        };
        if !encoder.fits(sample) {
            let opening = Opening {
                facts: model.facts(),
                config: &self.config,
                state: before,
                sample,
            };
            // A header that cannot be written leaves the recording without one; reading it says so.
            let _ = encoder.header(bytes, &opening);
        }
        let _ = encoder.sample(bytes, sample);
        let _ = encoder.decision(bytes, decision);
    }
}
