//! Files laid over each other, key by key, and errors that say where.

use super::position::place;
use super::{Config, renamed};
use serde::Deserialize;
use std::fmt;
use toml::de::Deserializer;
use toml::{Table, Value};

/// What is wrong with a configuration, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, as it was named to [`Layers::add`].
    pub file: String,
    /// Line and column, both from 1; `None` where it is not one place.
    pub at: Option<(usize, usize)>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, "{}:{line}:{column}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Configuration files in the order of increasing weight.
///
/// ```
/// use pressure::config::{Layers, Mode};
/// let mut layers = Layers::default();
/// layers.add("warmset.toml", "mode = \"observe\"\n[wake]\ncalmest = \"10 s\"").unwrap();
/// layers.add("conf.d/50-site.toml", "mode = \"tune\"").unwrap();
/// let config = layers.finish().unwrap();
/// assert_eq!(config.mode, Mode::Tune);
/// assert_eq!(config.wake.calmest.to_string(), "10 s");
///
/// let error = Layers::default().add("bad.toml", "\nmood = 1").unwrap_err();
/// assert!(error.to_string().starts_with("bad.toml:2:1: unknown field `mood`"), "{error}");
/// ```
#[derive(Debug, Default)]
pub struct Layers {
    merged: Table,
    names: Vec<String>,
    /// The last that a file says of `protect.enabled`.
    protects: Option<bool>,
    /// The last that a file says of `recording.files`, unless that file or a later one has `recording.size`.
    files: Option<u32>,
}

impl Layers {
    /// Adds one file over those before. Everything that can be checked in one file is checked here.
    ///
    /// Returns what should be known of the file: keys that have another name now, a sentence each.
    pub fn add(&mut self, file: &str, text: &str) -> Result<Vec<String>, ConfigError> {
        let wrong = |error: toml::de::Error| ConfigError {
            file: file.to_owned(),
            at: error.span().map(|span| place(text, span.start)),
            what: error.message().to_owned(),
        };
        let (document, found) = renamed::modernise(file, text).map_err(wrong)?;
        if let Some((offset, what)) = found.twice {
            return Err(ConfigError {
                file: file.to_owned(),
                at: Some(place(text, offset)),
                what,
            });
        }
        let checked = Deserializer::from(document.clone());
        Config::deserialize(checked).map_err(wrong)?;
        let merged = Deserializer::from(document);
        let table = Table::deserialize(merged).map_err(wrong)?;
        let sized = table.get("recording").and_then(|one| one.get("size"));
        if sized.is_some() {
            self.files = None;
        } else {
            self.files = found.files.or(self.files);
        }
        overlay(&mut self.merged, table);
        self.protects = found.protects.or(self.protects);
        self.names.push(file.to_owned());
        Ok(found.notes)
    }

    /// The configuration of all files together, checked across keys.
    pub fn finish(self) -> Result<Config, ConfigError> {
        let file = if self.names.is_empty() {
            "defaults".to_owned()
        } else {
            self.names.join(" + ")
        };
        let wrong = |what| ConfigError {
            file: file.clone(),
            at: None,
            what,
        };
        let mut config: Config = self
            .merged
            .try_into()
            .map_err(|error: toml::de::Error| wrong(error.to_string()))?;
        renamed::honour_enabled(&mut config, self.protects);
        renamed::honour_files(&mut config, self.files);
        config.consistent().map_err(wrong)?;
        Ok(config)
    }
}

impl Config {
    /// The configuration in one file's text. Errors name it `file`.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let mut layers = Layers::default();
        layers.add(file, text)?;
        layers.finish()
    }

    /// The configuration that a recording was made by, of this version or an older one.
    pub(crate) fn recorded(mut value: serde_json::Value) -> serde_json::Result<Self> {
        let gone = renamed::modernise_recorded(&mut value);
        let mut config = serde_json::from_value(value)?;
        renamed::honour_enabled(&mut config, gone.protects);
        renamed::honour_files(&mut config, gone.files);
        Ok(config)
    }
}

/// Lays `over` on `base`: tables are merged, lists are appended, anything else is replaced.
fn overlay(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => {
                overlay(below, above);
            }
            (Some(Value::Array(below)), Value::Array(above)) => {
                below.extend(above);
            }
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}
