use super::*;
use std::fs;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A machine with systemd, an unknown group and a slice.
fn machine() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        "sys/fs/cgroup/cgroup.controllers",
        "cpu memory pids\n",
    );
    let group = |path: &str, used: u64, active: u64, refaulted: u64| {
        let directory = format!("sys/fs/cgroup{path}");
        write(
            root.path(),
            &format!("{directory}/memory.current"),
            &format!("{used}\n"),
        );
        let stat = format!(
            "anon 1\nactive_anon {active}\nactive_file 1\nworkingset_refault_file {refaulted}\n"
        );
        write(root.path(), &format!("{directory}/memory.stat"), &stat);
        write(root.path(), &format!("{directory}/memory.min"), "4096\n");
        write(
            root.path(),
            &format!("{directory}/cgroup.procs"),
            if path.ends_with("slice") || path.ends_with("@1000.service") {
                ""
            } else {
                "7\n"
            },
        );
    };
    group("/system.slice", 9000, 8000, 0);
    group("/system.slice/ssh.service", 5000, 3000, 100);
    group("/system.slice/ssh.service/below", 5000, 3000, 100);
    group("/user.slice/user-1000.slice/user@1000.service", 7000, 10, 0);
    group(
        "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope",
        6000,
        9999,
        0,
    );
    group("/hog", 500, 100, 0);
    root
}

#[test]
fn every_unit_is_told_once_the_warmest_first() {
    let machine = machine();
    let mut survey = Survey::of(machine.path(), Bytes::new(10));
    let all = survey.look(Span::secs(1)).unwrap();
    let told: Vec<_> = all
        .iter()
        .map(|one| (one.name.as_str(), one.warm.get(), one.place))
        .collect();
    assert_eq!(
        told,
        [
            ("app-x.scope", 6000, Place::App),
            ("ssh.service", 3001, Place::Service),
            ("hog", 101, Place::Unknown),
        ],
        "never more than it has; no slice, no manager, nothing below a unit"
    );
    assert!(
        all.iter()
            .all(|one| one.by == By::Lists && one.growth.is_none() && one.refaults.is_none())
    );
    assert_eq!((all[1].floor, all[1].swapped), (Bytes::new(4096), None));
}

#[test]
fn the_second_look_tells_growth_and_what_was_missed() {
    let machine = machine();
    let mut survey = Survey::of(machine.path(), Bytes::new(10));
    survey.look(Span::secs(1)).unwrap();
    let directory = "sys/fs/cgroup/system.slice/ssh.service";
    write(
        machine.path(),
        &format!("{directory}/memory.current"),
        "7000\n",
    );
    write(
        machine.path(),
        &format!("{directory}/memory.stat"),
        "active_anon 2000\nworkingset_refault_file 180\n",
    );
    let all = survey.look(Span::secs(3)).unwrap();
    let ssh = all.iter().find(|one| one.name == "ssh.service").unwrap();
    assert_eq!(
        (ssh.growth, ssh.refaults),
        (Some((Rate::new(1000), true)), Some(40))
    );
    assert_eq!(
        ssh.warm,
        Bytes::new(2000 + 800),
        "what was read again is in use"
    );
}

#[test]
fn ages_are_better_than_lists() {
    let machine = machine();
    let text = "memcg 3 /system.slice/ssh.service\n node 0\n 0 1000 30 40 \n";
    write(machine.path(), "sys/kernel/debug/lru_gen", text);
    let all = Survey::of(machine.path(), Bytes::new(10))
        .look(Span::secs(1))
        .unwrap();
    let ssh = all.iter().find(|one| one.name == "ssh.service").unwrap();
    assert_eq!((ssh.warm, ssh.by), (Bytes::new(700), By::Ages));
}

#[test]
fn without_control_of_memory_processes_are_told_in_their_groups() {
    let root = tempfile::tempdir().unwrap();
    let stat = |pid: u32, name: &str, group: u32, pages: u64| {
        let text = format!(
            "{pid} ({name}) S 1 {group} {group} 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 900 5000 {pages} 0\n"
        );
        write(root.path(), &format!("proc/{pid}/stat"), &text);
    };
    stat(10, "make", 10, 5);
    stat(11, "cc1", 10, 50);
    stat(12, "sh", 12, 20);
    stat(2, "kthreadd", 0, 0);
    write(
        root.path(),
        "proc/12/smaps_rollup",
        "00-ff ---p 0 00:00 0 [rollup]\nRss: 8 kB\nPss: 4 kB\nReferenced: 6 kB\nSwap: 2 kB\n",
    );
    let all = Survey::of(root.path(), Bytes::kib(4))
        .look(Span::secs(1))
        .unwrap();
    let told: Vec<_> = all
        .iter()
        .map(|one| (one.name.as_str(), one.warm, one.by))
        .collect();
    assert_eq!(
        told,
        [
            ("make", Bytes::kib(220), By::Resident),
            ("sh", Bytes::kib(3), By::Bits)
        ]
    );
    assert_eq!(all[1].swapped, Some(Bytes::kib(2)));
}
