//! Kernels built here: Debian's source package, a configuration fragment, a series of patches.

use super::{Kernel, in_directory};
use crate::debian::{Apt, Package};
use crate::store::{self, Store};
use crate::tool;
use anyhow::{Context, Result};
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
    /// The version that is wanted as long as the archive has it; else the newest.
    pub version: Option<String>,
    /// Laid over `tinyconfig` in this order.
    pub fragments: Vec<PathBuf>,
    /// A folder of `*.patch`, applied in the order of their names.
    pub series: Option<PathBuf>,
}

/// The lab's own fragment: all that a guest needs, built in.
pub const FRAGMENT: &str = include_str!("lab.config");

/// The source of a recipe as the archive had it when it was looked up: what is unpacked is what was named.
#[derive(Debug)]
pub struct Source {
    apt: Apt,
    package: Package,
}

impl Source {
    /// As the archive has it now.
    pub fn of(store: &Store, recipe: &Recipe) -> Result<Self> {
        let apt = Apt::of(store, &[&recipe.suite])?;
        let wanted = recipe
            .version
            .as_ref()
            .map(|version| format!("{}={version}", recipe.package));
        let wanted = wanted.and_then(|exact| apt.package(&exact).ok());
        let package = wanted.map_or_else(|| apt.package(&recipe.package), Ok)?;
        Ok(Self { apt, package })
    }

    /// The package that it comes in.
    pub fn package(&self) -> &Package {
        &self.package
    }

    /// Unpacks it below a folder, without patches; where it is then.
    pub fn unpacked(&self, directory: &Path) -> Result<PathBuf> {
        self.apt
            .unpack(std::slice::from_ref(&self.package), directory)?;
        unpack(directory)
    }
}

/// Builds it of this source, or gives what was built of the same parts before.
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
            let apply = ["-p1", "--forward", "--fuzz=0", "-i"];
            tool::run(
                Command::new("patch")
                    .args(apply)
                    .arg(patch)
                    .current_dir(&tree),
                "patch",
            )
            .with_context(|| format!("{} does not apply", patch.display()))?;
        }
        make(&tree, &config, place)
    })?;
    in_directory(
        &place,
        &format!("{} {}, built {key}", package.name, package.version),
    )
}

fn fragments(recipe: &Recipe) -> Result<String> {
    let mut config = FRAGMENT.to_owned();
    for path in &recipe.fragments {
        config +=
            &fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
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
    // patch runs in the kernel's folder.
    patches
        .into_iter()
        .map(|path| fs::canonicalize(&path).with_context(|| path.display().to_string()))
        .collect()
}

/// The package holds the source as an archive.
fn unpack(root: &Path) -> Result<PathBuf> {
    let directory = root.join("usr/src");
    let archive = fs::read_dir(&directory)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.to_string_lossy().contains(".tar."));
    let archive = archive.with_context(|| format!("no source in {}", directory.display()))?;
    tool::run(
        Command::new("tar")
            .arg("-xf")
            .arg(&archive)
            .arg("-C")
            .arg(root),
        "tar, xz-utils",
    )?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    Ok(root.join(name.split(".tar.").next().unwrap_or_default()))
}

fn make(tree: &Path, config: &str, place: &Path) -> Result<()> {
    let fragment = tree.join("lab.config");
    fs::write(&fragment, config)?;
    let run = |arguments: &[&str]| -> Result<String> {
        let mut command = Command::new("make");
        command
            .current_dir(tree)
            .args(arguments)
            .env("KBUILD_BUILD_TIMESTAMP", "0")
            .env("KBUILD_BUILD_USER", "lab")
            .env("KBUILD_BUILD_HOST", "lab");
        tool::run(&mut command, "make gcc flex bison bc libelf-dev")
    };
    run(&["tinyconfig"])?;
    let merge = ["-m", ".config", "lab.config"];
    tool::run(
        Command::new("scripts/kconfig/merge_config.sh")
            .args(merge)
            .current_dir(tree),
        "make",
    )?;
    run(&["olddefconfig"])?;
    missing(&fs::read_to_string(tree.join(".config"))?, config)?;
    let jobs = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .to_string();
    run(&["-j", &jobs, "bzImage"])?;
    let release = run(&["-s", "kernelrelease"])?;
    let boot = place.join("boot");
    fs::create_dir_all(&boot)?;
    fs::copy(
        tree.join("arch/x86/boot/bzImage"),
        boot.join(format!("vmlinuz-{}", release.trim())),
    )?;
    fs::copy(
        tree.join(".config"),
        boot.join(format!("config-{}", release.trim())),
    )?;
    Ok(())
}

/// What stands for an option of the fragments in a newer kernel: 7.3 has neither of the old ones.
const SUCCESSORS: &[(&str, &str)] = &[
    ("CONFIG_PREEMPT_VOLUNTARY", "CONFIG_PREEMPT_LAZY"),
    ("CONFIG_PROC_SYSCTL", "CONFIG_SYSCTL"),
];

/// A wish that the configuration did not grant is an error: the kernel would not be what its name says.
fn missing(granted: &str, wished: &str) -> Result<()> {
    let mut last: std::collections::BTreeMap<&str, &str> = std::collections::BTreeMap::new();
    for line in wished.lines().filter(|line| line.starts_with("CONFIG_")) {
        if let Some((name, value)) = line.split_once('=') {
            last.insert(name, value);
        }
    }
    let refused: Vec<String> = last
        .iter()
        .filter(|(name, value)| {
            let successor = SUCCESSORS
                .iter()
                .find(|(old, _)| old == *name)
                .map_or(**name, |(_, new)| new);
            let lines = [format!("{name}={value}"), format!("{successor}={value}")];
            let has = granted
                .lines()
                .any(|granted| lines.iter().any(|line| granted == line));
            let absent = !granted
                .lines()
                .any(|granted| granted.starts_with(&format!("{name}=")));
            if **value == "n" { !absent } else { !has }
        })
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    anyhow::ensure!(
        refused.is_empty(),
        "the configuration refused {}: something they need is off",
        refused.join(", ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_wish_is_named() {
        let granted = "CONFIG_A=y\n# CONFIG_B is not set\n";
        assert!(missing(granted, "CONFIG_A=y\nCONFIG_B=n\n").is_ok());
        assert!(
            missing(granted, "CONFIG_B=y\n")
                .unwrap_err()
                .to_string()
                .contains("CONFIG_B=y")
        );
        assert!(
            missing(granted, "CONFIG_B=y\nCONFIG_B=n\n").is_ok(),
            "the last word counts"
        );
        assert!(
            missing("CONFIG_PREEMPT_LAZY=y\n", "CONFIG_PREEMPT_VOLUNTARY=y\n").is_ok(),
            "a successor will do"
        );
    }
}
