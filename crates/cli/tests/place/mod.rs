//! What the tests of the program share: where it runs, and what it said.

#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "each test uses a part of it"
)]

use expect_test::Expect;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Keeps which units are active and enabled as files, writes down what it was asked for, and fails if the file `fail` has
/// the beginning of what it is asked for.
const SYSTEMCTL: &str = r#"#!/bin/sh
state=PLACE/state
echo "$*" >> "$state/log"
if [ -e "$state/fail" ]; then
    read -r bad < "$state/fail"
    case "$*" in "$bad"*) echo "it is broken" >&2; exit 1 ;; esac
fi
verb=$1
shift
[ "$1" = --quiet ] && shift
now=
[ "$1" = --now ] && { now=1; shift; }
for unit; do
    case $verb in
        is-active) [ -e "$state/active-$unit" ] || exit 3 ;;
        is-enabled) [ -e "$state/enabled-$unit" ] || exit 1 ;;
        enable) : > "$state/enabled-$unit"; [ -z "$now" ] || : > "$state/active-$unit" ;;
        disable) rm -f "$state/enabled-$unit"; [ -z "$now" ] || rm -f "$state/active-$unit" ;;
        start | restart) : > "$state/active-$unit" ;;
        stop) rm -f "$state/active-$unit" ;;
    esac
done
"#;

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
        command.arg("--root").arg(fixture()).args(self.run_of(args));
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("NO_COLOR", "1")
            .env("TZ", "UTC")
            .env_remove("COLUMNS");
        command
    }

    /// The option with the run directory of this place, if the subcommand has it.
    pub fn run_of(&self, args: &[&str]) -> Vec<OsString> {
        let mut words = args.iter().filter(|word| !word.starts_with('-'));
        let definition = warmset_cli::command();
        let subcommand = words
            .next()
            .and_then(|name| definition.find_subcommand(name));
        let mut options = subcommand
            .into_iter()
            .flat_map(clap::Command::get_arguments);
        if options.any(|option| option.get_id() == "run") {
            vec!["--run".into(), self.path("run").into()]
        } else {
            Vec::new()
        }
    }

    /// Puts a `systemctl` of its own into `bin`, which keeps its state in `state`.
    pub fn with_systemctl(&self) {
        let script = SYSTEMCTL.replace("PLACE", &self.dir.path().display().to_string());
        let program = self.write("bin/systemctl", script);
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Lets a guard answer so, as often as it is asked.
    pub fn guard_answers(&self, mode: &str, only_observes: &Value) {
        let mut status = Self::new().warmset(&["status", "--json"]).json();
        status["guard"].take();
        status["pid"] = json!(42);
        status["mode"] = json!(mode);
        status["only_observes"].clone_from(only_observes);
        status["sample"]["circumstances"]["rival_guard"] = json!(0);
        let body = status.to_string();
        let reply = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        fs::create_dir_all(self.path("run")).unwrap();
        let socket = self.path("run/warmset.sock");
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(socket).unwrap();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let mut request = [0; 64];
                let _ = client.read(&mut request);
                let _ = client.write_all(reply.as_bytes());
            }
        });
    }

    /// What a command says on the machine in `root`, with the `systemctl` of this place.
    pub fn on_its_root(&self, command: &str, arguments: &[&str]) -> Said {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let output = Command::new(env!("CARGO_BIN_EXE_warmset"))
            .arg("--root")
            .arg(self.path("root"))
            .args(self.run_of(&[command]))
            .arg(command)
            .args(arguments)
            .env("PATH", path)
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS")
            .output()
            .unwrap();
        Said::new(output, self.dir.path())
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
