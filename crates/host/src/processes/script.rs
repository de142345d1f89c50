//! Which script an interpreter runs: `/usr/bin/python3 /usr/bin/qtile start` is known as `qtile`.
//!
//! Only root's interpreters and root's scripts count, as for programs. The command line is a process's own memory, and a
//! process may write another text there. So what a script earns, a process that means harm can have; a hog that is only
//! careless cannot.

use super::table;
use super::trust::Trust;
use crate::parse::process::printable;
use pressure::scan::Name;
use pressure::scan::unwrapped;
use rustix::fd::BorrowedFd;
use rustix::fs::{Mode, OFlags};
use std::path::Path;

/// The beginning of a command line that is read.
pub(super) const LONGEST: usize = 4096;

/// An interpreter without its version, and the options in front of a script that take no argument. Any other option may
/// be followed by a path that is not the script.
const INTERPRETERS: &[(&str, &[u8])] = &[
    ("python", b"bBdEIOPqRsSuvx"),
    ("pypy", b"bBdEIOPqRsSuvx"),
    ("perl", b"tTwWX"),
    ("ruby", b"w"),
    ("node", b""),
    ("nodejs", b""),
    ("lua", b""),
    ("gjs", b""),
    ("gjs-console", b""),
    ("sh", b"efhuvx"),
    ("ash", b"efhuvx"),
    ("bash", b"efhpuvx"),
    ("dash", b"efhuvx"),
    ("zsh", b"efuvx"),
];

/// The options of an interpreter by the name of its file, such as `python3.12`; `None` if it is none.
fn options_of(program: &str) -> Option<&'static [u8]> {
    let is_version = |letter: char| letter.is_ascii_digit() || letter == '.';
    let name = program.trim_end_matches(is_version);
    let found = INTERPRETERS.iter().find(|(known, _)| *known == name);
    found.map(|(_, options)| *options)
}

/// Whether programs of this name run scripts.
pub(super) fn is_interpreter(program: &str) -> bool {
    options_of(program).is_some()
}

/// The first argument, if it is the absolute path of a script for certain.
fn script_of<'c>(program: &str, command: &'c [u8]) -> Option<&'c [u8]> {
    let options = options_of(program)?;
    let mut arguments = command.split(|byte| *byte == 0).skip(1);
    loop {
        let argument = arguments.next()?;
        if argument == b"--" {
            return arguments.next().filter(|path| path.starts_with(b"/"));
        }
        let Some(letters) = argument.strip_prefix(b"-") else {
            return argument.starts_with(b"/").then_some(argument);
        };
        let is_harmless = letters.iter().all(|letter| options.contains(letter));
        if letters.is_empty() || !is_harmless {
            return None;
        }
    }
}

/// Base name of the script that root's interpreter `program` runs, if root owns that, too, and no one else may write to
/// it.
pub(super) fn script(root: &Path, program: &str, command: &[u8]) -> Option<Name> {
    let path = script_of(program, command)?;
    Trust::of(root)?.file(path)?;
    let name = path.rsplit(|byte| *byte == b'/').next()?;
    Some(printable(unwrapped(name)))
}

/// The command line of a process, as far as `buffer` goes. The kernel takes a lock of the process for it, so it is read
/// once, when a handle is opened.
pub(super) fn command<'b>(process: BorrowedFd<'_>, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::openat(process, "cmdline", flags, Mode::empty()).ok()?;
    table::read(file, buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(program: &str, command: &str) -> Option<String> {
        let script = script_of(program, command.as_bytes())?;
        Some(String::from_utf8_lossy(script).into_owned())
    }

    #[test]
    fn the_script_is_the_first_argument_that_is_no_option() {
        for (program, command) in [
            ("python3", "python3\0/usr/bin/qtile\0start\0"),
            ("python3.12", "python3\0-sE\0-u\0/usr/bin/qtile\0"),
            ("python2.7", "x\0--\0/usr/bin/qtile\0"),
            ("perl5.36.0", "perl\0-w\0/usr/bin/qtile"),
            ("bash", "bash\0-e\0/usr/bin/qtile\0/home/me/x\0"),
            ("node", "node\0/usr/bin/qtile\0"),
        ] {
            let script = found(program, command);
            assert_eq!(script.as_deref(), Some("/usr/bin/qtile"), "{command:?}");
        }
        for (program, command) in [
            ("python3", "python3\0evil.py\0/usr/bin/qtile\0"),
            ("python3", "python3\0-c\0import x\0/usr/bin/qtile\0"),
            ("python3", "python3\0-m\0x\0/usr/bin/qtile\0"),
            ("python3", "python3\0-X\0/usr/bin/qtile\0evil.py\0"),
            ("python3", "python3\0-\0/usr/bin/qtile\0"),
            ("node", "node\0--require\0/usr/bin/qtile\0evil.js\0"),
            ("bash", "bash\0-c\0/usr/bin/qtile\0"),
            ("python3", "/usr/bin/qtile\0"),
            ("python3", ""),
            ("qtile", "x\0/usr/bin/qtile\0"),
            ("pythonic", "x\0/usr/bin/qtile\0"),
        ] {
            assert_eq!(found(program, command), None, "{command:?}");
        }
    }

    #[test]
    fn a_script_is_known_by_its_name_if_it_is_roots() {
        let machine = tempfile::tempdir().unwrap();
        let root = machine.path();
        let write = |path: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        write("usr/bin/.qtile-wrapped");
        write("home/me/qtile");
        let anyones = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(root.join("home/me"), anyones).unwrap();
        let name = |path: &str| {
            let command = format!("python3\0{path}\0");
            let script = script(root, "python3", command.as_bytes());
            script.map(|name| name.to_string())
        };
        assert_eq!(name("/usr/bin/.qtile-wrapped").as_deref(), Some("qtile"));
        assert_eq!(name("/home/me/qtile"), None);
        assert_eq!(name("/usr/bin/gone"), None);
    }

    proptest! {
        #[test]
        fn any_command_line_is_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = script_of("bash", &bytes);
        }
    }
}
