//! A configuration file named on the command line.

use anyhow::{Context as _, Result};
use pressure::Config;
use std::path::Path;

/// Reads a configuration file; `None` gives `None`.
pub(crate) fn load(path: Option<&Path>) -> Result<Option<Config>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("{name}: cannot read"))?;
    Ok(Some(Config::parse(&name, &text)?))
}
