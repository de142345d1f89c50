//! Rules that an administrator sets by hand: `warmset spare`, `protect` and `release`.

use crate::ui::hinted::Hinted;
use crate::ui::socket::{Guard, ask};
use crate::ui::{Context, Form, json};
use anyhow::Result;
use host::rules::{self, Rules};
use host::settings::know_users;
use pressure::rules::Rule;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use std::fmt::Display;
use std::io::Write;

/// What a rule may look like, as a hint.
const GRAMMAR: &str = "write UNIT, app:UNIT, program:NAME, exe:/PATH, command:TEXT, user:NAME, cgroup:/PATH or a \
                       process number; man warmset.toml has the rules";

/// Writes the rules, and has a running guard read them.
pub(crate) fn save(rules: &Rules, command: &str, context: &Context) -> Result<()> {
    let hint = format!("only root may set rules: sudo warmset {command}");
    rules
        .write(&context.run)
        .map_err(|error| Hinted::new(error, hint))?;
    reload(context)
}

/// Prints the rules of one kind, `how` being `exempt` or `protected`.
pub(crate) fn list(
    how: &str,
    rules: &[impl Display + Serialize],
    context: &Context,
    out: &mut impl Write,
) -> Result<()> {
    if context.form == Form::Json {
        return json(out, &rules);
    }
    if rules.is_empty() {
        writeln!(out, "nothing is {how} by hand")?;
    }
    for rule in rules {
        writeln!(out, "{how}: {rule}")?;
    }
    Ok(())
}

/// The exemption for what was written: a number is a process, which must exist. A user is kept by number.
pub(crate) fn exemption(identity: &str, context: &Context) -> Result<Rule> {
    if let Ok(pid) = identity.parse() {
        let rule = rules::of_process(&context.root, pid)?;
        return Ok(rule.parse()?);
    }
    let rule: Rule = identity
        .parse()
        .map_err(|error| Hinted::new(error, GRAMMAR))?;
    rule.exempts()?;
    if let Some(fault) = rule.fault() {
        let what = format!("rule \"{rule}\" can match nothing: {fault}");
        return Err(Hinted::new(what, GRAMMAR).into());
    }
    let mut guard = pressure::config::Guard {
        spare: vec![rule],
        ..Default::default()
    };
    know_users(&context.root, &mut guard).map_err(anyhow::Error::msg)?;
    let rule = guard.spare.remove(0);
    match rule.user() {
        Some(number) => Ok(format!("user:{number}").parse()?),
        None => Ok(rule),
    }
}

/// The unit to protect for what was written: a number is a process in it.
pub(crate) fn protected_unit(identity: &str, context: &Context) -> Result<String> {
    if let Ok(pid) = identity.parse() {
        let hint = "a process without a unit of its own can be exempted: warmset spare";
        return Ok(rules::unit_of(&context.root, pid).map_err(|error| Hinted::new(error, hint))?);
    }
    if !pressure::config::is_protected(identity) {
        let what = format!("{identity}: memory is protected for whole units only");
        let hint = "name a service, session.slice, or the number of a process in a unit";
        return Err(Hinted::new(what, hint).into());
    }
    Ok(identity.to_owned())
}

/// Has a running guard read its configuration again; without one there is nothing to do.
fn reload(context: &Context) -> Result<()> {
    let Guard::Running(status) = ask(&context.run)? else {
        return Ok(());
    };
    let pid = i32::try_from(status.pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        kill_process(pid, Signal::HUP)?;
    }
    Ok(())
}
