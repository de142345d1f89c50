//! A runaway, in every way in which ending it can go wrong: the right one goes, nobody else does, and what was set is
//! put back.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Machine, hardware, store};
use std::collections::BTreeSet;
use warmset_lab::image::{self, Programs};
use warmset_lab::kernels;
use warmset_lab::vm::guest_program;

fn machine() -> Machine {
    let store = store();
    let kernel = kernels::kernel(&store, "6.12").unwrap();
    let guest = guest_program().unwrap();
    let daemon = guest.with_file_name("warmsetd");
    let programs = Programs { daemon: Some(daemon), ..Programs::alone(guest) };
    let root = image::root(&store, &programs, &BTreeSet::new()).unwrap();
    Machine::boot(&store, &kernel, &hardware(&store, &kernel, root))
}

/// What every script begins with: a guard, a bystander that holds memory, and words for the rest.
const WORDS: &str = r#"
cd /run; mkdir -p t; rm -rf t/*
guard() { /lab/warmsetd --mode guard --state /run/t/state --run /run/t/run >>/run/t/said 2>&1 & guard=$!; sleep 2; }
work() { WARMSET_FROM=0 WARMSET_UNTIL=99999999999999 WARMSET_NAME=$1 WARMSET_OOM=${OOM:-0} WARMSET_GROUP=$GROUP /lab/guest work "$2" "$3" "$4" 0 >/dev/null 2>&1 & }
hold() { work "$1" touch "$2"; held=$!; }
hog() { work "$1" hog zeros 2; hog=$!; }
gone() { for i in $(seq 600); do kill -0 "$1" 2>/dev/null || return 0; [ "$(sed 's/.*) //;s/ .*//' /proc/$1/stat 2>/dev/null)" = Z ] && return 0; sleep 0.1; done; return 1; }
lives() { kill -0 "$1" 2>/dev/null && [ "$(sed 's/.*) //;s/ .*//' /proc/$1/stat)" != Z ]; }
fail() { echo "FAILED: $*"; cat /run/t/said; grep -E 'MemFree|AnonPages|oom_kill' /proc/meminfo /proc/vmstat; exit 1; }
signals() { grep -c SIG /run/t/said; }
kernels() { sed -n 's/oom_kill //p' /proc/vmstat; }
"#;

fn ends(machine: &mut Machine, script: &str) -> String {
    machine.sh(&format!("{WORDS}{script}"))
}

/// One boot for all of it: a machine under the translator takes half a minute to come up.
#[test]
#[ignore = "boots a machine: make vm"]
fn the_runaway_goes_and_nobody_else_whatever_goes_wrong() {
    let mut machine = machine();

    // A hog that calls itself sshd is a hog; who holds as much as it at first lives on.
    ends(
        &mut machine,
        "before=$(kernels); hold editor 100; guard; hog sshd; gone $hog || fail 'the hog lives'
        lives $held || fail 'the editor is gone'; [ $(kernels) = $before ] || fail 'the kernel was first'
        sleep 2; [ $(signals) -ge 1 ] || fail 'nobody was signalled'; kill $held $guard; wait",
    );

    // It ignores SIGTERM.
    ends(
        &mut machine,
        "before=$(kernels); guard; trap '' TERM; hog deaf; trap - TERM; gone $hog || fail 'the hog lives'
        [ $(kernels) = $before ] || fail 'the kernel was first'
        grep -q SIGKILL t/said || fail 'not by SIGKILL'; kill $guard; wait",
    );

    // Half of it is spared by root's oom_score_adj: nothing of it is ended, and the other grower is.
    ends(
        &mut machine,
        "guard; OOM=-1000; hold kept 150; OOM=0; hog other; gone $hog || fail 'the hog lives'
        lives $held || fail 'who was spared is gone'; kill $held $guard; wait",
    );

    // A service of its own with many processes, of which none stands out, goes whole by cgroup.kill.
    ends(&mut machine, "mkdir -p /sys/fs/cgroup/system.slice/many.service; echo +memory +pids >/sys/fs/cgroup/cgroup.subtree_control
        echo +memory +pids >/sys/fs/cgroup/system.slice/cgroup.subtree_control
        guard; GROUP=system.slice/many.service; for i in 1 2 3 4; do hog worker; done; GROUP=; gone $hog || fail 'they live'
        for i in $(seq 50); do [ -z \"$(cat /sys/fs/cgroup/system.slice/many.service/cgroup.procs)\" ] && break; sleep 0.2; done
        [ -z \"$(cat /sys/fs/cgroup/system.slice/many.service/cgroup.procs)\" ] || fail 'some of them live'
        kill $guard; wait; rmdir /sys/fs/cgroup/system.slice/many.service");

    // A group that meets its own limit is its own affair.
    ends(
        &mut machine,
        "mkdir -p /sys/fs/cgroup/limited; echo 40M >/sys/fs/cgroup/limited/memory.max
        guard; GROUP=limited; hog limited; GROUP=; gone $hog || fail 'the kernel did not end it'
        [ $(signals) = 0 ] || fail 'the guard ended someone'; kill $guard; wait; rmdir /sys/fs/cgroup/limited",
    );

    // It is killed in the middle; the next one finds its undo log, and ends the hog.
    let found = machine.sh("cat /proc/sys/vm/watermark_scale_factor");
    ends(
        &mut machine,
        "guard; hog hog; sleep 0.5; kill -9 $guard; wait $guard; guard; gone $hog || fail 'the hog lives'; kill $guard; wait",
    );
    assert_eq!(machine.sh("cat /proc/sys/vm/watermark_scale_factor"), found);

    // Processes that come and go by the hundred while it looks.
    ends(&mut machine, "guard; (for i in $(seq 400); do /lab/probe & done; wait) >/dev/null 2>&1 & hog hog; gone $hog || fail 'the hog lives'
        lives $guard || fail 'the guard is gone'; kill $guard; wait");
}
