mod freezing;
mod squeezing;

use super::*;
use crate::undo::{Places, boot_id, restore};
use pressure::groups::Waiting;
use pressure::scan::UnitName;
use pressure::scan::{Candidate, Group, Identity, Mark, Name, Place, ProcessScan};
use std::fs;
use std::os::unix::fs::MetadataExt;
use units::Micros;

const SSH: &str = "system.slice/ssh.service";
const DESKTOP: &str = "user.slice/user-1000.slice/user@1000.service/session.slice";
const IMPOSTOR: &str = "user.slice/user-1000.slice/user@1000.service/app.slice/ssh.service";
const HOG: &str = "system.slice/batch.service";
const MIB: u64 = 1 << 20;

/// A machine of directories and files, its groups, and its undo log.
struct Bench {
    _dir: tempfile::TempDir,
    places: Places,
    groups: Cgroups,
    log: UndoLog,
    sample: Sample,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::at(dir.path());
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        fs::create_dir_all(dir.path().join("proc/sys/kernel/random")).unwrap();
        fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "a\n").unwrap();
        let mounts = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,memory_recursiveprot\n";
        fs::write(dir.path().join("proc/self/mountinfo"), mounts).unwrap();
        fs::write(
            dir.path().join("proc/self/cgroup"),
            "0::/system.slice/warmsetd.service\n",
        )
        .unwrap();
        for path in [SSH, DESKTOP, IMPOSTOR, HOG, "system.slice/warmsetd.service"] {
            make(dir.path(), path);
        }
        let log = UndoLog::open(&places, &boot_id(&places.root).unwrap()).unwrap();
        let groups = Cgroups::at(&places.root);
        let mut sample = Sample::default();
        sample.memory.total = Some(Bytes::mib(1024));
        Self {
            _dir: dir,
            places,
            groups,
            log,
            sample,
        }
    }

    fn file(&self, path: &str, name: &str) -> PathBuf {
        self.places.root.join("sys/fs/cgroup").join(path).join(name)
    }

    fn get(&self, path: &str, name: &str) -> String {
        fs::read_to_string(self.file(path, name))
            .unwrap()
            .trim()
            .to_owned()
    }

    fn set(&self, path: &str, name: &str, value: &str) {
        fs::write(self.file(path, name), value).unwrap();
    }

    fn id(&self, path: &str) -> u64 {
        fs::metadata(self.file(path, "")).unwrap().ino()
    }

    fn look(&mut self, seconds: u64) {
        self.sample.at = Span::secs(seconds);
        self.groups.observe(&mut self.sample, &mut self.log);
    }

    fn cgroup_action(&mut self, cgroup_action: &CgroupAction) -> Result<(), String> {
        let root = self.places.root.clone();
        let directory = |id| {
            [HOG, SSH]
                .iter()
                .filter_map(|path| Directory::of(&root, path.as_bytes()))
                .find(|it| it.inode == id)
        };
        match self.groups.apply(cgroup_action, &mut self.log, &directory) {
            Applied::Refused { why } => Err(why),
            applied => {
                assert_eq!(applied, Applied::Limited);
                Ok(())
            }
        }
    }

    fn keep(&mut self, path: &str, mib: u64) -> Result<(), String> {
        let id = self.id(path);
        let unit = UnitName::new();
        self.cgroup_action(&CgroupAction::Keep {
            id,
            unit,
            from: Bytes::ZERO,
            to: Bytes::mib(mib),
        })
    }

    fn throttle(&mut self, mib: u64) -> Result<(), String> {
        let id = self.id(HOG);
        let unit = UnitName::new();
        let used = Bytes::ZERO;
        let reserve = Bytes::ZERO;
        self.cgroup_action(&CgroupAction::Throttle {
            id,
            unit,
            used,
            memory_high: Bytes::mib(mib),
            reserve,
        })
    }

    fn freeze(&mut self) -> Result<(), String> {
        let id = self.id(HOG);
        let unit = UnitName::from("batch.service").unwrap();
        let headroom = Bytes::mib(60);
        self.cgroup_action(&CgroupAction::Freeze {
            id,
            unit,
            user: 1000,
            used: Bytes::ZERO,
            headroom,
            wait: Span::secs(15),
        })
    }

    fn thaw(&mut self) -> Result<(), String> {
        let id = self.id(HOG);
        let unit = UnitName::new();
        self.cgroup_action(&CgroupAction::Thaw { id, unit })
    }

    /// As after `kill -9`: nothing of the guard is left but its log.
    fn killed(&self) -> Restored {
        restore(&self.places).unwrap()
    }
}

fn make(root: &Path, path: &str) {
    let mut directory = root.join("sys/fs/cgroup");
    for part in Path::new(path) {
        directory = directory.join(part);
        fs::create_dir_all(&directory).unwrap();
        for (name, text) in [
            ("memory.min", "0"),
            ("memory.high", "max"),
            ("memory.current", "41943040"),
            ("cgroup.freeze", "0"),
            ("cgroup.events", "populated 1\nfrozen 0"),
            ("memory.events", "low 0\nhigh 7\nmax 2\n"),
            (
                "memory.pressure",
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=9000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5000",
            ),
            (
                "io.pressure",
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=9000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=6000",
            ),
            (
                "memory.stat",
                "anon 1\nactive_anon 1048576\nactive_file 2097152\nworkingset_refault_file 256\n",
            ),
        ] {
            fs::write(directory.join(name), format!("{text}\n")).unwrap();
        }
    }
}

fn protected(units: &[&str]) -> Bench {
    let mut bench = Bench::new();
    bench.groups.protect(
        &units
            .iter()
            .map(|unit| (*unit).to_owned())
            .collect::<Vec<_>>(),
    );
    bench.look(100);
    bench
}

#[test]
fn how_long_a_protected_cgroup_waits_is_read_while_pages_are_read_again() {
    let mut bench = protected(&["ssh.service"]);
    let waits = |bench: &Bench| bench.sample.groups.protected[0].waiting;
    bench.sample.counters.workingset_refault_file = Some(7);
    bench.look(106);
    bench.look(112);
    assert_eq!(waits(&bench), None, "nothing was");
    bench.sample.counters.workingset_refault_file = Some(8);
    bench.look(118);
    let waiting = Waiting {
        memory: Micros::new(5000),
        disks: Micros::new(6000),
        limited: 9,
    };
    assert_eq!(waits(&bench), Some(waiting));
    fs::remove_file(bench.file(SSH, "io.pressure")).unwrap();
    bench.sample.counters.workingset_refault_file = Some(9);
    bench.look(124);
    assert_eq!(waits(&bench), None, "a kernel without PSI");
}

#[test]
fn protected_are_units_that_root_names_the_desktop_and_what_was_asked_for() {
    let names = |units: &[&str]| {
        let bench = protected(units);
        bench
            .sample
            .groups
            .protected
            .iter()
            .map(|cgroup| (cgroup.unit.to_string(), cgroup.id))
            .collect::<Vec<_>>()
    };
    let bench = protected(&["ssh.service", "session.slice"]);
    let told = &bench.sample.groups.protected;
    assert_eq!(
        told.iter().map(|cgroup| cgroup.id).collect::<Vec<_>>(),
        [bench.id(SSH), bench.id(DESKTOP)]
    );
    assert_eq!(
        (told[0].warm, told[0].used),
        (Bytes::mib(3), Bytes::mib(40))
    );
    assert_eq!(names(&["ss*"]).len(), 1);
    assert_eq!(
        names(&[&format!("/{IMPOSTOR}")])[0].0,
        "ssh.service",
        "by its path, a person asked for it"
    );
    for unit in [
        "/user.slice",
        "/",
        "/user.slice/user-1000.slice/user@1000.service/app.slice",
        "app.slice",
        "/../etc",
    ] {
        assert!(names(&[unit]).is_empty(), "{unit} may hold anything");
    }
}

#[test]
fn a_unit_that_starts_is_seen_within_half_a_minute_or_at_once_if_memory_runs_out() {
    let mut bench = protected(&["sshd.service"]);
    make(&bench.places.root, "system.slice/sshd.service");
    bench.look(106);
    assert!(bench.sample.groups.protected.is_empty(), "there is time");
    bench.sample.scan = scan(Group::default());
    bench.look(107);
    assert_eq!(bench.sample.groups.protected.len(), 1);
}

#[test]
fn what_is_kept_is_kept_above_too_and_nothing_more_and_all_goes_back() {
    let mut bench = protected(&["ssh.service", "session.slice"]);
    bench.set("user.slice", "memory.min", "4194304");
    bench.keep(SSH, 24).unwrap();
    bench.keep(DESKTOP, 100).unwrap();
    bench.look(106);
    let mins = |bench: &Bench| {
        [
            SSH,
            "system.slice",
            DESKTOP,
            "user.slice/user-1000.slice",
            "user.slice",
            HOG,
        ]
        .map(|path| bench.get(path, "memory.min").parse::<u64>().unwrap() / MIB)
    };
    assert_eq!(mins(&bench), [24, 24, 100, 100, 100, 0]);
    assert_eq!(bench.sample.groups.protected[0].ours, Some(Bytes::mib(24)));
    let id = bench.id(DESKTOP);
    let unit = UnitName::new();
    bench
        .cgroup_action(&CgroupAction::Leave { id, unit })
        .unwrap();
    assert_eq!(mins(&bench), [24, 24, 0, 0, 4, 0]);
    let mut restored = Restored::default();
    bench.groups.restore(&mut bench.log, &mut restored);
    assert_eq!((mins(&bench), restored.back.len()), ([0, 0, 0, 0, 4, 0], 2));
    assert!(!bench.places.run.join("undo").exists(), "nothing is held");
}

#[test]
fn a_floor_of_another_program_below_the_same_cgroup_takes_no_part_of_it() {
    let mut bench = protected(&["ssh.service", "session.slice"]);
    // The guard's own, by its unit, of which it uses all; one that asks for more than it has.
    bench.set("system.slice/warmsetd.service", "memory.min", "8388608");
    bench.set(
        "user.slice/user-1000.slice/user@1000.service/app.slice",
        "memory.min",
        "1073741824",
    );
    bench.keep(SSH, 24).unwrap();
    bench.keep(DESKTOP, 100).unwrap();
    let min =
        |bench: &Bench, path: &str| bench.get(path, "memory.min").parse::<u64>().unwrap() / MIB;
    assert_eq!(min(&bench, "system.slice"), 24 + 8);
    let above = [
        "user.slice/user-1000.slice/user@1000.service",
        "user.slice/user-1000.slice",
        "user.slice",
    ];
    assert_eq!(
        above.map(|path| min(&bench, path)),
        [100 + 40; 3],
        "what it has counts, all the way up"
    );
    bench.keep(DESKTOP, 220).unwrap();
    assert_eq!(
        min(&bench, "user.slice"),
        220 + 12,
        "no more than a quarter in all"
    );
    let mut restored = Restored::default();
    bench.groups.restore(&mut bench.log, &mut restored);
    assert_eq!(
        (min(&bench, "system.slice"), min(&bench, "user.slice")),
        (0, 0)
    );
    assert_eq!(
        min(&bench, "system.slice/warmsetd.service"),
        8,
        "theirs is left alone"
    );
}

#[test]
fn no_more_than_a_quarter_is_kept_whoever_asks() {
    let mut bench = protected(&["ssh.service", "session.slice"]);
    bench.keep(SSH, 200).unwrap();
    bench.keep(DESKTOP, 57).unwrap();
    assert_eq!(bench.get(DESKTOP, "memory.min"), "0");
    bench.keep(DESKTOP, 56).unwrap();
    assert_eq!(bench.get(DESKTOP, "memory.min"), (56 * MIB).to_string());
}

#[test]
fn what_a_killed_guard_protected_and_throttled_is_put_back() {
    let mut bench = protected(&["ssh.service"]);
    bench.keep(SSH, 24).unwrap();
    bench.throttle(400).unwrap();
    assert_eq!(bench.get(HOG, "memory.high"), (400 * MIB).to_string());
    bench.throttle(440).unwrap();
    assert_eq!(
        bench.get(HOG, "memory.high"),
        (440 * MIB).to_string(),
        "more, and still one"
    );
    let restored = bench.killed();
    assert_eq!(restored.back.len(), 3, "{restored}");
    assert!(
        restored
            .to_string()
            .contains("batch.service/memory.high 461373440 → max"),
        "{restored}"
    );
    let now = [
        bench.get(SSH, "memory.min"),
        bench.get("system.slice", "memory.min"),
        bench.get(HOG, "memory.high"),
    ];
    assert_eq!(now, ["0", "0", "max"]);
}

#[test]
fn a_group_that_is_gone_or_another_by_its_name_is_left_alone() {
    let mut bench = protected(&["ssh.service"]);
    bench.throttle(400).unwrap();
    let gone = bench.file(HOG, "");
    fs::rename(&gone, bench.places.root.join("elsewhere")).unwrap();
    make(&bench.places.root, HOG);
    bench.set(HOG, "memory.high", &(400 * MIB).to_string());
    let restored = bench.killed();
    assert!(
        restored.back.is_empty()
            && restored
                .to_string()
                .contains("is gone: nothing to put back"),
        "{restored}"
    );
    assert_eq!(
        bench.get(HOG, "memory.high"),
        (400 * MIB).to_string(),
        "it is not the one we contained"
    );
}

#[test]
fn a_group_that_vanishes_between_reading_and_writing_costs_nothing() {
    let mut bench = protected(&["ssh.service"]);
    let id = bench.id(SSH);
    let unit = UnitName::new();
    fs::remove_dir_all(bench.file(SSH, "")).unwrap();
    assert!(
        bench
            .cgroup_action(&CgroupAction::Keep {
                id,
                unit,
                from: Bytes::ZERO,
                to: Bytes::mib(9)
            })
            .is_err(),
        "said once"
    );
    bench.look(110);
    assert!(bench.sample.groups.protected.is_empty());
    assert_eq!(
        bench.get("system.slice", "memory.min"),
        "0",
        "nothing is kept above for nobody"
    );
    bench.throttle(400).unwrap();
    fs::remove_dir_all(bench.file(HOG, "")).unwrap();
    // The open files of a removed group say nothing more; here they are plain files, and the limit is what is gone.
    bench.look(111);
    assert!(bench.sample.groups.throttled.is_empty() && !bench.places.run.join("undo").exists());
}

#[test]
fn a_ceiling_is_never_below_what_the_group_has_now() {
    let mut bench = Bench::new();
    bench.throttle(1).unwrap();
    assert_eq!(bench.get(HOG, "memory.high"), (40 * MIB).to_string());
    bench.look(101);
    let told = bench.sample.groups.throttled[0];
    assert_eq!(
        (told.memory_high, told.used, told.pushes),
        (Bytes::mib(40), Bytes::mib(40), 7)
    );
    let cgroup_action = CgroupAction::Free {
        id: told.id,
        unit: told.unit,
    };
    bench.cgroup_action(&cgroup_action).unwrap();
    assert_eq!(bench.get(HOG, "memory.high"), "max");
}

#[test]
fn what_someone_else_sets_meanwhile_is_theirs() {
    let mut bench = protected(&["ssh.service"]);
    bench.keep(SSH, 24).unwrap();
    bench.throttle(400).unwrap();
    bench.set(SSH, "memory.min", "5");
    bench.set(HOG, "memory.high", "7");
    bench.look(110);
    assert_eq!(
        (
            bench.sample.groups.protected[0].ours,
            bench.sample.groups.throttled.len()
        ),
        (None, 0)
    );
    let mut restored = Restored::default();
    bench.groups.restore(&mut bench.log, &mut restored);
    assert_eq!(
        (bench.get(SSH, "memory.min"), bench.get(HOG, "memory.high")),
        ("5".to_owned(), "7".to_owned())
    );
}

#[test]
fn what_a_manager_resets_is_seen_and_kept_again() {
    let mut bench = protected(&["ssh.service"]);
    bench.keep(SSH, 24).unwrap();
    for reset in [SSH, "system.slice"] {
        bench.set(reset, "memory.min", "0");
        let at = bench.sample.at.get().as_secs() + 10;
        bench.look(at);
        let cgroup = bench.sample.groups.protected[0];
        assert_eq!(
            (cgroup.ours, cgroup.floor),
            (Some(Bytes::mib(24)), Bytes::ZERO),
            "{reset}"
        );
        bench.keep(SSH, 24).unwrap();
        assert_eq!(bench.get(reset, "memory.min"), (24 * MIB).to_string());
    }
}

#[test]
fn a_limit_that_refuses_is_tried_once() {
    let mut bench = protected(&["ssh.service"]);
    // Above: the kernel takes it there. Below: it does not.
    let path = bench.file(SSH, "memory.min");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    assert!(bench.keep(SSH, 24).is_err());
    assert_eq!(bench.get("system.slice", "memory.min"), "0");
    bench.look(200);
    assert!(bench.sample.groups.protected.is_empty());
}

#[test]
fn what_cannot_be_put_back_now_is_put_back_at_the_end_or_by_the_next_guard() {
    let mut bench = protected(&["ssh.service"]);
    bench.keep(SSH, 24).unwrap();
    bench.throttle(400).unwrap();
    let min = bench.file(SSH, "memory.min");
    let high = bench.file(HOG, "memory.high");
    let away = |path: &Path| {
        fs::rename(path, path.with_extension("away")).unwrap();
        std::os::unix::fs::symlink("/dev/null", path).unwrap();
    };
    let again = |path: &Path| fs::rename(path.with_extension("away"), path).unwrap();
    away(&min);
    away(&high);
    bench.look(110);
    assert!(
        bench.sample.groups.throttled.is_empty() && bench.sample.groups.protected.is_empty(),
        "neither can be read"
    );
    assert!(
        bench.places.run.join("undo").exists(),
        "but both are still ours"
    );
    again(&min);
    again(&high);
    let mut restored = Restored::default();
    bench.groups.restore(&mut bench.log, &mut restored);
    assert_eq!(restored.back.len(), 2, "{restored}");
    assert_eq!(
        (bench.get(SSH, "memory.min"), bench.get(HOG, "memory.high")),
        ("0".to_owned(), "max".to_owned())
    );
}

#[test]
fn our_own_group_is_never_contained() {
    let mut bench = Bench::new();
    let mut candidate = |path: &str| {
        let group = Group {
            id: bench.id(path),
            used: Bytes::mib(40),
            ..Group::default()
        };
        bench.sample.scan = scan(group);
        bench.look(100);
        bench.sample.scan.candidates[0].group.unwrap().used
    };
    assert_eq!(candidate("system.slice/warmsetd.service"), Bytes::ZERO);
    assert_eq!(
        candidate("system.slice"),
        Bytes::ZERO,
        "nor what is above it"
    );
    assert_eq!(candidate(HOG), Bytes::mib(40));
}

fn scan(group: Group) -> ProcessScan {
    let candidate = Candidate {
        identity: Identity { pid: 5, start: 5 },
        age: Span::default(),
        name: Name::new(),
        program: None,
        unit: UnitName::new(),
        place: Place::Service,
        user: 0,
        resident: Bytes::ZERO,
        mapped: None,
        swapped: Bytes::ZERO,
        oom_score_adj: 0,
        mark: Mark::None,
        group: Some(group),
        ..Candidate::default()
    };
    ProcessScan {
        candidates: [candidate].into_iter().collect(),
        ..ProcessScan::default()
    }
}
