//! Whether a process runs code that is not root's inside a program that is.
//!
//! `LD_PRELOAD=/home/me/hog.so gnome-shell` runs root's file and holds a user's memory. So for a process of a person's that
//! would be exempt by what it runs, its executable mappings and the variables that add code are looked at.
//!
//! What is not seen: code that is made at run time, as script engines do; and code in a memfd, as libffi and graphics
//! drivers put it there. Nor is what a process does with root's code by its own settings.
//!
//! Cost: some hundred files looked up, about a millisecond, once for each handle. The kernel takes a lock of the process for
//! it.

use super::trust::Trust;
use crate::parse::lines::{each_line, number, words};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The beginning of `maps` that is read. A large desktop shell has 200 KiB.
const LONGEST_MAPS: usize = 256 * 1024;
/// The beginning of `environ` that is read: ten times what a session has.
const LONGEST_ENVIRONMENT: u64 = 32 * 1024;
/// Maps are read in pieces of so many bytes; the path of a file has 4 KiB at most.
const PIECE: usize = 8192;
/// A file that is gone from its path: an upgrade replaced it.
const REPLACED: &[u8] = b" (deleted)";
/// Mappings of no file: drivers and run-time libraries make code there.
const WITHOUT_FILE: &[&[u8]] = &[
    b"/memfd:",
    b"/SYSV",
    b"/anon_hugepage",
    b"/dev/zero",
    b"/dev/dri/",
    b"/dev/nvidia",
];
/// Variables with files that the dynamic linker loads.
const FILES: &[&[u8]] = &[b"LD_PRELOAD", b"LD_AUDIT"];
/// Variables with directories from which an interpreter loads code before its own.
const DIRECTORIES: &[&[u8]] = &[
    b"PYTHONPATH",
    b"PYTHONHOME",
    b"PERL5LIB",
    b"RUBYLIB",
    b"NODE_PATH",
];

/// Whether a process runs code of a file that is not root's. What may not be read says nothing.
pub(super) fn runs_foreign_code(root: &Path, process: BorrowedFd<'_>) -> bool {
    let Some(mut trust) = Trust::of(root) else {
        return false;
    };
    let first = rustix::fs::open(
        root.join("proc/1"),
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    let of_first = first.ok().and_then(|first| mount_namespace(first.as_fd()));
    let sees = if mount_namespace(process) == of_first {
        Sees::WhatWeSee
    } else {
        Sees::ItsOwn
    };
    let maps = open(process, "maps");
    let environment = text(process, "environ").unwrap_or_default();
    maps.is_some_and(|maps| is_mapped(maps, sees, &mut trust))
        || is_asked_for(&environment, &mut trust)
}

/// Which mounts a process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sees {
    /// Those of the first process.
    WhatWeSee,
    /// Its own, where any file may be at any path.
    ItsOwn,
}

/// The kernel's name of a mount namespace; `None` if it is not told.
fn mount_namespace(process: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let link = rustix::fs::readlinkat(process, "ns/mnt", Vec::new()).ok()?;
    Some(link.into_bytes())
}

/// Whether an executable mapping is of a file that is not root's.
fn is_mapped(maps: impl Read, sees: Sees, trust: &mut Trust<'_>) -> bool {
    let mut is_foreign = false;
    each_line(maps, LONGEST_MAPS, &mut [0; PIECE], |line| {
        let mapped = executable(line).filter(|_| !is_foreign);
        if let Some((inode, path)) = mapped {
            is_foreign = !is_roots(path, inode, sees, trust);
        }
    });
    is_foreign
}

/// Whether a file that is mapped is root's.
fn is_roots(path: &[u8], inode: u64, sees: Sees, trust: &mut Trust<'_>) -> bool {
    match path.strip_suffix(REPLACED) {
        // The file cannot be looked up any more; only root had it there.
        Some(path) => sees == Sees::WhatWeSee && trust.is_in_system(path),
        None => trust
            .file(path)
            .is_some_and(|file| sees == Sees::WhatWeSee || file.stx_ino == inode),
    }
}

/// Inode and path of a mapping of a file that may be executed.
///
/// `7f0000-7f1000 r-xp 00000000 08:01 1234   /usr/lib/libc.so.6`
fn executable(line: &[u8]) -> Option<(u64, &[u8])> {
    let mut fields = words(line);
    let rights = fields.nth(1)?;
    let inode = fields.nth(2).and_then(number)?;
    let at = line.iter().position(|byte| *byte == b'/')?;
    let path = &line[at..];
    let is_file = inode != 0 && !WITHOUT_FILE.iter().any(|kind| path.starts_with(kind));
    (rights.get(2) == Some(&b'x') && is_file).then_some((inode, path))
}

/// Whether a variable adds code that is not root's.
fn is_asked_for(environment: &[u8], trust: &mut Trust<'_>) -> bool {
    for variable in environment.split(|byte| *byte == 0) {
        let Some(equals) = variable.iter().position(|byte| *byte == b'=') else {
            continue;
        };
        let name = &variable[..equals];
        let of_files = FILES.contains(&name);
        if !of_files && !DIRECTORIES.contains(&name) {
            continue;
        }
        let value = &variable[equals + 1..];
        let between = |byte: &u8| *byte == b':' || (of_files && *byte == b' ');
        for path in value.split(between) {
            // A name alone is found in the system's directories, and `$LIB` is one: then the maps tell.
            let is_plain = path.contains(&b'/') && !path.contains(&b'$');
            if is_plain && !is_systems(path, trust) {
                return true;
            }
        }
    }
    false
}

/// Whether only root can have put something at this path. If nothing is there, nobody else can put anything there.
fn is_systems(path: &[u8], trust: &mut Trust<'_>) -> bool {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    trust.file(path).is_some() || trust.is_roots_to_make(path)
}

/// The beginning of a file of a process.
fn text(process: BorrowedFd<'_>, name: &str) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let file = open(process, name)?;
    file.take(LONGEST_ENVIRONMENT).read_to_end(&mut text).ok()?;
    Some(text)
}

fn open(process: BorrowedFd<'_>, name: &str) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::openat(process, name, flags, Mode::empty()).ok()?;
    Some(File::from(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    /// A machine with a library of root's, and one of a person's.
    fn machine() -> tempfile::TempDir {
        let machine = tempfile::tempdir().unwrap();
        for path in ["usr/lib/libc.so.6", "home/me/hog.so", "usr/lib/python/x.py"] {
            let path = machine.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let anyones = fs::Permissions::from_mode(0o777);
        fs::set_permissions(machine.path().join("home/me"), anyones).unwrap();
        machine
    }

    fn maps(machine: &Path, maps: &str, sees: Sees) -> bool {
        is_mapped(maps.as_bytes(), sees, &mut Trust::of(machine).unwrap())
    }

    #[test]
    fn only_executable_mappings_of_files_count() {
        let machine = machine();
        let root = machine.path();
        let own = "55-56 r-xp 0 08:01 7 /usr/lib/libc.so.6\n57-58 rw-p 0 00:00 0 [heap]\n\
                   59-60 r--p 0 08:01 9 /home/me/font.ttf\n61-62 r-xp 0 00:00 0 [vdso]\n\
                   63-64 rwxp 0 00:01 3 /memfd:libffi (deleted)\n65-66 rwxp 0 00:00 0\n";
        assert!(!maps(root, own, Sees::WhatWeSee));
        for foreign in [
            "1-2 r-xp 0 08:01 8 /home/me/hog.so\n",
            "1-2 r-xp 0 08:01 8 /home/me/hog.so (deleted)\n",
            "1-2 r-xp 0 00:18 8 /dev/shm/hog.so\n",
            "1-2 r-xp 0 08:01 8 /usr/lib/gone.so\n",
            "1-2 r-xp 0 08:01 8 /usr/lib/../../home/me/hog.so\n",
            "1-2 r-xp 0 08:01 8 /tmp/\u{1b}[2J x\n",
        ] {
            assert!(
                maps(root, &format!("{own}{foreign}"), Sees::WhatWeSee),
                "{foreign}"
            );
        }
        let upgraded = "1-2 r-xp 0 08:01 8 /usr/lib/old.so (deleted)\n";
        assert!(!maps(root, upgraded, Sees::WhatWeSee));
        assert!(
            maps(root, upgraded, Sees::ItsOwn),
            "anything may have been there"
        );
    }

    #[test]
    fn with_mounts_of_its_own_a_file_must_be_the_one_that_we_see() {
        let machine = machine();
        let inode = fs::metadata(machine.path().join("usr/lib/libc.so.6"))
            .unwrap()
            .ino();
        let line = |inode: u64| format!("1-2 r-xp 0 08:01 {inode} /usr/lib/libc.so.6\n");
        assert!(!maps(machine.path(), &line(inode), Sees::ItsOwn));
        assert!(maps(machine.path(), &line(inode + 1), Sees::ItsOwn));
    }

    #[test]
    fn variables_that_add_a_persons_code_are_told() {
        let machine = machine();
        let adds = |text: &str| {
            let mut trust = Trust::of(machine.path()).unwrap();
            is_asked_for(text.as_bytes(), &mut trust)
        };
        assert!(!adds("HOME=/home/me\0PATH=/home/me/bin\0"));
        assert!(!adds("LD_PRELOAD=/usr/lib/libc.so.6 libjemalloc.so.2\0"));
        assert!(!adds("LD_PRELOAD=/usr/$LIB/nocsd.so\0LD_PRELOAD=\0"));
        assert!(!adds("PYTHONPATH=/usr/lib/python:/usr/lib/none/\0"));
        assert!(adds("A=b\0LD_PRELOAD=/usr/lib/libc.so.6:/home/me/hog.so\0"));
        assert!(adds("LD_AUDIT=./hog.so\0"));
        assert!(adds("LD_PRELOAD=/proc/self/fd/3\0"));
        assert!(adds("PYTHONPATH=/home/me\0"));
        assert!(!adds("LD_PRELOAD\0=/home/me/hog.so\0\u{1b}[2J\0"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let machine = machine();
            let mut trust = Trust::of(machine.path()).unwrap();
            let _ = is_mapped(&bytes[..], Sees::WhatWeSee, &mut trust);
            let _ = is_asked_for(&bytes, &mut trust);
        }
    }
}
