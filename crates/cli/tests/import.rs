//! `warmset import` on machines: which files it reads, and in which order.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod place;

use place::{Place, Said};
use std::os::unix::fs::symlink;
use std::process::Command;

/// What the program says of the machine at `PLACE/machine`.
fn import(place: &Place, args: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_warmset"))
        .arg("--root")
        .arg(place.path("machine"))
        .arg("import")
        .args(args)
        .current_dir(place.dir.path())
        .output()
        .unwrap();
    Said::new(output, place.dir.path())
}

fn machine(files: &[(&str, &str)]) -> Place {
    let place = Place::new();
    place.write("machine/proc/meminfo", "MemTotal:        8388608 kB\n");
    for (path, text) in files {
        place.write(&format!("machine/{path}"), text);
    }
    place
}

/// The lines with values, without the head of the translation.
fn values(said: &Said) -> Vec<&str> {
    said.out
        .lines()
        .filter(|line| line.contains(" = ") && !line.starts_with("mode"))
        .collect()
}

const UNIT: &str = "[Service]\nEnvironmentFile=-/etc/default/earlyoom\nExecStart=/usr/bin/earlyoom $EARLYOOM_ARGS\n";

#[test]
fn earlyoom_is_read_as_its_unit_says() {
    let variables = ("etc/default/earlyoom", "EARLYOOM_ARGS=\"-m 8\"\n");
    let unit = ("usr/lib/systemd/system/earlyoom.service", UNIT);
    let a = (
        "usr/lib/systemd/system/earlyoom.service.d/20.conf",
        "[Service]\nEnvironment=EARLYOOM_ARGS=\"-m 4\"\n",
    );
    let b = (
        "etc/systemd/system/earlyoom.service.d/10.conf",
        "[Service]\nExecStart=\nExecStart=/usr/bin/earlyoom -m 6 -M 419430 $EARLYOOM_ARGS\n",
    );
    let masked = ("etc/systemd/system/earlyoom.service.d/20.conf", "");
    let own = (
        "etc/systemd/system/earlyoom.service",
        "[Service]\nExecStart=/opt/earlyoom -m 12\n",
    );
    for (files, rooms) in [
        (
            &[variables][..],
            ["term-room = \"8 %\"", "kill-room = \"4 %\""],
        ),
        (
            &[variables, unit],
            ["term-room = \"8 %\"", "kill-room = \"4 %\""],
        ),
        // The file of variables is laid over those of the unit.
        (
            &[variables, unit, a],
            ["term-room = \"8 %\"", "kill-room = \"4 %\""],
        ),
        (&[unit, a], ["term-room = \"4 %\"", "kill-room = \"2 %\""]),
        (
            &[unit, a, masked],
            ["term-room = \"10 %\"", "kill-room = \"5 %\""],
        ),
        (
            &[variables, unit, b],
            ["term-room = \"419430 KiB\"", "kill-room = \"209715 KiB\""],
        ),
        (
            &[variables, unit, own],
            ["term-room = \"12 %\"", "kill-room = \"6 %\""],
        ),
        (
            &[("etc/conf.d/earlyoom", "command_args=\"-m 3\"\n")],
            ["term-room = \"3 %\"", "kill-room = \"1.5 %\""],
        ),
    ] {
        let place = machine(files);
        let said = import(&place, &["earlyoom"]);
        assert_eq!(said.code, Some(0), "{files:?}: {}", said.err);
        assert_eq!(values(&said), rooms, "{files:?}");
        assert!(
            said.err.contains("note: read from PLACE/machine/"),
            "{}",
            said.err
        );
    }
    let said = import(&machine(&[]), &["earlyoom"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.err.contains("earlyoom has no file here"),
        "{}",
        said.err
    );
}

#[test]
fn a_directory_of_drop_ins_is_read_in_order() {
    let place = machine(&[]);
    place.write("d/20.conf", "[Service]\nEnvironment=EARLYOOM_ARGS='-m 4'\n");
    place.write("d/10.conf", "[Service]\nEnvironment=EARLYOOM_ARGS='-m 9'\n");
    place.write("d/99.bak", "[Service]\nEnvironment=EARLYOOM_ARGS='-m 1'\n");
    let said = import(&place, &["earlyoom", "d"]);
    assert_eq!(
        values(&said),
        ["term-room = \"4 %\"", "kill-room = \"2 %\""]
    );
    let said = import(&place, &["nohang", "d"]);
    assert!(
        said.err.contains("nohang has no directory of drop-ins"),
        "{}",
        said.err
    );
}

#[test]
fn nohang_is_read_from_the_file_of_the_service_that_starts() {
    let file =
        |share: &str| format!("soft_threshold_min_mem = {share}\nhard_threshold_min_mem = 1 %\n");
    let plain = file("5 %");
    let desktop = file("7 %");
    let both = [
        ("etc/nohang/nohang.conf", plain.as_str()),
        ("etc/nohang/nohang-desktop.conf", desktop.as_str()),
    ];
    let place = machine(&both);
    assert_eq!(
        values(&import(&place, &["nohang"]))[0],
        "term-room = \"5 %\""
    );
    assert_eq!(
        values(&import(&place, &["nohang-desktop"]))[0],
        "term-room = \"7 %\""
    );
    let wants = place.path("machine/etc/systemd/system/multi-user.target.wants");
    std::fs::create_dir_all(&wants).unwrap();
    let unit = "nohang-desktop.service";
    symlink(format!("/lib/systemd/system/{unit}"), wants.join(unit)).unwrap();
    assert_eq!(
        values(&import(&place, &["nohang"]))[0],
        "term-room = \"7 %\""
    );
    let only = machine(&both[1..]);
    assert_eq!(
        values(&import(&only, &["nohang"]))[0],
        "term-room = \"7 %\""
    );
}

#[test]
fn systemd_oomd_needs_no_file_of_its_own() {
    let said = import(&machine(&[]), &["systemd-oomd"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(
        values(&said),
        ["stall-limit = \"60 %\"", "stall-for = \"30 s\""]
    );
    assert!(
        said.err
            .contains("it has no file on this machine; its defaults are taken")
    );
    // Only the first main file counts, and drop-ins by their names wherever they are.
    let said = import(
        &machine(&[
            ("etc/systemd/oomd.conf", "[OOM]\n"),
            (
                "usr/lib/systemd/oomd.conf",
                "[OOM]\nDefaultMemoryPressureLimit=10%\n",
            ),
            (
                "usr/lib/systemd/oomd.conf.d/10-oomd-defaults.conf",
                "[OOM]\nDefaultMemoryPressureDurationSec=20s\n",
            ),
            (
                "etc/systemd/oomd.conf.d/05.conf",
                "[OOM]\nDefaultMemoryPressureDurationSec=5s\n",
            ),
        ]),
        &["systemd-oomd"],
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(
        values(&said),
        ["stall-limit = \"60 %\"", "stall-for = \"20 s\""]
    );
}

#[test]
fn what_units_ask_of_systemd_oomd_is_found() {
    let said = import(
        &machine(&[
            (
                "usr/lib/systemd/system/a.service",
                "[Service]\nExecStart=/bin/a\nManagedOOMPreference=avoid\n",
            ),
            (
                "etc/systemd/system/-.slice.d/10.conf",
                "[Slice]\nManagedOOMSwap=kill\n",
            ),
            (
                "usr/lib/systemd/system/user@.service.d/10.conf",
                "[Service]\nManagedOOMMemoryPressure=kill\n",
            ),
            ("etc/systemd/user/b.service", "[Service]\nOOMRules=hog\n"),
            (
                "etc/systemd/oomd/rules.d/hog.conf",
                "[Rule]\nSwapUsageMax=50%\n",
            ),
        ]),
        &["systemd-oomd"],
    );
    assert_eq!(said.code, Some(1));
    for what in [
        "left out: SwapUsageMax=50% of \"hog.conf\": ",
        "left out: ManagedOOMSwap=kill of \"-.slice\": ",
        "left out: OOMRules=hog of \"b.service\": ",
        "note: ManagedOOMMemoryPressure=kill of \"user@.service\": ",
    ] {
        assert!(said.err.contains(what), "{what}: {}", said.err);
    }
    assert!(!said.err.contains("ExecStart"), "{}", said.err);
}
