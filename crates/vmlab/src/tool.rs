//! Programs of the host that the lab runs, with errors that say what to install and why a program failed.

use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

/// Lines of a program's output that an error repeats: the cause is at the end, and a screen has room for eight.
const LINES: usize = 8;

/// Runs a program and returns what it printed. The error has the end of its standard error.
pub fn run(command: &mut Command, package: &str) -> Result<String> {
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => return Err(missing(error, command, package)),
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    bail!(
        "{} failed ({}):\n{}",
        name(command),
        output.status,
        last_lines(&errors)
    )
}

/// The error for a program that could not be started.
pub fn missing(error: std::io::Error, command: &Command, package: &str) -> anyhow::Error {
    match error.kind() {
        ErrorKind::NotFound => anyhow::anyhow!(
            "{} is not here: install the package {package}",
            name(command)
        ),
        _ => anyhow::Error::new(error).context(format!("cannot run {}", name(command))),
    }
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// The last lines, indented.
pub fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(LINES);
    let mut last = String::new();
    for line in lines.iter().skip(first) {
        let _ = writeln!(last, "  {line}");
    }
    last
}

/// A path as text. All paths of the lab are UTF-8, unless the user's own directory is not.
pub fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("the path {} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_names_its_package() {
        let error = run(&mut Command::new("no-such-program-here"), "qemu-system-x86")
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "no-such-program-here is not here: install the package qemu-system-x86"
        );
    }

    #[test]
    fn a_failing_program_is_quoted() {
        let script = "echo first >&2; echo why >&2; exit 3";
        let failed = run(Command::new("sh").args(["-c", script]), "dash");
        let error = failed.unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(error.contains("  why\n"), "{error}");
    }
}
