//! Debian's packages, fetched by apt from the mirror this machine already uses and unpacked, never installed.
//!
//! apt gets a root of its own in the store: package lists, keys and a database that knows no installed package. The
//! host's sources are read for the mirror's address and otherwise left alone. What is fetched is signed by the
//! archive's keys, which the host already has.

use crate::store::{Store, key};
use crate::tool;
use anyhow::{Context, Result};
use rustix::fs::FlockOperation;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Lists older than this are fetched again: a mirror removes replaced packages, so an older list names some that are gone.
const STALE: Duration = Duration::from_secs(24 * 3600);
const KEYS: &str = "/usr/share/keyrings";

/// A client of one or more suites.
#[derive(Debug)]
pub struct Apt {
    root: PathBuf,
    store: Store,
}

/// A package as the archive knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// `linux-image-6.12.107+deb13-cloud-amd64-unsigned`.
    pub name: String,
    /// `6.12.107-1`.
    pub version: String,
    /// The SHA-256 the archive signs.
    pub sha256: String,
    /// The names it depends on, first alternatives only.
    pub depends: Vec<String>,
}

impl Apt {
    /// A client of these suites, its lists fetched if they are a day old.
    pub fn of(store: &Store, suites: &[&str]) -> Result<Self> {
        let root = store.root().join("apt").join(suites.join("+"));
        for directory in [
            "lists/partial",
            "cache/archives/partial",
            "etc/preferences.d",
            "etc/apt.conf.d",
        ] {
            fs::create_dir_all(root.join(directory))?;
        }
        fs::write(root.join("status"), "")?;
        fs::write(root.join("sources.list"), sources(suites)?)?;
        let apt = Self {
            root,
            store: store.clone(),
        };
        apt.refresh()?;
        Ok(apt)
    }

    /// Fetches stale lists, one process at a time: nothing may be fetched by lists that another process is replacing. A
    /// process that had to wait finds them fresh.
    fn refresh(&self) -> Result<()> {
        let lock = File::create(self.root.join("lock"))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        if self.is_stale() {
            self.update()?;
        }
        Ok(())
    }

    fn is_stale(&self) -> bool {
        let changed = fs::metadata(self.root.join("updated")).and_then(|facts| facts.modified());
        let Ok(changed) = changed else { return true };
        let age = SystemTime::now().duration_since(changed);
        age.is_ok_and(|age| age > STALE)
    }

    fn update(&self) -> Result<()> {
        tool::run(self.call("apt-get").args(["-qq", "update"]), "apt")
            .context("cannot fetch Debian's package lists")?;
        Ok(fs::write(self.root.join("updated"), "")?)
    }

    fn call(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let at = |rest: &str| self.root.join(rest).display().to_string();
        for (name, value) in [
            ("Dir::State", at("")),
            ("Dir::State::lists", at("lists")),
            ("Dir::State::status", at("status")),
            ("Dir::Cache", at("cache")),
            ("Dir::Etc", at("etc")),
            ("Dir::Etc::sourcelist", at("sources.list")),
            ("Dir::Etc::sourceparts", "/nonexistent".to_owned()),
            ("APT::Install-Recommends", "false".to_owned()),
            ("APT::Sandbox::User", "root".to_owned()),
            ("Debug::NoLocking", "true".to_owned()),
        ] {
            command.arg("-o").arg(format!("{name}={value}"));
        }
        command.env("LC_ALL", "C");
        command
    }

    /// Names of packages that match a regular expression.
    pub fn names(&self, pattern: &str) -> Result<Vec<String>> {
        let mut search = self.call("apt-cache");
        search.args(["search", "--names-only", pattern]);
        let found = tool::run(&mut search, "apt")?;
        let names = found
            .lines()
            .filter_map(|line| line.split(" - ").next())
            .map(str::to_owned);
        Ok(names.collect())
    }

    /// The newest package of this name, or that of this version: `name=version`.
    pub fn package(&self, name: &str) -> Result<Package> {
        let mut show = self.call("apt-cache");
        show.args(["show", "--no-all-versions", name]);
        let shown = tool::run(&mut show, "apt")?;
        parse(&shown).with_context(|| format!("the archive has no package '{name}'"))
    }

    /// Fetches packages without their dependencies and unpacks them into one directory.
    pub fn unpack(&self, packages: &[Package], into: &Path) -> Result<()> {
        let scratch = self.store.scratch()?;
        let names = packages
            .iter()
            .map(|package| format!("{}={}", package.name, package.version));
        let mut download = self.call("apt-get");
        download
            .args(["-qq", "download"])
            .args(names)
            .current_dir(scratch.path());
        tool::run(&mut download, "apt")?;
        extract(scratch.path(), into)
    }

    /// Fetches packages with their dependencies and unpacks them into one directory.
    pub fn unpack_with_dependencies(&self, names: &[&str], into: &Path) -> Result<()> {
        let archives = self.root.join("cache/archives");
        let uris = self.uris(names)?;
        let mut download = self.call("apt-get");
        download
            .args(["-qq", "-y", "--download-only", "install"])
            .args(names);
        tool::run(&mut download, "apt")?;
        let scratch = self.store.scratch()?;
        for file in uris
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1))
        {
            fs::rename(archives.join(file), scratch.path().join(file))
                .with_context(|| format!("apt did not fetch {file}"))?;
        }
        extract(scratch.path(), into)
    }

    /// Lines of `URI FILE SIZE CHECKSUM` of packages and their dependencies.
    fn uris(&self, names: &[&str]) -> Result<String> {
        let mut list = self.call("apt-get");
        list.args(["-qq", "-y", "--print-uris", "install"])
            .args(names);
        tool::run(&mut list, "apt")
    }

    /// A key of what [`Self::unpack_with_dependencies`] would fetch: it changes when the archive does.
    pub fn key(&self, names: &[&str]) -> Result<String> {
        let uris = self.uris(names)?;
        let mut sums: Vec<&[u8]> = uris
            .lines()
            .filter_map(|line| line.split_whitespace().last())
            .map(str::as_bytes)
            .collect();
        sums.sort_unstable();
        Ok(key(sums))
    }

    /// The source of a package as its authors released it, unpacked into `source`.
    pub fn source(&self, name: &str, into: &Path) -> Result<()> {
        let mut download = self.call("apt-get");
        download
            .args(["-qq", "source", "--download-only", name])
            .current_dir(into);
        tool::run(&mut download, "apt")?;
        let description = fs::read_dir(into)?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|end| end == "dsc"))
            .with_context(|| format!("apt fetched no source of {name}"))?;
        let mut unpack = Command::new("dpkg-source");
        unpack
            .args(["--no-check", "--skip-patches", "-x"])
            .arg(description)
            .arg("source")
            .current_dir(into);
        tool::run(&mut unpack, "dpkg-dev")?;
        Ok(())
    }
}

/// Unpacks every package in a directory. Later packages do not replace the links of a merged `/usr`.
fn extract(debs: &Path, into: &Path) -> Result<()> {
    for name in ["bin", "sbin", "lib", "lib64"] {
        fs::create_dir_all(into.join("usr").join(name))?;
        let link = into.join(name);
        if fs::symlink_metadata(&link).is_err() {
            std::os::unix::fs::symlink(format!("usr/{name}"), link)?;
        }
    }
    let script = r#"for deb in "$1"/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$2" --no-same-owner --keep-directory-symlink || exit 1
    done"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(debs).arg(into);
    tool::run(&mut shell, "dpkg")?;
    Ok(())
}

/// A file with apt's sources for a suite, for programs that take one.
pub fn sources_file(store: &Store, suite: &str) -> Result<PathBuf> {
    let directory = store.root().join("apt");
    fs::create_dir_all(&directory)?;
    let path = directory.join(format!("{suite}.list"));
    fs::write(&path, sources(&[suite])?)?;
    Ok(path)
}

/// apt's sources for these suites of the mirror that the host uses.
fn sources(suites: &[&str]) -> Result<String> {
    let mirror = mirror()
        .context("apt uses no Debian mirror here: the lab's kernels are Debian's packages")?;
    let keys = keyring()
        .context("no Debian archive keys here: install the package debian-archive-keyring")?;
    let mut text = String::new();
    for suite in suites {
        let signed = format!("[signed-by={}] {mirror} {suite} main\n", keys.display());
        let _ = write!(text, "deb {signed}deb-src {signed}");
    }
    Ok(text)
}

/// The archive's keys; the first by name where there are several files, in different formats.
fn keyring() -> Option<PathBuf> {
    let mut keys: Vec<PathBuf> = fs::read_dir(KEYS)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_stem()
                .is_some_and(|name| name == "debian-archive-keyring")
        })
        .collect();
    keys.sort();
    keys.into_iter().next()
}

/// The address of the Debian mirror in the host's sources, of either form.
fn mirror() -> Option<String> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    if let Ok(entries) = fs::read_dir("/etc/apt/sources.list.d") {
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .find_map(|text| address(&text))
}

/// The first word outside of comments that is the address of a mirror of Debian.
fn address(text: &str) -> Option<String> {
    let uncommented = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    for word in uncommented.flat_map(str::split_whitespace) {
        if word.contains("://") && word.trim_end_matches('/').ends_with("/debian") {
            return Some(word.to_owned());
        }
    }
    None
}

/// A package from what `apt-cache show` prints.
fn parse(shown: &str) -> Option<Package> {
    let depends = field(shown, "Depends")
        .unwrap_or_default()
        .split(',')
        .filter_map(|one| one.split_whitespace().next());
    Some(Package {
        name: field(shown, "Package")?.to_owned(),
        version: field(shown, "Version")?.to_owned(),
        sha256: field(shown, "SHA256")?.to_owned(),
        depends: depends.map(str::to_owned).collect(),
    })
}

fn field<'s>(shown: &'s str, name: &str) -> Option<&'s str> {
    shown
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_found_in_both_forms_of_sources() {
        let old = "# deb http://commented.example/debian sid main\ndeb [arch=amd64] http://mirror.example/debian/ bookworm main\n";
        assert_eq!(
            address(old).as_deref(),
            Some("http://mirror.example/debian/")
        );
        let new = "Types: deb\nURIs: http://mirror.example/debian\nSuites: trixie\n";
        assert_eq!(
            address(new).as_deref(),
            Some("http://mirror.example/debian")
        );
        assert_eq!(
            address("URIs: http://mirror.example/debian-security\n"),
            None
        );
    }

    #[test]
    fn a_package_is_read() {
        let shown = "Package: linux-image-7\nVersion: 7.2-1\nDepends: dracut | x (>= 1), linux-binary-7 (= 7.2-1), y\nSHA256: ab\n";
        let package = parse(shown).unwrap();
        assert_eq!(package.depends, ["dracut", "linux-binary-7", "y"]);
        assert_eq!(package.version, "7.2-1");
        assert_eq!(package.sha256, "ab");
        assert_eq!(parse("N: no such package"), None);
    }
}
