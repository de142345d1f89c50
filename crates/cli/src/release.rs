//! `warmset release`: what was spared by hand is as any other again.

use crate::hinted::Hinted;
use crate::spare::{reload, rule};
use crate::{Context, Form, json};
use anyhow::Result;
use host::rules;
use std::io::Write;
use std::process::ExitCode;

/// Undo warmset spare
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What was spared: unit, process number, or program:NAME
    who: String,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let mut spared = rules::spared(&context.run)?;
    let before = spared.len();
    // A process that has ended is released by its number alone.
    let ended = format!("pid:{}@", args.who);
    let exact = rule(&args.who, context).unwrap_or_else(|_| args.who.clone());
    spared.retain(|rule| *rule != exact && !rule.starts_with(&ended));
    if spared.len() == before {
        return Err(Hinted::new(format!("{} is not spared by hand", args.who), "warmset spare lists who is").into());
    }
    rules::spare(&context.run, &spared)
        .map_err(|error| Hinted::new(error, "rules are root's: sudo warmset release"))?;
    reload(context)?;
    match context.form {
        Form::Json => json(out, &spared)?,
        Form::Text => writeln!(out, "released: {}", args.who)?,
    }
    Ok(ExitCode::SUCCESS)
}
