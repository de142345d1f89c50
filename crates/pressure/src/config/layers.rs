//! Files laid over each other, key by key, and errors that say where.

use super::{Config, Occasion, Share};
use std::fmt;
use toml::{Table, Value};
use units::{Percent, Span};

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
}

impl Layers {
    /// Adds one file over those before. Everything that can be checked in one file is checked here.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), ConfigError> {
        let wrong = |error: toml::de::Error| ConfigError {
            file: file.to_owned(),
            at: error.span().map(|span| place(text, span.start)),
            what: error.message().to_owned(),
        };
        toml::from_str::<Config>(text).map_err(wrong)?;
        let table: Table = toml::from_str(text).map_err(wrong)?;
        overlay(&mut self.merged, table);
        self.names.push(file.to_owned());
        Ok(())
    }

    /// The configuration of all files together, checked across keys.
    pub fn finish(self) -> Result<Config, ConfigError> {
        let file = if self.names.is_empty() { "defaults".to_owned() } else { self.names.join(" + ") };
        let wrong = |what| ConfigError { file: file.clone(), at: None, what };
        let config: Config = self.merged.try_into().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
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

    /// What must hold between keys; the message names both.
    fn consistent(&self) -> Result<(), String> {
        let within = |name: &str, value: Span, least: Span, most: Span| {
            if value < least || value > most {
                return Err(format!("{name} = \"{value}\" is not between {least} and {most}"));
            }
            Ok(())
        };
        within("wake.fastest", self.wake.fastest, Span::millis(20), Span::secs(10))?;
        within("wake.calmest", self.wake.calmest, self.wake.fastest, Span::secs(60))?;
        within("wake.pressure-window", self.wake.pressure_window, Span::millis(500), Span::secs(10))?;
        within("wake.pressure-stall", self.wake.pressure_stall, Span::millis(1), self.wake.pressure_window)?;
        within("gap.settle", self.gap.settle, Span::secs(1), Span::secs(3600))?;
        within("gap.half-life", self.gap.half_life, Span::secs(10), Span::secs(7 * 86_400))?;
        within("gap.give-back-after", self.gap.give_back_after, Span::secs(1), Span::secs(86_400))?;
        within("compaction.horizon", self.compaction.horizon, Span::millis(500), Span::secs(600))?;
        within("compaction.node-interval", self.compaction.node_interval, Span::secs(60), Span::secs(86_400))?;
        within("leak.every", self.leak.every, Span::secs(10), Span::secs(86_400))?;
        within("local.every", self.local.every, Span::millis(100), Span::secs(60))?;
        within("guard.warn-ahead", self.guard.warn_ahead, Span::secs(1), Span::secs(600))?;
        within("guard.kill-ahead", self.guard.kill_ahead, Span::millis(200), Span::secs(10))?;
        within("guard.term-ahead", self.guard.term_ahead, Span::default(), Span::secs(60))?;
        within("guard.term-grace", self.guard.term_grace, Span::millis(100), Span::secs(60))?;
        within("guard.hopeless-after", self.guard.hopeless_after, Span::secs(2), Span::secs(3600))?;
        if self.guard.cache_most < self.guard.cache_least {
            return Err(format!(
                "guard.cache-most = \"{}\" is less than guard.cache-least = \"{}\"",
                self.guard.cache_most, self.guard.cache_least
            ));
        }
        within("protect.reuse", self.protect.reuse, Span::secs(1), Span::secs(600))?;
        within("protect.release-after", self.protect.release_after, Span::secs(5), Span::secs(86_400))?;
        if self.protect.budget > Percent::new(25) {
            return Err(format!("protect.budget = \"{}\" is more than a quarter of memory", self.protect.budget));
        }
        if self.protect.floors > Percent::new(25) {
            return Err(format!("protect.floors = \"{}\" is more than a quarter of memory", self.protect.floors));
        }
        within("guard.contain-ahead", self.guard.contain_ahead, Span::default(), Span::secs(60))?;
        within("guard.ask-for", self.guard.ask_for, Span::default(), Span::secs(600))?;
        within("guard.contain-for", self.guard.contain_for, Span::secs(1), Span::secs(600))?;
        if let Some(unit) = self.protect.units.iter().find(|unit| !super::is_ward(unit)) {
            return Err(format!("protect.units: {unit:?} may hold anything, and so what makes memory run out"));
        }
        if let Some(path) = self.protect.programs.iter().find(|path| !path.starts_with('/')) {
            return Err(format!("protect.programs: {path:?} is no absolute path"));
        }
        within("hooks.timeout", self.hooks.timeout, Span::millis(100), Span::secs(60))?;
        for occasion in Occasion::ALL {
            if let Some(path) = self.hooks.of(occasion).filter(|path| !path.starts_with('/')) {
                return Err(format!("hooks.{}: {path:?} is no absolute path", occasion.name()));
            }
        }
        for (name, share) in [
            ("guard.term-room", self.guard.term_room),
            ("guard.kill-room", self.guard.kill_room),
            ("guard.cache-most", self.guard.cache_most),
            ("gap.available-floor", self.gap.available_floor),
            ("gap.dead-band", self.gap.dead_band),
            ("caches.negative-cap", self.caches.negative_cap),
        ] {
            if share > Percent::new(90) {
                return Err(format!("{name} = \"{share}\" is more than 90 %"));
            }
        }
        if let Some(Share::Percent(share)) = self.gap.max {
            if share > Percent::new(25) {
                return Err(format!("gap.max = \"{share}\" is more than a quarter of memory"));
            }
        }
        if self.gap.stall_cost == Span::default() && self.gap.refault_cost == Span::default() {
            return Err("gap.stall-cost and gap.refault-cost are both zero: nothing to weigh".to_owned());
        }
        if self.recording.files == 0 {
            return Err("recording.files = 0: switch it off with recording.enabled = false".to_owned());
        }
        self.tunables.iter().try_for_each(|tunable| {
            let spec = tunable.knob.spec();
            if spec.range.contains(&tunable.value) {
                return Ok(());
            }
            let (least, most) = (spec.range.start(), spec.range.end());
            Err(format!("tunable {} = {} is not between {least} and {most}", spec.name, tunable.value))
        })
    }
}

/// Line and column of byte `offset`, both from 1, the column in characters.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    (line, column)
}

/// Lays `over` on `base`: tables are merged, lists are appended, anything else is replaced.
fn overlay(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            (Some(Value::Array(below)), Value::Array(above)) => below.extend(above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}
