use super::*;
use std::collections::BTreeSet;
use std::fs;

fn names(entry: &Entry, path: &str) -> bool {
    entry.names(Path::new(path))
}

#[test]
fn a_pattern_names_its_files_and_no_others() {
    assert!(names(
        &NODE_COMPACT,
        "/sys/devices/system/node/node12/compact"
    ));
    assert!(names(
        &MEMORY_MIN,
        "/sys/fs/cgroup/a.slice/b.service/memory.min"
    ));
    assert!(names(
        &MEMORY_MIN,
        "/tmp/recorded/sys/fs/cgroup/a/memory.min"
    ));
    assert!(!names(&MEMORY_MIN, "/sys/fs/cgroup/a/memory.max"));
    assert!(!names(&MEMORY_MIN, "/sys/fs/cgroup/../../etc/memory.min"));
    assert!(!names(&CLEAR_REFS, "/proc/7/mem"));
    assert!(!names(&knob(Knob::Swappiness), "/proc/sys/vm/swappiness2"));
    assert!(names(&knob(Knob::Swappiness), "/proc/sys/vm/swappiness"));
}

#[test]
fn a_file_that_the_entry_does_not_name_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("passwd");
    fs::write(&path, "root").unwrap();
    let error = MEMORY_MIN.open(&path, OFlags::TRUNC).unwrap_err();
    assert!(error.to_string().contains("passwd: not opened"), "{error}");
    let directory = File::open(dir.path()).unwrap();
    assert!(
        MEMORY_MIN
            .open_at(&directory, "passwd", OFlags::TRUNC)
            .is_err()
    );
    assert!(create_new(&path, 0o600).is_err(), "it is there already");
    assert_eq!(fs::read_to_string(&path).unwrap(), "root");
}

#[test]
fn the_list_has_a_line_of_four_fields_for_each_knob_and_each_other_file() {
    let list = list();
    let lines: Vec<Vec<&str>> = list
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert!(lines.iter().all(|fields| fields.len() == 4), "{list}");
    assert_eq!(lines.len(), KNOBS.len() + OTHERS.len());
    let patterns: BTreeSet<&str> = lines.iter().map(|fields| fields[0]).collect();
    assert_eq!(patterns.len(), lines.len(), "each once");
    assert!(list.contains("/proc/sys/vm/swappiness\tknob\tthe undo log\tvm.swappiness\n"));
}

/// What opens a file for writing, or changes one, in Rust.
const OPENERS: [&str; 10] = [
    "write(true)",
    "append(true)",
    "fs::write(",
    "File::create",
    "create_new(true)",
    "OpenOptions",
    "File::options",
    "OFlags::WRONLY",
    "OFlags::RDWR",
    "O_WRONLY",
];

/// Lines that ask for read and write access, and pass the flag to [`Entry::open`].
const PASSED_ON: [&str; 2] = ["system/alarm.rs", "tracee/idle.rs"];

#[test]
fn nothing_is_opened_for_writing_elsewhere() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for name in ["host", "hold", "inspect"] {
        let mut files = Vec::new();
        sources(&crates.join(name).join("src"), &mut files);
        assert!(!files.is_empty(), "{name} has no sources");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let is_passed_on = PASSED_ON.iter().any(|known| file.ends_with(known));
            for line in code.lines() {
                let opens = OPENERS.iter().any(|opener| line.contains(opener));
                if opens && !(is_passed_on && line.contains("OFlags::RDWR")) {
                    wrong.push(format!("{}: {}", file.display(), line.trim()));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "open it through an entry of crates/host/src/writes.rs:\n{}",
        wrong.join("\n")
    );
}

/// The sources below a directory that are no tests, but for the file that may.
fn sources(directory: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if name != "tests" {
                sources(&path, files);
            }
        } else if name != "tests.rs" && name != "testing.rs" && name != "writes.rs" {
            files.push(path);
        }
    }
}
