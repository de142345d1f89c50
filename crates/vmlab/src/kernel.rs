//! Kernels by the names that `--kernel` takes.
//!
//! Debian's own by their branch: `6.1`, `6.12`, `7`. With our patches `6.12+series`, and the same without them
//! `6.12+plain`.

pub mod compile;
pub mod modules;
pub mod series;

use crate::debian::{Apt, Package};
use crate::store::{self, Store};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// The kernels the lab knows, and the suite that has them.
pub const BRANCHES: &[Branch] = &[
    Branch {
        name: "6.1",
        suite: "bookworm",
        about: "Debian 12: Multi-Gen LRU built in, off",
    },
    Branch {
        name: "6.12",
        suite: "trixie",
        about: "Debian 13: Multi-Gen LRU on, DAMON",
    },
    Branch {
        name: "7",
        suite: "trixie-backports",
        about: "the newest that Debian 13 is offered",
    },
];

/// A line of kernels.
#[derive(Debug)]
pub struct Branch {
    /// What `--kernel` takes.
    pub name: &'static str,
    /// Debian's name of the suite.
    pub suite: &'static str,
    /// One line about it.
    pub about: &'static str,
}

/// A kernel ready to boot.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// `6.12.107+deb13-cloud-amd64`.
    pub release: String,
    /// The package and its version, or the series it was built from.
    pub origin: String,
    /// The image.
    pub image: PathBuf,
    /// The directory of its modules, `None` if everything is built in.
    pub modules: Option<PathBuf>,
    /// The configuration it was built with.
    pub config: PathBuf,
}

/// The branch of this name.
pub fn branch(name: &str) -> Result<&'static Branch> {
    let found = BRANCHES.iter().find(|branch| branch.name == name);
    found.with_context(|| {
        let names: Vec<&str> = BRANCHES.iter().map(|branch| branch.name).collect();
        format!(
            "no kernel '{name}': {}, one with our patches (6.12{PATCHED}) or like it without them (6.12{PLAIN}), \
             or a path from `kernels build`",
            names.join(", ")
        )
    })
}

/// The end of a name with our patches.
const PATCHED: &str = "+series";
/// The end of a name with the same source and configuration, and without the patches: the control of the patched one.
const PLAIN: &str = "+plain";
/// Where the patches are, in the repository.
pub const TREE: &str = "kernel";

/// The kernel of this name. A branch is fetched if it is not in the store. One with our patches, or like it without them,
/// is built. A path is the directory of one that was built.
pub fn find(store: &Store, name: &str) -> Result<Kernel> {
    if name.contains('/') {
        return in_directory(Path::new(name), "built");
    }
    if let Some(series) = name.strip_suffix(PATCHED) {
        return series::patched(store, Path::new(TREE), series, &[]);
    }
    if let Some(series) = name.strip_suffix(PLAIN) {
        return series::plain(store, Path::new(TREE), series);
    }
    stock(store, branch(name)?)
}

/// The newest kernel of a branch.
pub fn stock(store: &Store, branch: &Branch) -> Result<Kernel> {
    anyhow::ensure!(
        cfg!(target_arch = "x86_64"),
        "the lab's machines are x86-64, and so must their host be"
    );
    let apt = Apt::of(store, &[branch.suite])?;
    let packages = parts(&apt, branch)?;
    let sums = packages.iter().map(|package| package.sha256.as_bytes());
    let place = store.kept("kernels", &store::key(sums), |place| {
        store.demand(units::Bytes::mib(400))?;
        apt.unpack(&packages, place)
    })?;
    let first = packages.first().context("no package")?;
    in_directory(&place, &format!("{} {}", first.name, first.version))
}

/// The packages of the newest kernel of a branch: one, or since 7.2 one for the image and one for the modules.
fn parts(apt: &Apt, branch: &Branch) -> Result<Vec<Package>> {
    let pattern = format!(
        r"^linux-image-{}\.[0-9.+debpo-]*-cloud-amd64(-unsigned)?$",
        branch.name.replace('.', r"\.")
    );
    let mut names = apt.names(&pattern)?;
    names.sort_by_key(|name| (numbers(name), name.ends_with("-unsigned")));
    let name = names
        .last()
        .with_context(|| format!("{} has no cloud kernel {}", branch.suite, branch.name))?;
    let image = apt.package(name)?;
    let mut packages = vec![image.clone()];
    for name in &image.depends {
        if name.starts_with("linux-binary-") || name.starts_with("linux-modules-") {
            packages.push(apt.package(name)?);
        }
    }
    Ok(packages)
}

/// The numbers of a name, to sort by: `linux-image-6.12.107+deb13-cloud…` is newer than `…6.12.95…`.
fn numbers(name: &str) -> Vec<u64> {
    let digits = name.split(|letter: char| !letter.is_ascii_digit());
    digits.filter_map(|number| number.parse().ok()).collect()
}

/// The kernel below a directory: its image, modules and configuration.
pub fn in_directory(place: &Path, origin: &str) -> Result<Kernel> {
    let directories = [
        place.join("boot"),
        place.to_owned(),
        place.join("usr/lib/modules"),
    ];
    let found = directories
        .iter()
        .filter_map(|directory| entries(directory).ok())
        .flatten()
        .find_map(|path| image_at(&path));
    let Some((image, release)) = found else {
        bail!("no kernel in {}", place.display())
    };
    let config = if image.ends_with("vmlinuz") {
        image.with_file_name("config")
    } else {
        image.with_file_name(format!("config-{release}"))
    };
    let modules = ["usr/lib/modules", "lib/modules"]
        .map(|lib| place.join(lib).join(&release).join("kernel"))
        .into_iter()
        .find(|path| path.is_dir());
    Ok(Kernel {
        release,
        origin: origin.to_owned(),
        image,
        modules,
        config,
    })
}

/// `boot/vmlinuz-RELEASE`, or since 7.2 `usr/lib/modules/RELEASE/vmlinuz`.
fn image_at(path: &Path) -> Option<(PathBuf, String)> {
    if let Some(release) = named(path).strip_prefix("vmlinuz-") {
        return Some((path.to_owned(), release.to_owned()));
    }
    let image = path.join("vmlinuz");
    if !image.is_file() {
        return None;
    }
    Some((image, named(path)))
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let listed =
        fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    Ok(listed.flatten().map(|entry| entry.path()).collect())
}

fn named(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_by_their_numbers() {
        let newer = numbers("linux-image-6.12.107+deb13-cloud-amd64");
        let older = numbers("linux-image-6.12.95+deb12-cloud-amd64");
        assert!(newer > older);
        let newer = numbers("linux-image-7.2.12+deb13-cloud-amd64");
        let older = numbers("linux-image-7.1.13+deb13-cloud-amd64");
        assert!(newer > older);
    }

    #[test]
    fn an_unknown_branch_lists_the_known() {
        assert!(
            branch("5.15")
                .unwrap_err()
                .to_string()
                .contains("6.1, 6.12, 7")
        );
    }
}
