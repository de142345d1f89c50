//! What keys do to the selected process: kill it, spare it, protect its unit, release it. Each gives what came of it.

use super::frame::Line;
use super::observer::Observer;
use crate::rules;
use crate::ui::Context;
use crate::ui::hinted::Hinted;
use crate::ui::text::Style;
use anyhow::Result;
use pressure::distress::Exemption;
use pressure::scan::Identity;

/// What came of a key, and whether it is good.
pub(super) type Message = (String, Style);

/// The command that hints name.
const COMMAND: &str = "top";

/// Why a process may not be killed; `None` if it may.
pub(super) fn refusal(line: &Line) -> Option<String> {
    let name = called(line);
    if line.candidate.identity.pid == std::process::id() {
        return Some(format!("{name} is this program: q quits"));
    }
    let exemption = line.exemption?;
    let remedy = if exemption == Exemption::Rule {
        "; r takes a rule back that was set by hand"
    } else {
        ""
    };
    Some(format!(
        "{name} is not killed. It is exempt: {}{remedy}",
        exemption.why()
    ))
}

/// Sends SIGTERM.
pub(super) fn kill(line: Option<&Line>, observer: &Observer, context: &Context) -> Message {
    let Some(line) = line else {
        return ("the process has ended".to_owned(), Style::Notable);
    };
    // It may have become exempt while the question stood.
    if let Some(why) = refusal(line) {
        return (why, Style::Notable);
    }
    let name = called(line);
    match observer.terminate(line.candidate.identity, context) {
        Ok(()) => (format!("SIGTERM sent to {name}"), Style::Good),
        Err(why) => (format!("{name}: not killed: {why}"), Style::Bad),
    }
}

/// Exempts a process from kills.
pub(super) fn spare(line: &Line, context: &Context) -> Message {
    let rule = rule_of(line.candidate.identity);
    let done = rules::exempt(&rule, COMMAND, context);
    let name = called(line);
    told(done.map(|_| format!("{name} is never killed, until the next boot")))
}

/// Protects the unit of a process.
pub(super) fn protect(line: &Line, context: &Context) -> Message {
    let pid = line.candidate.identity.pid.to_string();
    let done = rules::protect(&pid, COMMAND, context).and_then(|unit| {
        let mode = rules::mode_that_protects_nothing(context)?;
        let but = match mode {
            Some(mode) => format!(", once the guard is in mode protect: now it is in mode {mode}"),
            None => String::new(),
        };
        Ok(format!(
            "the memory of {unit} is protected until the next boot{but}"
        ))
    });
    told(done)
}

/// Takes back what was exempted or protected.
pub(super) fn release(line: &Line, context: &Context) -> Message {
    let pid = line.candidate.identity.pid.to_string();
    let done = rules::release(&pid, COMMAND, context);
    told(done.map(|()| format!("released: {}", called(line))))
}

/// The rule that names one process, and no later one with its number.
fn rule_of(identity: Identity) -> String {
    format!("pid:{}@{}", identity.pid, identity.start)
}

fn called(line: &Line) -> String {
    format!("{} ({})", line.candidate.name, line.candidate.identity.pid)
}

/// A result as a message: an error with what to do about it.
fn told(done: Result<String>) -> Message {
    let error = match done {
        Ok(text) => return (text, Style::Good),
        Err(error) => error,
    };
    match error.downcast_ref::<Hinted>() {
        Some(hinted) => (format!("{error:#} ({})", hinted.hint), Style::Bad),
        None => (format!("{error:#}"), Style::Bad),
    }
}
