//! `warmset release`: takes back what `warmset spare`, `protect` and `hold` set.

use crate::rules::release;
use crate::ui::{Context, Form, json};
use anyhow::Result;
use host::rules::Rules;
use std::io::Write;
use std::process::ExitCode;

/// Undo warmset spare, warmset protect and warmset hold
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What was exempted, protected or held, as it was written: a rule, a unit, a process number, or an absolute path
    #[arg(value_name = "RULE", value_hint = clap::ValueHint::Other)]
    identity: String,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let identity = &args.identity;
    release(identity, "release", context)?;
    match context.form {
        Form::Json => json(out, &Rules::read(&context.run)?.spare)?,
        Form::Text => writeln!(out, "released: {identity}")?,
    }
    Ok(ExitCode::SUCCESS)
}
