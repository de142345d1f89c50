//! Programs and settings that do a part of the same work, found by looking.
//!
//! Two programs that set one knob undo each other's work. So before a knob is set we look for such programs, name them,
//! and leave to them what they drive.

use crate::cgroups::place::place;
use crate::parse::process::{self, cgroup};
use pressure::distress::is_a_persons;
use pressure::knob::{Drive, KNOBS};
use pressure::scan::Place;
use serde::Serialize;
use std::path::Path;
use std::{fmt, fs};
use units::{Bytes, Percent};

/// Something that does a part of our work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rival {
    /// Its name.
    pub name: String,
    /// What it does.
    pub kind: RivalKind,
    /// Where it was seen.
    pub evidence: String,
    /// Share of memory below which it kills; only of guards, where known.
    pub floor: Option<Percent>,
}

/// What a rival does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RivalKind {
    /// Drives the same knobs.
    Tuner,
    /// Kills when memory is short.
    Guard,
    /// Reclaims or sorts memory by access.
    Damon,
    /// Sets a knob of ours at boot.
    Sysctl,
}

impl RivalKind {
    /// What we do about it.
    pub const fn we(self) -> &'static str {
        match self {
            Self::Tuner => "we drive nothing while it runs",
            Self::Guard => {
                "we kill no process while it runs, and keep available memory above its threshold"
            }
            Self::Damon => "we leave it alone",
            Self::Sysctl => "we never go below that value, and put it back",
        }
    }
}

impl fmt::Display for Rival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name, self.evidence, self.kind.we())
    }
}

/// Programs by the name the kernel has for them, which is cut to 15 bytes.
const PROGRAMS: &[(&str, RivalKind, Option<u64>)] = &[
    ("tuned", RivalKind::Tuner, None),
    ("adaptivemmd", RivalKind::Tuner, None),
    ("memoptimizer", RivalKind::Tuner, None),
    ("earlyoom", RivalKind::Guard, Some(10)),
    ("nohang", RivalKind::Guard, Some(10)),
    ("systemd-oomd", RivalKind::Guard, None),
    ("oomd", RivalKind::Guard, None),
];

/// All rivals found at `root`. Walks `/proc`, which takes milliseconds, so the worker calls it and not the loop.
pub fn rivals(root: &Path) -> Vec<Rival> {
    let mut found = programs(root);
    found.extend(damon(root));
    found.extend(sysctls(root));
    found
}

/// Available memory below which some rival starts to kill.
pub(crate) fn floor(rivals: &[Rival], memory: Bytes) -> Option<Bytes> {
    rivals
        .iter()
        .filter_map(|rival| rival.floor)
        .map(|share| share.of(memory))
        .max()
}

fn programs(root: &Path) -> Vec<Rival> {
    let Ok(entries) = fs::read_dir(root.join("proc")) else {
        return Vec::new();
    };
    let processes = entries
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit());
    let known = processes.filter_map(|process| {
        let comm = fs::read_to_string(process.path().join("comm")).ok()?;
        let (name, kind, floor) = PROGRAMS
            .iter()
            .find(|(name, ..)| *name == comm.trim_end())?;
        if !is_the_systems(&process.path()) {
            return None;
        }
        let floor = floor.map(|share| threshold(&process.path()).unwrap_or(Percent::new(share)));
        let evidence = format!("process {}", process.file_name().to_string_lossy());
        Some(Rival {
            name: (*name).to_owned(),
            kind: *kind,
            evidence,
            floor,
        })
    });
    known.collect()
}

/// Returns true if the process runs as a system user and in no container: any user may call a process `earlyoom`.
fn is_the_systems(directory: &Path) -> bool {
    let status = fs::read(directory.join("status")).unwrap_or_default();
    let groups = fs::read(directory.join("cgroup")).unwrap_or_default();
    let is_in_container = place(cgroup(&groups).unwrap_or(b"/")).place == Place::Container;
    let user = process::status(&status).user;
    user.is_some_and(|user| !is_a_persons(user)) && !is_in_container
}

/// The first number of `-m PERCENT[,KILL]` in a guard's arguments.
fn threshold(process: &Path) -> Option<Percent> {
    let arguments = fs::read(process.join("cmdline")).ok()?;
    let mut words = arguments
        .split(|byte| *byte == 0)
        .skip_while(|word| *word != b"-m")
        .skip(1);
    let share = std::str::from_utf8(words.next()?).ok()?;
    share
        .split(',')
        .next()?
        .parse()
        .ok()
        .filter(|share| *share <= 100)
        .map(Percent::new)
}

fn damon(root: &Path) -> Vec<Rival> {
    let mut found = Vec::new();
    let mut see = |name: &str, path: std::path::PathBuf, on: &str| {
        if fs::read_to_string(&path).is_ok_and(|text| text.trim() == on) {
            let evidence = path
                .strip_prefix(root)
                .unwrap_or(&path)
                .display()
                .to_string();
            found.push(Rival {
                name: name.to_owned(),
                kind: RivalKind::Damon,
                evidence,
                floor: None,
            });
        }
    };
    for module in ["damon_reclaim", "damon_lru_sort"] {
        see(
            module,
            root.join(format!("sys/module/{module}/parameters/enabled")),
            "Y",
        );
    }
    if let Ok(threads) = fs::read_dir(root.join("sys/kernel/mm/damon/admin/kdamonds")) {
        threads
            .flatten()
            .for_each(|thread| see("DAMON", thread.path().join("state"), "on"));
    }
    found
}

fn sysctls(root: &Path) -> Vec<Rival> {
    let mut files = vec![root.join("etc/sysctl.conf")];
    for directory in ["usr/lib/sysctl.d", "run/sysctl.d", "etc/sysctl.d"] {
        let entries = fs::read_dir(root.join(directory))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        files.extend(entries.filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "conf")
        }));
    }
    let mut found = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        for (line, key) in text
            .lines()
            .enumerate()
            .filter_map(|(index, line)| Some((index + 1, key(line)?)))
        {
            if KNOBS
                .iter()
                .any(|spec| spec.drive == Drive::Default && spec.name == key)
            {
                let evidence = format!(
                    "{}:{line}",
                    file.strip_prefix(root).unwrap_or(&file).display()
                );
                found.push(Rival {
                    name: key,
                    kind: RivalKind::Sysctl,
                    evidence,
                    floor: None,
                });
            }
        }
    }
    found
}

/// `vm.x` of `vm/x = 1` or `-vm.x=1`; nothing of a comment.
fn key(line: &str) -> Option<String> {
    let (key, _) = line.trim().split_once('=')?;
    let key = key.trim().trim_start_matches('-').replace('/', ".");
    (!key.starts_with(['#', ';'])).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn rivals_are_found_and_named() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "proc/12/comm", "earlyoom\n");
        write(dir.path(), "proc/12/cmdline", "earlyoom\0-m\u{0}15,5\0");
        write(dir.path(), "proc/13/comm", "bash\n");
        write(dir.path(), "proc/14/comm", "tuned\n");
        for (pid, user) in [(12, 61_184), (13, 0), (14, 0)] {
            write(
                dir.path(),
                &format!("proc/{pid}/status"),
                &format!("Name:\tx\nUid:\t{user}\t{user}\n"),
            );
        }
        for (pid, user, group) in [
            (15, 1000, "/"),
            (16, 0, "/docker/0123"),
            (17, 0, "/system.slice/docker-0123.scope"),
        ] {
            write(dir.path(), &format!("proc/{pid}/comm"), "nohang\n");
            write(
                dir.path(),
                &format!("proc/{pid}/status"),
                &format!("Name:\tx\nUid:\t{user}\t{user}\n"),
            );
            write(
                dir.path(),
                &format!("proc/{pid}/cgroup"),
                &format!("0::{group}\n"),
            );
        }
        fs::remove_file(dir.path().join("proc/16/status")).unwrap();
        write(
            dir.path(),
            "sys/kernel/mm/damon/admin/kdamonds/0/state",
            "on\n",
        );
        write(
            dir.path(),
            "etc/sysctl.d/10.conf",
            "# vm.watermark_scale_factor=1\nvm/watermark_scale_factor = 200\n",
        );
        let mut shown: Vec<String> = rivals(dir.path()).iter().map(Rival::to_string).collect();
        shown.sort();
        expect_test::expect![[r#"
            [
                "DAMON (sys/kernel/mm/damon/admin/kdamonds/0/state): we leave it alone",
                "earlyoom (process 12): we kill no process while it runs, and keep available memory above its threshold",
                "tuned (process 14): we drive nothing while it runs",
                "vm.watermark_scale_factor (etc/sysctl.d/10.conf:2): we never go below that value, and put it back",
            ]
        "#]]
        .assert_debug_eq(&shown);
        assert_eq!(
            floor(&rivals(dir.path()), Bytes::mib(1000)),
            Some(Bytes::mib(150))
        );
    }

    #[test]
    fn an_empty_machine_has_none() {
        assert_eq!(rivals(tempfile::tempdir().unwrap().path()), []);
    }
}
