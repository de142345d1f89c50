//! `warmset policies`: what there is to simulate, and where it is from.

use crate::ui::{self, Context, Form};
use anyhow::Result;
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;
use workingset::POLICIES;
use workingset::objects::OBJECT_POLICIES;
use workingset::policy::OptionSpec;

/// List the replacement policies that can be simulated, with their options and sources
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Those of `simulate --objects`, for caches of objects that have sizes
    #[arg(long)]
    objects: bool,
}

/// A policy of either family.
struct Listed {
    name: &'static str,
    about: &'static str,
    cite: &'static str,
    options: &'static [OptionSpec],
    /// Whether its memory grows and shrinks. No cache of objects does.
    variable: Option<bool>,
    fitted: Option<&'static str>,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let all = if args.objects {
        of_objects()
    } else {
        of_pages()
    };
    if context.form == Form::Json {
        let all: Vec<Value> = all.iter().map(Listed::as_json).collect();
        ui::json(out, &all)?;
        return Ok(ExitCode::SUCCESS);
    }
    for policy in all {
        policy.print(out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn of_pages() -> Vec<Listed> {
    let listed = POLICIES.iter().map(|spec| Listed {
        name: spec.name,
        about: spec.about,
        cite: spec.cite,
        options: spec.options,
        variable: Some(spec.variable),
        fitted: spec.fitted,
    });
    listed.collect()
}

fn of_objects() -> Vec<Listed> {
    let listed = OBJECT_POLICIES.iter().map(|spec| Listed {
        name: spec.name,
        about: spec.about,
        cite: spec.cite,
        options: spec.options,
        variable: None,
        fitted: None,
    });
    listed.collect()
}

impl Listed {
    fn as_json(&self) -> Value {
        let mut options = Vec::new();
        for (name, value, about) in self.options {
            options.push(json!({ "name": name, "default": value, "about": about }));
        }
        let mut listed = json!({ "name": self.name, "about": self.about, "source": self.cite, "options": options });
        if let Some(variable) = self.variable {
            listed["variable"] = variable.into();
        }
        listed
    }

    fn print(&self, out: &mut impl Write) -> Result<()> {
        writeln!(
            out,
            "{:<13} {}\n{:<13} {}",
            self.name, self.about, "", self.cite
        )?;
        for (name, value, about) in self.options {
            let default = if Some(*name) == self.fitted {
                "fitted to the capacity".to_owned()
            } else {
                value.to_string()
            };
            writeln!(out, "{:<15} {name}: {about} [{default}]", "")?;
        }
        Ok(())
    }
}
