//! Configuration of the daemons that Warmset replaces, understood.
//!
//! `/etc/sysconfig/NAME` or `/etc/default/NAME` of adaptivemmd and memoptimizer hold `KEY = VALUE`
//! lines, numbers as C reads them. A key that has a counterpart is carried over; one that has none,
//! or did not work there, is said. The guard itself reads such a file at start where it has none of
//! its own; files of other guards are read by `warmset import` only.

use crate::config::{Config, ConfigError};
use serde::Serialize;
use std::fmt::Write;

/// The daemon that a file configures.
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
    /// What is not carried over, or not with its whole meaning.
    pub left_out: Vec<LeftOut>,
}

/// A setting of the other program that the translation lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The setting, as it was written.
    pub setting: String,
    /// Why, and what to do instead.
    pub reason: String,
}

impl Imported {
    /// A translation of the configuration of the program `name`; an error if it is no valid configuration.
    pub fn checked(
        name: &str,
        toml: String,
        notes: Vec<String>,
        left_out: Vec<LeftOut>,
    ) -> Result<Self, ConfigError> {
        Config::parse(name, &toml)?;
        Ok(Self {
            toml,
            notes,
            left_out,
        })
    }

    /// What is left out, a sentence for each reason.
    pub fn losses(&self) -> Vec<String> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for left_out in &self.left_out {
            let known = reasons
                .iter_mut()
                .find(|(reason, _)| *reason == left_out.reason);
            match known {
                Some((_, settings)) => settings.push(&left_out.setting),
                None => reasons.push((&left_out.reason, vec![&left_out.setting])),
            }
        }
        let mut sentences = Vec::new();
        for (reason, settings) in reasons {
            sentences.push(format!("{}: {reason}", settings.join(", ")));
        }
        sentences
    }

    /// All that is to be said: what is left out, then what differs.
    pub fn sentences(self) -> Vec<String> {
        let mut sentences = Vec::new();
        for loss in self.losses() {
            sentences.push(format!("left out: {loss}"));
        }
        sentences.extend(self.notes);
        sentences
    }
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
    if program == Legacy::Adaptivemmd {
        import.note_defaults();
    }
    import.notes.push(format!(
        "the gap is sized from demand; to compare with {name}'s line through eight samples, add \
         predictor = \"classic\""
    ));
    Imported::checked(name, import.toml(name), import.notes, import.left_out)
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
    left_out: Vec<LeftOut>,
}

impl Import {
    fn line(&mut self, number: usize, line: &str) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        let Some((key, value)) = line.split_once('=') else {
            self.leave_out(number, line, "it is not KEY = VALUE");
            return;
        };
        let key = key.trim();
        let key = key.strip_prefix("export ").unwrap_or(key).trim();
        let Some((value, rest)) = c_number(value.trim().trim_matches(['"', '\''])) else {
            self.leave_out(number, line, "it has no number");
            return;
        };
        let is_comment = rest.starts_with('#');
        if !rest.is_empty() && !is_comment {
            let key = quoted(key);
            let rest = quoted(rest);
            self.notes.push(format!(
                "line {number}: {key} is read as {value}; {rest} after it is left out"
            ));
        }
        self.take(number, key, value);
    }

    fn take(&mut self, number: usize, key: &str, value: u64) {
        match key {
            "VERBOSE" => self.verbosity = Some(self.bounded(number, key, value, 0..=5)),
            "AGGRESSIVENESS" => {
                if value == 0 {
                    self.notes.push(format!(
                        "line {number}: AGGRESSIVENESS = 0 made them loop without a pause"
                    ));
                }
                self.aggressiveness = Some(self.bounded(number, key, value, 1..=3));
            }
            "MAXGAP" => self.max_gap = Some(self.bounded(number, key, value, 1..=1 << 20)),
            "ENABLE_FREE_PAGE_MGMT" => self.gap_enabled = Some(value != 0),
            "ENABLE_NEG_DENTRY_MGMT" => self.negative_enabled = Some(value != 0),
            "NEG_DENTRY_CAP" | "NEG-DENTRY-CAP" => {
                self.negative_cap = Some(self.bounded(number, key, value, 1..=100));
            }
            "ENABLE_MEMLEAK_CHECK" => self.leak_enabled = Some(value != 0),
            "PREFER_OBJECT_CACHING" => self.prefer_objects = Some(value != 0),
            _ => self.leave_out(number, key, "it is not a key of theirs"),
        }
    }

    fn leave_out(&mut self, number: usize, what: &str, reason: &str) {
        self.left_out.push(LeftOut {
            setting: format!("line {number}: {}", quoted(what)),
            reason: reason.to_owned(),
        });
    }

    /// What they did without being asked, and we do not.
    fn note_defaults(&mut self) {
        if self.negative_enabled.is_none() {
            self.notes.push(
                "negative dentries were limited by default there; here caches.negative-dentries = \"limit\" asks for it"
                    .to_owned(),
            );
        }
        if self.prefer_objects.is_none() {
            self.notes.push(
                "names and inodes were preferred by default there; here caches.prefer = \"objects\" asks for it"
                    .to_owned(),
            );
        }
    }

    fn bounded(
        &mut self,
        number: usize,
        key: &str,
        value: u64,
        range: std::ops::RangeInclusive<u64>,
    ) -> u64 {
        let taken = value.clamp(*range.start(), *range.end());
        if taken != value {
            self.notes.push(format!(
                "line {number}: {key} = {value} is out of range: taken as {taken}"
            ));
        }
        taken
    }

    fn toml(&self, name: &str) -> String {
        let mut toml = format!("# Taken over from {name}.\n");
        let mut put = |line: std::fmt::Arguments<'_>| {
            let _ = writeln!(toml, "{line}");
        };
        if let Some(level) = self.verbosity {
            put(format_args!("verbosity = {level} # VERBOSE"));
        }
        if let Some(level) = self.aggressiveness {
            put(format_args!("aggressiveness = {level} # AGGRESSIVENESS"));
        }
        if self.max_gap.is_some() || self.gap_enabled.is_some() {
            put(format_args!("\n[gap]"));
        }
        if let Some(enabled) = self.gap_enabled {
            put(format_args!("enabled = {enabled} # ENABLE_FREE_PAGE_MGMT"));
        }
        if let Some(gap) = self.max_gap {
            put(format_args!("max = \"{gap} GiB\" # MAXGAP"));
        }
        if let Some(enabled) = self.gap_enabled {
            put(format_args!(
                "\n[compaction]\nenabled = {enabled} # ENABLE_FREE_PAGE_MGMT"
            ));
        }
        if self.negative_enabled.is_some()
            || self.negative_cap.is_some()
            || self.prefer_objects.is_some()
        {
            put(format_args!("\n[caches]"));
        }
        if let Some(enabled) = self.negative_enabled {
            let what = if enabled { "limit" } else { "ignore" };
            put(format_args!(
                "negative-dentries = \"{what}\" # ENABLE_NEG_DENTRY_MGMT"
            ));
        }
        if let Some(thousandths) = self.negative_cap {
            let whole = thousandths / 10;
            let tenth = thousandths % 10;
            put(format_args!(
                "negative-cap = \"{whole}.{tenth} %\" # NEG_DENTRY_CAP = {thousandths} thousandths"
            ));
        }
        if let Some(objects) = self.prefer_objects {
            let what = if objects { "objects" } else { "pages" };
            put(format_args!("prefer = \"{what}\" # PREFER_OBJECT_CACHING"));
        }
        if let Some(enabled) = self.leak_enabled {
            put(format_args!(
                "\n[leak]\nenabled = {enabled} # ENABLE_MEMLEAK_CHECK"
            ));
        }
        toml
    }
}

/// As `strtoul(text, &rest, 0)` reads it: octal after 0, hexadecimal after 0x, and what follows the digits.
fn c_number(text: &str) -> Option<(u64, &str)> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) =
        match hexadecimal.filter(|digits| digits.starts_with(|c: char| c.is_ascii_hexdigit())) {
            Some(digits) => (digits, 16),
            None if text.starts_with('0') => (text, 8),
            None => (text, 10),
        };
    let end = digits
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    u64::from_str_radix(digits, radix)
        .ok()
        .map(|number| (number, rest.trim()))
}

/// Text of an imported file for a note: in quotes, control characters escaped.
///
/// It is not cut, and a backslash stays as it is: it is to be found again in the file.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        if letter.is_control() {
            quoted.extend(letter.escape_default());
        } else {
            quoted.push(letter);
        }
    }
    quoted.push('"');
    quoted
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
        assert_eq!(
            (config.verbosity.get(), config.aggressiveness.get()),
            (5, 3)
        );
        assert_eq!(config.gap.max.unwrap().to_string(), "16 GiB");
        assert_eq!(config.caches.negative_dentries, NegativeDentries::Limit);
        assert_eq!(config.caches.negative_cap.to_string(), "2.5 %");
        assert_eq!(config.caches.prefer, Prefer::Objects);
        assert!(!config.leak.enabled && config.gap.enabled && config.compaction.enabled);
        assert_eq!(imported.notes.len(), 1, "{:?}", imported.notes);
    }

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        for (text, expected) in [
            ("0", Some((0, ""))),
            ("017", Some((15, ""))),
            ("0x1F", Some((31, ""))),
            ("0xg", Some((0, "xg"))),
            ("08", Some((0, "8"))),
            ("3 # eager", Some((3, "# eager"))),
            ("many", None),
            ("", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(c_number(text), expected, "{text}");
        }
    }

    #[test]
    fn the_result_says_which_key_each_line_comes_from() {
        let imported = legacy(
            Legacy::Adaptivemmd,
            "MAXGAP=4\nVERBOSE = 2\nNEG_DENTRY_CAP=15\n",
        )
        .unwrap();
        expect_test::expect![[r#"
            # Taken over from adaptivemmd.
            verbosity = 2 # VERBOSE

            [gap]
            max = "4 GiB" # MAXGAP

            [caches]
            negative-cap = "1.5 %" # NEG_DENTRY_CAP = 15 thousandths
        "#]]
        .assert_eq(&imported.toml);
    }

    #[test]
    fn an_unknown_key_does_not_hide_the_rest_and_zero_is_no_aggressiveness() {
        let text = "FOO=1\nAGGRESSIVENESS = 0\nnonsense\nVERBOSE = many\nMAXGAP = 2 GB";
        let imported = legacy(Legacy::Memoptimizer, text).unwrap();
        assert_eq!(
            Config::parse("x", &imported.toml)
                .unwrap()
                .aggressiveness
                .get(),
            1
        );
        expect_test::expect![[r#"
            left out: line 1: "FOO": it is not a key of theirs
            left out: line 3: "nonsense": it is not KEY = VALUE
            left out: line 4: "VERBOSE = many": it has no number
            line 2: AGGRESSIVENESS = 0 made them loop without a pause
            line 2: AGGRESSIVENESS = 0 is out of range: taken as 1
            line 5: "MAXGAP" is read as 2; "GB" after it is left out
            the gap is sized from demand; to compare with memoptimizer's line through eight samples, add predictor = "classic""#]].assert_eq(&imported.clone().sentences().join("\n"));
    }

    /// Lines with keys of theirs and numbers of any size, keys of no one, and anything.
    const FILE: &str = "((VERBOSE|AGGRESSIVENESS|MAXGAP|ENABLE_FREE_PAGE_MGMT|ENABLE_NEG_DENTRY_MGMT|NEG_DENTRY_CAP|\
                        NEG-DENTRY-CAP|ENABLE_MEMLEAK_CHECK|PREFER_OBJECT_CACHING) ?= ?[0-9x]{0,22}.{0,4}\n|\
                        [A-Z_-]{0,25} ?= ?[0-9x]{0,12}\n|.{0,30}\n){0,8}";

    proptest! {
        #[test]
        fn whatever_the_file_says_the_result_is_valid(text in FILE) {
            for program in [Legacy::Adaptivemmd, Legacy::Memoptimizer] {
                let imported = legacy(program, &text).map_err(|error| TestCaseError::fail(error.to_string()))?;
                prop_assert!(Config::parse("x", &imported.toml).is_ok());
            }
        }
    }
}
