//! The command as people run it: a recorded machine in, exit code and text out.

use pressure::status::Status;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/firecracker-6.18-hybrid-cgroup")
}

/// Runs `warmset` on `root`, with its run directory in `run`.
fn on(root: &Path, run: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warmset"));
    let output = command.arg("--root").arg(root).arg("--run").arg(run).args(arguments).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn warmset(arguments: &[&str]) -> Ran {
    on(&fixture(), Path::new("/nowhere"), arguments)
}

fn file(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("warmset.toml");
    fs::write(&path, text).expect("written");
    let path = path.display().to_string();
    (dir, path)
}

#[test]
fn every_subcommand_has_help_and_wrong_usage_is_code_2() {
    for command in ["status", "why", "features", "doctor", "check", "record", "replay", "restore", "import"] {
        let ran = warmset(&[command, "--help"]);
        assert_eq!(ran.code, Some(0), "{command}");
        assert!(ran.out.contains("Usage: warmset"), "{command}");
    }
    assert_eq!(warmset(&["stat"]).code, Some(2));
    assert_eq!(warmset(&["replay"]).code, Some(2));
}

#[test]
fn without_a_guard_status_says_what_one_would_say() {
    let text = warmset(&["status"]);
    assert_eq!(text.code, Some(0), "{}", text.err);
    assert!(text.out.contains("no guard is running") && text.out.contains("zone 0 Normal"), "{}", text.out);
    let json = warmset(&["--json", "status"]);
    let status: Status = serde_json::from_str(&json.out).expect("a status");
    assert!(status.sample.memory.total.is_some());
}

#[test]
fn features_and_doctor_are_for_people_and_programs() {
    let features = warmset(&["features"]);
    assert!(features.out.contains("yes  watermark scale factor") && features.out.contains("vm.min_free_kbytes"));
    let json: serde_json::Value = serde_json::from_str(&warmset(&["features", "--json"]).out).expect("JSON");
    assert!(json["features"].as_array().is_some_and(|all| all.len() > 20));
    let doctor = warmset(&["doctor"]);
    assert!(doctor.out.starts_with("Memory pressure since boot"), "{}", doctor.out);
    let json: serde_json::Value = serde_json::from_str(&warmset(&["doctor", "--json"]).out).expect("JSON");
    assert!(json["cost"]["up_seconds"].is_u64());
}

#[test]
fn check_marks_the_place() {
    let (_dir, path) = file("mode = \"observe\"\n[wake]\ncalmest = \"5\"\n");
    let ran = warmset(&["check", &path]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("warmset.toml:3:11: \"5\" is not a time with its unit"), "{}", ran.err);
    assert!(ran.err.ends_with("  3 | calmest = \"5\"\n    |           ^\n"), "{}", ran.err);
    let (_dir, path) = file("mode = \"observe\"\n");
    let ran = warmset(&["check", &path]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.ends_with("  mode: \"tune\" → \"observe\"\n"), "{}", ran.out);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("set");
    assert!(warmset(&["check", &path]).err.contains("anyone can write to it"));
    assert!(warmset(&["check", "/nowhere/x.toml"]).err.contains("there is no such file"));
}

#[test]
fn import_translates_and_tells_what_differs() {
    let (_dir, path) = file("AGGRESSIVENESS = 0\nFOO = 1\nMAXGAP = 4\n");
    let ran = warmset(&["import", "adaptivemmd", &path]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("aggressiveness = 1") && ran.out.contains("max = \"4 GiB\""), "{}", ran.out);
    assert!(ran.err.contains("FOO"), "{}", ran.err);
}

#[test]
fn restore_puts_back_what_a_killed_guard_left_and_removes_its_traces() {
    let dir = tempfile::tempdir().expect("a folder");
    let knob = dir.path().join("proc/sys/vm/watermark_scale_factor");
    let boot = dir.path().join("proc/sys/kernel/random/boot_id");
    for path in [&knob, &boot] {
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    }
    fs::write(&knob, "240\n").expect("written");
    fs::write(&boot, "abc\n").expect("written");
    let run = dir.path().join("run");
    fs::create_dir(&run).expect("made");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o700)).expect("set");
    let undo = "warmset-undo 1 abc\nproc/sys/vm/watermark_scale_factor\t10\t240\t160\n";
    fs::write(run.join("undo"), undo).expect("written");
    fs::set_permissions(run.join("undo"), fs::Permissions::from_mode(0o600)).expect("set");
    drop(UnixListener::bind(run.join("warmset.sock")).expect("a socket"));
    let ran = on(dir.path(), &run, &["restore"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "put back vm.watermark_scale_factor 240 → 10\n"), "{}", ran.err);
    assert_eq!(fs::read_to_string(&knob).expect("read"), "10\n");
    assert!(!run.exists(), "nothing is left");
    assert_eq!(on(dir.path(), &run, &["restore"]).out, "nothing to put back\n");
}

#[test]
fn why_needs_a_guard_or_a_recording() {
    let ran = warmset(&["why", "--state", "/nowhere"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.contains("no guard is running, and there is no recording"), "{}", ran.err);
}

#[test]
fn a_running_guard_is_asked_and_nonsense_is_an_error() {
    let mut status: Status = serde_json::from_str(&warmset(&["--json", "status"]).out).expect("a status");
    status.pid = 4711;
    status.only_observes = None;
    let good = serde_json::to_string(&status).expect("JSON");
    for (body, code, expected) in [(good.as_str(), 0, "process 4711"), ("{}", 1, "a guard of another version?")] {
        let dir = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(dir.path().join("warmset.sock")).expect("a socket");
        let answer = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
        let server = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().expect("a client");
            let mut request = [0; 1024];
            let length = client.read(&mut request).expect("a request");
            assert!(request[..length].starts_with(b"GET /status "));
            client.write_all(answer.as_bytes()).expect("answered");
        });
        let ran = on(&fixture(), dir.path(), &["status"]);
        server.join().expect("served");
        assert_eq!(ran.code, Some(code), "{}", ran.err);
        assert!(ran.out.contains(expected) || ran.err.contains(expected), "{} {}", ran.out, ran.err);
    }
}
