//! Tasks on a Dask cluster: the package `warmset` for Python hands them out, each as a `warmset sweep run`.

use anyhow::{Context as _, Result, bail};
use std::env;
use std::path::Path;
use std::process::Command;

/// Runs all tasks of a plan.
///
/// Errors: no such Python, or what it says.
pub(super) fn all(python: &Path, address: &str, directory: &Path) -> Result<()> {
    let own = env::current_exe().context("the path of this program")?;
    let told = format!("{}: cannot run", python.display());
    let status = Command::new(python)
        .args(["-m", "warmset.sweep", address])
        .arg(directory)
        .arg("--program")
        .arg(own)
        .status()
        .with_context(|| told)?;
    if !status.success() {
        bail!(
            "Dask at {address}: not all tasks were done; what was done is kept, and the same command goes on with the rest"
        );
    }
    Ok(())
}
