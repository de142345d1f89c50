//! Rules that can match nothing, by what they say.

use super::{Rule, Subject};

/// A file's name, at most (`NAME_MAX`). Systemd's units have the same bound.
const LONGEST: usize = 255;
/// Units that hold processes, or that may for a moment.
const HOLD: [&str; 6] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];
/// Units that hold none.
const EMPTY: [&str; 5] = [".timer", ".target", ".path", ".device", ".automount"];
/// How cgroups are called where no systemd names them.
const ELSEWHERE: [&str; 4] = ["lxc.payload.", "openrc.", "nspawn-", "buildkit-"];
/// Letters of a container's number, which is its cgroup's name without systemd.
const NUMBER: usize = 64;

impl Rule {
    /// Why the rule can match nothing, and what to write instead; `None` if it may match something.
    pub fn fault(&self) -> Option<String> {
        match &self.subject {
            Subject::Unit(unit) => unit_fault(unit.pattern(), "unit"),
            Subject::App(unit) => unit_fault(unit.pattern(), "app"),
            Subject::Program(name) => program_fault(name),
            _ => None,
        }
    }
}

fn unit_fault(name: &str, keyword: &str) -> Option<String> {
    if name.starts_with('/') {
        return Some(format!(
            "no unit is called so: for a cgroup write cgroup:{name}, for a file exe:{name}"
        ));
    }
    if name.contains('/') {
        return Some("the name of a unit has no slash".to_owned());
    }
    if name.len() > LONGEST {
        return Some(format!(
            "the name of a unit has no more than {LONGEST} letters"
        ));
    }
    if let Some(suffix) = EMPTY.iter().find(|suffix| name.ends_with(*suffix)) {
        let stem = name.strip_suffix(suffix)?;
        return Some(format!(
            "a unit {suffix} has no processes: name the one that it starts, such as {stem}.service"
        ));
    }
    let is_number = name.len() == NUMBER && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_known = HOLD.iter().any(|suffix| name.ends_with(suffix))
        || ELSEWHERE.iter().any(|prefix| name.starts_with(prefix));
    if name.contains('*') || is_number || is_known {
        return None;
    }
    if let Some((before, after)) = name.split_once(':') {
        return Some(format!(
            "{before}: is no kind of rule, and no unit is called so: {} are kinds; for a command \
             line write command:*{}*",
            super::KEYWORDS.join(":, ") + ":",
            after.trim()
        ));
    }
    let prefix = if keyword == "app" { "app:" } else { "" };
    Some(format!(
        "no unit is called so: a unit has a suffix, such as {prefix}{name}.service; for a program \
         of root's write program:{name}, for a user's exe:/PATH or command:*{name}*"
    ))
}

fn program_fault(name: &str) -> Option<String> {
    if name.starts_with('/') {
        return Some(format!(
            "a program is named by its file's name without directories: for a path write exe:{name}"
        ));
    }
    if name.contains('/') {
        let base = name.rsplit('/').next().unwrap_or(name);
        return Some(format!(
            "a program is named by its file's name without directories, such as program:{base}"
        ));
    }
    if name.len() > LONGEST {
        return Some(format!(
            "the name of a file has no more than {LONGEST} letters"
        ));
    }
    None
}
