//! `warmset release`: who was spared or protected by hand is as any other again.

use crate::hinted::Hinted;
use crate::spare::{keep, rule};
use crate::{Context, Form, json, protect};
use anyhow::Result;
use host::rules::Rules;
use std::io::Write;
use std::process::ExitCode;

/// Undo warmset spare and warmset protect
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who was spared or protected: unit, process number, or program:NAME
    identity: String,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let mut rules = Rules::read(&context.run)?;
    let before = rules.clone();
    // A process that has ended is released by its number alone.
    let ended = format!("pid:{}@", args.identity);
    let exact = rule(&args.identity, context).unwrap_or_else(|_| args.identity.clone());
    rules
        .spare
        .retain(|rule| *rule != exact && !rule.starts_with(&ended));
    let unit = protect::unit(&args.identity, context).unwrap_or_else(|_| args.identity.clone());
    rules.protect.retain(|kept| *kept != unit);
    if rules == before {
        let hint = "warmset spare and warmset protect list who is";
        return Err(Hinted::new(
            format!("{} is neither spared nor protected by hand", args.identity),
            hint,
        )
        .into());
    }
    keep(&rules, "release", context)?;
    match context.form {
        Form::Json => json(out, &rules.spare)?,
        Form::Text => writeln!(out, "released: {}", args.identity)?,
    }
    Ok(ExitCode::SUCCESS)
}
