//! The program to record: found as a shell finds it, and refused with a reason.

use crate::ui::hinted::Hinted;
use anyhow::Result;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub(super) const VALGRIND: &str = "valgrind";

/// The bits of a mode by which a program takes its owner's or its group's rights.
const PRIVILEGED: u32 = 0o6000;

/// Checks that the program can be run, and returns where it is.
///
/// Errors: what is missing, with a hint.
pub(super) fn check(what: &[OsString]) -> Result<PathBuf> {
    let program = what.first().map(OsString::as_os_str).unwrap_or_default();
    if program.is_empty() {
        let hint = "such as: warmset trace -- ls -lR /usr";
        return Err(Hinted::new("no program is named", hint).into());
    }
    let path = find(program)?;
    refuse_privileged(&path)?;
    Ok(path)
}

/// Errors: a program with rights of its own, which the kernel gives to nothing that is observed.
fn refuse_privileged(path: &Path) -> Result<()> {
    let mode = std::fs::metadata(path)?.permissions().mode();
    if mode & PRIVILEGED == 0 {
        return Ok(());
    }
    let what = format!(
        "{}: set-user-ID or set-group-ID, which neither Valgrind nor QEMU can run",
        path.display()
    );
    let hint = "record what it starts, as the user that it becomes; or observe it while it runs: --engine sample --pid NUMBER";
    Err(Hinted::new(what, hint).into())
}

/// Finds a program by `PATH`, as a shell does.
///
/// Errors: there is none, or it may not be executed.
pub(super) fn find(program: &OsStr) -> Result<PathBuf> {
    let name = Path::new(program).display().to_string();
    let candidates = if name.contains('/') {
        vec![PathBuf::from(program)]
    } else {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths)
            .map(|directory| directory.join(program))
            .collect()
    };
    for path in candidates {
        let Ok(metadata) = std::fs::metadata(&path) else {
            continue;
        };
        if !metadata.is_file() {
            continue;
        }
        if metadata.permissions().mode() & 0o111 == 0 {
            let what = format!("{name}: not executable");
            return Err(Hinted::new(what, format!("chmod +x {name}")).into());
        }
        return Ok(path);
    }
    let what = format!("{name}: no such program");
    Err(Hinted::new(what, "give its path, or a name on PATH").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        assert!(find(OsStr::new("sh")).unwrap().ends_with("sh"));
        assert!(find(OsStr::new("/bin/sh")).is_ok());
        for (name, says) in [
            ("no-such-program", "no such program"),
            ("/", "no such program"),
            ("/etc/passwd", "not executable"),
        ] {
            assert!(
                find(OsStr::new(name))
                    .unwrap_err()
                    .to_string()
                    .contains(says),
                "{name}"
            );
        }
    }
}
