use super::*;
use units::Percent;

/// A directory with these files.
pub(in crate::knobs::rivals) fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(dir.path(), path, text);
    }
    dir
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A process of root's, with its arguments separated by blanks.
fn process(root: &Path, pid: u32, comm: &str, line: &str, group: &str) {
    users_process(root, pid, 0, comm, line, group);
}

fn users_process(root: &Path, pid: u32, user: u32, comm: &str, line: &str, group: &str) {
    let of = |file: &str| format!("proc/{pid}/{file}");
    let mut arguments = line.replace(' ', "\0");
    arguments.push('\0');
    write(root, &of("comm"), &format!("{comm}\n"));
    write(root, &of("cmdline"), &arguments);
    write(root, &of("cgroup"), &format!("0::{group}\n"));
    write(
        root,
        &of("status"),
        &format!("Name:\t{comm}\nUid:\t{user}\t{user}\t{user}\t{user}\n"),
    );
}

fn shown(root: &Path) -> Vec<String> {
    let mut shown: Vec<String> = rivals(root).iter().map(Rival::to_string).collect();
    shown.sort();
    shown
}

fn noted(root: &Path) -> Circumstances {
    let mut circumstances = Circumstances::default();
    note(&rivals(root), Bytes::mib(1000), &mut circumstances);
    circumstances
}

#[test]
fn rivals_are_found_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    users_process(
        root,
        12,
        61_184,
        "earlyoom",
        "earlyoom -m 15,5",
        "/system.slice/earlyoom.service",
    );
    process(root, 13, "bash", "bash", "/");
    process(
        root,
        14,
        "tuned",
        "/usr/bin/python3 -Es /usr/sbin/tuned -l -P",
        "/",
    );
    users_process(root, 15, 1000, "nohang", "nohang", "/");
    process(root, 16, "nohang", "nohang", "/docker/0123");
    process(
        root,
        17,
        "nohang",
        "nohang",
        "/system.slice/docker-0123.scope",
    );
    fs::remove_file(root.join("proc/16/status")).unwrap();
    write(root, "sys/kernel/mm/damon/admin/kdamonds/0/state", "on\n");
    write(
        root,
        "etc/sysctl.d/10.conf",
        "# vm.watermark_scale_factor=1\nvm/watermark_scale_factor = 200\n",
    );
    expect_test::expect![[r#"
        [
            "DAMON (sys/kernel/mm/damon/admin/kdamonds/0/state): it reclaims or sorts memory by access; Warmset leaves it alone",
            "earlyoom (process 12, earlyoom.service): it kills when memory is short; Warmset sends no signal while it runs, but throttles, holds files and tells, and keeps more than 15 % available, below which it kills",
            "tuned (process 14): which knobs it sets cannot be read; Warmset leaves all knobs alone",
            "vm.watermark_scale_factor (etc/sysctl.d/10.conf:2): Warmset never goes below that value, and puts it back",
        ]
    "#]].assert_debug_eq(&shown(root));
    let circumstances = noted(root);
    assert_eq!(circumstances.rival_floor, Some(Bytes::mib(150)));
    assert_eq!(circumstances.rival_guard, Some(1));
    assert_eq!(circumstances.rival_tuner, Some(1), "its profile is unknown");
}

#[test]
fn an_empty_machine_has_none() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(rivals(dir.path()), []);
    let circumstances = noted(dir.path());
    assert_eq!(circumstances.rival_guard, Some(0));
    assert_eq!(circumstances.rival_tuner, Some(0));
    assert_eq!(circumstances.rival_knobs, Some(0));
    assert_eq!(circumstances.rival_floor, None);
}

/// hakavlad/nohang runs in python3 (`#!/usr/bin/env python3`), and that is its name to the kernel.
#[test]
fn a_guard_in_an_interpreter_is_found() {
    let dir = tempfile::tempdir().unwrap();
    process(
        dir.path(),
        700,
        "python3",
        "python3 /usr/sbin/nohang --monitor --config /etc/nohang/nohang.conf",
        "/hostcritical.slice/nohang.service",
    );
    let found = rivals(dir.path());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name, "nohang");
    assert_eq!(found[0].unit.as_deref(), Some("nohang.service"));
    assert_eq!(found[0].floor, Some(Share::Percent(Percent::new(10))));
    assert_eq!(noted(dir.path()).rival_guard, Some(1));
}

/// Other programs that do a part of the work are at least named, with what we do about each.
#[test]
fn other_neighbours_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let unit = "/system.slice/x.service";
    process(root, 800, "bustd", "/usr/bin/bustd", unit);
    process(root, 801, "memavaild", "memavaild", unit);
    process(
        root,
        802,
        "kubelet",
        "/usr/bin/kubelet --eviction-hard=memory.available<500Mi",
        unit,
    );
    process(root, 803, "uresourced", "/usr/libexec/uresourced", unit);
    process(
        root,
        804,
        "low-memory-moni",
        "/usr/libexec/low-memory-monitor",
        unit,
    );
    process(root, 805, "prelockd", "prelockd", unit);
    process(
        root,
        806,
        "thrash-protect.",
        "python3 /usr/sbin/thrash-protect.py",
        unit,
    );
    process(root, 807, "ananicy-cpp", "/usr/bin/ananicy-cpp start", unit);
    process(root, 808, "psi-notify", "psi-notify", unit);
    write(root, "proc/sys/vm/clean_min_ratio", "15\n");
    expect_test::expect![[r#"
        [
            "ananicy-cpp (process 807, x.service) sets priorities and oom_score_adj by its rules; Warmset heeds oom_score_adj",
            "bustd (process 800, x.service): it kills when memory is short; Warmset sends no signal while it runs, but throttles, holds files and tells",
            "kubelet (process 802, x.service) kills below /kubepods; Warmset sends no signal there, but throttles, holds files and tells, and acts as usual elsewhere",
            "le9uo (proc/sys/vm/clean_min_ratio): the kernel has floors under pages; Warmset raises them in mode protect only, and never goes below what it found",
            "low-memory-monitor (process 804, x.service) tells programs that memory is low; Warmset tells the users, and leaves the bus name to it",
            "memavaild (process 801, x.service) moves memory of some cgroups to swap; Warmset leaves its limits alone",
            "prelockd (process 805, x.service) locks files of programs in memory; a file that Warmset holds too takes its memory once",
            "psi-notify (process 808, x.service) tells users of pressure; Warmset tells them, too",
            "thrash-protect (process 806, x.service) stops processes for moments while memory is short; Warmset continues none of them",
            "uresourced (process 803, x.service) protects memory of the active user by memory.low; Warmset never lowers that",
        ]
    "#]].assert_debug_eq(&shown(root));
}

#[test]
fn a_unit_names_a_guard_whatever_its_process_is_called() {
    let dir = tempfile::tempdir().unwrap();
    process(
        dir.path(),
        9,
        "run",
        "/nix/store/x/bin/run",
        "/hostcritical.slice/nohang-desktop.service",
    );
    let found = rivals(dir.path());
    assert_eq!(found[0].name, "nohang");
    assert_eq!(found[0].unit.as_deref(), Some("nohang-desktop.service"));
}

#[test]
fn a_person_cannot_pretend_to_be_a_guard() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let unit = "/user.slice/user-1000.slice/session-1.scope";
    users_process(root, 1, 1000, "python3", "python3 /home/u/nohang", unit);
    users_process(root, 2, 1000, "earlyoom", "earlyoom", unit);
    assert_eq!(rivals(root), []);
}

#[test]
fn a_guard_that_only_pretends_kills_nothing() {
    let dir = tempfile::tempdir().unwrap();
    process(dir.path(), 1, "earlyoom", "earlyoom --dryrun -m 20", "/");
    let circumstances = noted(dir.path());
    assert_eq!(circumstances.rival_guard, Some(0));
    assert_eq!(circumstances.rival_floor, None);
    assert_eq!(
        shown(dir.path()),
        ["earlyoom (process 1) runs with --dryrun and kills nothing; Warmset acts as usual"]
    );
}

/// The sentence of the glossary.
#[test]
fn tuned_has_the_knobs_of_its_profile_and_no_other() {
    let dir = machine(&[
        ("etc/tuned/active_profile", "hpc-compute\n"),
        (
            "usr/lib/tuned/profiles/hpc-compute/tuned.conf",
            "[sysctl]\nvm.min_free_kbytes=135168\n",
        ),
    ]);
    process(dir.path(), 14, "tuned", "/usr/sbin/tuned", "/");
    assert_eq!(
        shown(dir.path()),
        [
            "tuned (profile hpc-compute) sets vm.min_free_kbytes; Warmset leaves that knob alone and drives the others"
        ]
    );
    let circumstances = noted(dir.path());
    assert_eq!(circumstances.rival_tuner, Some(0));
    let knobs: Vec<Knob> = circumstances.rival_knobs().iter().collect();
    assert_eq!(knobs, [Knob::MinFreeKbytes]);
}

#[test]
fn systemd_oomd_has_what_it_monitors_and_no_more() {
    let dir = machine(&[(
        "usr/lib/systemd/system/user@.service.d/10-oomd.conf",
        "[Service]\nManagedOOMMemoryPressure=kill\n",
    )]);
    users_process(
        dir.path(),
        701,
        998,
        "systemd-oomd",
        "/usr/lib/systemd/systemd-oomd",
        "/system.slice/systemd-oomd.service",
    );
    let found = rivals(dir.path());
    assert_eq!(noted(dir.path()).rival_guard, Some(0));
    assert!(is_left_to(
        &found,
        "/user.slice/user-1.slice/user@1.service/x.scope",
        false
    ));
    assert!(!is_left_to(&found, "/system.slice/x.service", true));
    assert_eq!(
        found[0].to_string(),
        "systemd-oomd (process 701, systemd-oomd.service) kills below user@.service (by memory pressure); Warmset sends no \
         signal there, but throttles, holds files and tells, and acts as usual elsewhere"
    );
    fs::remove_dir_all(dir.path().join("usr/lib/systemd/system/user@.service.d")).unwrap();
    assert!(
        shown(dir.path())[0].ends_with("monitors no unit and kills nothing; Warmset acts as usual")
    );
}

/// Without unit files it is not known where it kills: then that may be anywhere.
#[test]
fn systemd_oomd_without_unit_files_kills_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    users_process(
        dir.path(),
        701,
        998,
        "systemd-oomd",
        "/usr/lib/systemd/systemd-oomd",
        "/",
    );
    assert_eq!(noted(dir.path()).rival_guard, Some(1));
}

#[test]
fn low_memory_monitor_is_a_guard_if_it_calls_the_kernel() {
    let dir = machine(&[(
        "etc/low-memory-monitor.conf",
        "[Configuration]\nTriggerKernelOom=true\n",
    )]);
    process(
        dir.path(),
        1,
        "low-memory-moni",
        "/usr/libexec/low-memory-monitor",
        "/",
    );
    assert_eq!(noted(dir.path()).rival_guard, Some(1));
}
