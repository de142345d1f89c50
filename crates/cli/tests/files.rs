//! `warmset files` on real files of this machine.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod place;

use host::system_calls::resident_pages;
use place::Said;
use rustix::fs::{Advice, CWD, FileType, Mode, fadvise, mknodat};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::num::NonZeroU64;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use testsupport::cached_files::{PAGE, on_disk, partly, written};

/// A user without rights, who owns nothing here.
const NOBODY: u32 = 65_534;

fn command(program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .arg("files")
        .args(args)
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS");
    command
}

fn files(place: &TempDir, args: &[&str]) -> Said {
    let program = Path::new(env!("CARGO_BIN_EXE_warmset"));
    let output = command(program, args).output().unwrap();
    Said::new(output, place.path())
}

/// The row of the file with this name.
fn row<'a>(report: &'a Value, name: &str) -> &'a Value {
    let rows = report["rows"].as_array().unwrap();
    let is_it = |row: &&Value| row["path"].as_str().unwrap().ends_with(name);
    rows.iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("{name}: {report}"))
}

fn left_out(report: &Value, why: &str) -> u64 {
    let kinds = report["left_out"].as_array().unwrap();
    let of_it = kinds.iter().filter(|kind| kind["why"] == why);
    of_it.map(|kind| kind["count"].as_u64().unwrap()).sum()
}

#[test]
fn what_is_in_the_cache_is_told_and_stays_as_it_is() {
    let place = on_disk();
    let part = partly(&place.path().join("part"), 100, 75);
    let none = partly(&place.path().join("none"), 30, 0);
    let odd = place.path().join("a\u{1b}[2J\nb");
    written(&odd, 1);
    mknodat(
        CWD,
        place.path().join("fifo"),
        FileType::Fifo,
        Mode::RUSR,
        0,
    )
    .unwrap();
    let at = place.path().to_str().unwrap();
    let report = files(&place, &["--json", at]).json();
    assert_eq!(row(&report, "part")["resident"], 75 * PAGE);
    assert_eq!(row(&report, "part")["share"], 0.75);
    assert_eq!(row(&report, "none")["resident"], 0);
    assert_eq!(report["total"]["resident"], 76 * PAGE);
    assert_eq!(report["total"]["came"], Value::Null);
    assert_eq!(left_out(&report, "special"), 1);
    // Twice, as text and as JSON, and still nothing was brought in.
    let said = files(&place, &[at]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("PLACE/a\\x1b[2J\\x0ab"), "{said:?}");
    assert!(said.out.contains("58.01 %"), "76 of 131 pages: {said:?}");
    assert_eq!(resident_pages(&part, 100).unwrap(), 75);
    assert_eq!(resident_pages(&none, 30).unwrap(), 0);
    let said = files(&place, &["--limit", "1", "--by", "directory", at]);
    assert!(said.out.contains("DIRECTORY"), "{said:?}");
}

#[test]
fn what_others_may_not_know_is_not_told_and_never_zero() {
    let place = on_disk();
    // The program must be where a user without rights can run it.
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    let program = place.path().join("warmset");
    fs::copy(env!("CARGO_BIN_EXE_warmset"), &program).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    // Somebody else's file, of which a part is not resident: mincore would say that all of it is.
    let theirs = if is_root {
        let path = place.path().join("theirs");
        partly(&path, 10, 6);
        path
    } else {
        PathBuf::from("/etc/passwd")
    };
    let secret = place.path().join("secret");
    written(&secret, 2);
    fs::set_permissions(&secret, Permissions::from_mode(0o000)).unwrap();
    let at = place.path().to_str().unwrap();
    let mut command = command(&program, &["--json", theirs.to_str().unwrap(), at]);
    if is_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let report = Said::new(command.output().unwrap(), place.path()).json();
    assert_eq!(left_out(&report, "unreadable"), 1, "{report}");
    let name = theirs.file_name().unwrap().to_str().unwrap();
    let told = &row(&report, name)["resident"];
    let is_true = told.as_u64() == Some(6 * PAGE);
    // A kernel from 6.5 to 6.13 tells everybody, and it tells the truth.
    assert!(told.is_null() || (is_root && is_true), "{report}");
    if told.is_null() {
        assert!(left_out(&report, "not_ours") > 0, "{report}");
        assert!(report["total"]["untold"].as_u64().unwrap() > 0, "{report}");
    }
}

#[test]
fn the_files_of_a_process_and_of_its_unit_are_told() {
    let place = on_disk();
    written(&place.path().join("warmset-data"), 12);
    let mut holder = Command::new("sh")
        .args(["-c", "exec 5<warmset-data; echo ready; exec sleep 1000"])
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let pid = holder.id().to_string();
    let cgroup = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let group = cgroup
        .lines()
        .next()
        .unwrap()
        .splitn(3, ':')
        .nth(2)
        .unwrap();
    let of_process = files(&place, &["--json", "--limit", "100000", "--pid", &pid]).json();
    let of_unit = files(&place, &["--json", "--limit", "100000", "--unit", group]).json();
    let _ = holder.kill();
    let _ = holder.wait();
    for report in [of_process, of_unit] {
        assert_eq!(row(&report, "/warmset-data")["resident"], 12 * PAGE);
        let rows = report["rows"].as_array().unwrap();
        assert!(rows.len() > 1, "and the libraries: {report}");
    }
    let said = files(&place, &["--pid", &pid]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.err.contains(&pid) && said.err.contains("hint: "),
        "{said:?}"
    );
    let said = files(&place, &["--unit", "no-such.service"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("no-such.service"), "{said:?}");
}

#[test]
fn watched_each_look_tells_what_went() {
    let place = on_disk();
    let file = partly(&place.path().join("file"), 40, 40);
    let program = Path::new(env!("CARGO_BIN_EXE_warmset"));
    let at = place.path().to_str().unwrap();
    let mut child = command(program, &["--json", "--watch=100ms", at])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["total"]["resident"], 40 * PAGE);
    fadvise(&file, 0, NonZeroU64::new(15 * PAGE), Advice::DontNeed).unwrap();
    // Looks before it went come first, as many as there were time for.
    let mut look = next();
    while look["total"]["resident"] == 40 * PAGE {
        look = next();
    }
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(look["total"]["resident"], 25 * PAGE);
    assert_eq!(look["total"]["went"], 15 * PAGE);
    assert_eq!(look["rows"][0]["went"], 15 * PAGE);
}

#[test]
fn what_cannot_be_looked_at_is_an_error_that_says_so() {
    let place = on_disk();
    let path = place.path().join("fifo");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0).unwrap();
    let said = files(&place, &[path.to_str().unwrap()]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("FIFO"), "{said:?}");
    let said = files(&place, &["/no/such/file"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("--unit UNIT"), "{said:?}");
    for wrong in [
        &["--pid", "1", "/tmp"][..],
        &["--by", "mount"],
        &["--cross", "--pid", "1"],
        &["--limit", "0"],
        &["--watch=nonsense"],
    ] {
        assert_eq!(files(&place, wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn without_a_target_units_are_told() {
    let place = on_disk();
    let report = files(&place, &["--json"]).json();
    assert!(
        report["machine"]["cached"].as_u64().unwrap() > 0,
        "{report}"
    );
    let said = files(&place, &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("page cache"), "{said:?}");
    assert!(said.out.contains("--unit UNIT"), "{said:?}");
}

/// A control group of our own with little memory; removed when this is dropped.
struct Group(PathBuf);

impl Group {
    /// `None` where we may make none.
    fn with_limit(limit: u64) -> Option<Self> {
        let text = fs::read_to_string("/proc/self/cgroup").unwrap();
        for (of, mount, name) in [
            (":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            ("0::", "/sys/fs/cgroup", "memory.max"),
        ] {
            let Some(line) = text.lines().find(|line| line.contains(of)) else {
                continue;
            };
            let (_, path) = line.rsplit_once(':').unwrap();
            let above = Path::new(mount).join(path.trim_start_matches('/'));
            let directory = above.join(format!("warmset-files-{}", std::process::id()));
            if fs::create_dir(&directory).is_err() {
                continue;
            }
            let group = Self(directory);
            if fs::write(group.0.join(name), limit.to_string()).is_ok() {
                return Some(group);
            }
        }
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn what_was_reclaimed_is_told_as_evicted_and_what_was_dropped_is_not() {
    let Some(group) = Group::with_limit(8 << 20) else {
        eprintln!("skipped: no control group with a limit may be made here");
        return;
    };
    let place = on_disk();
    let path = place.path().join("file");
    // Twice what the group may have.
    let pages = (16 << 20) / PAGE;
    let file = written(&path, pages);
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    let at = path.to_str().unwrap();
    let before = files(&place, &["--json", at]).json();
    assert_eq!(before["total"]["evicted"], 0);
    let script = "echo $$ >\"$1/cgroup.procs\" && cat \"$2\" >/dev/null";
    let read = Command::new("sh")
        .args(["-c", script, "sh"])
        .args([&group.0, &path])
        .status()
        .unwrap();
    assert!(read.success());
    let after = files(&place, &["--json", at]).json();
    let total = &after["total"];
    let bytes = |name: &str| total[name].as_u64().unwrap();
    assert_eq!(
        bytes("resident"),
        PAGE * resident_pages(&file, pages).unwrap()
    );
    assert!(
        bytes("resident") < pages * PAGE,
        "the group has a limit: {after}"
    );
    assert!(bytes("evicted") > 0, "{after}");
    // The kernel may have given up some of its marks.
    assert!(
        bytes("evicted") <= pages * PAGE - bytes("resident"),
        "{after}"
    );
    assert!(bytes("recently_evicted") <= bytes("evicted"), "{after}");
}
