//! What `warmset check` says of rules, on a machine in a directory.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod place;

use place::{Place, Said};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

/// A process as a test wants it.
struct Told {
    pid: u32,
    name: &'static str,
    exe: &'static str,
    command: &'static str,
    user: u32,
    cgroup: &'static str,
}

const MACHINE: [Told; 5] = [
    Told {
        pid: 812,
        name: "postgres",
        exe: "/usr/bin/postgres",
        command: "postgres\0-D\0/data\0",
        user: 999,
        cgroup: "/system.slice/postgresql.service",
    },
    Told {
        pid: 813,
        name: "postgres",
        exe: "/usr/bin/postgres",
        command: "postgres: writer\0",
        user: 999,
        cgroup: "/system.slice/postgresql.service",
    },
    Told {
        pid: 900,
        name: "jupyter-lab",
        exe: "/usr/bin/python3.13",
        command: "/usr/bin/python3\0-m\0jupyterlab\0--port=8888\0",
        user: 1000,
        cgroup: "/user.slice/user-1000.slice/user@1000.service/app.slice/notebook.service",
    },
    Told {
        pid: 901,
        name: "factorio",
        exe: "/home/ann/games/factorio/bin/factorio",
        command: "./factorio\0",
        user: 1000,
        cgroup: "/user.slice/user-1000.slice/session-2.scope",
    },
    Told {
        pid: 902,
        name: "app",
        exe: "/usr/bin/app",
        command: "app\0",
        user: 0,
        cgroup: "/machine.slice/machine-box.scope/payload/system.slice/app.service",
    },
];

fn machine(rules: &str) -> Place {
    let place = Place::new();
    for process in &MACHINE {
        let pid = process.pid;
        let at = |file: &str| format!("root/proc/{pid}/{file}");
        let stat = format!(
            "{pid} ({}) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {} 99 7 1 2 3",
            process.name,
            pid * 10
        );
        place.write(&at("stat"), stat);
        let user = process.user;
        place.write(&at("status"), format!("Name:\tx\nUid:\t{user}\t{user}\n"));
        place.write(&at("cmdline"), process.command);
        place.write(&at("cgroup"), format!("0::{}\n", process.cgroup));
        place.write(&at("oom_score_adj"), "0\n");
        symlink(process.exe, place.path(&at("exe"))).unwrap();
    }
    place.write("root/proc/meminfo", "MemTotal: 8388608 kB\n");
    place.write("root/etc/passwd", "ann:x:1000:1000::/home/ann:/bin/sh\n");
    place.write("root/usr/bin/postgres", "\x7fELF");
    place.write("root/usr/bin/tool", "#!/bin/sh\n");
    place.write("root/usr/libexec/gdm-wayland-session", "\x7fELF");
    symlink("usr/bin", place.path("root/bin")).unwrap();
    place.write("a.toml", format!("[guard]\n{rules}\n"));
    place
}

fn check(place: &Place, more: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_warmset"))
        .arg("--root")
        .arg(place.path("root"))
        .args(["check", "a.toml"])
        .args(more)
        .current_dir(place.dir.path())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    Said::new(output, place.dir.path())
}

#[test]
fn each_rule_says_what_it_matches_now() {
    let lines = [
        (
            "spare",
            "postgresql.service",
            "2 processes: postgres (812), postgres (813)",
        ),
        (
            "spare",
            "command:*-m jupyterlab*",
            "1 process: jupyter-lab (900)",
        ),
        ("spare", "exe:/home/*/games/*", "1 process: factorio (901)"),
        ("spare", "machine-box.scope", "1 process: app (902)"),
        (
            "spare",
            "systemd-nspawn@box.service",
            "1 process: app (902)",
        ),
        ("spare", "app:notebook*", "1 process: jupyter-lab (900)"),
        ("spare", "pid:813", "1 process: postgres (813)"),
        ("spare", "mysql.service", "matches nothing now"),
        (
            "avoid",
            "user:ann",
            "2 processes: jupyter-lab (900), factorio (901)",
        ),
        (
            "avoid",
            "cgroup:/system.slice",
            "2 processes: postgres (812), postgres (813)",
        ),
        ("avoid", "name:fact*", "1 process: factorio (901)"),
    ];
    let list = |key: &str| {
        let own = lines.iter().filter(|line| line.0 == key);
        let quoted: Vec<String> = own.map(|line| format!("{:?}", line.1)).collect();
        format!("{key} = [{}]\n", quoted.join(", "))
    };
    let place = machine(&(list("spare") + &list("avoid")));
    let said = check(&place, &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for (key, rule, what) in lines {
        let line = format!("  guard.{key} \"{rule}\": {what}\n");
        assert!(said.out.contains(&line), "{line}{}", said.out);
    }
    let value = check(&place, &["--json"]).json();
    assert_eq!(value["ok"], json!(true));
    assert_eq!(
        value["rules"][0],
        json!({
            "key": "guard.spare",
            "rule": "postgresql.service",
            "matches": [{ "pid": 812, "name": "postgres" }, { "pid": 813, "name": "postgres" }],
            "count": 2,
            "note": null,
            "error": null,
        })
    );
}

#[test]
fn a_rule_that_can_match_nothing_is_an_error_where_it_stands() {
    for (rule, what) in [
        ("sshd", "such as sshd.service"),
        ("program:/usr/bin/x", "write exe:/usr/bin/x"),
        (
            "program:gdm-wayland-ses",
            "write program:gdm-wayland-session",
        ),
        ("exe:/bin/postgres", "write exe:/usr/bin/postgres"),
        ("exe:/usr/bin/tool", "this is a script"),
        ("exe:bin/postgres", "begins with a slash"),
        ("cgroup:system.slice", "begins with a slash"),
        ("user:bob", "/etc/passwd has no user bob"),
        ("name:", "it names nothing"),
        ("backup.timer", "has no processes"),
    ] {
        let place = machine(&format!("# {rule}\nprefer = [\"a.service\", \"{rule}\"]"));
        let said = check(&place, &[]);
        assert_eq!(said.code, Some(1), "{rule}: {said:?}");
        assert!(said.err.contains(what), "{rule}: {}", said.err);
        assert!(!said.out.contains("ok:"), "{}", said.out);
        // Where all files are read, an unknown user has no line.
        if !rule.starts_with("user:") {
            assert!(
                said.err.starts_with("error: a.toml:3:24: "),
                "{rule}: {}",
                said.err
            );
        }
        let value = check(&place, &["--json"]).json();
        assert_eq!(value["ok"], json!(false), "{rule}");
        assert!(value["what"].as_str().unwrap().contains(what), "{value}");
    }
}

#[test]
fn a_rule_that_matches_nothing_now_has_a_hint() {
    for (rule, hint) in [
        (
            "program:factorio",
            "write exe:/home/ann/games/factorio/bin/factorio",
        ),
        ("notebook.service", "write app:notebook.service"),
        (
            "app:postgresql.service",
            "postgresql.service is a unit of the system here: write postgresql.service",
        ),
        ("pid:4711", "there is no process 4711 now"),
        ("pid:812@1", "process 812 is a later one"),
        ("exe:/usr/bin/none", "there is no such file"),
        ("command:jupyterlab", "command:*jupyterlab*"),
        (
            "program:Web Content",
            "name:Web Content, in avoid and prefer",
        ),
        (
            "name:Isolated Web Content",
            "compared is \"Isolated Web Co\"",
        ),
        ("cgroup:/batch.slice", "there is no such cgroup now"),
    ] {
        let said = check(&machine(&format!("prefer = [\"{rule}\"]")), &[]);
        assert_eq!(said.code, Some(0), "{rule}: {said:?}");
        let line = format!("guard.prefer \"{rule}\": matches nothing now\n");
        assert!(said.out.contains(&line), "{}", said.out);
        assert!(said.out.contains(hint), "{rule}: {}", said.out);
    }
}

#[test]
fn what_contradicts_is_said() {
    let place = machine("avoid = [\"user:ann\"]\nprefer = [\"exe:/home/*\"]");
    let said = check(&place, &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.out.contains(
            "note: guard.avoid \"user:ann\" and guard.prefer \"exe:/home/*\" both name factorio (901)"
        ),
        "{}",
        said.out
    );
    for (rules, what) in [
        (
            "term-room = \"2 %\"\nkill-room = \"6 %\"",
            "guard.kill-room = \"6 %\" is above guard.term-room",
        ),
        ("kill-room = \"1 GiB\"", "on a machine with 8 GiB"),
        (
            "avoid = [\"program:a\"]\nprefer = [\"program:a\"]",
            "guard.avoid and guard.prefer both name",
        ),
        (
            "spare = [\"name:a\"]",
            "any process can take any name: use program:, exe:, unit: or command:",
        ),
    ] {
        let said = check(&machine(rules), &[]);
        assert_eq!(said.code, Some(1), "{rules}");
        assert!(said.err.contains(what), "{}", said.err);
    }
}

#[test]
fn a_process_may_vanish_and_proc_may_be_missing() {
    let place = machine("spare = [\"postgresql.service\"]");
    fs::remove_file(place.path("root/proc/812/stat")).unwrap();
    fs::remove_file(place.path("root/proc/813/cgroup")).unwrap();
    let said = check(&place, &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("matches nothing now"), "{}", said.out);
    fs::remove_dir_all(place.path("root/proc")).unwrap();
    let said = check(&place, &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.out.contains("what rules match now is not known"),
        "{}",
        said.out
    );
}

#[test]
fn a_rule_by_hand_is_held_to_the_same() {
    let place = machine("");
    let spare = |rule: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_warmset"))
            .arg("--root")
            .arg(place.path("root"))
            .arg("--run")
            .arg(place.path("run"))
            .args(["spare", rule])
            .output()
            .unwrap();
        Said::new(output, place.dir.path())
    };
    for (rule, what) in [
        ("sshd", "such as sshd.service"),
        ("name:hog", "any process can take any name"),
        ("user:bob", "/etc/passwd has no user bob"),
        ("exe:x", "begins with a slash"),
    ] {
        let said = spare(rule);
        assert_eq!(said.code, Some(1), "{rule}");
        assert!(said.err.contains(what), "{rule}: {}", said.err);
    }
    // A user is kept by number: the next boot may have another user of this name.
    assert_eq!(spare("user:ann").out, "exempt: user:1000\n");
    let said = spare("command:*jupyterlab*");
    assert_eq!(
        said.out,
        "exempt: user:1000\nexempt: command:*jupyterlab*\n"
    );
    let rules = fs::read_to_string(place.path("run/rules.toml")).unwrap();
    assert!(rules.contains("spare = [\"user:1000\", \"command:*jupyterlab*\"]"));
}
