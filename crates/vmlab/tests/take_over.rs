//! `warmset take-over` on a Debian with systemd, where the guards that Debian has run as their packages start them.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Machine, debian, package, store};
use warmset_vmlab::image;
use warmset_vmlab::vm::guest_program;

/// Defines `alone UNIT…`, `state UNIT` and `mode`.
const PRELUDE: &str = r#"
all="earlyoom.service nohang.service nohang-desktop.service systemd-oomd.service systemd-oomd.socket"
# alone UNIT: of the guards only this one runs and is started at boot.
alone() {
    systemctl disable --now $all 2>/dev/null
    systemctl enable --now "$@" 2>/dev/null
    for i in $(seq 100); do systemctl is-active -q "$1" && return; sleep 0.2; done
    systemctl status "$1"; exit 1
}
state() { echo "$1 $(systemctl is-active $1) $(systemctl is-enabled $1)"; }
mode() { warmset status | grep -o 'mode [a-z]*' | head -n 1; }
"#;

fn machine() -> Machine {
    let guest = guest_program().unwrap();
    debian(image::debian_beside_guards(&store(), &guest, &package()).unwrap())
}

/// One boot for all of it: without KVM a machine takes half a minute to boot.
#[test]
#[ignore = "boots a machine: make vm"]
fn each_guard_of_debian_hands_over_and_a_failed_step_leaves_it() {
    let mut machine = machine();
    let mut sh = |script: &str| machine.sh(&format!("{PRELUDE}{script}"));

    // It stops where a setting would be lost, and has changed nothing.
    let said = sh(
        "alone nohang.service; warmset take-over nohang 2>&1; echo exit $?; state nohang; ls /etc/warmset/conf.d 2>/dev/null; true",
    );
    assert!(said.contains("left out: "), "{said}");
    assert!(said.ends_with("exit 1\nnohang active enabled"), "{said}");

    // warmsetd does not start: what was done is undone, and the other still guards.
    sh("mkdir -p /run/systemd/system/warmsetd.service.d
        printf '[Service]\nExecStartPre=/bin/false\n' >/run/systemd/system/warmsetd.service.d/broken.conf
        systemctl daemon-reload");
    let said = sh(
        "alone earlyoom.service; warmset take-over earlyoom 2>&1; echo exit $?; state earlyoom; ls /etc/warmset/conf.d 2>/dev/null; true",
    );
    assert!(said.contains("earlyoom.service still guards"), "{said}");
    assert!(said.ends_with("exit 1\nearlyoom active enabled"), "{said}");
    sh(
        "rm -r /run/systemd/system/warmsetd.service.d; systemctl daemon-reload; systemctl reset-failed warmsetd; systemctl start warmsetd",
    );

    for (guard, units) in [
        ("earlyoom", "earlyoom.service"),
        ("nohang", "nohang.service"),
        ("nohang-desktop", "nohang-desktop.service"),
        ("systemd-oomd", "systemd-oomd.service systemd-oomd.socket"),
    ] {
        let said = sh(&format!(
            "alone {units}; warmset take-over {guard} --lenient 2>&1 || exit 1
             for unit in {units} warmsetd; do state $unit; done; mode"
        ));
        assert!(said.contains("warmsetd guards this machine now"), "{said}");
        for unit in units.split(' ') {
            assert!(
                said.contains(&format!("\n{unit} inactive disabled\n")),
                "{said}"
            );
        }
        // The packaged mode does all that a guard does, and protects besides: it is kept.
        let end = "\nwarmsetd active enabled\nmode protect";
        assert!(said.ends_with(end), "{said}");

        // The way back is as it was said.
        let back = said.split("To go back: ").nth(1).unwrap();
        let back = back.lines().next().unwrap().replace("sudo ", "");
        let said = sh(&format!(
            "({back}) 2>/dev/null; state {guard}.service; ls /etc/warmset/conf.d"
        ));
        assert_eq!(said, format!("{guard}.service active enabled"));
    }
}
