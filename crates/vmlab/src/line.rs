//! The result of one run: one line of JSON.

use crate::plan::{Lru, Report, Size, Swap, Thp};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Which load.
    pub scenario: String,
    /// Which arm.
    pub arm: String,
    /// Which repetition, from 0.
    pub rep: u32,
    /// The machine it ran on.
    pub machine: Machine,
    /// How it ended.
    pub state: State,
    /// How long, how large.
    pub size: Size,
    /// What the arm wrote before the load.
    pub set: Vec<(String, String)>,
    /// Seconds that the run took on the host's clock.
    pub wall_s: f64,
    /// CPU time of the host that the machine took, in seconds.
    pub host_cpu_s: Option<f64>,
    /// What was measured; empty unless the run finished.
    #[serde(flatten)]
    pub report: Report,
    /// The last lines of the console, if the run did not finish.
    pub console: Option<String>,
}

/// How a run ended. All of these are results: under some arms a machine does not survive the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// With a report.
    Finished,
    /// The machine sent nothing until the deadline.
    Wedged,
    /// QEMU ended: the kernel panicked.
    Gone,
    /// The guest sent an error, or a damaged frame.
    Failed,
}

/// The machine of a run, and the host below it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// By the names that the user gave.
    #[serde(flatten)]
    pub setting: Setting,
    /// The package and its version, or the build.
    pub origin: String,
    /// Transparent huge pages; `None` is the kernel's own choice.
    pub thp: Option<Thp>,
    /// What executed it.
    pub accel: String,
    /// QEMU's version.
    pub qemu: String,
    /// The host's load average over a minute, at the start.
    pub host_load: Option<f64>,
    /// The host's CPUs.
    pub host_cpus: usize,
    /// The commit of this project, if it is known.
    pub commit: Option<String>,
    /// The command that was given.
    pub command: String,
    /// Seconds since 1970 at the start.
    pub at: u64,
}

/// A machine by the names that a user gives. Runs with equal settings and scenarios are comparable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// As `--kernel` named it.
    pub kernel: String,
    /// `None` is the kernel's own choice.
    pub lru: Option<Lru>,
    /// Where anonymous memory goes.
    pub swap: Swap,
    /// Its memory.
    pub memory_mib: u64,
    /// Its CPUs.
    pub cpus: u32,
    /// Its NUMA nodes.
    pub nodes: u32,
}

/// A setting in the words of a table, in the order of tables.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// As `--kernel` named it.
    pub kernel: String,
    /// `classic`, `mglru`, or the kernel's own choice.
    pub lru: String,
    /// `none`, `disk`, `zram`.
    pub swap: String,
    /// Its memory.
    pub memory_mib: u64,
    /// Its CPUs.
    pub cpus: u32,
    /// Its NUMA nodes.
    pub nodes: u32,
}

impl Setting {
    /// The cell of the table that its lines belong to.
    pub fn cell(&self) -> Cell {
        Cell {
            kernel: self.kernel.clone(),
            lru: word(&serde_json::json!(self.lru)),
            swap: word(&serde_json::json!(self.swap)),
            memory_mib: self.memory_mib,
            cpus: self.cpus,
            nodes: self.nodes,
        }
    }
}

/// A setting as JSON has it; without one the kernel is as it was found.
fn word(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or("as found").to_owned()
}

/// All lines of a file; none if there is no file. Leaves out a last line that a full disk or a kill cut short.
pub fn read(path: &Path) -> Result<Vec<Line>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let texts: Vec<&str> = text.lines().collect();
    let mut lines = Vec::with_capacity(texts.len());
    for (number, text) in texts.iter().enumerate() {
        match serde_json::from_str(text) {
            Ok(line) => lines.push(line),
            Err(_) if number + 1 == texts.len() => {}
            Err(error) => anyhow::bail!("{}, line {}: {error}", path.display(), number + 1),
        }
    }
    Ok(lines)
}

/// Adds a line to a file, in one write. After a line that was cut short it begins a new one.
pub fn append(path: &Path, line: &Line) -> Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    if ends_in_the_middle(path) {
        text.insert(0, b'\n');
    }
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(&text))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn ends_in_the_middle(path: &Path) -> bool {
    match fs::read(path) {
        Ok(bytes) => bytes.last().is_some_and(|last| *last != b'\n'),
        Err(_) => false,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A finished run of this arm.
    pub(crate) fn line(arm: &str, rep: u32) -> Line {
        let setting = Setting {
            kernel: "6.12".to_owned(),
            lru: Some(Lru::Mglru),
            swap: Swap::None,
            memory_mib: 1024,
            cpus: 1,
            nodes: 1,
        };
        let machine = Machine {
            setting,
            origin: "linux 6.12".to_owned(),
            thp: None,
            accel: "tcg".to_owned(),
            qemu: "7.2".to_owned(),
            host_load: None,
            host_cpus: 2,
            commit: None,
            command: String::new(),
            at: 0,
        };
        Line {
            scenario: "storm".to_owned(),
            arm: arm.to_owned(),
            rep,
            machine,
            state: State::Finished,
            size: Size {
                memory_mib: 1024,
                warm_up_s: 1,
                load_s: 1,
                calm_s: 1,
            },
            set: Vec::new(),
            wall_s: 1.0,
            host_cpu_s: None,
            report: Report {
                gap: Some(crate::plan::Gap::default()),
                ..Report::default()
            },
            console: None,
        }
    }

    #[test]
    fn lines_are_read_as_written_and_a_cut_one_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines");
        assert_eq!(read(&path).unwrap(), []);
        append(&path, &line("none", 0)).unwrap();
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [whole.as_slice(), &whole[..20]].concat()).unwrap();
        assert_eq!(read(&path).unwrap(), [line("none", 0)]);
    }

    #[test]
    fn a_broken_line_in_the_middle_is_an_error_with_its_number() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines");
        fs::write(&path, "{}\n{}\n").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("line 1"));
    }

    #[test]
    fn arm_and_repetition_make_no_other_cell() {
        assert_eq!(
            line("none", 0).machine.setting.cell(),
            line("warmset", 4).machine.setting.cell()
        );
        let mut other = line("none", 0);
        other.machine.setting.lru = None;
        assert_eq!(other.machine.setting.cell().lru, "as found");
    }
}
