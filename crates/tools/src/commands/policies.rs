//! `warmset policies`: what there is to simulate, and where it is from.

use crate::ui::{Context, Form, json};
use anyhow::Result;
use std::io::Write;
use std::process::ExitCode;
use workingset::POLICIES;

/// List the replacement policies that can be simulated, with their options and sources
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if context.form == Form::Json {
        let all: Vec<_> = POLICIES
            .iter()
            .map(|spec| {
                let options: Vec<_> = spec
                    .options
                    .iter()
                    .map(|(name, value, about)| serde_json::json!({ "name": name, "default": value, "about": about }))
                    .collect();
                serde_json::json!({ "name": spec.name, "about": spec.about, "source": spec.cite, "variable": spec.variable, "options": options })
            })
            .collect();
        json(out, &all)?;
        return Ok(ExitCode::SUCCESS);
    }
    for spec in POLICIES {
        writeln!(
            out,
            "{:<13} {}\n{:<13} {}",
            spec.name, spec.about, "", spec.cite
        )?;
        for (name, value, about) in spec.options {
            let default = if Some(*name) == spec.fitted {
                "fitted to the capacity".to_owned()
            } else {
                value.to_string()
            };
            writeln!(out, "{:<15} {name}: {about} [{default}]", "")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
