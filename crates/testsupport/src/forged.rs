//! Programs of root's that are shown under another path, as a user without rights can do in a user namespace.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program of root's that waits.
pub const SLEEP: &str = "/usr/bin/sleep";
/// On a busy machine a program takes a while to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// Puts [`SLEEP`] at a path of `/usr/local/bin`, for this process only, and becomes it.
const FORGE: &str =
    r#"mount -t tmpfs none /usr/local/bin && : >"$0" && mount --bind "$1" "$0" && exec "$0" 300"#;

/// A waiting process. It ends with this.
#[derive(Debug)]
pub struct Forged {
    child: Child,
    path: String,
}

impl Forged {
    /// Runs the program at this path, which takes seconds.
    pub fn start(path: &str) -> std::io::Result<Self> {
        let child = Command::new(path).arg("300").spawn()?;
        let started = Self {
            child,
            path: path.to_owned(),
        };
        assert!(started.has_begun(), "{path} does not start");
        Ok(started)
    }

    /// Runs a program of root's that is at `path`, below `/usr/local/bin`, in a user and mount namespace of its own. `None`
    /// where this user may make none, which is said.
    pub fn in_own_mounts(path: &str) -> Option<Self> {
        let mut command = Command::new("unshare");
        command.args(["-U", "-r", "-m", "sh", "-c", FORGE, path, SLEEP]);
        let child = command.stderr(Stdio::null()).spawn().ok()?;
        let mut forged = Self {
            child,
            path: path.to_owned(),
        };
        if forged.has_begun() {
            return Some(forged);
        }
        let ended = forged.child.try_wait();
        eprintln!("SKIPPED: {path}: no user and mount namespace can be made here: {ended:?}");
        None
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Runs the same file outside of its namespaces, as a process can that is given a descriptor.
    #[must_use]
    pub fn run_outside(&self) -> Self {
        let path = format!("/proc/{}/root{}", self.pid(), self.path);
        let child = Command::new(&path).arg("300").spawn();
        let outside = Self {
            child: child.unwrap_or_else(|error| panic!("{path}: {error}")),
            path: self.path.clone(),
        };
        assert!(outside.has_begun(), "{path} is not shown as {}", self.path);
        outside
    }

    /// Waits until it runs the program under its path.
    fn has_begun(&self) -> bool {
        let exe = PathBuf::from(format!("/proc/{}/exe", self.pid()));
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            match fs::read_link(&exe) {
                Ok(path) if path.to_str() == Some(&self.path) => return true,
                Ok(_) => std::thread::sleep(Duration::from_millis(5)),
                // It has ended.
                Err(_) => return false,
            }
        }
        false
    }
}

impl Drop for Forged {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
