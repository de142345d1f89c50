//! A file in `conf.d` that a command writes: checked with the whole configuration first.

use crate::ui::atomic_file;
use anyhow::{Context as _, Result};
use host::settings::{self, Settings};
use pressure::config::ConfigError;
use std::fs;
use std::path::Path;

/// The configuration that the machine would have with this file, if it is right.
pub(crate) fn settings_with(root: &Path, file: &Path, toml: &str) -> Result<Settings, ConfigError> {
    let settings = settings::of_machine_with(root, Some((file, toml)))?;
    host::hook::check(root, &settings.config.hooks)?;
    Ok(settings)
}

/// Writes the file whole, and makes its directory.
pub(crate) fn write(file: &Path, toml: &str) -> Result<()> {
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)
            .with_context(|| format!("{}: cannot make", directory.display()))?;
    }
    atomic_file::write(file, |out| Ok(out.write_all(toml.as_bytes())?))
}
