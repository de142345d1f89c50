//! Rules that an administrator sets by hand: `warmset spare`, `protect`, `hold` and `release`.

use crate::ui::hinted::Hinted;
use crate::ui::socket::{Guard, ask};
use crate::ui::{Context, Form, json};
use anyhow::Result;
use host::rules::{self, Rules};
use host::settings::know_users;
use pressure::config::{MOST_NAMED, Mode};
use pressure::rules::Rule;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use std::fmt::Display;
use std::io::Write;

/// What a rule may look like, as a hint.
const GRAMMAR: &str = "write UNIT, app:UNIT, program:NAME, exe:/PATH, command:TEXT, user:NAME, cgroup:/PATH or a \
                       process number; man warmset.toml has the rules";

/// Writes the rules, and has a running guard read them.
fn save(rules: &Rules, command: &str, context: &Context) -> Result<()> {
    let hint = format!("only root may set rules: sudo warmset {command}");
    rules
        .write(&context.run)
        .map_err(|error| Hinted::new(error, hint))?;
    reload(context)
}

/// Exempts what was written, for `command`; returns the rule.
pub(crate) fn exempt(identity: &str, command: &str, context: &Context) -> Result<Rule> {
    let mut rules = Rules::read(&context.run)?;
    let rule = exemption(identity, context)?;
    if !rules.spare.contains(&rule) {
        rules.spare.push(rule.clone());
        save(&rules, command, context)?;
    }
    Ok(rule)
}

/// Protects the unit for what was written, for `command`; returns the unit.
pub(crate) fn protect(identity: &str, command: &str, context: &Context) -> Result<String> {
    let mut rules = Rules::read(&context.run)?;
    let unit = protected_unit(identity, context)?;
    if !rules.protect.contains(&unit) {
        rules.protect.push(unit.clone());
        save(&rules, command, context)?;
    }
    Ok(unit)
}

/// Names these files and directories to be held, after those that are named already.
pub(crate) fn hold_files(paths: &[String], command: &str, context: &Context) -> Result<()> {
    let mut rules = Rules::read(&context.run)?;
    let before = rules.files.len();
    for path in paths {
        if !rules.files.contains(path) {
            rules.files.push(path.clone());
        }
    }
    if rules.files.len() > MOST_NAMED {
        let what = format!(
            "{} paths would be named, and at most {MOST_NAMED} can be: nothing was changed",
            rules.files.len()
        );
        return Err(Hinted::new(what, "name a directory that has the files").into());
    }
    if rules.files.len() > before {
        save(&rules, command, context)?;
    }
    Ok(())
}

/// Takes these paths back, or all that were named by hand. Returns what was.
pub(crate) fn release_files(paths: Option<&[String]>, context: &Context) -> Result<Vec<String>> {
    let mut rules = Rules::read(&context.run)?;
    let all = rules.files.clone();
    let gone = paths.map_or(all, <[String]>::to_vec);
    for path in &gone {
        if !rules.files.contains(path) {
            let what = format!("{path} is not named by hand: nothing was changed");
            let hint = "list what is: warmset hold; what protect.files of the configuration names is held for good";
            return Err(Hinted::new(what, hint).into());
        }
    }
    rules.files.retain(|file| !gone.contains(file));
    if !gone.is_empty() {
        save(&rules, "hold --release", context)?;
    }
    Ok(gone)
}

/// Takes back what was exempted, protected or held by hand, for `command`.
pub(crate) fn release(identity: &str, command: &str, context: &Context) -> Result<()> {
    let mut rules = Rules::read(&context.run)?;
    let before = rules.clone();
    let exact =
        exemption(identity, context).map_or_else(|_| identity.to_owned(), |rule| rule.to_string());
    // The rule of a process has its start time, too; one that has ended is released by its number alone.
    let by_number = format!("pid:{identity}@");
    rules
        .spare
        .retain(|rule| rule.as_str() != exact && !rule.as_str().starts_with(&by_number));
    let unit = protected_unit(identity, context).unwrap_or_else(|_| identity.to_owned());
    rules.protect.retain(|protected| *protected != unit);
    rules.files.retain(|file| file != identity);
    if rules == before {
        let what = format!("{identity} is neither exempt nor protected nor held by hand");
        let hint = "list what is: warmset spare, warmset protect, warmset hold";
        return Err(Hinted::new(what, hint).into());
    }
    save(&rules, command, context)
}

/// The mode of a running guard, if rules to protect have no effect in it.
pub(crate) fn mode_that_protects_nothing(context: &Context) -> Result<Option<Mode>> {
    match ask(&context.run)? {
        Guard::Running(status) if status.mode != Mode::Protect => Ok(Some(status.mode)),
        _ => Ok(None),
    }
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
fn exemption(identity: &str, context: &Context) -> Result<Rule> {
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
fn protected_unit(identity: &str, context: &Context) -> Result<String> {
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
