//! `warmset features`: what this kernel offers, and what each absence costs.

use crate::{Context, Form, json};
use anyhow::Result;
use host::Eyes;
use host::features::{Presence, features};
use pressure::Sample;
use pressure::knob::KNOBS;
use std::io::Write;
use std::process::ExitCode;

/// Show what this kernel offers, and what each absence costs
///
/// Everything is found by looking; nothing is written.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let features = features(&context.root);
    let mut eyes = Eyes::open(&context.root)?;
    let mut sample = Sample::default();
    eyes.read(&mut sample);
    if context.form == Form::Json {
        let knobs: Vec<_> = KNOBS
            .iter()
            .map(|spec| {
                serde_json::json!({
                    "name": spec.name, "now": sample.knobs.now.of(spec.knob), "least": spec.range.start(),
                    "most": spec.range.end(), "drive": spec.drive, "sticky": spec.sticky,
                })
            })
            .collect();
        json(out, &serde_json::json!({ "facts": eyes.facts(), "features": features, "knobs": knobs }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let facts = eyes.facts();
    let container =
        facts.container.as_deref().map_or_else(String::new, |name| format!(", marks of a container ({name})"));
    writeln!(out, "Linux {}, pages of {}, {} processors{container}\n", facts.kernel, facts.page_size, facts.cpus)?;
    for feature in &features {
        let (mark, text) = match feature.presence {
            Presence::Present => ("yes", feature.gives),
            Presence::Absent => ("no", feature.without),
            Presence::Unknown => ("?", feature.gives),
        };
        writeln!(out, "{mark:>3}  {:<32} {text}", feature.name)?;
        if feature.presence == Presence::Absent {
            writeln!(out, "     {:<32} since {} ({})", "", feature.since, feature.source)?;
        }
    }
    writeln!(out, "\n{:<30} {:>10}  {:<14} driven", "knob", "now", "range")?;
    for spec in KNOBS {
        let now = sample.knobs.now.of(spec.knob).map_or_else(|| "absent".to_owned(), |now| now.to_string());
        let range = format!("{}..{}", spec.range.start(), spec.range.end());
        let drive = serde_json::to_value(spec.drive)?;
        writeln!(out, "{:<30} {now:>10}  {range:<14} {}", spec.name, drive.as_str().unwrap_or_default())?;
        if let Some(sticky) = spec.sticky {
            writeln!(out, "{:<30} {:>10}  sticky: {sticky}", "", "")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
