//! What tests share, those of the daemon included.

use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program, by a child: had this process it open for writing, so might a child that another test starts in that
/// moment, and nobody could run it (`ETXTBSY`).
pub(crate) fn write_program(path: &Path, text: &str) {
    let mut install = Command::new("install");
    install
        .args(["-m", "755", "/dev/stdin"])
        .arg(path)
        .stdin(Stdio::piped());
    let mut child = install.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}
