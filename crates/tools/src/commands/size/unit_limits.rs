//! The limits of a unit as a drop-in of systemd: written, and taken away again.

use super::finding::Finding;
use crate::ui::atomic_file;
use crate::ui::hinted::Hinted;
use anyhow::{Context as _, Result};
use inspect::size::Target;
use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use units::Bytes;

/// Where an administrator's units are, from the machine's root.
const UNITS: &str = "etc/systemd/system";
/// Its name within the directory of the unit's drop-ins. One with a larger number has the last word.
const NAME: &str = "50-warmset-size.conf";
/// How a file of ours begins. Only such a file is replaced or removed.
const MARK: &str = "# Written by warmset size";
/// Kinds of units with limits, and the section that these stand in. A scope is made at run time and has no file.
const SECTIONS: [(&str, &str); 5] = [
    (".service", "Service"),
    (".slice", "Slice"),
    (".socket", "Socket"),
    (".mount", "Mount"),
    (".swap", "Swap"),
];

/// An error if a drop-in cannot be written for it. It is asked before the measurement, which takes minutes.
pub(super) fn check(root: &Path, target: &Target) -> Result<()> {
    let group = target.group.as_deref().unwrap_or_default();
    if group.starts_with("/user.slice/") {
        let what = format!("{}: it is a unit of a user's manager", target.name);
        let hint = "write what is suggested by `systemctl --user edit`; --apply is for units of the system";
        return Err(Hinted::new(what, hint).into());
    }
    section(&target.name)?;
    ours(&path(root, &target.name))?;
    Ok(())
}

/// Writes what was found, and has systemd read it.
///
/// Errors: it is not enough to limit the unit by, a file of somebody else's is there, or it cannot be written.
pub(super) fn apply(root: &Path, finding: &Finding, out: &mut impl Write) -> Result<()> {
    let unit = &finding.unit;
    if let Some(why) = finding.why_not_applied() {
        let what = format!("{unit}: nothing is written: {why}");
        return Err(Hinted::new(what, "set limits by hand, or measure again").into());
    }
    let path = path(root, unit);
    ours(&path)?;
    let text = text(finding)?;
    if let Some(directory) = path.parent() {
        let failed = || format!("{}: cannot make", directory.display());
        fs::create_dir_all(directory).with_context(failed)?;
    }
    atomic_file::write(&path, |file| Ok(file.write_all(text.as_bytes())?))?;
    let undo = format!("warmset size --undo {unit} takes it away");
    writeln!(out, "\n{}: written; {undo}", path.display())?;
    reload(root, out)
}

/// Takes the drop-in away, and has systemd forget it.
///
/// Errors: there is none, it is not ours, or it cannot be removed.
pub(super) fn undo(root: &Path, unit: &str, out: &mut impl Write) -> Result<ExitCode> {
    let name = if unit.contains('.') {
        unit.to_owned()
    } else {
        format!("{unit}.service")
    };
    section(&name)?;
    let path = path(root, &name);
    if !ours(&path)? {
        let what = format!("{}: there is no such file", path.display());
        return Err(Hinted::new(what, "warmset size --apply writes it").into());
    }
    fs::remove_file(&path).with_context(|| format!("{}: cannot remove", path.display()))?;
    if let Some(directory) = path.parent() {
        // With other drop-ins in it, it stays.
        let _ = fs::remove_dir(directory);
    }
    writeln!(out, "{}: removed", path.display())?;
    reload(root, out)?;
    Ok(ExitCode::SUCCESS)
}

fn path(root: &Path, unit: &str) -> PathBuf {
    root.join(UNITS).join(format!("{unit}.d")).join(NAME)
}

/// The section of a unit's limits.
fn section(unit: &str) -> Result<&'static str> {
    let found = SECTIONS.iter().find(|(end, _)| unit.ends_with(end));
    match found {
        Some((_, section)) if !unit.contains('/') => Ok(section),
        _ => {
            let what = format!("{unit}: no unit that has a file of its own");
            Err(Hinted::new(what, "a service or a slice of the system has one").into())
        }
    }
}

/// Returns true if a file of ours is there, and false if none is. A file of somebody else's is an error.
fn ours(path: &Path) -> Result<bool> {
    match fs::read_to_string(path) {
        Ok(text) if text.starts_with(MARK) => Ok(true),
        Ok(_) => {
            let what = format!("{}: warmset size did not write this file", path.display());
            Err(Hinted::new(what, "it is left as it is: rename it or remove it first").into())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("{}: cannot read", path.display())),
    }
}

fn text(finding: &Finding) -> Result<String> {
    let unit = &finding.unit;
    let section = section(unit)?;
    let advised = finding
        .suggestions
        .context("no size was found that is enough")?;
    let mut text = format!("{MARK}. `warmset size --undo {unit}` takes it away.\n");
    let found = &finding.working_set;
    let bounds = [found.lower, found.upper].map(|size| match size {
        Some(size) => size.to_string(),
        None => "unknown".to_owned(),
    });
    let seconds = finding.seconds;
    writeln!(
        text,
        "# Working set from {} to {}, measured over {seconds:.0} s.",
        bounds[0], bounds[1]
    )?;
    writeln!(text, "[{section}]")?;
    let settings = [
        ("MemoryLow", advised.memory_low),
        ("MemoryHigh", Some(advised.memory_high)),
        ("MemoryMax", Some(advised.memory_max)),
    ];
    for (name, value) in settings {
        if let Some(value) = value.map(Bytes::get) {
            writeln!(text, "{name}={value}")?;
        }
    }
    Ok(text)
}

/// Has systemd read its units again. A unit that runs keeps the limits it has, as was seen with Debian 13's. That this fails is said
/// and no error: the file is there, and counts from the next boot.
fn reload(root: &Path, out: &mut impl Write) -> Result<()> {
    if root != Path::new("/") {
        return Ok(());
    }
    let done = Command::new("systemctl").arg("daemon-reload").output();
    if done.is_ok_and(|output| output.status.success()) {
        writeln!(
            out,
            "systemd has read it: it counts from the next start of the unit"
        )?;
    } else {
        writeln!(out, "systemd did not read it: run systemctl daemon-reload")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_units_with_a_file_have_limits_there() {
        assert_eq!(section("db.service").unwrap(), "Service");
        assert_eq!(section("system.slice").unwrap(), "Slice");
        for name in ["session-1.scope", "4711", "/x/db.service", "../db.service"] {
            assert!(section(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_file_of_somebody_else_stays() {
        let root = tempfile::tempdir().unwrap();
        let file = path(root.path(), "db.service");
        assert!(!ours(&file).unwrap());
        let undone = |name| undo(root.path(), name, &mut Vec::new());
        assert!(
            undone("db")
                .unwrap_err()
                .to_string()
                .contains("no such file")
        );
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "[Service]\nMemoryMax=1G\n").unwrap();
        assert!(ours(&file).is_err());
        assert!(undone("db.service").is_err());
        assert!(file.exists());
        fs::write(&file, format!("{MARK}.\n[Service]\n")).unwrap();
        assert_eq!(undone("db").unwrap(), ExitCode::SUCCESS);
        assert!(!file.parent().unwrap().exists());
    }
}
