//! Kernels that the lab builds: from Debian's source package, configuration fragments and a series of patches.

use super::{Kernel, in_directory};
use crate::debian::{Apt, Package};
use crate::store::{self, Store};
use crate::tool;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use units::Bytes;

/// What to build.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// The suite that has the source.
    pub suite: String,
    /// `linux-source-6.12`.
    pub package: String,
    /// The version to take if the archive has it; otherwise the newest is taken.
    pub version: Option<String>,
    /// Laid over `tinyconfig` in this order.
    pub fragments: Vec<PathBuf>,
    /// A directory of `*.patch`, applied in the order of their names.
    pub series: Option<PathBuf>,
}

/// The lab's own fragment: all that a guest needs, without modules.
pub const FRAGMENT: &str = include_str!("lab.config");

/// The source of a recipe. Its version is fixed when it is looked up, so the same one is unpacked later.
#[derive(Debug)]
pub struct Source {
    apt: Apt,
    package: Package,
}

impl Source {
    /// As the archive has it now.
    pub fn of(store: &Store, recipe: &Recipe) -> Result<Self> {
        let apt = Apt::of(store, &[&recipe.suite])?;
        if let Some(version) = &recipe.version {
            let exact = format!("{}={version}", recipe.package);
            if let Ok(package) = apt.package(&exact) {
                return Ok(Self { apt, package });
            }
        }
        let package = apt.package(&recipe.package)?;
        Ok(Self { apt, package })
    }

    /// The package that has it.
    pub fn package(&self) -> &Package {
        &self.package
    }

    /// Unpacks it below a directory, without patches. Returns the path of the tree.
    pub fn unpacked(&self, directory: &Path) -> Result<PathBuf> {
        let packages = std::slice::from_ref(&self.package);
        self.apt.unpack(packages, directory)?;
        unpack(directory)
    }
}

/// Builds a kernel, or returns what was built from the same parts before.
pub fn build(store: &Store, recipe: &Recipe, source: &Source) -> Result<Kernel> {
    let package = source.package();
    let config = fragments(recipe)?;
    let patches = patches(recipe)?;
    let mut parts: Vec<Vec<u8>> = vec![
        package.sha256.clone().into_bytes(),
        config.clone().into_bytes(),
    ];
    for patch in &patches {
        parts.push(fs::read(patch).with_context(|| format!("cannot read {}", patch.display()))?);
    }
    let key = store::key(parts.iter().map(Vec::as_slice));
    let place = store.kept("built", &key, |place| {
        store.demand(Bytes::mib(6 << 10))?;
        let scratch = store.scratch()?;
        let tree = source.unpacked(scratch.path())?;
        for patch in &patches {
            let mut apply = Command::new("patch");
            apply
                .args(["-p1", "--forward", "--fuzz=0", "-i"])
                .arg(patch)
                .current_dir(&tree);
            tool::run(&mut apply, "patch")
                .with_context(|| format!("{} does not apply", patch.display()))?;
        }
        make(&tree, &config, place)
    })?;
    let origin = format!("{} {}, built {key}", package.name, package.version);
    in_directory(&place, &origin)
}

fn fragments(recipe: &Recipe) -> Result<String> {
    let mut config = FRAGMENT.to_owned();
    for path in &recipe.fragments {
        let fragment =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        config += &fragment;
        config.push('\n');
    }
    Ok(config)
}

fn patches(recipe: &Recipe) -> Result<Vec<PathBuf>> {
    let Some(directory) = &recipe.series else {
        return Ok(Vec::new());
    };
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    let mut patches: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    patches.retain(|path| path.extension().is_some_and(|end| end == "patch"));
    patches.sort();
    anyhow::ensure!(!patches.is_empty(), "no *.patch in {}", directory.display());
    // Absolute, since patch runs in the directory of the kernel.
    for path in &mut patches {
        *path =
            fs::canonicalize(&*path).with_context(|| format!("cannot find {}", path.display()))?;
    }
    Ok(patches)
}

/// Unpacks the archive that the package consists of. Returns the path of the tree.
fn unpack(root: &Path) -> Result<PathBuf> {
    let directory = root.join("usr/src");
    let archive = fs::read_dir(&directory)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.to_string_lossy().contains(".tar."));
    let archive = archive.with_context(|| format!("no source in {}", directory.display()))?;
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(&archive).arg("-C").arg(root);
    tool::run(&mut tar, "tar, xz-utils")?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    Ok(root.join(name.split(".tar.").next().unwrap_or_default()))
}

fn make(tree: &Path, config: &str, place: &Path) -> Result<()> {
    let fragment = tree.join("lab.config");
    fs::write(&fragment, config)?;
    run_make(tree, &["tinyconfig"])?;
    let mut merge = Command::new("scripts/kconfig/merge_config.sh");
    merge
        .args(["-m", ".config", "lab.config"])
        .current_dir(tree);
    tool::run(&mut merge, "make")?;
    run_make(tree, &["olddefconfig"])?;
    all_granted(&fs::read_to_string(tree.join(".config"))?, config)?;
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    run_make(tree, &["-j", &jobs.to_string(), "bzImage"])?;
    let release = run_make(tree, &["-s", "kernelrelease"])?;
    let release = release.trim();
    let boot = place.join("boot");
    fs::create_dir_all(&boot)?;
    fs::copy(
        tree.join("arch/x86/boot/bzImage"),
        boot.join(format!("vmlinuz-{release}")),
    )?;
    fs::copy(tree.join(".config"), boot.join(format!("config-{release}")))?;
    Ok(())
}

/// Runs make in the kernel's tree. Time, user and host are fixed, so that equal parts make equal kernels.
fn run_make(tree: &Path, arguments: &[&str]) -> Result<String> {
    let mut make = Command::new("make");
    make.current_dir(tree)
        .args(arguments)
        .env("KBUILD_BUILD_TIMESTAMP", "0")
        .env("KBUILD_BUILD_USER", "lab")
        .env("KBUILD_BUILD_HOST", "lab");
    tool::run(&mut make, "make gcc flex bison bc libelf-dev")
}

/// Options of the fragments that have other names in a newer kernel: 7.3 has neither of the old ones.
const SUCCESSORS: &[(&str, &str)] = &[
    ("CONFIG_PREEMPT_VOLUNTARY", "CONFIG_PREEMPT_LAZY"),
    ("CONFIG_PROC_SYSCTL", "CONFIG_SYSCTL"),
];

/// Returns an error if the configuration lacks an option that a fragment sets: the kernel would be another one.
fn all_granted(granted: &str, wished: &str) -> Result<()> {
    // A later fragment overrides an earlier one.
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    for line in wished.lines().filter(|line| line.starts_with("CONFIG_")) {
        if let Some((name, value)) = line.split_once('=') {
            last.insert(name, value);
        }
    }
    let mut refused = Vec::new();
    for (name, value) in last {
        if !is_granted(granted, name, value) {
            refused.push(format!("{name}={value}"));
        }
    }
    anyhow::ensure!(
        refused.is_empty(),
        "the kernel's configuration lacks {}: an option that they depend on is off",
        refused.join(", ")
    );
    Ok(())
}

fn is_granted(granted: &str, name: &str, value: &str) -> bool {
    if value == "n" {
        let prefix = format!("{name}=");
        return !granted.lines().any(|line| line.starts_with(&prefix));
    }
    let mut names = vec![name];
    for (old, new) in SUCCESSORS {
        if *old == name {
            names.push(new);
        }
    }
    let mut lines = names.iter().map(|name| format!("{name}={value}"));
    lines.any(|wished| granted.lines().any(|line| line == wished))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_is_lacking_is_named() {
        let granted = "CONFIG_A=y\n# CONFIG_B is not set\n";
        assert!(all_granted(granted, "CONFIG_A=y\nCONFIG_B=n\n").is_ok());
        let error = all_granted(granted, "CONFIG_B=y\n").unwrap_err();
        assert!(error.to_string().contains("CONFIG_B=y"), "{error}");
        let overridden = all_granted(granted, "CONFIG_B=y\nCONFIG_B=n\n");
        assert!(overridden.is_ok(), "the last fragment counts");
        let renamed = all_granted("CONFIG_PREEMPT_LAZY=y\n", "CONFIG_PREEMPT_VOLUNTARY=y\n");
        assert!(renamed.is_ok(), "the newer name will do");
    }
}
