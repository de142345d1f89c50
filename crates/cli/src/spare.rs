//! `warmset spare`: a person knows better.

use crate::hinted::Hinted;
use crate::socket::{Guard, ask};
use crate::{Context, Form, json};
use anyhow::Result;
use host::rules::{self, Rules};
use std::io::{self, Write};
use std::process::ExitCode;

/// Have the guard spare a unit or a process, until the next boot
///
/// A unit of the system by its name, such as postgresql.service, one that a user started by app:NAME; a star at the end stands
/// for anything. A process by its number: one that gets the same number later is not meant. program:NAME spares every process
/// that runs a program of root's by that name. Without a name, lists who is spared so. guard.spare in the configuration does
/// it for good.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Unit, app:UNIT of a user's, process number, or program:NAME
    identity: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let mut rules = Rules::read(&context.run)?;
    if let Some(identity) = &args.identity {
        let rule = rule(identity, context)?;
        if !rules.spare.contains(&rule) {
            rules.spare.push(rule.clone());
            keep(&rules, "spare", context)?;
        }
        if !rule.contains(':') && !rules::is_there(&context.root, &rule) {
            let hint = format!("a unit that a user started is meant by app:{rule}");
            writeln!(
                io::stderr(),
                "note: {rule} is no service of the system that is there now; {hint}"
            )?;
        }
    }
    told("spared", &rules.spare, context, out)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the rules, and has a running guard go by them.
pub(crate) fn keep(rules: &Rules, command: &str, context: &Context) -> Result<()> {
    let hint = format!("rules are root's: sudo warmset {command}");
    rules
        .write(&context.run)
        .map_err(|error| Hinted::new(error, hint))?;
    reload(context)
}

/// Lists who is spared, or protected, by hand.
pub(crate) fn told(
    how: &str,
    whom: &[String],
    context: &Context,
    out: &mut impl Write,
) -> Result<()> {
    match context.form {
        Form::Json => json(out, &whom)?,
        Form::Text if whom.is_empty() => writeln!(out, "nobody is {how} by hand")?,
        Form::Text => whom
            .iter()
            .try_for_each(|rule| writeln!(out, "{how}: {rule}"))?,
    }
    Ok(())
}

/// The rule for what was written: a number is a process that must be there.
pub(crate) fn rule(identity: &str, context: &Context) -> Result<String> {
    match identity.parse() {
        Ok(pid) => Ok(rules::of_process(&context.root, pid)?),
        Err(_) => Ok(identity.to_owned()),
    }
}

/// Has a running guard read its configuration again; without one there is nothing to do.
fn reload(context: &Context) -> Result<()> {
    if let Guard::Running(status) = ask(&context.run)? {
        let pid = i32::try_from(status.pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            rustix::process::kill_process(pid, rustix::process::Signal::HUP)?;
        }
    }
    Ok(())
}
