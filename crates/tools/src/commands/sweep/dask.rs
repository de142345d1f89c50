//! Tasks on a Dask cluster: the Python package `warmset` distributes them, each as a `warmset sweep run`.

use anyhow::{Context as _, Result, bail};
use std::env;
use std::path::Path;
use std::process::Command;

/// Runs all tasks of a plan.
///
/// Errors: Python cannot be run, or not all tasks were done.
pub(super) fn all(python: &Path, address: &str, directory: &Path) -> Result<()> {
    let own = env::current_exe().context("the path of this program")?;
    let status = Command::new(python)
        .args(["-m", "warmset.dask", address])
        .arg(directory)
        .arg("--program")
        .arg(own)
        .status()
        .with_context(|| format!("{}: cannot run", python.display()))?;
    if !status.success() {
        bail!(
            "Dask at {address}: not all tasks were done; run the same command again to do the rest"
        );
    }
    Ok(())
}
