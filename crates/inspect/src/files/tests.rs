use super::*;
use host::system_calls::resident_pages;
use rustix::fs::{Advice, CWD, FileType, Mode, fadvise, mknodat};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use testsupport::cached_files::{PAGE, on_disk, partly, written};

fn options(by: By, limit: usize) -> Options {
    Options {
        by,
        limit,
        crossing: Crossing::Never,
        changes: Changes::Wanted,
    }
}

/// Drops so many pages from the first on.
fn drop_pages(file: &File, pages: u64) {
    let length = std::num::NonZeroU64::new(pages * PAGE);
    fadvise(file, 0, length, Advice::DontNeed).unwrap();
}

fn look(paths: &[PathBuf], by: By, limit: usize) -> Report {
    let mut watched = Watched::of(Path::new("/"), options(by, limit));
    watched.paths(paths, &mut |_| {}).unwrap()
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "it is compared with what may be unknown"
)]
fn pages(count: u64) -> Option<Bytes> {
    Some(Bytes::new(count * PAGE))
}

#[test]
fn what_is_resident_is_told_as_mincore_does_and_nothing_is_brought_in() {
    let place = on_disk();
    let whole = written(&place.path().join("whole"), 10);
    let part = partly(&place.path().join("part"), 100, 60);
    let none = partly(&place.path().join("none"), 20, 0);
    fs::create_dir(place.path().join("below")).unwrap();
    written(&place.path().join("below/it"), 1);
    File::create(place.path().join("empty")).unwrap();
    let report = look(&[place.path().to_owned()], By::File, 100);
    let rows: Vec<_> = report
        .rows
        .iter()
        .map(|row| {
            (
                row.path.file_name().unwrap().to_str().unwrap(),
                row.totals.resident,
            )
        })
        .collect();
    let expected = [
        ("part", pages(60)),
        ("whole", pages(10)),
        ("it", pages(1)),
        ("none", pages(0)),
        ("empty", pages(0)),
    ];
    assert_eq!(rows, expected);
    for (file, size, resident) in [(&whole, 10, 10), (&part, 100, 60), (&none, 20, 0)] {
        assert_eq!(
            resident_pages(file, size).unwrap(),
            resident,
            "after the look"
        );
    }
    let total = report.total;
    assert_eq!((total.files, total.untold), (5, 0));
    assert_eq!(total.size, Bytes::new(131 * PAGE));
    assert_eq!(total.resident, pages(71));
    assert_eq!(total.whole, Bytes::new(131 * PAGE));
    assert_eq!(report.left_out, LeftOut::default());
}

#[test]
fn by_directory_all_of_a_path_is_told_by_what_is_directly_below_it() {
    let place = on_disk();
    let deep = place.path().join("a/b/c");
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir(place.path().join("z")).unwrap();
    written(&deep.join("x"), 2);
    written(&place.path().join("a/y"), 3);
    written(&place.path().join("z/x"), 1);
    written(&place.path().join("own"), 4);
    let report = look(&[place.path().to_owned()], By::Directory, 100);
    let rows: Vec<_> = report
        .rows
        .iter()
        .map(|row| (row.path.clone(), row.totals.files, row.totals.resident))
        .collect();
    let root = place.path().canonicalize().unwrap();
    let expected = [
        (root.join("a"), 2, pages(5)),
        (root.clone(), 1, pages(4)),
        (root.join("z"), 1, pages(1)),
    ];
    assert_eq!(rows, expected);
    let report = look(&[place.path().to_owned()], By::Mount, 100);
    assert_eq!(report.rows.len(), 1);
    assert_eq!(report.rows[0].totals.resident, pages(10));
    assert!(root.starts_with(&report.rows[0].path), "{report:?}");
}

#[test]
fn what_is_no_file_is_left_out_and_said_and_nothing_waits() {
    let place = on_disk();
    let path = |name: &str| place.path().join(name);
    mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    symlink(".", path("loop")).unwrap();
    symlink("gone", path("nowhere")).unwrap();
    let odd = place
        .path()
        .join(std::ffi::OsStr::from_bytes(b"\x1b]0;x\x07\n\xff"));
    written(&odd, 1);
    fs::hard_link(&odd, path("again")).unwrap();
    let report = look(&[place.path().to_owned()], By::File, 100);
    assert_eq!(report.total.files, 1);
    for (why, count) in [(Why::Special, 1), (Why::Link, 2), (Why::Again, 1)] {
        assert_eq!(report.left_out.count(why), count, "{why:?}");
    }
    // Twice the same path, and one below it: each file once.
    let both = [
        place.path().to_owned(),
        path("again"),
        place.path().to_owned(),
    ];
    assert_eq!(look(&both, By::File, 100).total.files, 1);
    let mut watched = Watched::of(Path::new("/"), options(By::File, 1));
    for (name, says) in [
        ("fifo", "FIFO"),
        ("gone", "no such file"),
        ("nowhere", "no such file"),
    ] {
        let error = watched.paths(&[path(name)], &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    symlink("turn", path("turn")).unwrap();
    assert!(
        watched.paths(&[path("turn")], &mut |_| {}).is_err(),
        "a loop"
    );
}

#[test]
fn a_directory_of_100_000_files_is_walked_with_the_memory_of_few_rows() {
    let place = on_disk();
    for index in 0..100_000 {
        File::create(place.path().join(format!("{index:05}"))).unwrap();
    }
    let mut calls = 0;
    let mut options = options(By::File, 7);
    options.changes = Changes::NotWanted;
    let mut watched = Watched::of(Path::new("/"), options);
    let report = watched
        .paths(&[place.path().to_owned()], &mut |_| calls += 1)
        .unwrap();
    assert_eq!((report.total.files, report.more), (100_000, 99_993));
    let names: Vec<_> = report
        .rows
        .iter()
        .filter_map(|row| row.path.to_str())
        .collect();
    assert_eq!(names.len(), 7);
    assert!(
        names[0].ends_with("00000") && names[6].ends_with("00006"),
        "{names:?}"
    );
    assert_eq!(calls, 100_000 / 1024);
    assert_eq!(watched.before, None);
}

/// A directory that is changed all the time while it is walked.
#[test]
fn files_that_vanish_and_change_are_no_failure() {
    let place = on_disk();
    let stays = place.path().join("stays");
    written(&stays, 1);
    let turning = place.path().join("turning");
    let end = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !end.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = fs::write(&turning, "x");
                let _ = fs::remove_file(&turning);
                let _ = mknodat(CWD, &turning, FileType::Fifo, Mode::RUSR, 0);
                let _ = fs::remove_file(&turning);
                let _ = symlink("/dev/zero", &turning);
                let _ = fs::remove_file(&turning);
            }
        });
        for _ in 0..300 {
            let report = look(&[place.path().to_owned()], By::File, 9);
            let is_there = report.rows.iter().any(|row| row.path.ends_with("stays"));
            assert!(is_there, "{report:?}");
            assert!(report.total.files <= 2, "{report:?}");
        }
        end.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_second_look_tells_what_came_and_went() {
    let place = on_disk();
    let path = place.path().join("file");
    let file = partly(&path, 50, 50);
    let other = place.path().join("other");
    written(&other, 5);
    let mut watched = Watched::of(Path::new("/"), options(By::File, 9));
    let paths = [place.path().to_owned()];
    let first = watched.paths(&paths, &mut |_| {}).unwrap();
    assert_eq!(first.total.came, None);
    drop_pages(&file, 20);
    // In this order: a file that takes the inode of a removed one is the same file to a look.
    written(&place.path().join("new"), 3);
    fs::remove_file(&other).unwrap();
    let second = watched.paths(&paths, &mut |_| {}).unwrap();
    assert_eq!(
        (second.total.came, second.total.went),
        (pages(3), pages(25))
    );
    let row = &second.rows[0];
    assert_eq!((row.totals.came, row.totals.went), (pages(0), pages(20)));
}

/// A process that has files open.
struct Holder(Child);

impl Holder {
    fn of(script: &str, directory: &Path) -> Self {
        let child = Command::new("sh")
            .args(["-c", &format!("{script}; echo ready; exec sleep 1000")])
            .current_dir(directory)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut holder = Self(child);
        let mut line = [0; 6];
        std::io::Read::read_exact(holder.0.stdout.as_mut().unwrap(), &mut line).unwrap();
        holder
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn of_processes_each_file_that_is_open_or_mapped_is_told_once() {
    let place = on_disk();
    written(&place.path().join("data"), 10);
    written(&place.path().join("removed"), 3);
    let script = "exec 5<data 6<data 7<removed 8<.; rm removed";
    let one = Holder::of(script, place.path());
    written(&place.path().join("removed"), 3);
    let two = Holder::of(script, place.path());
    let mut watched = Watched::of(Path::new("/"), options(By::File, 1000));
    let pids = [one.0.id(), two.0.id()];
    let report = watched.processes(&pids, &mut |_| {}).unwrap();
    let ending = |end: &str| {
        let rows = report.rows.iter();
        let found = rows.filter(|row| row.path.to_string_lossy().ends_with(end));
        found.map(|row| row.totals.resident).collect::<Vec<_>>()
    };
    assert_eq!(ending("/data"), [pages(10)]);
    assert_eq!(
        ending("/removed (deleted)"),
        [pages(3), pages(3)],
        "{report:?}"
    );
    let libraries = report
        .rows
        .iter()
        .filter(|row| {
            let path = row.path.to_string_lossy();
            path.contains("libc.so") || path.contains("libc-2")
        })
        .count();
    assert_eq!(libraries, 1, "the mapped library, once: {report:?}");
    assert!(report.left_out.count(Why::Special) > 0, "a pipe, /dev/null");
    let by = Watched::of(Path::new("/"), options(By::Directory, 1000))
        .processes(&pids, &mut |_| {})
        .unwrap();
    let own = place.path().canonicalize().unwrap();
    let row = by.rows.iter().find(|row| row.path == own).unwrap();
    assert_eq!((row.totals.files, row.totals.resident), (3, pages(16)));
    // A process that is not there.
    assert!(watched.processes(&[u32::MAX], &mut |_| {}).is_err());
    let report = watched
        .processes(&[u32::MAX, one.0.id()], &mut |_| {})
        .unwrap();
    assert!(
        report.left_out.count(Why::Vanished) > 0,
        "{:?}",
        report.left_out
    );
}
