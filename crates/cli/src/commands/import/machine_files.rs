//! The files of a guard on a machine, in the order in which they are laid over each other.

use super::environment::{self, Service};
use super::systemd_oomd::{Kind, Source};
use crate::systemd_directories::{CONFIGURATIONS, UNITS, USERS_UNITS};
use crate::ui::hinted::Hinted;
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use units::Bytes;

/// Where packages have a daemon's variables: Debian and Fedora, OpenRC, older Red Hat.
const VARIABLES: [&str; 3] = ["etc/default", "etc/conf.d", "etc/sysconfig"];

/// The files `*.conf` in a directory that was named by hand, in the order of their names.
pub(super) fn configurations_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory);
    let entries = entries.with_context(|| format!("{}: cannot read", directory.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "conf"))
        .collect();
    paths.sort();
    Ok(paths)
}

/// A machine's files, and which of them were read.
pub(super) struct Machine<'a> {
    root: &'a Path,
    pub(super) read: Vec<PathBuf>,
}

impl<'a> Machine<'a> {
    pub(super) fn at(root: &'a Path) -> Self {
        Self {
            root,
            read: Vec::new(),
        }
    }

    /// Its memory; `None` if that cannot be read.
    pub(super) fn memory(&self) -> Option<Bytes> {
        let text = fs::read_to_string(self.root.join("proc/meminfo")).ok()?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(Bytes::kib(kib))
    }

    /// How earlyoom is started: by its unit with drop-ins, or by the file that its other packages read.
    pub(super) fn earlyoom(&mut self) -> Result<Service> {
        const UNIT: &str = "earlyoom.service";
        let mut service = Service::default();
        if let Some(text) = self.first(&UNITS, UNIT)? {
            service.add(&text);
        }
        for text in self.drop_ins(&UNITS, &format!("{UNIT}.d"))? {
            service.add(&text);
        }
        if service.command.is_some() {
            for path in service.files.clone() {
                let relative = path.trim_start_matches('/').to_owned();
                // Variables of a file are laid over those of the unit.
                if let Some(text) = self.text(Path::new(&relative))? {
                    service.environment.extend(environment::variables(&text));
                }
            }
            return Ok(service);
        }
        match self.first(&VARIABLES, "earlyoom")? {
            Some(text) => {
                service.environment.extend(environment::variables(&text));
                Ok(service)
            }
            None => Err(nothing("earlyoom", "/etc/default/earlyoom, nor a unit")),
        }
    }

    /// oomd's file, by its default and where packages have it.
    pub(super) fn oomd(&mut self) -> Result<String> {
        let text = self.first(&["etc", "etc/oomd"], "oomd.json")?;
        text.ok_or_else(|| nothing("oomd", "/etc/oomd.json"))
    }

    /// The text of `etc/NAME`, and of `usr/local/etc/NAME` where it was installed by hand.
    pub(super) fn of_package(&mut self, name: &str, file: &str) -> Result<String> {
        let text = self.first(&["etc", "usr/local/etc"], file)?;
        text.ok_or_else(|| nothing(name, &format!("/etc/{file}")))
    }

    /// nohang's file: that of the service that starts at boot, or the only one there is.
    pub(super) fn nohang(&mut self) -> Result<String> {
        const FILE: &str = "nohang/nohang.conf";
        const DESKTOP: &str = "nohang/nohang-desktop.conf";
        let is_enabled = |unit: &str| {
            let link = format!("etc/systemd/system/multi-user.target.wants/{unit}");
            fs::symlink_metadata(self.root.join(link)).is_ok()
        };
        let is_there = |file: &str| self.root.join("etc").join(file).exists();
        let only_desktop = is_there(DESKTOP) && !is_there(FILE);
        let starts_desktop = is_enabled("nohang-desktop.service") && !is_enabled("nohang.service");
        let file = if only_desktop || starts_desktop {
            DESKTOP
        } else {
            FILE
        };
        self.of_package("nohang", file)
    }

    /// The text of a daemon's file of variables.
    pub(super) fn variables(&mut self, name: &str) -> Result<String> {
        let text = self.first(&["etc/sysconfig", "etc/default"], name)?;
        text.ok_or_else(|| nothing(name, &format!("/etc/sysconfig/{name}")))
    }

    /// All that configures systemd-oomd. There may be nothing: then its defaults are in force.
    pub(super) fn systemd_oomd(&mut self) -> Result<Vec<Source>> {
        let mut sources = Vec::new();
        let main = self.first(&CONFIGURATIONS, "oomd.conf")?;
        let drop_ins = self.drop_ins(&CONFIGURATIONS, "oomd.conf.d")?;
        for text in main.into_iter().chain(drop_ins) {
            sources.push(Source {
                kind: Kind::Configuration,
                name: String::new(),
                text,
            });
        }
        let rules: Vec<String> = CONFIGURATIONS
            .iter()
            .map(|directory| format!("{directory}/oomd/rules.d"))
            .collect();
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        for (name, path) in self.by_name(&rules)? {
            if let Some(text) = self.text(&path)? {
                sources.push(Source {
                    kind: Kind::Rule,
                    name,
                    text,
                });
            }
        }
        for directories in [&UNITS[..], &USERS_UNITS[..]] {
            sources.extend(self.units_that_ask(directories)?);
        }
        Ok(sources)
    }

    /// Units and drop-ins with settings for systemd-oomd.
    fn units_that_ask(&mut self, directories: &[&str]) -> Result<Vec<Source>> {
        let mut found = Vec::new();
        for (name, path) in self.by_name(directories)? {
            let whole = self.root.join(&path);
            if whole.is_dir() {
                if Path::new(&name)
                    .extension()
                    .is_none_or(|ending| ending != "d")
                {
                    continue;
                }
                // Drop-ins of one unit may lie in several of the directories.
                let of_unit: Vec<String> = directories
                    .iter()
                    .map(|directory| format!("{directory}/{name}"))
                    .collect();
                let of_unit: Vec<&str> = of_unit.iter().map(String::as_str).collect();
                for (_, path) in self.by_name(&of_unit)? {
                    found.extend(self.that_asks(&name, &path)?);
                }
            } else {
                found.extend(self.that_asks(&name, &path)?);
            }
        }
        Ok(found)
    }

    fn that_asks(&mut self, name: &str, path: &Path) -> Result<Option<Source>> {
        let whole = self.root.join(path);
        // A link to another unit is an alias of it; a socket or a device is no unit.
        if !fs::symlink_metadata(&whole).is_ok_and(|about| about.is_file()) {
            return Ok(None);
        }
        let text = read(&whole)?.unwrap_or_default();
        let asks = ["ManagedOOM", "OOMRules"]
            .iter()
            .any(|key| text.contains(key));
        if !asks {
            return Ok(None);
        }
        self.read.push(whole);
        let name = name.strip_suffix(".d").unwrap_or(name).to_owned();
        Ok(Some(Source {
            kind: Kind::Unit,
            name,
            text,
        }))
    }

    /// The text of the first file of this name in some directories.
    fn first(&mut self, directories: &[&str], name: &str) -> Result<Option<String>> {
        for directory in directories {
            let path = Path::new(directory).join(name);
            if let Some(text) = self.text(&path)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// The texts of `*.conf` in a directory of drop-ins, by their names; of one name, the first counts.
    fn drop_ins(&mut self, directories: &[&str], name: &str) -> Result<Vec<String>> {
        let directories: Vec<String> = directories
            .iter()
            .map(|directory| format!("{directory}/{name}"))
            .collect();
        let directories: Vec<&str> = directories.iter().map(String::as_str).collect();
        let mut texts = Vec::new();
        for (name, path) in self.by_name(&directories)? {
            if Path::new(&name)
                .extension()
                .is_some_and(|ending| ending == "conf")
            {
                texts.extend(self.text(&path)?);
            }
        }
        Ok(texts)
    }

    /// What is in some directories, by name; of one name, that of the first directory.
    fn by_name(&self, directories: &[&str]) -> Result<BTreeMap<String, PathBuf>> {
        let mut found = BTreeMap::new();
        for directory in directories {
            let whole = self.root.join(directory);
            let entries = match fs::read_dir(&whole) {
                Ok(entries) => entries,
                Err(error) if is_absent(&error) => continue,
                Err(error) => {
                    return Err(error).with_context(|| format!("{}: cannot read", whole.display()));
                }
            };
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = Path::new(directory).join(&name);
                found.entry(name).or_insert(path);
            }
        }
        Ok(found)
    }

    /// The text of a file of this machine; `None` if there is none.
    fn text(&mut self, path: &Path) -> Result<Option<String>> {
        let whole = self.root.join(path);
        let text = read(&whole)?;
        if text.is_some() {
            self.read.push(whole);
        }
        Ok(text)
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{}: cannot read", path.display())),
    }
}

fn nothing(program: &str, usual: &str) -> anyhow::Error {
    Hinted::new(
        format!("{program} has no file here: there is no {usual}"),
        format!("name its file: warmset import {program} FILE"),
    )
    .into()
}
