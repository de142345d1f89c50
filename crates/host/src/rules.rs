//! Exemptions, protected units and held files by hand, until the next boot: a small file in the run directory.
//!
//! ```toml
//! [guard]
//! spare = ["postgresql.service", "pid:4711@90210"]
//! [protect]
//! units = ["postgresql.service"]
//! files = ["/srv/app/index"]
//! ```
//!
//! A process is named with its start, so that a later one with the same number is not meant; memory is kept for units only.

pub use crate::cgroups::is_there;
use crate::error::Error;
use crate::parse::process::{self, cgroup};
use crate::writes;
use pressure::Config;
use pressure::config::ConfigError;
use pressure::place::place;
use pressure::rules::Rule;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Where the file is.
pub fn path(run: &Path) -> PathBuf {
    run.join("rules.toml")
}

/// Exempt processes and units, and protected units.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Exempt ones, as `guard.spare` names them.
    pub spare: Vec<Rule>,
    /// Protected units, as `protect.units` names them.
    pub protect: Vec<String>,
    /// Files and directories that are held, as `protect.files` names them.
    pub files: Vec<String>,
}

impl Rules {
    /// The rules that were made by hand; none if there is no file.
    pub fn read(run: &Path) -> Result<Self, ConfigError> {
        let path = path(run);
        let name = path.display().to_string();
        let Some(text) = crate::settings::read(&path)? else {
            return Ok(Self::default());
        };
        let config = Config::parse(&name, &text)?;
        // A file without the key protects nothing, where the defaults would.
        let named = config.protect.units != Config::default().protect.units;
        let protect = if named {
            config.protect.units
        } else {
            Vec::new()
        };
        Ok(Self {
            spare: config.guard.spare,
            protect,
            files: config.protect.files,
        })
    }

    /// Adds what was asked for to what the configuration says.
    pub fn add_to(self, config: &mut Config) {
        config.guard.spare.extend(self.spare);
        config.protect.units.extend(self.protect);
        for file in self.files {
            if !config.protect.files.contains(&file) {
                config.protect.files.push(file);
            }
        }
    }

    /// Replaces what was asked for; nothing leaves no file.
    pub fn write(&self, run: &Path) -> Result<(), Error> {
        let path = path(run);
        let at = |error: io::Error| Error::unreadable(&path, error);
        if *self == Self::default() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(at(error)),
                _ => Ok(()),
            };
        }
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(run)
            .map_err(at)?;
        let draft = run.join("rules.new");
        let _ = fs::remove_file(&draft);
        let mut file = writes::create_new(&draft, 0o600).map_err(at)?;
        let spare = quoted(self.spare.iter().map(Rule::as_str));
        let units = quoted(self.protect.iter().map(String::as_str));
        let files = quoted(self.files.iter().map(String::as_str));
        let head = "# Made by `warmset spare`, `protect` and `hold`; gone at the next boot.";
        let text = format!(
            "{head}\n[guard]\nspare = [{spare}]\n[protect]\nunits = [{units}]\nfiles = [{files}]\n"
        );
        io::Write::write_all(&mut file, text.as_bytes())
            .and_then(|()| fs::rename(&draft, &path))
            .map_err(at)
    }
}

fn quoted<'r>(rules: impl Iterator<Item = &'r str>) -> String {
    let quoted: Vec<String> = rules.map(toml_text).collect();
    quoted.join(", ")
}

/// A text as TOML quotes it.
fn toml_text(text: &str) -> String {
    let escaped = text.chars().map(|letter| match letter {
        '"' | '\\' => format!("\\{letter}"),
        letter if letter.is_control() => format!("\\u{:04x}", u32::from(letter)),
        letter => letter.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// The rule that names a process: its number and its start.
pub fn of_process(root: &Path, pid: u32) -> Result<String, Error> {
    let path = root.join(format!("proc/{pid}/stat"));
    let text = fs::read(&path).map_err(|error| Error::unreadable(&path, error))?;
    match process::stat(&text).map(|stat| stat.start) {
        Some(start) => Ok(format!("pid:{pid}@{start}")),
        None => Err(Error::unreadable(
            &path,
            io::Error::other("it does not say when the process started"),
        )),
    }
}

/// The path of the unit that a process lives in, as `protect.units` takes it; an error says why memory cannot be kept for
/// that.
pub fn unit_of(root: &Path, pid: u32) -> Result<String, Error> {
    let path = root.join(format!("proc/{pid}/cgroup"));
    let wrong = |why: &str| Error::unreadable(&path, io::Error::other(why.to_owned()));
    let text = fs::read(&path).map_err(|error| Error::unreadable(&path, error))?;
    let group = cgroup(&text).ok_or_else(|| wrong("it names no control group of version 2"))?;
    let found = place(group);
    if !found.place.is_of_its_own() {
        return Err(wrong(
            "the process has no unit of its own: what is kept for that would be for everyone in it",
        ));
    }
    String::from_utf8(found.directory.to_vec()).map_err(|_| wrong("its path is not text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_no_rule_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        assert_eq!(Rules::read(&run).unwrap(), Rules::default());
        let spare = vec![
            "a \"b\".service".parse().unwrap(),
            "pid:1@2".parse().unwrap(),
        ];
        let exempt = Rules {
            spare,
            ..Rules::default()
        };
        exempt.write(&run).unwrap();
        assert_eq!(Rules::read(&run).unwrap(), exempt);
        let rules = Rules {
            protect: vec!["/system.slice/dev-a\\x2db\u{7f}.service".to_owned()],
            files: vec!["/srv/a \"b\"\n".to_owned()],
            ..exempt
        };
        rules.write(&run).unwrap();
        assert_eq!(Rules::read(&run).unwrap(), rules);
        Rules::default().write(&run).unwrap();
        assert!(!path(&run).exists());
    }

    #[test]
    fn a_file_of_an_older_version_protects_nothing() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(path(dir.path()), "[guard]\nspare = [\"a.service\"]\n").unwrap();
        let rules = Rules::read(dir.path()).unwrap();
        assert_eq!((rules.spare.len(), rules.protect.len()), (1, 0));
    }

    #[test]
    fn a_process_is_named_with_its_start() {
        let rule = of_process(Path::new("/"), std::process::id()).unwrap();
        assert!(
            rule.starts_with(&format!("pid:{}@", std::process::id())),
            "{rule}"
        );
        assert!(of_process(Path::new("/nowhere"), 1).is_err());
    }

    #[test]
    fn a_unit_is_named_by_its_path_and_a_session_is_none() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/7")).unwrap();
        let unit = |text: &str| {
            fs::write(dir.path().join("proc/7/cgroup"), text).unwrap();
            unit_of(dir.path(), 7).map_err(|error| error.to_string())
        };
        assert_eq!(
            unit("0::/system.slice/a.service/deep\n"),
            Ok("/system.slice/a.service".to_owned())
        );
        assert!(
            unit("0::/user.slice/user-1.slice/session-2.scope\n")
                .unwrap_err()
                .contains("no unit of its own")
        );
        assert!(unit("0::/\n").is_err() && unit("1:cpu:/x\n").is_err());
    }
}
