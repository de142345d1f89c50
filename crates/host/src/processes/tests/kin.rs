//! Families and what starts them, on recorded machines.

use super::*;

#[test]
fn a_family_is_told_with_its_largest_and_its_youngest_among_the_candidates() {
    let machine = Machine::new();
    for pid in 100..112 {
        machine.add(&Told {
            pid,
            name: "large",
            anon_kib: 40_000,
            ..PLAIN
        });
        // A process group each, below the first process: no family.
        let stat =
            format!("{pid} (large) S 1 {pid} 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid} 99 10000 1\n");
        machine.write(&format!("proc/{pid}/stat"), stat);
    }
    for pid in 500..560 {
        machine.add(&Told {
            pid,
            name: "cc1",
            anon_kib: 4000,
            ..PLAIN
        });
        let pages = if pid == 530 { 1100 } else { 1000 };
        let stat =
            format!("{pid} (cc1) S 499 499 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid} 99 {pages} 1\n");
        machine.write(&format!("proc/{pid}/stat"), stat);
    }
    let scan = machine.scan();
    assert_eq!(scan.families.len(), 1);
    let family = scan.families[0];
    assert_eq!((family.kin, family.processes), (499, 60));
    let told = family.size.get().div_ceil(1 << 20);
    assert_eq!(told, (60 * 4000 + 400_u64).div_ceil(1024));
    let members: Vec<u32> = scan
        .candidates
        .iter()
        .filter(|candidate| candidate.kin == 499)
        .map(|candidate| candidate.identity.pid)
        .collect();
    assert_eq!(members.len(), 2, "the others are single processes");
    assert!(
        members.contains(&530) && members.contains(&559),
        "{members:?}"
    );
    assert_eq!(scan.candidates.len(), MAX_CANDIDATES);
}

#[test]
fn apps_of_one_manager_are_no_family_and_workers_of_one_service_are() {
    let machine = Machine::new();
    for pid in 100..104 {
        let group = format!("/user.slice/user-1000.slice/app-{pid}.scope");
        machine.add(&Told {
            pid,
            name: "app",
            group: &group,
            ..PLAIN
        });
    }
    for pid in 200..204 {
        machine.add(&Told {
            pid,
            name: "worker",
            group: "/system.slice/pool.service",
            ..PLAIN
        });
    }
    for pid in (100..104).chain(200..204) {
        let name = if pid < 200 { "app" } else { "worker" };
        // The largest is not the youngest.
        let pages = 1000 - pid;
        let stat = format!(
            "{pid} ({name}) S 50 {pid} 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid} 99 {pages} 1\n"
        );
        machine.write(&format!("proc/{pid}/stat"), stat);
    }
    let families = machine.scan().families;
    assert_eq!(families.len(), 1);
    assert_eq!(families[0].name.as_str(), "worker");
}

/// Jobs of one process group, each below a driver of its own, with `make` in `group` above all of them. Its session
/// and terminal as `stat` has them.
fn jobs_below_make(group: &str, session: u32, terminal: u32) -> Machine {
    let machine = Machine::new();
    let told = |pid: u32, name: &'static str| Told {
        pid,
        name,
        group: "/system.slice/build.service",
        ..PLAIN
    };
    let stat = |pid: u32, name: &str, parent: u32, session: u32| {
        format!(
            "{pid} ({name}) S {parent} 90 {session} {terminal} -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid} 99 100 1\n"
        )
    };
    machine.add(&Told {
        group,
        ..told(90, "make")
    });
    machine.write("proc/90/stat", stat(90, "make", 1, session));
    for pid in 100..104 {
        let driver = pid + 100;
        machine.add(&told(driver, "gcc"));
        machine.write(&format!("proc/{driver}/stat"), stat(driver, "gcc", 90, 7));
        machine.add(&told(pid, "cc1"));
        machine.write(&format!("proc/{pid}/stat"), stat(pid, "cc1", driver, 7));
    }
    machine
}

#[test]
fn what_starts_a_family_is_the_nearest_process_above_all_of_it() {
    let ancestor = |machine: &Machine, name: &str| {
        let families = machine.scan().families;
        let mut all = families.iter();
        let family = all.find(|family| family.name.as_str() == name).unwrap();
        family.ancestor.map(|ancestor| ancestor.identity.pid)
    };
    let home = "/system.slice/build.service";
    let machine = jobs_below_make(home, 7, 0);
    assert_eq!(ancestor(&machine, "cc1"), Some(90));
    assert_eq!(ancestor(&machine, "gcc"), Some(90));
    let elsewhere = jobs_below_make("/system.slice/ci.service", 7, 0);
    assert_eq!(ancestor(&elsewhere, "cc1"), None);
    let login_shell = jobs_below_make(home, 90, 34816);
    assert_eq!(ancestor(&login_shell, "cc1"), None);
    let a_service = jobs_below_make(home, 90, 0);
    assert_eq!(ancestor(&a_service, "cc1"), Some(90));
    let another_user = jobs_below_make(home, 7, 0);
    another_user.write("proc/90/status", "Name:\tmake\nUid:\t0\t0\n");
    assert_eq!(ancestor(&another_user, "cc1"), None);
    // A driver that starts another: what starts them is among them.
    let chain = jobs_below_make(home, 7, 0);
    chain.write(
        "proc/201/stat",
        "201 (gcc) S 200 90 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 201 99 100 1\n",
    );
    assert_eq!(ancestor(&chain, "gcc"), None);
    let first = jobs_below_make(home, 7, 0);
    first.write(
        "proc/200/stat",
        "200 (gcc) S 203 90 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 200 99 100 1\n",
    );
    assert_eq!(ancestor(&first, "gcc"), None);
}
