//! `warmset protect`: keeps the working set of a unit in memory, by hand.

use crate::rules::{list, mode_that_protects_nothing, protect};
use crate::ui::{Context, Form};
use anyhow::Result;
use host::rules::{self, Rules};
use std::io::Write;
use std::process::ExitCode;

/// Keep the working set of a unit in memory, until the next boot
///
/// A system unit is given by its name, such as postgresql.service; a star at the end stands for anything. A process number
/// stands for the unit the process is in, which must be one of its own. The memory that the unit uses is measured, and stays
/// with it while memory is short, within protect.floors of the configuration. Without a name, protected units are
/// listed. To protect for good, use protect.units in the configuration.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Unit, or process number
    identity: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if let Some(identity) = &args.identity {
        protect(identity, "protect", context)?;
    }
    let rules = Rules::read(&context.run)?;
    list("protected", &rules.protect, context, out)?;
    note_absent_units(&rules, context)?;
    if context.form == Form::Text && !rules.protect.is_empty() {
        note_other_mode(context, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn note_absent_units(rules: &Rules, context: &Context) -> Result<()> {
    for unit in &rules.protect {
        if !rules::is_there(&context.root, unit) {
            writeln!(
                commandline::stderr(),
                "note: {unit} does not run now, and is protected once it starts; name a user's unit by the number of a \
                 process in it"
            )?;
        }
    }
    Ok(())
}

/// Says so if the guard runs in a mode in which rules to protect have no effect.
fn note_other_mode(context: &Context, out: &mut impl Write) -> Result<()> {
    if let Some(mode) = mode_that_protects_nothing(context)? {
        writeln!(
            out,
            "warmsetd runs in mode {mode}: it protects memory in mode protect only"
        )?;
    }
    Ok(())
}
