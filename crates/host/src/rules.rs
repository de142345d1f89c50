//! Whom a person has asked to spare, until the next boot: a small file in the run directory.
//!
//! ```toml
//! [guard]
//! spare = ["postgresql.service", "pid:4711@90210"]
//! ```
//!
//! A process is named with its start, so that a later one with the same number is not meant.

use crate::trouble::Trouble;
use pressure::Config;
use pressure::config::ConfigError;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where the file is.
pub fn path(run: &Path) -> PathBuf {
    run.join("rules.toml")
}

/// Whom a person has asked to spare; nobody if there is no file.
pub fn spared(run: &Path) -> Result<Vec<String>, ConfigError> {
    let path = path(run);
    let name = path.display().to_string();
    match crate::settings::read(&path)? {
        Some(text) => Ok(Config::parse(&name, &text)?.guard.spare),
        None => Ok(Vec::new()),
    }
}

/// Replaces whom to spare; nobody leaves no file.
pub fn spare(run: &Path, whom: &[String]) -> Result<(), Trouble> {
    let path = path(run);
    let at = |error: io::Error| Trouble::unreadable(&path, error);
    if whom.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(at(error)),
            _ => Ok(()),
        };
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(run).map_err(at)?;
    let quoted: Vec<String> = whom.iter().map(|rule| format!("{rule:?}")).collect();
    let draft = run.join("rules.new");
    let _ = fs::remove_file(&draft);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).map_err(at)?;
    let text = format!("# Made by `warmset spare`; gone at the next boot.\n[guard]\nspare = [{}]\n", quoted.join(", "));
    io::Write::write_all(&mut file, text.as_bytes()).and_then(|()| fs::rename(&draft, &path)).map_err(at)
}

/// The rule that names a process: its number and its start.
pub fn of_process(root: &Path, pid: u32) -> Result<String, Trouble> {
    let path = root.join(format!("proc/{pid}/stat"));
    let text = fs::read(&path).map_err(|error| Trouble::unreadable(&path, error))?;
    match crate::procs::start_of(&text) {
        Some(start) => Ok(format!("pid:{pid}@{start}")),
        None => Err(Trouble::unreadable(&path, io::Error::other("it does not say when the process started"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nobody_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        assert!(spared(&run).unwrap().is_empty());
        let whom = ["a \"b\".service".to_owned(), "pid:1@2".to_owned()];
        spare(&run, &whom).unwrap();
        assert_eq!(spared(&run).unwrap(), whom);
        spare(&run, &[]).unwrap();
        assert!(!path(&run).exists() && spared(&run).unwrap().is_empty());
    }

    #[test]
    fn a_process_is_named_with_its_start() {
        let rule = of_process(Path::new("/"), std::process::id()).unwrap();
        assert!(rule.starts_with(&format!("pid:{}@", std::process::id())), "{rule}");
        assert!(of_process(Path::new("/nowhere"), 1).is_err());
    }
}
