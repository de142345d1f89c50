//! All processes of the machine, and the largest of them.
//!
//! ```text
//! stat of every process ─► the largest by resident memory ─► status: anonymous memory and swap ─► candidates
//!                      └─► those that run or wait to run ──► sched: virtual run time ───────────► runners
//! ```
//!
//! This is the guard's own way to find candidates, so that an arm chooses the process that the
//! guard chose when it had this experiment.

use crate::process::Process;
use crate::queue::{self, Runner};
use std::cmp::Reverse;
use std::fs;
use std::path::Path;
use units::Bytes;

/// So many of the largest by resident memory have their anonymous memory and swap read: twice the
/// candidates, as the guard does.
const LOOKED_INTO: usize = 24;
/// Candidates, at most: as many as the guard has.
const MAX_CANDIDATES: usize = 12;
/// The kernel's mark of its own threads, in the flags of `stat` (`include/linux/sched.h`).
const PF_KTHREAD: u64 = 0x0020_0000;

/// A process that holds much memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) process: Process,
    /// Anonymous memory in RAM.
    pub(crate) anon: Bytes,
    /// Memory in swap.
    pub(crate) swapped: Bytes,
}

impl Candidate {
    /// What is freed if it is killed.
    fn size(&self) -> Bytes {
        self.anon + self.swapped
    }
}

/// What one look at the machine found.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Scan {
    /// The largest, by anonymous memory with swap, the largest first.
    pub(crate) candidates: Vec<Candidate>,
    /// Those that run or wait to run, the next first.
    pub(crate) runners: Vec<Runner>,
}

impl Scan {
    /// Looks at all processes of the machine at `root` but this one. A process that vanishes while
    /// it is read is left out.
    pub(crate) fn take(root: &Path) -> Self {
        let proc = root.join("proc");
        let mut all = processes(&proc);
        let runners = queue::of(&proc, &all);
        all.sort_unstable_by_key(|process| Reverse(process.resident));
        all.truncate(LOOKED_INTO);
        let mut candidates: Vec<Candidate> = all
            .into_iter()
            .filter_map(|process| candidate(&proc, process))
            .collect();
        candidates.sort_by_key(|candidate| Reverse(candidate.size()));
        candidates.truncate(MAX_CANDIDATES);
        Self {
            candidates,
            runners,
        }
    }
}

fn processes(proc: &Path) -> Vec<Process> {
    let own = std::process::id();
    let mut all = Vec::new();
    let Ok(entries) = fs::read_dir(proc) else {
        return all;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.parse().ok());
        let Some(pid) = number else {
            continue;
        };
        if pid == own {
            continue;
        }
        let path = entry.path().join("stat");
        let Ok(text) = fs::read(path) else {
            continue;
        };
        all.extend(process(pid, &text));
    }
    all
}

fn candidate(proc: &Path, process: Process) -> Option<Candidate> {
    let path = proc.join(process.pid.to_string()).join("status");
    let text = fs::read_to_string(path).ok()?;
    Some(Candidate {
        anon: kib(&text, "RssAnon:").unwrap_or(process.resident),
        swapped: kib(&text, "VmSwap:").unwrap_or_default(),
        process,
    })
}

/// The value of a line of `status`, such as `RssAnon:     123 kB`.
fn kib(text: &str, field: &str) -> Option<Bytes> {
    let line = text.lines().find(|line| line.starts_with(field))?;
    let value = line.split_ascii_whitespace().nth(1)?;
    value.parse().ok().map(Bytes::kib)
}

/// `123 (name) S …`; `None` if it is a kernel thread, or the text was cut short.
fn process(pid: u32, stat: &[u8]) -> Option<Process> {
    // A name may hold a bracket; after the last one, no field does.
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let name = stat.get(open + 1..close)?;
    let rest = stat.get(close + 1..)?;
    let rest = std::str::from_utf8(rest).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Numbered as in proc(5), from the state, which is field 3.
    let number = |field: usize| -> Option<u64> {
        let text = fields.get(field - 3)?;
        text.parse().ok()
    };
    let flags = number(9)?;
    let start = number(22)?;
    let pages = number(24)?;
    if flags & PF_KTHREAD != 0 {
        return None;
    }
    let page_size = rustix::param::page_size() as u64;
    Some(Process {
        pid,
        start,
        name: String::from_utf8_lossy(name).into_owned(),
        resident: Bytes::new(pages * page_size),
        runs: fields.first() == Some(&"R"),
    })
}

/// When the process of this `stat` started; `None` if it cannot be told.
pub(crate) fn start_of(stat: &[u8]) -> Option<u64> {
    process(0, stat).map(|process| process.start)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A process of so many MiB.
    pub(crate) fn sample(pid: u32, mib: u64) -> Process {
        Process {
            pid,
            start: 1,
            name: "cc1".to_owned(),
            resident: Bytes::mib(mib),
            runs: true,
        }
    }

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let stat = b"7 (a) R (b) R 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 77 0 3 0 0\n";
        let found = process(7, stat).unwrap();
        assert_eq!(found.name, "a) R (b");
        assert_eq!(found.start, 77);
        assert_eq!(
            found.resident,
            Bytes::new(3 * rustix::param::page_size() as u64)
        );
        assert!(found.runs);
    }

    #[test]
    fn kernel_threads_and_cut_texts_are_left_out() {
        let kernel = b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 0 0\n";
        assert_eq!(process(2, kernel), None);
        assert_eq!(process(2, b"2 (x) S 0 0"), None);
        assert_eq!(process(2, b""), None);
    }

    /// Memory of this process must stay as it is here: a test of `press` looks at its accessed bits.
    #[test]
    fn candidates_are_in_order_and_without_this_process() {
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        let scan = Scan::take(Path::new("/"));
        child.kill().unwrap();
        child.wait().unwrap();
        let own = std::process::id();
        assert!(!scan.candidates.is_empty());
        for candidate in &scan.candidates {
            assert_ne!(candidate.process.pid, own);
        }
        assert!(
            scan.candidates
                .is_sorted_by_key(|candidate| Reverse(candidate.size()))
        );
    }
}
