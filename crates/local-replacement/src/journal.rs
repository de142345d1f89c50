//! What was seen and done, a line of JSON each, from which `bench/local-kernel.py` makes its tables.

use crate::processes::Scan;
use crate::rule::Way;
use crate::tick::Push;
use anyhow::{Context, Result};
use serde::Serialize;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// The file, if there is one.
#[derive(Debug)]
pub(crate) struct Journal {
    file: Option<File>,
}

/// A look at the processes.
#[derive(Serialize)]
struct ScanLine {
    /// The process that runs next, if that can be told.
    next: Option<u32>,
    /// The two candidates that have most anonymous memory in RAM, and how much, in bytes.
    largest: Vec<(u32, u64)>,
}

/// A press.
#[derive(Serialize)]
struct PushLine<'p> {
    pressed: Way,
    pid: u32,
    name: &'p str,
    /// Its memory in RAM, files included, in bytes.
    resident: u64,
}

impl Journal {
    /// Makes `path` anew, and the directory it is in.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let file = match path {
            Some(path) => Some(create(path)?),
            None => None,
        };
        Ok(Self { file })
    }

    /// Notes what was looked at.
    pub(crate) fn scan(&mut self, scan: &Scan) -> Result<()> {
        self.line(&scan_line(scan))
    }

    /// Notes what is pressed on.
    pub(crate) fn push(&mut self, push: &Push) -> Result<()> {
        self.line(&PushLine {
            pressed: push.way,
            pid: push.process.pid,
            name: &push.process.name,
            resident: push.process.resident.get(),
        })
    }

    fn line(&mut self, value: &impl Serialize) -> Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        file.write_all(&line).context("cannot write to --log")
    }
}

fn create(path: &Path) -> Result<File> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)
            .with_context(|| format!("{}: cannot make", directory.display()))?;
    }
    File::create_new(path).with_context(|| format!("{}: cannot make", path.display()))
}

fn scan_line(scan: &Scan) -> ScanLine {
    let mut largest: Vec<(u32, u64)> = scan
        .candidates
        .iter()
        .map(|candidate| (candidate.process.pid, candidate.anon.get()))
        .collect();
    largest.sort_by_key(|(_, anon)| std::cmp::Reverse(*anon));
    largest.truncate(2);
    ScanLine {
        next: scan.runners.first().map(|runner| runner.process.pid),
        largest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::Candidate;
    use crate::processes::tests::sample;
    use crate::queue::Runner;
    use units::Bytes;

    #[test]
    fn a_look_and_a_press_are_a_line_each() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state/local.jsonl");
        let mut journal = Journal::open(Some(&path)).unwrap();
        let candidate = |pid, mib| Candidate {
            process: sample(pid, 100),
            anon: Bytes::mib(mib),
            swapped: Bytes::ZERO,
        };
        let scan = Scan {
            candidates: vec![candidate(1, 1), candidate(2, 3), candidate(3, 2)],
            runners: vec![Runner {
                process: sample(2, 3),
                vruntime: 7,
            }],
        };
        journal.scan(&scan).unwrap();
        let process = sample(2, 3);
        let way = Way::Up;
        journal.push(&Push { way, process }).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "{\"next\":2,\"largest\":[[2,3145728],[3,2097152]]}\n\
             {\"pressed\":\"up\",\"pid\":2,\"name\":\"cc1\",\"resident\":3145728}\n"
        );
        assert!(Journal::open(Some(&path)).is_err(), "a log is kept");
        Journal::open(None).unwrap().scan(&scan).unwrap();
    }
}
