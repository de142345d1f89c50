//! Configuration of the daemons we replace, understood.
//!
//! `/etc/sysconfig/NAME` or `/etc/default/NAME` of adaptivemmd and memoptimizer hold `KEY = VALUE` lines, numbers
//! as C reads them. What has a counterpart is carried over; what has none, or was broken there, is said.

use crate::config::{Config, ConfigError};
use std::fmt::Write;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legacy {
    /// Oracle's adaptivemmd 2.
    Adaptivemmd,
    /// Its predecessor, with three of the keys.
    Memoptimizer,
}

/// A file understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The same as a `warmset.toml`.
    pub toml: String,
    /// What differs, a sentence each.
    pub notes: Vec<String>,
}

/// Translates `text`. What is returned is always a valid configuration.
pub fn legacy(program: Legacy, text: &str) -> Result<Imported, ConfigError> {
    let mut import = Import::default();
    for (index, line) in text.lines().enumerate() {
        import.line(index + 1, line);
    }
    let name = match program {
        Legacy::Adaptivemmd => "adaptivemmd",
        Legacy::Memoptimizer => "memoptimizer",
    };
    import.notes.push(format!(
        "{name}'s forecast (a line through eight samples) is kept as predictor = \"classic\"; the default sizes the \
         gap from demand"
    ));
    let toml = import.toml(name);
    Config::parse(name, &toml)?;
    Ok(Imported { toml, notes: import.notes })
}

#[derive(Default)]
struct Import {
    verbosity: Option<u64>,
    aggressiveness: Option<u64>,
    max_gap: Option<u64>,
    gap_enabled: Option<bool>,
    negative_enabled: Option<bool>,
    negative_cap: Option<u64>,
    leak_enabled: Option<bool>,
    prefer_objects: Option<bool>,
    notes: Vec<String>,
}

impl Import {
    fn line(&mut self, number: usize, line: &str) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        let Some((key, value)) = line.split_once('=') else {
            let cut: String = line.chars().take(60).collect();
            self.notes.push(format!("line {number}: {cut:?} is not KEY = VALUE: left out"));
            return;
        };
        let key = key.trim();
        let Some(value) = c_number(value.trim().trim_matches('"')) else {
            self.notes.push(format!("line {number}: {key} has no number: left out"));
            return;
        };
        self.take(number, key, value);
    }

    fn take(&mut self, number: usize, key: &str, value: u64) {
        match key {
            "VERBOSE" => self.verbosity = Some(self.bounded(number, key, value, 0..=5)),
            "AGGRESSIVENESS" => self.aggressiveness = Some(self.bounded(number, key, value, 1..=3)),
            "MAXGAP" => self.max_gap = Some(self.bounded(number, key, value, 1..=1 << 20)),
            "ENABLE_FREE_PAGE_MGMT" => self.gap_enabled = Some(value != 0),
            "ENABLE_NEG_DENTRY_MGMT" => self.negative_enabled = Some(value != 0),
            "NEG_DENTRY_CAP" | "NEG-DENTRY-CAP" => {
                self.negative_cap = Some(self.bounded(number, key, value, 1..=100));
            }
            "ENABLE_MEMLEAK_CHECK" => self.leak_enabled = Some(value != 0),
            "PREFER_OBJECT_CACHING" => self.prefer_objects = Some(value != 0),
            _ => self.notes.push(format!(
                "line {number}: {:?} is not a key of theirs: left out",
                key.chars().take(40).collect::<String>()
            )),
        }
    }

    fn bounded(&mut self, number: usize, key: &str, value: u64, range: std::ops::RangeInclusive<u64>) -> u64 {
        let taken = value.clamp(*range.start(), *range.end());
        if taken != value {
            self.notes.push(format!("line {number}: {key} = {value} is out of range: taken as {taken}"));
        }
        taken
    }

    fn toml(&self, name: &str) -> String {
        let mut toml = format!("# Taken over from {name}.\n");
        let mut put = |line: std::fmt::Arguments<'_>| {
            let _ = writeln!(toml, "{line}");
        };
        if let Some(level) = self.verbosity {
            put(format_args!("verbosity = {level}"));
        }
        if let Some(level) = self.aggressiveness {
            put(format_args!("aggressiveness = {level}"));
        }
        if self.max_gap.is_some() || self.gap_enabled.is_some() {
            put(format_args!("\n[gap]"));
        }
        if let Some(enabled) = self.gap_enabled {
            put(format_args!("enabled = {enabled}"));
        }
        if let Some(gap) = self.max_gap {
            put(format_args!("max = \"{gap} GiB\""));
        }
        if let Some(enabled) = self.gap_enabled {
            put(format_args!("\n[compaction]\nenabled = {enabled}"));
        }
        if self.negative_enabled.is_some() || self.negative_cap.is_some() || self.prefer_objects.is_some() {
            put(format_args!("\n[caches]"));
        }
        if let Some(enabled) = self.negative_enabled {
            put(format_args!("negative-dentries = \"{}\"", if enabled { "limit" } else { "ignore" }));
        }
        if let Some(thousandths) = self.negative_cap {
            put(format_args!("negative-cap = \"{}.{} %\"", thousandths / 10, thousandths % 10));
        }
        if let Some(objects) = self.prefer_objects {
            put(format_args!("prefer = \"{}\"", if objects { "objects" } else { "pages" }));
        }
        if let Some(enabled) = self.leak_enabled {
            put(format_args!("\n[leak]\nenabled = {enabled}"));
        }
        toml
    }
}

/// As `strtoul(text, NULL, 0)` reads it: octal after 0, hexadecimal after 0x.
fn c_number(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok();
    }
    match text.strip_prefix('0') {
        Some("") => Some(0),
        Some(digits) => u64::from_str_radix(digits, 8).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{NegativeDentries, Prefer};
    use proptest::prelude::*;

    #[test]
    fn every_key_of_theirs_is_carried_over() {
        let text = "# theirs\nVERBOSE = 5\nAGGRESSIVENESS=3\nMAXGAP = 0x10\nENABLE_FREE_PAGE_MGMT=1\n\
                    ENABLE_NEG_DENTRY_MGMT=1\nNEG-DENTRY-CAP=25\nENABLE_MEMLEAK_CHECK=0\nPREFER_OBJECT_CACHING=1\n";
        let imported = legacy(Legacy::Adaptivemmd, text).unwrap();
        let config = Config::parse("x", &imported.toml).unwrap();
        assert_eq!((config.verbosity.get(), config.aggressiveness.get()), (5, 3));
        assert_eq!(config.gap.max.unwrap().to_string(), "16 GiB");
        assert_eq!(config.caches.negative_dentries, NegativeDentries::Limit);
        assert_eq!(config.caches.negative_cap.to_string(), "2.5 %");
        assert_eq!(config.caches.prefer, Prefer::Objects);
        assert!(!config.leak.enabled && config.gap.enabled && config.compaction.enabled);
        assert_eq!(imported.notes.len(), 1, "{:?}", imported.notes);
    }

    #[test]
    fn an_unknown_key_does_not_hide_the_rest_and_zero_is_no_aggressiveness() {
        let imported = legacy(Legacy::Memoptimizer, "FOO=1\nAGGRESSIVENESS = 0\nnonsense\nVERBOSE = many").unwrap();
        assert_eq!(Config::parse("x", &imported.toml).unwrap().aggressiveness.get(), 1);
        assert_eq!(
            imported.notes[..4],
            [
                "line 1: \"FOO\" is not a key of theirs: left out",
                "line 2: AGGRESSIVENESS = 0 is out of range: taken as 1",
                "line 3: \"nonsense\" is not KEY = VALUE: left out",
                "line 4: VERBOSE has no number: left out",
            ]
        );
    }

    proptest! {
        #[test]
        fn whatever_the_file_says_the_result_is_valid(text in "([A-Z_-]{0,25} ?= ?[0-9x]{0,12}\n|.{0,30}\n){0,8}") {
            prop_assert!(legacy(Legacy::Adaptivemmd, &text).is_ok());
        }
    }
}
