//! Limits of control groups in the undo log: a line names the group's directory, its inode and the file.
//!
//! ```text
//! sys/fs/cgroup/system.slice/ssh.service/memory.min<TAB>4711<TAB>0<TAB>25165824<TAB>0
//! ```
//!
//! A cgroup's name may hold any byte but `/` and a newline, so what is not plain is written as `%` and two digits. A group
//! that was removed took its limits along, and another that has its name since has another inode: nothing is put back then.

use super::Held;
use crate::writes;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// How the kernel prints "no limit".
const MAX: &str = "max";
/// Where control groups of version 2 are.
const TOP: &str = "sys/fs/cgroup";

/// Which limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Memory that reclaim leaves.
    Min,
    /// Memory beyond which its tasks are slowed down.
    High,
    /// Whether its tasks are frozen: 1 or 0.
    Freeze,
}

impl Kind {
    pub(crate) const fn file(self) -> &'static str {
        match self {
            Self::Min => "memory.min",
            Self::High => "memory.high",
            Self::Freeze => "cgroup.freeze",
        }
    }

    /// The limit in the table of writes.
    const fn entry(self) -> writes::Entry {
        match self {
            Self::Min => writes::MEMORY_MIN,
            Self::High => writes::MEMORY_HIGH,
            Self::Freeze => writes::CGROUP_FREEZE,
        }
    }
}

/// One limit of one control group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limit {
    /// The group's directory, from the machine's root.
    pub(crate) directory: PathBuf,
    pub(crate) inode: u64,
    pub(crate) kind: Kind,
}

impl Limit {
    /// Its name in messages: the path of its file.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.directory.display(), self.kind.file())
    }

    /// The group's directory, if it is the one that was meant.
    pub(super) fn open(&self, root: &Path) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = match rustix::fs::open(root.join(&self.directory), flags, Mode::empty()) {
            Ok(directory) => directory,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok((rustix::fs::fstat(&directory)?.st_ino == self.inode).then_some(directory))
    }

    /// One line of the log.
    pub(super) fn line(&self, held: Held) -> String {
        let Held {
            found,
            ours,
            before,
        } = held;
        let directory = escaped(self.directory.as_os_str().as_bytes());
        format!(
            "{directory}/{}\t{}\t{found}\t{ours}\t{before}\n",
            self.kind.file(),
            self.inode
        )
    }

    /// The limit and its values in a line; `None` if it names no limit of a control group.
    pub(super) fn parse(line: &str) -> Option<(Self, Held)> {
        let mut words = line.split('\t');
        let path = PathBuf::from(std::ffi::OsString::from_vec(plain(words.next()?)?));
        let kind = [Kind::Min, Kind::High, Kind::Freeze]
            .into_iter()
            .find(|kind| path.file_name() == Some(OsStr::new(kind.file())))?;
        let directory = path.parent()?.to_owned();
        let below = directory.strip_prefix(TOP).ok()?;
        if !below
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            return None;
        }
        let mut number = || words.next()?.parse().ok();
        let inode = number()?;
        let held = Held {
            found: number()?,
            ours: number()?,
            before: number()?,
        };
        if words.next().is_some() {
            return None;
        }
        let limit = Self {
            directory,
            inode,
            kind,
        };
        Some((limit, held))
    }
}

/// The value of a limit; [`u64::MAX`] for none. `None` if the group is gone.
pub(crate) fn read(directory: impl AsFd, kind: Kind) -> io::Result<Option<u64>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut text = String::new();
    match rustix::fs::openat(directory, kind.file(), flags, Mode::empty()) {
        Ok(file) => match std::fs::File::from(file).take(64).read_to_string(&mut text) {
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
            Ok(_) => value(text.trim())
                .map(Some)
                .ok_or_else(|| io::Error::other(format!("{text:?} is no limit"))),
        },
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NODEV) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sets a limit. It does not wait for memory to be reclaimed where the kernel can be told so (6.16), and the values that
/// are written leave nothing to reclaim.
pub(crate) fn write(directory: impl AsFd, kind: Kind, to: u64) -> io::Result<()> {
    let flags = OFlags::TRUNC | OFlags::NONBLOCK;
    let file = kind.entry().open_at(directory, kind.file(), flags)?;
    std::fs::File::from(file).write_all(shown(to).as_bytes())
}

/// As the kernel prints it.
pub(crate) fn shown(value: u64) -> String {
    if value == u64::MAX {
        MAX.to_owned()
    } else {
        value.to_string()
    }
}

fn value(text: &str) -> Option<u64> {
    if text == MAX {
        Some(u64::MAX)
    } else {
        text.parse().ok()
    }
}

/// Whether the kernel says that the group was removed.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    let code = rustix::io::Errno::from_io_error(error);
    matches!(
        code,
        Some(rustix::io::Errno::NODEV | rustix::io::Errno::NOENT)
    )
}

fn escaped(bytes: &[u8]) -> String {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'%';
    let one = |byte: &u8| {
        if is_plain(*byte) {
            char::from(*byte).to_string()
        } else {
            format!("%{byte:02x}")
        }
    };
    bytes.iter().map(one).collect()
}

fn plain(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(first);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HELD: Held = Held {
        found: 0,
        ours: 25,
        before: u64::MAX,
    };

    fn limit(directory: &[u8]) -> Limit {
        Limit {
            directory: PathBuf::from(OsStr::from_bytes(directory)),
            inode: 4711,
            kind: Kind::Min,
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written_whatever_the_name() {
        for name in [
            "ssh.service",
            "a b\tc%20\\x2d",
            "dev-disk\u{202e}.service",
            "a\r",
        ] {
            let limit = limit(format!("sys/fs/cgroup/system.slice/{name}").as_bytes());
            let line = limit.line(HELD);
            assert_eq!(line.matches('\n').count(), 1);
            assert_eq!(
                Limit::parse(line.trim_end_matches('\n')),
                Some((limit, HELD)),
                "{line:?}"
            );
        }
    }

    #[test]
    fn nothing_but_a_limit_below_the_control_groups_is_named() {
        for line in [
            "sys/fs/cgroup/a/../../../etc/memory.min\t1\t0\t1\t0",
            "etc/memory.min\t1\t0\t1\t0",
            "sys/fs/cgroup/a/cgroup.procs\t1\t0\t1\t0",
            "sys/fs/cgroup/a/memory.min\t1\t0\t1",
            "sys/fs/cgroup/a/memory.min\t1\t0\t1\t0\t0",
            "sys/fs/cgroup/a/memory.min%\t1\t0\t1\t0",
            "sys/fs/cgroup/a/%2e%2e/%2e%2e/b/memory.min\t1\t0\t1\t0",
            "/sys/fs/cgroup/a/memory.min\t1\t0\t1\t0",
        ] {
            assert_eq!(Limit::parse(line), None, "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn any_name_comes_back(name in prop::collection::vec(1_u8..=255, 1..40)) {
            let name: Vec<u8> = name.into_iter().map(|byte| if byte == b'/' { b'x' } else { byte }).collect();
            prop_assume!(name != b"." && name != b"..");
            let limit = limit(&[b"sys/fs/cgroup/", &name[..]].concat());
            let line = limit.line(HELD);
            prop_assert_eq!(Limit::parse(line.strip_suffix('\n').unwrap()), Some((limit, HELD)));
        }
    }
}
