//! From a path that a person named to its files, where others may change what is on the way.
//!
//! - No symbolic link is followed, at any place of the path: a user that may write to a directory on it cannot lead elsewhere.
//! - No file system is entered that could have to wait for a server, or that a visit mounts: the mounts are read first,
//!   and a path that leads over one of another kind is refused before it is looked at.
//! - What is found is held by an `O_PATH` descriptor, by which nothing is opened, until it is known to be a plain file.
//!   Then that very file is opened.
//!
//! Paths are those of the first process, where that may be asked: a service has mounts of its own, such as another `/tmp`.

use host::filesystems::is_local_name;
use host::parse::mounts::mounts;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Statx, StatxFlags, makedev, open, openat, statx,
};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Directories that are open at once, each in the one before: far more than a person makes, and a descriptor each.
const DEEPEST: usize = 64;
/// Kinds of file systems that a path may lead over, beside those of local disks: they answer by themselves.
const ANSWERS: [&str; 4] = ["overlay", "tmpfs", "ramfs", "rootfs"];
/// To look at something without opening it.
const TO_LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// To list a directory.
const TO_LIST: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// All files of the machine, by their paths.
#[derive(Debug)]
pub(crate) struct Tree {
    root: OwnedFd,
    /// Where each is mounted and of what kind it is; of two at one place the later one answers.
    mounts: Vec<(PathBuf, String)>,
}

/// A plain file, as it was seen: not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plain {
    /// Device and inode, as `stat` has them.
    pub(crate) key: (u64, u64),
    /// Its length in bytes.
    pub(crate) size: u64,
}

/// What is at a path.
#[derive(Debug)]
pub(crate) enum There {
    /// A plain file.
    File(Plain),
    /// A directory.
    Directory(Walk),
}

/// A way through a directory and all below it, step by step.
#[derive(Debug)]
pub(crate) struct Walk {
    /// The directories that are open, each with its path.
    open: Vec<(Dir, PathBuf)>,
    /// File systems below it, which it does not enter.
    points: Vec<PathBuf>,
    /// Directories that could not be listed, or were too deep.
    pub(crate) left_out: u64,
}

impl Tree {
    /// The tree as it is mounted now.
    pub(crate) fn now() -> std::io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let of_first = open("/proc/1/root", flags, Mode::empty());
        let (root, text) = match of_first {
            Ok(root) => (root, std::fs::read("/proc/1/mountinfo")?),
            // Not allowed, as in a test that is not run by root: then as this process has it.
            Err(_) => (
                open("/", flags, Mode::empty())?,
                std::fs::read("/proc/self/mountinfo")?,
            ),
        };
        let mounts = mounts(&text)
            .into_iter()
            .map(|mount| (mount.point, mount.kind))
            .collect();
        Ok(Self { root, mounts })
    }

    /// What is at an absolute path; the error is a sentence that says why nothing there can be held.
    pub(crate) fn look(&self, path: &Path) -> Result<There, String> {
        let (place, stat) = self.find(path)?;
        match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::RegularFile => Ok(There::File(Plain::of(&stat))),
            FileType::Directory => {
                let directory = list(place.as_fd(), c".").map_err(|error| error.to_string())?;
                let points = self.mounts.iter().map(|(point, _)| point);
                Ok(There::Directory(Walk {
                    open: vec![(directory, path.to_owned())],
                    points: points
                        .filter(|point| point.starts_with(path))
                        .cloned()
                        .collect(),
                    left_out: 0,
                }))
            }
            _ => Err("it is neither a plain file nor a directory".to_owned()),
        }
    }

    /// Opens the file that was seen at a path, if it still is the one there.
    pub(crate) fn open(&self, path: &Path, seen: Plain) -> Result<File, String> {
        let (place, stat) = self.find(path)?;
        let is_file = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::RegularFile;
        if !is_file || Plain::of(&stat).key != seen.key {
            return Err("it was replaced just now".to_owned());
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let path = format!("/proc/self/fd/{}", place.as_raw_fd());
        let opened = openat(CWD, path, flags, Mode::empty());
        opened
            .map(File::from)
            .map_err(|error| format!("it cannot be opened: {error}"))
    }

    fn find(&self, path: &Path) -> Result<(OwnedFd, Statx), String> {
        self.check_mounts(path)?;
        let root = self.root.try_clone();
        let mut place = root.map_err(|error| error.to_string())?;
        let mut stat = look_at(place.as_fd(), c"", AtFlags::EMPTY_PATH)
            .map_err(|error| format!("/: {error}"))?;
        let mut so_far = PathBuf::from("/");
        for part in path.components() {
            let Component::Normal(name) = part else {
                continue;
            };
            so_far.push(name);
            let failed = |error: Errno| match error {
                Errno::NOENT => "it is not there".to_owned(),
                error => format!("{}: {error}", so_far.display()),
            };
            place = openat(place.as_fd(), name, TO_LOOK, Mode::empty()).map_err(failed)?;
            stat = look_at(place.as_fd(), c"", AtFlags::EMPTY_PATH).map_err(failed)?;
            if FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Symlink {
                let link = so_far.display();
                return Err(format!("{link} is a symbolic link: name what it leads to"));
            }
        }
        Ok((place, stat))
    }

    /// Refuses a path that leads over a file system that could wait, or ends on none of a local disk.
    fn check_mounts(&self, path: &Path) -> Result<(), String> {
        let on_the_way = path.ancestors().filter_map(|part| {
            let mut at = self.mounts.iter().rev();
            at.find(|(point, _)| point == part)
        });
        for (place, (point, kind)) in on_the_way.enumerate() {
            let is_last = place == 0;
            let answers = ANSWERS.contains(&kind.as_str()) && !is_last;
            if !is_local_name(kind.as_bytes()) && !answers {
                let point = point.display();
                return Err(format!(
                    "it is on {point}, which is {kind}: files are held on local disks only"
                ));
            }
        }
        Ok(())
    }
}

impl Plain {
    fn of(stat: &Statx) -> Self {
        Self {
            key: (
                makedev(stat.stx_dev_major, stat.stx_dev_minor),
                stat.stx_ino,
            ),
            size: stat.stx_size,
        }
    }
}

impl Walk {
    /// Looks at the next thing that is there, and hands over the path of a plain file that is not empty. Returns false at
    /// the end.
    pub(crate) fn step(&mut self, found: &mut dyn FnMut(PathBuf, Plain)) -> bool {
        let Some((directory, path)) = self.open.last_mut() else {
            return false;
        };
        let entry = match directory.read() {
            Some(Ok(entry)) => entry,
            Some(Err(_)) => {
                self.left_out += 1;
                self.open.pop();
                return true;
            }
            None => {
                self.open.pop();
                return true;
            }
        };
        let name = entry.file_name();
        if name == c"." || name == c".." {
            return true;
        }
        let path = path.join(OsStr::from_bytes(name.to_bytes()));
        if self.points.contains(&path) {
            return true;
        }
        let Some((directory, _)) = self.open.last() else {
            return false;
        };
        let Ok(at) = directory.fd() else {
            self.left_out += 1;
            return true;
        };
        // What has gone meanwhile is none.
        let Ok(stat) = look_at(at, name, AtFlags::SYMLINK_NOFOLLOW) else {
            return true;
        };
        match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::RegularFile if stat.stx_size > 0 => found(path, Plain::of(&stat)),
            FileType::Directory => match list(at, name) {
                Ok(below) if self.open.len() < DEEPEST => self.open.push((below, path)),
                _ => self.left_out += 1,
            },
            _ => {}
        }
        true
    }
}

fn list(at: BorrowedFd<'_>, name: &CStr) -> Result<Dir, Errno> {
    Dir::new(openat(at, name, TO_LIST, Mode::empty())?)
}

/// Asks no server, and mounts nothing.
fn look_at(at: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> Result<Statx, Errno> {
    let flags = flags | AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    statx(at, name, flags, StatxFlags::BASIC_STATS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn refused(path: &Path) -> String {
        Tree::now().unwrap().look(path).unwrap_err()
    }

    #[test]
    fn a_plain_file_is_seen_and_opened_unless_another_took_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("file");
        std::fs::write(&path, "12345").unwrap();
        let tree = Tree::now().unwrap();
        let There::File(seen) = tree.look(&path).unwrap() else {
            panic!("a file");
        };
        assert_eq!(seen.size, 5);
        assert_eq!(tree.open(&path, seen).unwrap().metadata().unwrap().len(), 5);
        std::fs::write(directory.path().join("other"), "x").unwrap();
        std::fs::rename(directory.path().join("other"), &path).unwrap();
        let error = tree.open(&path, seen).unwrap_err();
        assert!(error.contains("replaced"), "{error}");
    }

    #[test]
    fn links_pipes_and_what_is_not_there_are_refused_without_a_wait() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().canonicalize().unwrap();
        std::fs::create_dir(directory.join("real")).unwrap();
        std::fs::write(directory.join("real/file"), "x").unwrap();
        symlink(directory.join("real"), directory.join("link")).unwrap();
        let on_the_way = refused(&directory.join("link/file"));
        assert!(
            on_the_way.contains("link is a symbolic link"),
            "{on_the_way}"
        );
        symlink("real/file", directory.join("last")).unwrap();
        assert!(refused(&directory.join("last")).contains("symbolic link"));
        assert_eq!(refused(&directory.join("none")), "it is not there");
        // Without a writer, opening it would wait for ever.
        let pipe = directory.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert!(refused(&pipe).contains("neither"));
    }

    #[test]
    fn a_path_over_a_file_system_that_could_wait_is_refused_before_it_is_looked_at() {
        let on = |text: &[(&str, &str)], path: &str| {
            let tree = Tree {
                root: open("/", OFlags::PATH, Mode::empty()).unwrap(),
                mounts: text
                    .iter()
                    .map(|(point, kind)| (PathBuf::from(point), (*kind).to_owned()))
                    .collect(),
            };
            tree.check_mounts(Path::new(path))
        };
        let mounts = [
            ("/", "ext4"),
            ("/net", "autofs"),
            ("/net/disk", "ext4"),
            ("/run", "tmpfs"),
            ("/run/media", "xfs"),
            ("/srv", "ext4"),
            ("/srv", "nfs4"),
        ];
        assert_eq!(on(&mounts, "/home/file"), Ok(()));
        assert_eq!(on(&mounts, "/run/media/file"), Ok(()));
        assert!(on(&mounts, "/run/file").unwrap_err().contains("tmpfs"));
        assert!(
            on(&mounts, "/net/disk/file")
                .unwrap_err()
                .contains("autofs")
        );
        assert!(on(&mounts, "/srv/file").unwrap_err().contains("nfs4"));
    }

    #[test]
    fn a_walk_finds_plain_files_below_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(directory.join("a/b")).unwrap();
        for name in ["one", "a/two", "a/b/three"] {
            std::fs::write(directory.join(name), name).unwrap();
        }
        std::fs::write(directory.join("empty"), "").unwrap();
        symlink("/", directory.join("a/all")).unwrap();
        let There::Directory(mut walk) = Tree::now().unwrap().look(&directory).unwrap() else {
            panic!("a directory");
        };
        let mut found = Vec::new();
        while walk.step(&mut |path, _| found.push(path)) {}
        found.sort();
        assert_eq!(
            found,
            ["a/b/three", "a/two", "one"].map(|name| directory.join(name))
        );
        assert_eq!(walk.left_out, 0);
    }
}
