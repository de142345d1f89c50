//! Programs of the host that the lab calls: how they are found missing, and how their failure is told.

use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The last lines of a message that are worth repeating.
const LINES: usize = 8;

/// Runs a program and gives what it printed; a failure tells its own last words.
pub fn run(command: &mut Command, package: &str) -> Result<String> {
    let output = finish(command.stdin(Stdio::null()), package)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    bail!(
        "{} failed ({}):\n{}",
        name(command),
        output.status,
        last_lines(&said)
    )
}

fn finish(command: &mut Command, package: &str) -> Result<Output> {
    command
        .output()
        .map_err(|error| missing(error, command, package))
}

/// What to say of a program that does not start.
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
    let last = lines.iter().skip(lines.len().saturating_sub(LINES));
    last.fold(String::new(), |text, line| text + "  " + line + "\n")
}

/// A path as text; the lab's own paths are.
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
        let error = run(
            Command::new("sh").args(["-c", "echo first >&2; echo why >&2; exit 3"]),
            "dash",
        )
        .unwrap_err();
        assert!(
            error.to_string().contains("exit status: 3") && error.to_string().contains("  why\n"),
            "{error}"
        );
    }
}
