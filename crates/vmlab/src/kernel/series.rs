//! The patch series of this repository: the source that each is made for, and its parts.

use super::Kernel;
use super::compile::{self, Recipe, Source};
use crate::store::Store;
use crate::tool;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A line of `BASES`: a series and the source package it is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// `6.12`; the patches are in the directory `series-6.12` beside `BASES`.
    pub series: String,
    /// Debian's suite that has the source.
    pub suite: String,
    /// The package.
    pub package: String,
    /// The version that the patches were made on.
    pub version: String,
    /// Its SHA-256, as the archive signs it.
    pub sha256: String,
}

impl Base {
    /// The base of this series, from the `BASES` in a directory.
    pub fn of(directory: &Path, series: &str) -> Result<Self> {
        let path = directory.join("BASES");
        let place = path.display();
        let text = fs::read_to_string(&path).with_context(|| {
            format!("cannot read {place}: run in the repository, or name its directory kernel with --tree")
        })?;
        let bases = parse(&text)?;
        let known: Vec<&str> = bases.iter().map(|base| base.series.as_str()).collect();
        let found = bases.iter().find(|base| base.series == series).cloned();
        found.with_context(|| format!("no series '{series}' in {place}: {}", known.join(", ")))
    }

    /// What to build: the lab's configuration, the series' own, that of this release, and the patches.
    pub fn recipe(&self, directory: &Path) -> Recipe {
        Recipe {
            series: Some(directory.join(format!("series-{}", self.series))),
            ..self.without_patches(directory, "protection.config")
        }
    }

    fn without_patches(&self, directory: &Path, fragment: &str) -> Recipe {
        let configs = directory.join("config");
        let mut fragments = vec![configs.join(fragment)];
        let own = configs.join(format!("{}.config", self.series));
        if own.exists() {
            fragments.push(own);
        }
        Recipe {
            suite: self.suite.clone(),
            package: self.package.clone(),
            version: Some(self.version.clone()),
            fragments,
            series: None,
        }
    }
}

/// The kernel of a series, built if it is not there.
pub fn patched(store: &Store, tree: &Path, series: &str, fragments: &[PathBuf]) -> Result<Kernel> {
    let (mut recipe, source) = source(store, tree, series)?;
    recipe.fragments.extend_from_slice(fragments);
    compile::build(store, &recipe, &source)
}

/// A kernel like that of a series, without its patches, built if it is not there.
pub fn plain(store: &Store, tree: &Path, series: &str) -> Result<Kernel> {
    let recipe = Base::of(tree, series)?.without_patches(tree, "plain.config");
    compile::build(store, &recipe, &Source::of(store, &recipe)?)
}

/// The source of a series, and what to build of it. Warns if the archive has another version than the series is made for.
pub fn source(store: &Store, tree: &Path, series: &str) -> Result<(Recipe, Source)> {
    let base = Base::of(tree, series)?;
    let recipe = base.recipe(tree);
    let source = Source::of(store, &recipe)?;
    let package = source.package();
    if package.sha256 != base.sha256 {
        writeln!(
            io::stderr(),
            "warmset-lab: the series is made for {} {}, the archive has {}: trying that",
            base.package,
            base.version,
            package.version
        )?;
    }
    Ok((recipe, source))
}

/// The newest source of a series' package that its suite has.
pub fn newest(store: &Store, tree: &Path, series: &str) -> Result<Source> {
    let recipe = Recipe {
        version: None,
        ..Base::of(tree, series)?.recipe(tree)
    };
    Source::of(store, &recipe)
}

fn parse(text: &str) -> Result<Vec<Base>> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines
        .map(|line| base(line).with_context(|| format!("no base: '{line}'")))
        .collect()
}

fn base(line: &str) -> Result<Base> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[series, suite, package, version, sha256] = words.as_slice() else {
        bail!("a base is five words: series, suite, package, version and SHA-256")
    };
    anyhow::ensure!(sha256.len() == 64, "a SHA-256 has 64 digits");
    Ok(Base {
        series: series.to_owned(),
        suite: suite.to_owned(),
        package: package.to_owned(),
        version: version.to_owned(),
        sha256: sha256.to_owned(),
    })
}

/// Compiles the tests of a series into a static program.
pub fn tests(directory: &Path, into: &Path) -> Result<PathBuf> {
    let program = into.join("wsp_test");
    let directory = directory.join("selftests");
    let entries =
        fs::read_dir(&directory).with_context(|| format!("no tests in {}", directory.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let sources = paths.filter(|path| path.extension().is_some_and(|end| end == "c"));
    let mut compile = Command::new("cc");
    compile
        .args(["-static", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .args(sources);
    tool::run(&mut compile, "gcc libc6-dev")?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bases_of_this_repository_are_whole() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel");
        let bases = parse(&fs::read_to_string(directory.join("BASES")).unwrap()).unwrap();
        assert!(!bases.is_empty());
        for base in bases {
            assert!(
                base.recipe(&directory).series.unwrap().is_dir(),
                "{} has no patches",
                base.series
            );
            assert!(base.package.ends_with(&base.series), "{}", base.package);
        }
        assert!(format!("{:#}", Base::of(&directory, "5.15").unwrap_err()).contains("6.12"));
    }

    #[test]
    fn a_line_that_is_no_base_is_quoted() {
        let wrong = parse("6.12 trixie linux-source-6.12 1 abc\n");
        let error = format!("{:#}", wrong.unwrap_err());
        assert!(error.contains("linux-source-6.12 1 abc"), "{error}");
        assert!(error.contains("64 digits"), "{error}");
        assert!(parse("6.12 trixie\n").is_err());
    }
}
