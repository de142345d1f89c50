//! `kernels`: stock ones fetched, own ones built.

use super::say;
use crate::kernels::{BRANCHES, Kernel, branch, build, stock};
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
    build: Option<Own>,
}

#[derive(Debug, Subcommand)]
enum Own {
    Build(Build),
}

/// Build a kernel from Debian's source, a configuration fragment and a series of patches
#[derive(Debug, Args)]
struct Build {
    /// Debian's source package, such as linux-source-6.12
    #[arg(long, value_name = "PACKAGE", default_value = "linux-source-6.12")]
    source: String,
    /// The suite that has it
    #[arg(long, default_value = "trixie")]
    suite: String,
    /// A configuration fragment laid over the lab's own; may be given again
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// A folder of *.patch files, applied in the order of their names
    #[arg(long, value_name = "DIR")]
    patches: Option<PathBuf>,
}

impl Kernels {
    pub(super) fn run(&self, store: &Store) -> Result<()> {
        if let Some(Own::Build(own)) = &self.build {
            let recipe = build::Recipe {
                suite: own.suite.clone(),
                package: own.source.clone(),
                fragments: own.config.clone(),
                series: own.patches.clone(),
            };
            return self.tell("built", &build::build(store, &recipe)?);
        }
        let all = || BRANCHES.iter().map(|branch| branch.name.to_owned()).collect();
        let names: Vec<String> = if self.branches.is_empty() { all() } else { self.branches.clone() };
        for name in names {
            let branch = branch(&name)?;
            self.tell(branch.name, &stock(store, branch)?)?;
        }
        Ok(())
    }

    fn tell(&self, name: &str, kernel: &Kernel) -> Result<()> {
        let folder = kernel.image.parent().and_then(|boot| boot.parent()).map(|folder| folder.display().to_string());
        if self.json {
            return say(&format!(
                "{}\n",
                json!({"name": name, "release": kernel.release, "origin": kernel.origin, "folder": folder})
            ));
        }
        say(&format!("{name:<6} {:<32} {}\n       {}\n", kernel.release, kernel.origin, folder.unwrap_or_default()))
    }
}
