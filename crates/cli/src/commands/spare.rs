//! `warmset spare`: exempts a unit or a process from kills, by hand.

use crate::rules::{exempt, list};
use crate::ui::Context;
use anyhow::Result;
use host::rules::{self, Rules};
use pressure::rules::Rule;
use std::io::Write;
use std::process::ExitCode;

/// Exempt a unit or a process from kills, until the next boot
///
/// A system unit is given by its name, such as postgresql.service, and a unit that a user started by app:NAME. A process is
/// given by its number; a later process with the same number is not exempt.
///
/// program:NAME exempts every process that runs a program of that name which root owns, exe:/PATH one that runs this file
/// whoever owns it, command:TEXT one with this command line, user:NAME all of a user's, cgroup:/PATH all in a cgroup. A star
/// stands for any text. warmset.toml(5) has all about rules.
///
/// Without a rule, exemptions are listed. To exempt for good, use guard.spare in the configuration; `warmset check` shows what
/// its rules match.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Unit, process number, or app:, program:, exe:, command:, user: or cgroup: with what it names
    #[arg(value_name = "RULE", value_hint = clap::ValueHint::Other)]
    identity: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if let Some(identity) = &args.identity {
        let rule = exempt(identity, "spare", context)?;
        note_if_absent(&rule, context)?;
    }
    let rules = Rules::read(&context.run)?;
    list("exempt", &rules.spare, context, out)?;
    Ok(ExitCode::SUCCESS)
}

/// A system unit that is not there may be a mistyped name, or a user's unit.
fn note_if_absent(rule: &Rule, context: &Context) -> Result<()> {
    let Some(unit) = rule.system_unit() else {
        return Ok(());
    };
    if rules::is_there(&context.root, unit) {
        return Ok(());
    }
    let rule = unit;
    writeln!(
        commandline::stderr(),
        "note: {rule} is not a system unit that runs now; for a unit that a user started, write app:{rule}"
    )?;
    Ok(())
}
