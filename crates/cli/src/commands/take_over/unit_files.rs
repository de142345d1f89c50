//! What a unit reads: its files, and the files that these name.

use crate::predecessor::Predecessor;
use crate::systemd_directories::{CONFIGURATIONS, UNITS};
use anyhow::{Context as _, Result};
use host::Rival;
use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What is translated.
#[derive(Debug)]
pub(super) enum Source {
    /// These files, in their order; none if the program runs by its defaults.
    Files(Vec<PathBuf>),
    /// The arguments of the process, written as its file would have them.
    Arguments { pid: u32, file: NamedTempFile },
}

impl Source {
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        match self {
            Self::Files(files) => files.clone(),
            Self::Arguments { file, .. } => vec![file.path().to_owned()],
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(files) if files.is_empty() => f.write_str("no file"),
            Self::Files(files) => {
                for (index, file) in files.iter().enumerate() {
                    let before = if index == 0 { "" } else { ", " };
                    write!(f, "{before}{}", file.display())?;
                }
                Ok(())
            }
            Self::Arguments { pid, .. } => write!(f, "the arguments of process {pid}"),
        }
    }
}

/// What this program reads as it runs now.
pub(super) fn source(predecessor: Predecessor, rival: &Rival, root: &Path) -> Result<Source> {
    let below = |path: &str| root.join(path.trim_start_matches('/'));
    let files = match predecessor {
        Predecessor::Earlyoom => return earlyoom(rival, root),
        Predecessor::Nohang | Predecessor::NohangDesktop => {
            let usual = match rival.unit.as_deref() {
                Some("nohang-desktop.service") => "/etc/nohang/nohang-desktop.conf",
                _ => "/etc/nohang/nohang.conf",
            };
            vec![below(rival.option(&["--config", "-c"]).unwrap_or(usual))]
        }
        Predecessor::Oomd => {
            let usual = "/etc/oomd.json";
            vec![below(rival.option(&["--config", "-C"]).unwrap_or(usual))]
        }
        Predecessor::SystemdOomd => systemd_oomd(root),
        Predecessor::Bustd => Vec::new(),
        Predecessor::Adaptivemmd | Predecessor::Memoptimizer => {
            let name = predecessor.name();
            let mut usual = vec![
                below("etc/sysconfig").join(name),
                below("etc/default").join(name),
            ];
            usual.retain(|file| file.exists());
            usual.truncate(1);
            usual
        }
    };
    Ok(Source::Files(files))
}

/// Files that its unit names, unless an administrator's drop-in says how it is started: then what it was started with.
fn earlyoom(rival: &Rival, root: &Path) -> Result<Source> {
    let unit = rival.unit.as_deref().unwrap_or_default();
    let texts = texts(root, unit);
    let mut is_overridden = false;
    let mut named = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        for line in text.lines().map(str::trim) {
            if let Some(file) = line.strip_prefix("EnvironmentFile=") {
                named.push(root.join(file.trim_start_matches(['-', '/'])));
            }
            // The first text is the unit's own; without the variable its arguments stand there.
            let is_command = line.starts_with("ExecStart=");
            let has_variable = line.contains("$EARLYOOM_ARGS") || line.contains("${EARLYOOM_ARGS}");
            let sets_variable = line.starts_with("Environment=");
            is_overridden |= is_command && !has_variable;
            is_overridden |= index > 0 && sets_variable;
        }
    }
    if named.is_empty() {
        named.push(root.join("etc/default/earlyoom"));
    }
    named.retain(|file| file.exists());
    if is_overridden || named.is_empty() {
        return arguments(rival);
    }
    Ok(Source::Files(named))
}

/// The arguments of the process as `EARLYOOM_ARGS`.
fn arguments(rival: &Rival) -> Result<Source> {
    let mut line = String::new();
    for word in rival.arguments.iter().skip(1) {
        let is_plain = word
            .chars()
            .all(|c| !c.is_whitespace() && !matches!(c, '\'' | '"' | '$' | '\\'));
        let quoted = if is_plain {
            word.clone()
        } else {
            format!("'{word}'")
        };
        line.push_str(&quoted);
        line.push(' ');
    }
    let mut file = NamedTempFile::new().context("a temporary file cannot be made")?;
    writeln!(file, "EARLYOOM_ARGS=\"{}\"", line.trim_end())?;
    file.flush()?;
    Ok(Source::Arguments {
        pid: rival.pid.unwrap_or_default(),
        file,
    })
}

/// The main file that counts, then the drop-ins in their order.
fn systemd_oomd(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let main = CONFIGURATIONS
        .iter()
        .map(|directory| root.join(directory).join("oomd.conf"))
        .find(|file| file.exists());
    files.extend(main);
    let directories = CONFIGURATIONS.map(|directory| root.join(directory).join("oomd.conf.d"));
    files.extend(drop_ins(&directories));
    files
}

/// Whether the system has a unit of this name.
pub(super) fn is_there(root: &Path, unit: &str) -> bool {
    UNITS
        .iter()
        .any(|directory| root.join(directory).join(unit).exists())
}

/// The texts of a unit: its own, then its drop-ins in their order.
fn texts(root: &Path, unit: &str) -> Vec<String> {
    let own = UNITS
        .iter()
        .map(|directory| root.join(directory).join(unit))
        .find(|file| file.exists());
    let directories = UNITS.map(|directory| root.join(directory).join(format!("{unit}.d")));
    let mut texts = Vec::new();
    // A place for it is kept if it cannot be read: what follows is a drop-in.
    texts.push(
        own.and_then(|file| fs::read_to_string(file).ok())
            .unwrap_or_default(),
    );
    for file in drop_ins(&directories) {
        texts.extend(fs::read_to_string(file));
    }
    texts
}

/// The `.conf` files of these directories by name; of one name, that of the first directory.
fn drop_ins(directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for directory in directories {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_drop_in = path.extension().is_some_and(|end| end == "conf");
            let is_hidden = found
                .iter()
                .any(|known| known.file_name() == path.file_name());
            if is_drop_in && !is_hidden {
                found.push(path);
            }
        }
    }
    found.sort_by_key(|path| path.file_name().map(std::ffi::OsStr::to_owned));
    found
}
