//! A machine in a directory: processes with hostile names, groups, programs that can be trusted and such that cannot.

use super::*;
use crate::applied::Missed;
use pressure::scan::{Candidate, Life, Mark, Place};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

mod kin;

struct Machine {
    directory: tempfile::TempDir,
}

/// A process as a test wants it.
struct Told<'a> {
    pid: u32,
    name: &'a str,
    state: char,
    flags: u32,
    anon_kib: u64,
    swap_kib: u64,
    group: &'a str,
}

const PLAIN: Told<'static> = Told {
    pid: 100,
    name: "plain",
    state: 'S',
    flags: 0,
    anon_kib: 1000,
    swap_kib: 0,
    group: "/",
};

impl Machine {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("proc")).unwrap();
        Self { directory }
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn add(&self, told: &Told<'_>) {
        let Told {
            pid,
            name,
            state,
            flags,
            anon_kib,
            swap_kib,
            group,
        } = told;
        let mut stat =
            format!("{pid} ({name}) {state} 1 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 ");
        let _ = writeln!(stat, "{} 99 {} 1 2 3", pid * 10, anon_kib / 4);
        self.write(&format!("proc/{pid}/stat"), stat);
        let status = format!(
            "Name:\t{}\nUid:\t1000\t1000\nRssAnon:\t{anon_kib} kB\nVmSwap:\t{swap_kib} kB\n",
            name.escape_debug()
        );
        self.write(&format!("proc/{pid}/status"), status);
        self.write(&format!("proc/{pid}/cgroup"), format!("0::{group}\n"));
        self.write(&format!("proc/{pid}/oom_score_adj"), "0\n");
    }

    fn scan(&self) -> ProcessScan {
        let mut scan = ProcessScan::default();
        let mut processes = Processes::open(self.directory.path(), Bytes::kib(4)).unwrap();
        processes.look(Span::secs(9), &mut scan);
        scan
    }
}

#[test]
fn the_largest_come_first_and_the_kernels_threads_not_at_all() {
    let machine = Machine::new();
    machine.add(&Told {
        pid: 2,
        name: "kthreadd",
        flags: 0x0020_0000,
        anon_kib: 9_999_999,
        ..PLAIN
    });
    for pid in 100..140 {
        machine.add(&Told {
            pid,
            anon_kib: u64::from(pid) * 100,
            ..PLAIN
        });
    }
    machine.add(&Told {
        pid: 150,
        name: "hog",
        anon_kib: 900_000,
        ..PLAIN
    });
    machine.add(&Told {
        pid: 151,
        name: "on swap",
        anon_kib: 13_000,
        swap_kib: 800_000,
        ..PLAIN
    });
    let scan = machine.scan();
    let pids: Vec<u32> = scan
        .candidates
        .iter()
        .map(|candidate| candidate.identity.pid)
        .collect();
    assert_eq!(pids[..4], [150, 151, 139, 138]);
    assert_eq!(pids.len(), MAX_CANDIDATES);
    assert_eq!(
        (scan.at, scan.candidates[0].identity.start),
        (Span::secs(9), 1500)
    );
    assert_eq!(scan.candidates[1].size(), Bytes::kib(813_000));
    assert_eq!(scan.candidates[0].user, 1000);
}

#[test]
fn hostile_names_of_processes_and_groups_stay_names() {
    let machine = Machine::new();
    let long = format!(
        "/user.slice/user-1000.slice/session-{}.scope",
        "9".repeat(200)
    );
    for (pid, name, group) in [
        (200, "a) R 1 2 3 4 5", "/"),
        (201, "\u{1b}[2J", "/system.slice/\u{1b}[31m.service"),
        (202, "", "/../../../etc"),
        (203, ") (", "//////"),
        (204, "sshd", &long),
        (205, "new\\nline", "/a\u{202e}b"),
    ] {
        machine.add(&Told {
            pid,
            name,
            group,
            ..PLAIN
        });
    }
    let scan = machine.scan();
    assert_eq!(scan.candidates.len(), 6);
    for candidate in &scan.candidates {
        assert_eq!(
            candidate.identity.start,
            u64::from(candidate.identity.pid) * 10
        );
        assert!(
            candidate.group.is_none(),
            "nothing outside of the groups' mount is opened"
        );
        let text = format!("{}{}", candidate.name, candidate.unit);
        assert!(
            !text
                .chars()
                .any(|letter| letter.is_control() || letter == '\u{202e}'),
            "{text:?}"
        );
    }
}

#[test]
fn what_is_cut_short_or_gone_is_left_out() {
    let machine = Machine::new();
    machine.add(&PLAIN);
    machine.write("proc/300/stat", "300 (cut) S 1 1");
    machine.write("proc/301/stat", "");
    machine.write("proc/302/stat", [0xff; 3000]);
    fs::create_dir(machine.directory.path().join("proc/303")).unwrap();
    machine.write("proc/self", "no folder");
    machine.write(
        "proc/99999999999999999999/stat",
        "99999999999999999999 (x) S",
    );
    let scan = machine.scan();
    assert_eq!(scan.candidates.len(), 1);
}

#[test]
fn a_dead_process_is_seen_as_dead_and_what_cannot_be_read_protects() {
    let machine = Machine::new();
    machine.add(&Told {
        pid: 400,
        state: 'Z',
        ..PLAIN
    });
    machine.add(&Told {
        pid: 401,
        state: 'D',
        ..PLAIN
    });
    machine.write("proc/401/oom_score_adj", "many");
    let scan = machine.scan();
    let find = |pid| {
        scan.candidates
            .iter()
            .find(|candidate| candidate.identity.pid == pid)
            .unwrap()
    };
    assert_eq!(find(400).life, Life::Dying);
    assert_eq!(
        (find(401).life, find(401).oom_score_adj),
        (Life::Stuck, -1000)
    );
}

#[test]
fn a_program_counts_only_if_it_is_roots_and_the_one_at_its_path() {
    let machine = Machine::new();
    let root = machine.directory.path();
    machine.write("usr/sbin/sshd", "the real one");
    machine.write("home/me/sshd", "another");
    machine.write("usr/bin/open", "anyone may write to it");
    fs::set_permissions(root.join("usr/bin/open"), fs::Permissions::from_mode(0o777)).unwrap();
    let program = |pid: u32, link: &str| {
        machine.add(&Told { pid, ..PLAIN });
        let exe = root.join(format!("proc/{pid}/exe"));
        let _ = fs::remove_file(&exe);
        symlink(link, exe).unwrap();
        let found = machine
            .scan()
            .candidates
            .iter()
            .find(|candidate| candidate.identity.pid == pid)
            .unwrap()
            .program;
        found.map(|name| name.to_string())
    };
    // The link names the file by the whole path, and this machine has its own file below that path, or none.
    let shown = |file: &str| {
        let target = root.join(file);
        let below = root.join(target.strip_prefix("/").unwrap());
        fs::create_dir_all(below.parent().unwrap()).unwrap();
        (target.to_str().unwrap().to_owned(), below)
    };
    let (sshd, below) = shown("usr/sbin/sshd");
    assert_eq!(
        program(500, &sshd),
        None,
        "there is no such file at its path"
    );
    fs::write(&below, "an impostor's view").unwrap();
    assert_eq!(
        program(501, &sshd),
        None,
        "at its path there is another file"
    );
    fs::remove_file(&below).unwrap();
    fs::hard_link(&sshd, &below).unwrap();
    assert_eq!(program(502, &sshd).as_deref(), Some("sshd"));
    let (open, below) = shown("usr/bin/open");
    fs::hard_link(&open, &below).unwrap();
    assert_eq!(program(503, &open), None, "anyone may write to it");
    assert_eq!(program(504, "/nowhere/sshd"), None);
}

#[test]
fn a_unit_of_its_own_is_read_with_its_marks_by_its_owner() {
    let machine = Machine::new();
    let group = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope";
    let directory = format!("sys/fs/cgroup{group}");
    machine.write(
        &format!("{directory}/memory.stat"),
        "anon 4096000\nfile 1\n",
    );
    machine.write(&format!("{directory}/memory.swap.current"), "8192\n");
    machine.write(&format!("{directory}/pids.current"), "7\n");
    machine.write(&format!("{directory}/memory.high"), "max\n");
    machine.add(&Told {
        pid: 600,
        group,
        ..PLAIN
    });
    machine.add(&Told {
        pid: 601,
        group: "/user.slice/user-1000.slice/session-3.scope",
        ..PLAIN
    });
    let scan = machine.scan();
    let find = |pid| {
        scan.candidates
            .iter()
            .find(|candidate| candidate.identity.pid == pid)
            .unwrap()
    };
    let of = find(600).group.unwrap();
    assert_eq!(
        (of.anon, of.swapped, of.processes, of.high),
        (Bytes::new(4_096_000), Bytes::new(8192), 7, None)
    );
    assert_eq!(
        (find(600).place, find(600).unit.as_str(), find(600).mark),
        (Place::App, "app-x.scope", Mark::None)
    );
    assert_eq!((find(601).place, find(601).group), (Place::Session, None));
}

#[test]
fn a_small_one_that_may_not_end_saves_the_unit_it_lives_in() {
    let machine = Machine::new();
    let group = "/user.slice/user-1000.slice/user@1000.service/app.slice/sway.service";
    let directory = format!("sys/fs/cgroup{group}");
    machine.write(&format!("{directory}/memory.stat"), "anon 4096000\n");
    machine.write(&format!("{directory}/pids.current"), "3\n");
    machine.write(&format!("{directory}/cgroup.procs"), "600\n601\n602\n60");
    machine.add(&Told {
        pid: 600,
        group,
        anon_kib: 9000,
        ..PLAIN
    });
    machine.add(&Told {
        pid: 601,
        group,
        ..PLAIN
    });
    machine.add(&Told {
        pid: 602,
        group,
        state: 'Z',
        ..PLAIN
    });
    machine.write("proc/602/oom_score_adj", "-1000");
    assert_eq!(
        machine.scan().candidates[0].group.unwrap().exempt,
        0,
        "a dead one needs no saving"
    );
    machine.write("proc/601/oom_score_adj", "-1000");
    let group = machine.scan().candidates[0].group.unwrap();
    assert_eq!(
        (group.exempt, group.one_by_one),
        (1, true),
        "a recorded machine has no cgroup.kill"
    );
}

#[test]
fn a_process_that_moves_is_known_by_where_it_is_now() {
    let machine = Machine::new();
    machine.add(&Told {
        pid: 600,
        group: "/system.slice/a.service",
        ..PLAIN
    });
    let mut processes = Processes::open(machine.directory.path(), Bytes::kib(4)).unwrap();
    let mut scan = ProcessScan::default();
    processes.look(Span::secs(1), &mut scan);
    assert_eq!(scan.candidates[0].unit.as_str(), "a.service");
    machine.write(
        "proc/600/cgroup",
        "0::/user.slice/user-1000.slice/session-3.scope\n",
    );
    processes.look(Span::secs(5), &mut scan);
    assert_eq!(
        (scan.candidates[0].unit.as_str(), scan.candidates[0].place),
        ("session-3.scope", Place::Session)
    );
}

#[test]
fn a_process_that_becomes_another_program_is_known_by_what_it_is_now() {
    let machine = Machine::new();
    let root = machine.directory.path();
    // A wrapper of root's, at the path by which this machine knows it, that becomes what it was to start.
    machine.write("usr/bin/sudo", "");
    let sudo = root.join("usr/bin/sudo");
    let seen = root.join(sudo.strip_prefix("/").unwrap());
    fs::create_dir_all(seen.parent().unwrap()).unwrap();
    fs::hard_link(&sudo, seen).unwrap();
    machine.write("home/me/sudo", "");
    machine.add(&Told { pid: 600, ..PLAIN });
    let runs = |program: PathBuf| {
        let exe = root.join("proc/600/exe");
        let _ = fs::remove_file(&exe);
        symlink(program, exe).unwrap();
    };
    let mut processes = Processes::open(root, Bytes::kib(4)).unwrap();
    let mut scan = ProcessScan::default();
    runs(sudo);
    processes.look(Span::secs(1), &mut scan);
    assert_eq!(
        scan.candidates[0]
            .program
            .map(|name| name.to_string())
            .as_deref(),
        Some("sudo")
    );
    runs(root.join("home/me/sudo"));
    processes.look(Span::secs(5), &mut scan);
    assert_eq!(
        scan.candidates[0].program, None,
        "the name is the same, the file is not"
    );
}

#[test]
fn what_is_read_is_kept_for_a_moment_and_a_process_that_is_gone_is_left_out() {
    let machine = Machine::new();
    for pid in 1000..1040 {
        machine.add(&Told { pid, ..PLAIN });
    }
    let mut processes = Processes::open(machine.directory.path(), Bytes::kib(4)).unwrap();
    let mut scan = ProcessScan::default();
    processes.look(Span::secs(1), &mut scan);
    let first = scan.clone();
    // A moment later nothing is read again; when it is, a process that is gone is left out.
    fs::remove_dir_all(machine.directory.path().join("proc/1000")).unwrap();
    processes.look(Span::millis(1050), &mut scan);
    assert_eq!(scan, first);
    processes.look(Span::secs(60), &mut scan);
    assert!(
        !scan
            .candidates
            .iter()
            .any(|candidate| candidate.identity.pid == 1000)
    );
    processes.rest(&mut scan);
    assert!(scan.is_empty());
}

#[test]
fn a_recorded_machine_has_no_process_to_kill() {
    let machine = Machine::new();
    machine.add(&PLAIN);
    let mut processes = Processes::open(machine.directory.path(), Bytes::kib(4)).unwrap();
    let mut scan = ProcessScan::default();
    processes.look(Span::secs(1), &mut scan);
    let Candidate { identity, name, .. } = scan.candidates[0];
    let order = Order {
        identity,
        name,
        signal: pressure::scan::Signal::Kill,
        extent: pressure::distress::Extent::Process,
        size: Bytes::ZERO,
    };
    assert_eq!(processes.kill(Span::secs(1), &order), Err(Missed::NoMeans));
    assert_eq!(processes.kill(Span::secs(1), &order), Err(Missed::Unknown));
    // Who cannot be signalled does not stand before others at once.
    processes.look(Span::secs(5), &mut scan);
    assert!(scan.candidates.is_empty());
    processes.look(Span::secs(40), &mut scan);
    assert_eq!(scan.candidates.len(), 1);
}

/// `status` of a process with lines of its own.
fn status(machine: &Machine, pid: u32, lines: &str) {
    let text = format!("Name:\tx\nUid:\t1000\t1000\n{lines}");
    machine.write(&format!("proc/{pid}/status"), text);
}

#[test]
fn shared_memory_page_tables_and_huge_pages_count_for_a_candidate() {
    let machine = Machine::new();
    machine.add(&Told {
        anon_kib: 8000,
        ..PLAIN
    });
    machine.add(&Told { pid: 101, ..PLAIN });
    let lines = "RssAnon:\t40 kB\nRssFile:\t60 kB\nRssShmem:\t900 kB\nVmPTE:\t30000 kB\n\
                 VmSwap:\t0 kB\nHugetlbPages:\t2048 kB\n";
    status(&machine, 101, lines);
    let scan = machine.scan();
    let first = scan.candidates[0];
    assert_eq!(first.identity.pid, 101, "page tables make it the largest");
    assert_eq!(first.resident, Bytes::kib(40));
    assert_eq!(first.shared, Bytes::kib(900));
    assert_eq!(first.tables, Bytes::kib(30_000));
    assert_eq!(first.hugetlb, Bytes::kib(2048));
    assert_eq!(first.size(), Bytes::kib(30_940));
    assert_eq!(scan.processes, Some(2));
}

#[test]
fn a_process_of_page_tables_and_swap_alone_is_found_among_a_thousand() {
    let machine = Machine::new();
    for pid in 1000..2000 {
        machine.add(&Told { pid, ..PLAIN });
    }
    machine.add(&Told {
        pid: 3000,
        anon_kib: 8,
        ..PLAIN
    });
    status(
        &machine,
        3000,
        "RssAnon:\t8 kB\nVmPTE:\t800000 kB\nVmSwap:\t1 kB\n",
    );
    let mut processes = Processes::open(machine.directory.path(), Bytes::kib(4)).unwrap();
    let mut scan = ProcessScan::default();
    let mut scans = 0;
    while scan
        .candidates
        .first()
        .is_none_or(|first| first.identity.pid != 3000)
    {
        scans += 1;
        assert!(scans <= 40, "a round of a thousand takes 32 scans");
        processes.look(Span::secs(10 * scans), &mut scan);
    }
}

#[test]
fn the_file_and_the_cgroup_are_told_by_their_ends() {
    let machine = Machine::new();
    let group = format!("/user.slice/{}/app-x.scope", "a".repeat(200));
    machine.add(&Told {
        group: &group,
        ..PLAIN
    });
    let exe = format!("/home/me/{}/\u{1b}[2J/hog (deleted)", "d".repeat(150));
    symlink(exe, machine.directory.path().join("proc/100/exe")).unwrap();
    let scan = machine.scan();
    let candidate = &scan.candidates[0];
    assert!(candidate.exe.ends_with("dd/?[2J/hog"), "{}", candidate.exe);
    assert_eq!(candidate.exe.len(), 96 - " (deleted)".len() + 10);
    assert!(candidate.cgroup.ends_with("aa/app-x.scope"));
    assert_eq!(candidate.cgroup.len(), 96);
    assert!(!candidate.foreign_code);
}

/// A machine's own file below the path by which its processes name it.
fn seen_at(machine: &Machine, path: &str) -> PathBuf {
    let root = machine.directory.path();
    machine.write(path, path);
    let target = root.join(path);
    let below = root.join(target.strip_prefix("/").unwrap());
    fs::create_dir_all(below.parent().unwrap()).unwrap();
    fs::hard_link(&target, below).unwrap();
    target
}

#[test]
fn a_script_of_roots_is_known_by_its_name_and_a_persons_is_not() {
    let machine = Machine::new();
    let python = seen_at(&machine, "usr/bin/python3.12");
    machine.write("usr/bin/qtile", "");
    let script = |pid: u32, command: &str| {
        machine.add(&Told { pid, ..PLAIN });
        let directory = machine.directory.path().join(format!("proc/{pid}"));
        symlink(&python, directory.join("exe")).unwrap();
        fs::write(directory.join("cmdline"), command).unwrap();
        let scan = machine.scan();
        let mut candidates = scan.candidates.iter();
        let found = candidates.find(|it| it.identity.pid == pid).unwrap();
        assert_eq!(found.program.unwrap().as_str(), "python3.12");
        found.script.map(|name| name.to_string())
    };
    let qtile = script(700, "python3\0/usr/bin/qtile\0start\0");
    assert_eq!(qtile.as_deref(), Some("qtile"));
    assert_eq!(script(701, "python3\0/home/me/qtile\0"), None);
    assert_eq!(script(702, "\u{1b}[2J\0\0\0/usr/bin/qtile"), None);
    assert_eq!(script(703, ""), None);
}

#[test]
fn command_rules_are_matched_without_keeping_the_command_line() {
    let machine = Machine::new();
    machine.add(&PLAIN);
    machine.write("proc/100/cmdline", "python3\0-m\0jupyter\0--token=secret\0");
    let mut processes = Processes::open(machine.directory.path(), Bytes::kib(4)).unwrap();
    let rules = |spare: &str, prefer: &str| Guard {
        spare: vec![spare.parse().unwrap(), "command:*nothing*".parse().unwrap()],
        prefer: vec![prefer.parse().unwrap()],
        ..Guard::default()
    };
    let mut scan = ProcessScan::default();
    processes.rule(&rules("x.service", "command:*-m jupyter*"));
    processes.look(Span::secs(1), &mut scan);
    assert_eq!(scan.candidates[0].commands, 0b10);
    processes.rule(&rules("command:*jupyter*", "y.service"));
    processes.look(Span::secs(5), &mut scan);
    assert_eq!(scan.candidates[0].commands, 0b01, "after a reload");
    assert!(!serde_json::to_string(&scan).unwrap().contains("secret"));
}

#[test]
fn a_persons_library_in_a_program_of_roots_is_told() {
    let machine = Machine::new();
    let shell = seen_at(&machine, "usr/bin/gnome-shell");
    machine.write("usr/lib/libc.so.6", "");
    let foreign = |pid: u32, maps: &str| {
        machine.add(&Told { pid, ..PLAIN });
        let directory = machine.directory.path().join(format!("proc/{pid}"));
        symlink(&shell, directory.join("exe")).unwrap();
        fs::write(directory.join("maps"), maps).unwrap();
        let scan = machine.scan();
        let mut candidates = scan.candidates.iter();
        let found = candidates.find(|it| it.identity.pid == pid).unwrap();
        found.foreign_code
    };
    let own = "1-2 r-xp 0 08:01 7 /usr/lib/libc.so.6\n";
    assert!(!foreign(800, own));
    assert!(foreign(
        801,
        &format!("{own}3-4 r-xp 0 08:01 8 /home/me/hog.so\n")
    ));
    assert!(!foreign(802, ""), "what may not be read says nothing");
}

#[test]
fn a_unit_tells_its_programs_its_terminals_and_its_policy() {
    let machine = Machine::new();
    let group = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope";
    let directory = format!("sys/fs/cgroup{group}");
    machine.write(&format!("{directory}/memory.stat"), "anon 4096000\n");
    machine.write(&format!("{directory}/memory.oom.group"), "1\n");
    machine.write(&format!("{directory}/pids.current"), "4\n");
    machine.write(&format!("{directory}/cgroup.procs"), "600\n601\n602\n603\n");
    for (pid, terminal) in [(600, 0), (601, 34816), (602, -3), (603, 0)] {
        machine.add(&Told {
            pid,
            group,
            ..PLAIN
        });
        let stat =
            format!("{pid} (x) S 1 1 1 {terminal} -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid} 99 9 1\n");
        machine.write(&format!("proc/{pid}/stat"), stat);
        let exe = machine.directory.path().join(format!("proc/{pid}/exe"));
        let target = if pid == 603 {
            "/home/me/b"
        } else {
            "/home/me/a"
        };
        symlink(target, exe).unwrap();
    }
    machine.write("proc/602/oom_score_adj", "-900\n");
    let unit = machine.scan().candidates[0].group.unwrap();
    assert_eq!(unit.oom_group, Some(true));
    assert_eq!((unit.programs, unit.terminals), (Some(2), 2));
    assert_eq!(unit.exempt, 1, "-900 asks for it");
}

#[test]
fn a_compositor_behind_a_wrapper_is_exempt_by_the_wrappers_name() {
    let machine = Machine::new();
    let wrapped = seen_at(&machine, "usr/bin/.kwin_wayland-wrapped");
    machine.add(&PLAIN);
    symlink(wrapped, machine.directory.path().join("proc/100/exe")).unwrap();
    let candidate = machine.scan().candidates[0];
    assert_eq!(candidate.program.unwrap().as_str(), "kwin_wayland");
    assert!(candidate.exe.ends_with("/usr/bin/.kwin_wayland-wrapped"));
    let exempt = exemption(&candidate, &Guard::default());
    assert_eq!(exempt, Some(Exemption::Program));
}

#[test]
fn where_proc_hides_what_it_has_the_rest_is_still_told() {
    let machine = Machine::new();
    machine.add(&PLAIN);
    // hidepid, or no right to look: the directory is there, and nothing in it but what anyone may read.
    for file in ["status", "cgroup", "oom_score_adj"] {
        fs::remove_file(machine.directory.path().join("proc/100").join(file)).unwrap();
    }
    fs::create_dir_all(machine.directory.path().join("proc/101")).unwrap();
    let mut processes = Processes::open(machine.directory.path(), Bytes::kib(4)).unwrap();
    let mut scan = ProcessScan::default();
    let memory = Memory {
        total: Some(Bytes::mib(10)),
        shmem: Some(Bytes::mib(9)),
        ..Memory::default()
    };
    processes.see(Span::secs(1), &memory);
    processes.look(Span::secs(1), &mut scan);
    assert_eq!(scan.processes, Some(1));
    let candidate = scan.candidates[0];
    assert_eq!(candidate.resident, Bytes::kib(1000), "as stat has it");
    assert_eq!(
        candidate.oom_score_adj, -1000,
        "what cannot be read protects"
    );
    assert_eq!(candidate.shared + candidate.written, Bytes::ZERO);
    assert!(candidate.exe.is_empty() && candidate.script.is_none());
    assert!(!candidate.foreign_code);
}

/// A candidate below a unit that another guard monitors is left to that one, and no other candidate is.
#[test]
fn a_candidate_where_another_guard_kills_is_marked() {
    let machine = Machine::new();
    let users = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope";
    machine.add(&Told {
        group: users,
        ..PLAIN
    });
    machine.add(&Told {
        pid: 200,
        group: "/system.slice/x.service",
        ..PLAIN
    });
    machine.write("proc/701/comm", "systemd-oomd\n");
    machine.write("proc/701/status", "Name:\tx\nUid:\t998\t998\n");
    machine.write(
        "usr/lib/systemd/system/user@.service.d/10.conf",
        "[Service]\nManagedOOMMemoryPressure=kill\n",
    );
    let root = machine.directory.path();
    let mut processes = Processes::open(root, Bytes::kib(4)).unwrap();
    let mut scan = ProcessScan::default();
    processes.leave_to(crate::knobs::rivals::rivals(root).into(), false);
    processes.look(Span::secs(9), &mut scan);
    let left = |pid| {
        let mut all = scan.candidates.iter();
        all.find(|candidate| candidate.identity.pid == pid)
            .unwrap()
            .left_to_rival
    };
    assert!(left(100));
    assert!(!left(200));
}

#[test]
fn a_chosen_process_is_asked_to_end_and_no_later_one_with_its_number() {
    use std::os::unix::process::ExitStatusExt;
    let mut child = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let pid = child.id();
    let text = fs::read(format!("/proc/{pid}/stat")).unwrap();
    let start = crate::parse::process::stat(&text).unwrap().start;
    let processes = Processes::open(Path::new("/"), Bytes::kib(4)).unwrap();
    let later = Identity {
        pid,
        start: start + 1,
    };
    assert_eq!(processes.terminate(later), Err(Missed::Gone));
    assert!(child.try_wait().unwrap().is_none());
    let recorded = tempfile::tempdir().unwrap();
    fs::create_dir(recorded.path().join("proc")).unwrap();
    let elsewhere = Processes::open(recorded.path(), Bytes::kib(4)).unwrap();
    let chosen = Identity { pid, start };
    assert_eq!(elsewhere.terminate(chosen), Err(Missed::NoMeans));
    assert_eq!(processes.terminate(chosen), Ok(()));
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert_eq!(processes.terminate(chosen), Err(Missed::Gone));
}
