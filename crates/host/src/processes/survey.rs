//! Every process, for a person who asks which ones a rule names. The guard never does this.
//!
//! Cost: some twenty files of each process, a tenth of a second for a thousand of them.

use super::Reading;
use super::handle::CandidateHandle;
use super::table::{self, Kind};
use pressure::config::Guard;
use pressure::scan::Candidate;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use units::Bytes;

/// Only shown amounts depend on the size of pages, and none is shown.
const PAGE: Bytes = Bytes::kib(4);

/// All processes but the kernel's.
#[derive(Debug, Default)]
pub struct Survey {
    /// Each, in the order of their numbers.
    pub processes: Vec<Process>,
    /// Of how many it could not be read which file they run: only root may.
    pub unreadable: usize,
}

/// One process.
#[derive(Debug)]
pub struct Process {
    /// As a decision would see it.
    pub candidate: Candidate,
    /// The whole path of the file that it runs; empty if unknown.
    pub exe: String,
}

/// Reads every process of the machine at `root`, and which rules of `guard` name it. A process that
/// vanishes meanwhile is left out.
pub fn survey(root: &Path, guard: &Guard) -> io::Result<Survey> {
    let path = root.join("proc");
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let proc = rustix::fs::open(&path, flags, Mode::empty())?;
    let mut numbers = Vec::new();
    for directory in fs::read_dir(&path)?.flatten() {
        let name = directory.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    numbers.sort_unstable();
    let mut survey = Survey::default();
    for pid in numbers {
        let Some(Kind::Process(entry)) = table::entry(&proc, pid) else {
            continue;
        };
        let status = table::status(&proc, pid);
        let user = status.and_then(|status| status.user);
        let Some(handle) = CandidateHandle::open(root, &proc, &entry, guard) else {
            continue;
        };
        let reading = Reading {
            entry,
            anon: Bytes::ZERO,
            user: user.unwrap_or(u32::MAX),
        };
        let exe = match fs::read_link(path.join(pid.to_string()).join("exe")) {
            Ok(exe) => OsString::from(exe).into_vec(),
            Err(error) => {
                survey.unreadable += usize::from(error.kind() == ErrorKind::PermissionDenied);
                Vec::new()
            }
        };
        survey.processes.push(Process {
            candidate: handle.candidate(&reading, PAGE),
            exe: String::from_utf8_lossy(&exe).into_owned(),
        });
    }
    Ok(survey)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_process_is_seen_with_the_rules_that_name_it() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join("proc").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let stat = |pid: u32, flags: u32| {
            format!("{pid} (python3) S 1 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 90 99 7 1 2 3")
        };
        write("40/stat", &stat(40, 0));
        write("40/status", "Name:\tpython3\nUid:\t1000\t1000\n");
        write("40/cmdline", "python3\0-m\0jupyter lab\0");
        write(
            "40/cgroup",
            "0::/user.slice/user-1000.slice/session-2.scope\n",
        );
        let deep = format!("/home/ann/{}/python3", "env/".repeat(30));
        symlink(&deep, dir.path().join("proc/40/exe")).unwrap();
        write("2/stat", &stat(2, 0x0020_0000));
        write("self/stat", "nonsense");
        let guard = Guard {
            avoid: vec!["command:*-m jupyter*".parse().unwrap()],
            prefer: vec!["exe:/home/ann/*".parse().unwrap()],
            ..Guard::default()
        };
        let survey = survey(dir.path(), &guard).unwrap();
        let [process] = &survey.processes[..] else {
            panic!("{survey:?}")
        };
        assert_eq!(process.exe, deep);
        assert_eq!(process.candidate.user, 1000);
        assert_eq!(process.candidate.unit.as_str(), "session-2.scope");
        assert_eq!(
            guard.avoids(&process.candidate).unwrap().as_str(),
            "command:*-m jupyter*"
        );
        assert!(guard.prefers(&process.candidate).is_some());
    }
}
