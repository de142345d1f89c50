//! Programs that are run when something happens: checked while they are opened, and run as what was checked.
//!
//! ```text
//! /  ─► usr ─► local ─► hook     each opened below the one before, none a symbolic link, each its owner's alone
//!                        │
//!                        └─ its descriptor is the standard input of `warmset-hold --hook`, which gives up what it may,
//!                           and becomes it
//! ```
//!
//! So a user that may write to none of these can change neither the program nor which one is run, at no moment. The
//! program is started by one that does not share our memory: to copy the guard's page tables, the guard would wait for
//! memory.

use crate::error::Error;
use pressure::config::{ConfigError, Hooks, Occasion};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Where programs that a hook starts are looked for.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
/// Time between two looks whether it has ended: hooks take longer, and a look is one system call.
const LOOK: Duration = Duration::from_millis(20);
/// The mode bits by which others than the owner may write.
const OTHERS_WRITE: u32 = 0o022;
/// Each may remove only what is their own: a directory that is for everybody.
const STICKY: u32 = 0o1000;

/// A program that was found to be its owner's alone, with every directory on its path.
#[derive(Debug)]
pub struct Hook {
    program: OwnedFd,
    path: PathBuf,
}

/// How a run of it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Itself(ExitStatus),
    /// It took too long, and was killed with its process group.
    Late,
}

/// Whether all that the configuration names can be run on the machine at `root`. The error names the first that cannot.
pub fn check(root: &Path, hooks: &Hooks) -> Result<(), ConfigError> {
    let set = Occasion::ALL
        .iter()
        .filter_map(|occasion| Some((occasion, hooks.of(*occasion)?)));
    for (occasion, path) in set {
        let wrong = |error: Error| ConfigError {
            file: format!("hooks.{}", occasion.name()),
            at: None,
            what: error.to_string(),
        };
        Hook::open(root, path).map_err(wrong)?;
    }
    Ok(())
}

impl Hook {
    /// Opens the program at an absolute path below `root`. Every directory on the path and the file must belong to root or
    /// to our own user, and no other may write to it.
    pub fn open(root: &Path, path: &str) -> Result<Self, Error> {
        let mut at = root.to_owned();
        let wrong =
            |at: &Path, what: &str| Error::unreadable(at, io::Error::other(what.to_owned()));
        let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(root, directory, Mode::empty());
        let mut below = opened.map_err(|error| Error::unreadable(root, error.into()))?;
        alone(&stat(&below, &at)?).map_err(|what| wrong(&at, what))?;
        let mut names = Path::new(path)
            .components()
            .filter(|part| *part != Component::RootDir)
            .peekable();
        if names.peek().is_none() {
            return Err(wrong(&at, "no program"));
        }
        while let Some(part) = names.next() {
            let Component::Normal(name) = part else {
                return Err(wrong(&at, "..: not in the path of a hook"));
            };
            at.push(name);
            let is_last = names.peek().is_none();
            let flags = OFlags::NOFOLLOW
                | OFlags::CLOEXEC
                | if is_last {
                    OFlags::RDONLY
                } else {
                    OFlags::PATH
                };
            // A pipe in its place is not waited for.
            let opened = rustix::fs::openat(&below, name, flags | OFlags::NONBLOCK, Mode::empty());
            below = opened.map_err(|error| match error {
                rustix::io::Errno::LOOP => wrong(&at, "a symbolic link; name what it leads to"),
                error => Error::unreadable(&at, error.into()),
            })?;
            let found = stat(&below, &at)?;
            let kind = FileType::from_raw_mode(found.st_mode);
            let fits = match kind {
                FileType::Directory if !is_last => Ok(()),
                FileType::RegularFile if is_last && found.st_mode & 0o100 != 0 => Ok(()),
                FileType::RegularFile if is_last => Err("not executable"),
                FileType::Symlink => Err("a symbolic link; name what it leads to"),
                _ if is_last => Err("no program"),
                _ => Err("no directory"),
            };
            fits.and_then(|()| alone(&found))
                .map_err(|what| wrong(&at, what))?;
        }
        Ok(Self {
            program: below,
            path: Path::new(path).to_owned(),
        })
    }

    /// Runs it with these variables and no others but `PATH`, and waits for it, for `timeout` at most. Processes that it
    /// leaves in its process group are killed then. `launcher` is `warmset-hold`, which becomes it.
    pub fn run(
        self,
        launcher: &Path,
        variables: &[(&str, String)],
        timeout: Duration,
    ) -> io::Result<Ended> {
        let mut child = Command::new(launcher)
            .args([OsStr::new("--hook"), self.path.as_os_str()])
            .stdin(Stdio::from(self.program))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .env_clear()
            .env("PATH", PATH)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .spawn()?;
        let in_time = wait(&child, timeout);
        let group = Pid::from_child(&child);
        // Its number is not free before it is waited for, so no other group can have it.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
        let status = child.wait()?;
        Ok(if in_time? {
            Ended::Itself(status)
        } else {
            Ended::Late
        })
    }
}

/// Returns true if it ended in time; it is not reaped yet.
fn wait(child: &Child, timeout: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + timeout;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        if rustix::process::waitid(WaitId::Pid(Pid::from_child(child)), options)?.is_some() {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        std::thread::sleep(LOOK);
    }
}

fn stat(file: &OwnedFd, path: &Path) -> Result<Stat, Error> {
    rustix::fs::fstat(file).map_err(|error| Error::unreadable(path, error.into()))
}

/// Returns why others than root, or our own user, could change it; `Ok` if they cannot.
fn alone(found: &Stat) -> Result<(), &'static str> {
    if found.st_uid != 0 && found.st_uid != rustix::process::geteuid().as_raw() {
        return Err("does not belong to root");
    }
    if found.st_mode & OTHERS_WRITE == 0 {
        return Ok(());
    }
    if found.st_mode & STICKY != 0 {
        return Err(
            "everybody may put files there, as into /tmp; move the program elsewhere, such as to /usr/local/lib",
        );
    }
    Err("others may write to it; chmod go-w")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// A machine with a program at `/opt/hook`.
    fn machine(text: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("opt")).unwrap();
        fs::write(dir.path().join("opt/hook"), text).unwrap();
        let mode = |path: &str, mode| {
            fs::set_permissions(dir.path().join(path), PermissionsExt::from_mode(mode))
        };
        mode("opt", 0o755).unwrap();
        mode("opt/hook", 0o755).unwrap();
        dir
    }

    fn refused(dir: &tempfile::TempDir, path: &str) -> String {
        Hook::open(dir.path(), path).unwrap_err().to_string()
    }

    #[test]
    fn a_program_on_a_path_of_its_owners_alone_is_opened() {
        let dir = machine("#!/bin/sh\n");
        Hook::open(dir.path(), "/opt/hook").unwrap();
        assert!(refused(&dir, "/opt/none").contains("opt/none: there is no such file"));
        assert!(refused(&dir, "/opt").ends_with("opt: no program"));
        assert!(refused(&dir, "/").ends_with(": no program"));
        assert!(refused(&dir, "/opt/hook/more").contains("hook: no directory"));
        assert!(refused(&dir, "/opt/../opt/hook").ends_with("..: not in the path of a hook"));
    }

    #[test]
    fn whatever_others_could_change_is_refused() {
        let dir = machine("#!/bin/sh\n");
        let mode = |path: &str, mode| {
            fs::set_permissions(dir.path().join(path), PermissionsExt::from_mode(mode))
        };
        for open in [0o775, 0o757] {
            mode("opt", open).unwrap();
            assert!(
                refused(&dir, "/opt/hook").ends_with("opt: others may write to it; chmod go-w"),
                "{open:o}"
            );
        }
        // Nobody should take everybody's right to use /tmp away.
        mode("opt", 0o1777).unwrap();
        assert!(refused(&dir, "/opt/hook").contains("move the program elsewhere"));
        mode("opt", 0o755).unwrap();
        mode("opt/hook", 0o775).unwrap();
        assert!(refused(&dir, "/opt/hook").ends_with("hook: others may write to it; chmod go-w"));
        mode("opt/hook", 0o644).unwrap();
        assert!(refused(&dir, "/opt/hook").ends_with("hook: not executable"));
        mode("opt/hook", 0o755).unwrap();
        mode(".", 0o777).unwrap();
        assert!(refused(&dir, "/opt/hook").ends_with("others may write to it; chmod go-w"));
    }

    #[test]
    fn links_are_not_followed_wherever_they_stand() {
        let dir = machine("#!/bin/sh\n");
        std::os::unix::fs::symlink("opt", dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink("hook", dir.path().join("opt/link")).unwrap();
        for path in ["/link/hook", "/opt/link"] {
            assert!(
                refused(&dir, path).ends_with("a symbolic link; name what it leads to"),
                "{path}"
            );
        }
    }

    #[test]
    fn another_users_program_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = machine("#!/bin/sh\n");
        std::os::unix::fs::chown(dir.path().join("opt/hook"), Some(12_345), None).unwrap();
        assert!(refused(&dir, "/opt/hook").ends_with("does not belong to root"));
    }

    #[test]
    fn a_hook_that_takes_too_long_is_killed_with_its_group() {
        let dir = machine("");
        let launcher = dir.path().join("launcher");
        let child = dir.path().join("child");
        let text = format!(
            "#!/bin/sh\nsleep 60 &\necho $! >{}\nwait\n",
            child.display()
        );
        testsupport::write_program(&launcher, &text);
        let hook = Hook::open(dir.path(), "/opt/hook").unwrap();
        let begun = Instant::now();
        assert_eq!(
            hook.run(&launcher, &[], Duration::from_millis(500))
                .unwrap(),
            Ended::Late
        );
        assert!(begun.elapsed() < Duration::from_secs(20));
        let child = fs::read_to_string(child).unwrap();
        let state =
            || fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !(state().is_empty() || state().contains(") Z ")) {
            assert!(Instant::now() < deadline, "its child lives: {}", state());
            std::thread::sleep(LOOK);
        }
    }
}
