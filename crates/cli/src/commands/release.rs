//! `warmset release`: takes back what `warmset spare` and `warmset protect` set.

use crate::rules::{exemption, protected_unit, save};
use crate::ui::hinted::Hinted;
use crate::ui::{Context, Form, json};
use anyhow::Result;
use host::rules::Rules;
use std::io::Write;
use std::process::ExitCode;

/// Undo warmset spare and warmset protect
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What was exempted or protected, as it was written: a rule, a unit, or a process number
    #[arg(value_name = "RULE", value_hint = clap::ValueHint::Other)]
    identity: String,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let identity = &args.identity;
    let mut rules = Rules::read(&context.run)?;
    let before = rules.clone();
    let exact =
        exemption(identity, context).map_or_else(|_| identity.clone(), |rule| rule.to_string());
    // The rule of a process has its start time, too; one that has ended is released by its number alone.
    let by_number = format!("pid:{identity}@");
    rules
        .spare
        .retain(|rule| rule.as_str() != exact && !rule.as_str().starts_with(&by_number));
    let unit = protected_unit(identity, context).unwrap_or_else(|_| identity.clone());
    rules.protect.retain(|protected| *protected != unit);
    if rules == before {
        let what = format!("{identity} is neither exempt nor protected by hand");
        let hint = "list what is: warmset spare, warmset protect";
        return Err(Hinted::new(what, hint).into());
    }
    save(&rules, "release", context)?;
    match context.form {
        Form::Json => json(out, &rules.spare)?,
        Form::Text => writeln!(out, "released: {identity}")?,
    }
    Ok(ExitCode::SUCCESS)
}
