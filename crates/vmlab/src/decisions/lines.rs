//! Results: one line of JSON for each run, with what was seen and not with what was thought of it.

use super::play::Seen;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The situation.
    pub situation: String,
    /// The arm.
    pub arm: String,
    /// The text of the situation: a table can be printed again after it has changed.
    pub text: String,
    /// The build of Warmset, by a hash of its program; `None` in other arms.
    #[serde(default)]
    pub build: Option<String>,
    /// The kernel's package and its version.
    pub kernel: String,
    /// What executed the machine.
    pub accel: String,
    /// QEMU's version.
    pub qemu: String,
    /// The host's load average over a minute, at the start.
    pub host_load: Option<f64>,
    /// The commit of this project, if it is known.
    pub commit: Option<String>,
    /// Seconds since 1970 at the start.
    pub at: u64,
    /// Seconds that the run took on the host's clock.
    pub wall_s: f64,
    /// Of them, those until the machine was up.
    pub boot_s: Option<f64>,
    /// What was seen; `None` if the machine did not say.
    pub seen: Option<Seen>,
    /// Why it did not.
    pub error: Option<String>,
    /// Whether the machine had begun to play and then never answered: under some guards it does not survive.
    #[serde(default)]
    pub wedged: bool,
}

impl Line {
    /// Whether the run says something: one that failed is made again.
    pub fn counts(&self) -> bool {
        match &self.seen {
            Some(seen) => seen.faults.is_empty(),
            None => self.wedged,
        }
    }
}

/// All lines of a file; none if there is no file. A last line that was cut short is left out.
pub fn read(path: &Path) -> Result<Vec<Line>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let mut lines = Vec::new();
    let is_whole = text.ends_with('\n');
    let count = text.lines().count();
    for (number, line) in text.lines().enumerate() {
        match serde_json::from_str(line) {
            Ok(line) => lines.push(line),
            Err(_) if number + 1 == count && !is_whole => {}
            Err(error) => {
                let place = format!("{}:{}", path.display(), number + 1);
                return Err(error).context(place);
            }
        }
    }
    Ok(lines)
}

/// Adds a line.
pub fn append(path: &Path, line: &Line) -> Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write to {}", path.display()))
}

/// A machine that played, where nothing happened.
#[cfg(test)]
pub(super) fn example() -> Line {
    Line {
        situation: "hog".to_owned(),
        arm: "none".to_owned(),
        text: String::new(),
        build: None,
        kernel: "6.12".to_owned(),
        accel: "tcg".to_owned(),
        qemu: "7.2".to_owned(),
        host_load: None,
        commit: None,
        at: 1,
        wall_s: 2.0,
        boot_s: None,
        seen: Some(Seen::default()),
        error: None,
        wedged: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_short_is_left_out_and_another_fault_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines");
        let line = example();
        append(&path, &line).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{{\"situation\":\"h")).unwrap();
        assert_eq!(read(&path).unwrap(), [line]);
        fs::write(&path, format!("{{}}\n{whole}")).unwrap();
        let error = format!("{:#}", read(&path).unwrap_err());
        assert!(error.contains("lines:1"), "{error}");
    }
}
