//! `kernels`: fetches Debian's, builds others.

use super::say;
use crate::kernel::series;
use crate::kernel::{BRANCHES, Kernel, TREE, branch, compile, stock};
use crate::store::Store;
use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::PathBuf;

/// Fetch Debian's kernels, or build one
#[derive(Debug, Args)]
pub(crate) struct Kernels {
    /// Only these branches
    #[arg(value_name = "BRANCH")]
    branches: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    own: Option<Own>,
}

#[derive(Debug, Subcommand)]
enum Own {
    Build(Build),
    Source(Source),
}

/// Unpack the source that a series is made for, without its patches, and print where it is
#[derive(Debug, Args)]
struct Source {
    /// The series: 6.12, 7.3
    #[arg(long, value_name = "SERIES")]
    series: String,
    /// The directory of the series, with BASES in it
    #[arg(long, value_name = "DIR", default_value = TREE)]
    tree: PathBuf,
    /// The newest that the suite has, whatever BASES says
    #[arg(long)]
    newest: bool,
    /// The directory to unpack it in
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Build a kernel from Debian's source, a configuration fragment and a series of patches
#[derive(Debug, Args)]
struct Build {
    /// A series of this repository: 6.12, 7.3
    #[arg(long, value_name = "SERIES", conflicts_with_all = ["source", "suite", "patches"])]
    series: Option<String>,
    /// The directory of the series, with BASES in it
    #[arg(long, value_name = "DIR", default_value = TREE)]
    tree: PathBuf,
    /// Debian's source package, such as linux-source-6.12
    #[arg(long, value_name = "PACKAGE", default_value = "linux-source-6.12")]
    source: String,
    /// The suite that has it
    #[arg(long, default_value = "trixie")]
    suite: String,
    /// A configuration fragment laid over the lab's own; may be given again
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// A directory of *.patch files, applied in the order of their names
    #[arg(long, value_name = "DIR")]
    patches: Option<PathBuf>,
}

impl Build {
    fn build(&self, store: &Store) -> Result<Kernel> {
        if let Some(series) = &self.series {
            return series::patched(store, &self.tree, series, &self.config);
        }
        let recipe = compile::Recipe {
            suite: self.suite.clone(),
            package: self.source.clone(),
            version: None,
            fragments: self.config.clone(),
            series: self.patches.clone(),
        };
        compile::build(store, &recipe, &compile::Source::of(store, &recipe)?)
    }
}

impl Kernels {
    pub(super) fn run(&self, store: &Store) -> Result<()> {
        match &self.own {
            Some(Own::Build(own)) => return self.print("built", &own.build(store)?),
            Some(Own::Source(own)) => {
                let source = if own.newest {
                    series::newest(store, &own.tree, &own.series)?
                } else {
                    series::source(store, &own.tree, &own.series)?.1
                };
                let tree = source.unpacked(&own.directory)?;
                return say(&format!("{}\n", tree.display()));
            }
            None => {}
        }
        if self.branches.is_empty() {
            for branch in BRANCHES {
                self.print(branch.name, &stock(store, branch)?)?;
            }
        }
        for name in &self.branches {
            let branch = branch(name)?;
            self.print(branch.name, &stock(store, branch)?)?;
        }
        Ok(())
    }

    fn print(&self, name: &str, kernel: &Kernel) -> Result<()> {
        let directory = kernel
            .image
            .parent()
            .and_then(|boot| boot.parent())
            .map(|directory| directory.display().to_string());
        if self.json {
            let line = json!({
                "name": name,
                "release": kernel.release,
                "origin": kernel.origin,
                "folder": directory,
            });
            return say(&format!("{line}\n"));
        }
        say(&format!(
            "{name:<6} {:<32} {}\n       {}\n",
            kernel.release,
            kernel.origin,
            directory.unwrap_or_default()
        ))
    }
}
