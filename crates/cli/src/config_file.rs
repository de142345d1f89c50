//! A configuration file named on the command line.

use anyhow::{Context as _, Error, Result};
use host::settings::know_users;
use pressure::Config;
use std::path::Path;

/// Reads a configuration file; `None` gives `None`.
pub(crate) fn load(path: Option<&Path>) -> Result<Option<Config>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("{name}: cannot read"))?;
    let mut config = Config::parse(&name, &text)?;
    know_users(Path::new("/"), &mut config.guard)
        .map_err(|error| Error::msg(format!("{name}: {error}")))?;
    Ok(Some(config))
}
