//! Configuration files: found, checked for their owner and mode, and laid over each other.

use pressure::config::{Config, ConfigError, Layers};
use pressure::import::{Legacy, legacy};
use pressure::rules::Numbered;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use units::Bytes;

mod users;

pub(crate) use users::number;
pub use users::{UserNames, know_users};

/// Where the main file is.
pub const MAIN: &str = "etc/warmset/warmset.toml";

/// A configuration and where it came from.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What runs.
    pub config: Config,
    /// The files it came from; none for the defaults.
    pub files: Vec<PathBuf>,
    /// What was understood differently in a file of another program, and keys that have another name now.
    pub notes: Vec<String>,
}

/// The configuration of the machine at `root`: its main file, then `conf.d/*.toml` by name. Without a main
/// file, that of a daemon we replace is understood; without that, the defaults.
pub fn of_machine(root: &Path) -> Result<Settings, ConfigError> {
    of_machine_with(root, None)
}

/// The configuration that the machine would have with one more file in `conf.d`: its path and its text.
pub fn of_machine_with(
    root: &Path,
    another: Option<(&Path, &str)>,
) -> Result<Settings, ConfigError> {
    let main = root.join(MAIN);
    let mut layers = Layers::default();
    let mut files = Vec::new();
    let mut notes = Vec::new();
    if let Some(text) = read(&main)? {
        notes = layers.add(&main.display().to_string(), &text)?;
        files.push(main);
    } else if let Some((path, program, text)) = predecessor(root)? {
        let imported = legacy(program, &text)?;
        layers.add(&path.display().to_string(), &imported.toml)?;
        notes = imported.sentences();
        files.push(path);
    }
    let mut paths = drop_ins(root)?;
    if let Some((path, _)) = another {
        paths.retain(|known| known != path);
        paths.push(path.to_owned());
        paths.sort();
    }
    for path in paths {
        let text = match another {
            Some((other, text)) if other == path => Some(text.to_owned()),
            _ => read(&path)?,
        };
        if let Some(text) = text {
            notes.extend(layers.add(&path.display().to_string(), &text)?);
            files.push(path);
        }
    }
    finish(root, layers, files, notes)
}

/// The configuration in one file, which must be there, for this machine.
pub fn of_file(path: &Path) -> Result<Settings, ConfigError> {
    of_file_for(Path::new("/"), path)
}

/// The same for the machine at `root`: its users, and its size.
pub fn of_file_for(root: &Path, path: &Path) -> Result<Settings, ConfigError> {
    let text = read(path)?.ok_or_else(|| wrong(path, "there is no such file"))?;
    let mut layers = Layers::default();
    let notes = layers.add(&path.display().to_string(), &text)?;
    finish(root, layers, vec![path.to_owned()], notes)
}

/// What only the machine can tell of a configuration: its users' numbers, and whether its amounts and
/// shares agree at its size.
fn finish(
    root: &Path,
    layers: Layers,
    files: Vec<PathBuf>,
    mut notes: Vec<String>,
) -> Result<Settings, ConfigError> {
    let mut config = layers.finish()?;
    let wrong = |what| ConfigError {
        file: names(&files),
        at: None,
        what,
    };
    know_users(root, &mut config.guard).map_err(wrong)?;
    config.guard.amounts(memory(root)).map_err(wrong)?;
    notes.extend(config.guard.rules().filter_map(fault_note));
    Ok(Settings {
        config,
        files,
        notes,
    })
}

/// The note about a rule that can match nothing by what it says. `warmset check` makes an error of it;
/// a guard runs on with the other rules.
pub fn fault_note(numbered: Numbered<'_>) -> Option<String> {
    let fault = numbered.rule.fault()?;
    let key = numbered.key.name();
    let rule = numbered.rule;
    Some(format!("{key} \"{rule}\" can match nothing: {fault}"))
}

fn names(files: &[PathBuf]) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    names.join(" + ")
}

/// Memory of the machine at `root`; `None` if it does not say.
pub fn memory(root: &Path) -> Option<Bytes> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes::kib(kib))
}

fn drop_ins(root: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    let directory = root.join("etc/warmset/conf.d");
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(wrong(&directory, error)),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .collect();
    paths.sort();
    Ok(paths)
}

fn predecessor(root: &Path) -> Result<Option<(PathBuf, Legacy, String)>, ConfigError> {
    for (name, program) in [
        ("adaptivemmd", Legacy::Adaptivemmd),
        ("memoptimizer", Legacy::Memoptimizer),
    ] {
        for directory in ["etc/sysconfig", "etc/default"] {
            let path = root.join(directory).join(name);
            if let Some(text) = read(&path)? {
                return Ok(Some((path, program, text)));
            }
        }
    }
    Ok(None)
}

/// The file's text; `None` if there is none. Refuses one that others could have written.
pub(crate) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(path, error)),
    };
    if meta.is_dir() {
        return Err(wrong(path, "it is a directory; name a file in it"));
    }
    let us = rustix::process::geteuid().as_raw();
    if meta.uid() != 0 && meta.uid() != us {
        return Err(wrong(path, "it belongs neither to root nor to us"));
    }
    // A user's own files often belong to a group that only this user is in; root's are what the guard goes by.
    let others_write = if us == 0 { 0o022 } else { 0o002 };
    if meta.mode() & others_write != 0 {
        return Err(wrong(path, "others may write to it; chmod go-w"));
    }
    match fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => Ok(Some(text)),
        Ok(Err(_)) => Err(wrong(path, "it is not text in UTF-8")),
        Err(error) => Err(wrong(path, error)),
    }
}

fn wrong(path: &Path, what: impl ToString) -> ConfigError {
    ConfigError {
        file: path.display().to_string(),
        at: None,
        what: what.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn old_keys_are_told_of_with_their_place() {
        let dir = machine(&[
            (MAIN, "[local]\npolicy = \"up-next\"\n"),
            (
                "etc/warmset/conf.d/a.toml",
                "[guard]\ncontain-for = \"9 s\"\n",
            ),
        ]);
        let settings = of_machine(dir.path()).unwrap();
        assert_eq!(settings.config.guard.throttle_for, units::Span::secs(9));
        let [local, guard] = &settings.notes[..] else {
            panic!("{:?}", settings.notes)
        };
        assert!(
            local.contains("warmset.toml:1:2: [local] is passed over"),
            "{local}"
        );
        assert!(
            guard.contains("a.toml:2:1: guard.contain-for is now called guard.throttle-for"),
            "{guard}"
        );
        let alone = of_file(&dir.path().join(MAIN)).unwrap();
        assert_eq!(alone.notes, settings.notes[..1]);
    }

    #[test]
    fn drop_ins_come_after_the_main_file_by_name() {
        let dir = machine(&[
            (MAIN, "verbosity = 2"),
            ("etc/warmset/conf.d/20.toml", "verbosity = 4"),
            (
                "etc/warmset/conf.d/10.toml",
                "verbosity = 3\naggressiveness = 1",
            ),
            ("etc/warmset/conf.d/30.bak", "nonsense"),
        ]);
        let settings = of_machine(dir.path()).unwrap();
        assert_eq!(
            (
                settings.config.verbosity.get(),
                settings.config.aggressiveness.get()
            ),
            (4, 1)
        );
        assert_eq!(settings.files.len(), 3);
    }

    #[test]
    fn one_more_drop_in_stands_in_its_place() {
        let dir = machine(&[("etc/warmset/conf.d/90.toml", "verbosity = 4")]);
        let another = dir.path().join("etc/warmset/conf.d/50-earlyoom.toml");
        let text = "verbosity = 1\naggressiveness = 1\n";
        let settings = of_machine_with(dir.path(), Some((&another, text))).unwrap();
        assert_eq!(settings.config.verbosity.get(), 4, "90 comes after 50");
        assert_eq!(settings.config.aggressiveness.get(), 1);
        assert!(!another.exists(), "it is only tried");
    }

    #[test]
    fn nothing_there_is_the_default() {
        assert_eq!(
            of_machine(machine(&[]).path()).unwrap().config,
            Config::default()
        );
    }

    #[test]
    fn rules_and_rooms_are_checked_against_the_machine() {
        let dir = machine(&[
            ("etc/passwd", "ann:x:1000:1000::/home/ann:/bin/sh\n"),
            (
                "proc/meminfo",
                "MemTotal:        8388608 kB\nMemFree: 1 kB\n",
            ),
            (MAIN, "[guard]\navoid = [\"user:ann\", \"sshd\"]\n"),
        ]);
        let settings = of_machine(dir.path()).unwrap();
        assert_eq!(settings.config.guard.avoid[0].user(), Some(1000));
        let [note] = &settings.notes[..] else {
            panic!("{:?}", settings.notes)
        };
        assert!(
            note.contains("guard.avoid \"sshd\" can match nothing"),
            "{note}"
        );
        let path = dir.path().join(MAIN);
        fs::write(&path, "[guard]\nkill-room = \"1 GiB\"\n").unwrap();
        let error = of_file_for(dir.path(), &path).unwrap_err().to_string();
        assert!(error.contains("on a machine with 8 GiB"), "{error}");
        fs::write(&path, "[guard]\nprefer = [\"user:bob\"]\n").unwrap();
        let error = of_file_for(dir.path(), &path).unwrap_err().to_string();
        assert!(error.contains("/etc/passwd has no user bob"), "{error}");
    }

    #[test]
    fn a_file_that_others_may_write_is_refused() {
        let dir = machine(&[(MAIN, "")]);
        let is_root = rustix::process::geteuid().is_root();
        for (mode, is_refused) in [(0o666, true), (0o664, is_root), (0o644, false)] {
            fs::set_permissions(dir.path().join(MAIN), fs::Permissions::from_mode(mode)).unwrap();
            match of_machine(dir.path()) {
                Ok(_) => assert!(!is_refused, "{mode:o}"),
                Err(error) => {
                    assert!(is_refused, "{mode:o}: {error}");
                    let said = error.to_string();
                    assert!(
                        said.ends_with("others may write to it; chmod go-w"),
                        "{said}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_missing_unreadable_or_binary_file_is_named() {
        let dir = machine(&[
            ("folder.toml/x", ""),
            ("etc/warmset/conf.d/1.toml", "mood = 1"),
        ]);
        assert!(
            of_file(&dir.path().join("none.toml"))
                .unwrap_err()
                .to_string()
                .contains("none.toml: there is no such")
        );
        assert!(
            of_file(&dir.path().join("folder.toml"))
                .unwrap_err()
                .to_string()
                .contains("folder.toml: ")
        );
        assert!(
            of_machine(dir.path())
                .unwrap_err()
                .to_string()
                .contains("1.toml:1:1: unknown field `mood`")
        );
        fs::write(dir.path().join("b.toml"), [0xff, 0xfe]).unwrap();
        assert!(
            of_file(&dir.path().join("b.toml"))
                .unwrap_err()
                .to_string()
                .contains("not text")
        );
    }

    #[test]
    fn the_file_of_a_daemon_we_replace_is_understood() {
        let dir = machine(&[("etc/default/adaptivemmd", "AGGRESSIVENESS = 3\nMAXGAP=2\n")]);
        let settings = of_machine(dir.path()).unwrap();
        assert_eq!(settings.config.aggressiveness.get(), 3);
        assert_eq!(settings.config.gap.max.unwrap().to_string(), "2 GiB");
    }
}
