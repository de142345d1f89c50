//! `warmset protect`: what this unit uses is to stay.

use crate::hinted::Hinted;
use crate::socket::{Guard, ask};
use crate::spare::{keep, told};
use crate::{Context, Form};
use anyhow::Result;
use host::rules::{self, Rules};
use pressure::config::Mode;
use std::io::{self, Write};
use std::process::ExitCode;

/// Keep the memory that a unit uses, until the next boot
///
/// A service of the system by its name, such as postgresql.service; a star at the end stands for anything. Or a process by
/// its number: the unit it lives in is meant, which must be one of its own. What the unit uses is measured, and stays
/// with it while memory is short, within protect.floors of the configuration. Without a name, lists for whom memory is kept
/// so. protect.units in the configuration does it for good.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Unit, or process number
    identity: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let mut rules = Rules::read(&context.run)?;
    if let Some(identity) = &args.identity {
        let unit = unit(identity, context)?;
        if !rules.protect.contains(&unit) {
            rules.protect.push(unit);
            keep(&rules, "protect", context)?;
        }
    }
    told("protected", &rules.protect, context, out)?;
    for unit in rules
        .protect
        .iter()
        .filter(|unit| !rules::is_there(&context.root, unit))
    {
        let hint = "nothing is kept before it starts; a user's unit is named by the number of a process in it";
        writeln!(io::stderr(), "note: {unit} is not there now: {hint}")?;
    }
    if let (Form::Text, Guard::Running(status), false) =
        (context.form, ask(&context.run)?, rules.protect.is_empty())
    {
        if status.mode != Mode::Protect {
            writeln!(
                out,
                "warmsetd runs in the mode {}: it keeps memory in the mode protect only",
                status.mode
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The unit for what was written.
pub(crate) fn unit(identity: &str, context: &Context) -> Result<String> {
    if let Ok(pid) = identity.parse() {
        let hint = "a process without a unit of its own can be spared: warmset spare";
        return Ok(rules::unit_of(&context.root, pid).map_err(|error| Hinted::new(error, hint))?);
    }
    if !pressure::config::is_protected(identity) {
        let hint = "a service by its name, a process by its number, or session.slice";
        return Err(Hinted::new(
            format!("{identity}: memory is kept for units of their own"),
            hint,
        )
        .into());
    }
    Ok(identity.to_owned())
}
