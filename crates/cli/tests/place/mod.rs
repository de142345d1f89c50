//! What the tests of the program share: where it runs, and what it said.

#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "each test uses a part of it"
)]

use expect_test::Expect;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A recorded machine, and an empty run directory of its own.
pub struct Place {
    pub dir: TempDir,
}

impl Place {
    /// An empty one.
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// Where this is in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file with this text.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The program on the recorded machine.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warmset"));
        command
            .arg("--root")
            .arg(fixture())
            .arg("--run")
            .arg(self.path("run"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("NO_COLOR", "1")
            .env("TZ", "UTC")
            .env_remove("COLUMNS");
        command
    }

    /// What the program says to this.
    pub fn warmset(&self, args: &[&str]) -> Said {
        Said::new(self.command(args).output().unwrap(), self.dir.path())
    }
}

/// What the program said, with the test's own paths and process taken out.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn new(output: Output, place: &Path) -> Self {
        let text = |bytes| {
            String::from_utf8(bytes)
                .unwrap()
                .replace(&place.display().to_string(), "PLACE")
        };
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Its output, read.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Exit code, standard output and standard error in one text.
    pub fn assert(&self, expected: &Expect) {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        expected.assert_eq(&format!(
            "exit {code}\n--- out\n{}--- err\n{}",
            self.out, self.err
        ));
    }
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/firecracker-6.18-hybrid-cgroup")
}
