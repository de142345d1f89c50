//! A policy as a user names it: `lru`, `2q:kin=0.25,kout=0.5`, or with a variant in brackets, `s3fifo(thr1)`.

use super::{POLICIES, Spec};
use crate::Error;

/// Values of a policy's options.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options(Vec<(&'static str, f64, bool)>);

impl Options {
    /// A policy's own.
    pub fn of(spec: &Spec) -> Self {
        Self(
            spec.options
                .iter()
                .map(|(name, value, _)| (*name, *value, false))
                .collect(),
        )
    }

    /// The value; 0 of an option that there is not.
    pub fn get(&self, name: &str) -> f64 {
        self.0
            .iter()
            .find(|option| option.0 == name)
            .map_or(0.0, |option| option.1)
    }

    /// Whether someone has told it.
    pub fn is_told(&self, name: &str) -> bool {
        self.0.iter().any(|option| option.0 == name && option.2)
    }

    /// The same, with one told.
    #[must_use]
    pub fn with(&self, name: &str, value: f64) -> Self {
        let mut options = self.clone();
        options
            .0
            .iter_mut()
            .filter(|option| option.0 == name)
            .for_each(|option| (option.1, option.2) = (value, true));
        options
    }

    /// Those that were told, `name=value`.
    pub fn told(&self) -> String {
        let told = self.0.iter().filter(|option| option.2);
        told.map(|(name, value, _)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join(",")
    }
}

/// A policy with its options.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Which.
    pub spec: &'static Spec,
    /// How.
    pub options: Options,
}

/// Names that others use for the same.
const ALIASES: &[(&str, &str)] = &[
    ("arc-real-p", "arc"),
    ("belady", "opt"),
    ("min", "opt"),
    ("s3-fifo", "s3fifo"),
    ("twoq", "2q"),
    ("clock-pro", "clockpro"),
    ("lru-2", "lru-k"),
    ("w-tinylfu", "wtinylfu"),
    ("aging", "nfu"),
    ("active-inactive", "linux"),
];

/// A policy, its variant, and the option that this is; `None` if it is how the policy is anyway.
type Variant = (&'static str, &'static str, Option<(&'static str, f64)>);

/// Variants as tables of results write them, in brackets.
const VARIANTS: &[Variant] = &[
    ("s3fifo", "thr1", Some(("threshold", 1.0))),
    ("s3fifo", "thr2", Some(("threshold", 2.0))),
    ("lirs", "unbounded", None),
    ("lirs", "dedup", None),
];

impl Choice {
    /// Several, in each text separated by commas; `all` is every policy with its own options.
    pub fn list(told: &[impl AsRef<str>]) -> Result<Vec<Self>, Error> {
        let mut choices: Vec<Self> = Vec::new();
        for word in told.iter().flat_map(|text| split(text.as_ref())) {
            if word == "all" {
                choices.extend(POLICIES.iter().map(|spec| Self {
                    spec,
                    options: Options::of(spec),
                }));
            } else {
                choices.push(Self::parse(&word)?);
            }
        }
        Ok(choices)
    }

    /// `NAME`, `NAME:OPTION=VALUE,…` or `NAME(VARIANT,…)`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (name, rest) = match (text.split_once(':'), text.split_once('(')) {
            (Some((name, rest)), _) => (name, rest),
            (None, Some((name, rest))) => (name, rest.trim_end_matches(')')),
            (None, None) => (text, ""),
        };
        let asked = name.trim().to_ascii_lowercase();
        let name = ALIASES
            .iter()
            .find(|alias| alias.0 == asked)
            .map_or(asked.as_str(), |alias| alias.1);
        let Some(spec) = POLICIES.iter().find(|spec| spec.name == name) else {
            let known: Vec<&str> = POLICIES.iter().map(|spec| spec.name).collect();
            return Err(Error::Unknown(format!(
                "no policy '{asked}': there are {}",
                known.join(", ")
            )));
        };
        let mut choice = Self {
            spec,
            options: Options::of(spec),
        };
        for word in rest
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            choice.tell(word)?;
        }
        Ok(choice)
    }

    /// As it can be parsed again.
    pub fn label(&self) -> String {
        match self.options.told() {
            told if told.is_empty() => self.spec.name.to_owned(),
            told => format!("{}:{told}", self.spec.name),
        }
    }

    fn tell(&mut self, word: &str) -> Result<(), Error> {
        if let Some(variant) = VARIANTS
            .iter()
            .find(|variant| (variant.0, variant.1) == (self.spec.name, word))
        {
            self.options = variant.2.map_or_else(
                || self.options.clone(),
                |(name, value)| self.options.with(name, value),
            );
            return Ok(());
        }
        let Some((name, value)) = word.split_once('=') else {
            return Err(Error::Unknown(format!(
                "'{word}' for {}: an option is NAME=VALUE",
                self.spec.name
            )));
        };
        let known: Vec<&str> = self.spec.options.iter().map(|option| option.0).collect();
        if !known.contains(&name) {
            let known = if known.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has {}", known.join(", "))
            };
            return Err(Error::Unknown(format!(
                "{} has no option '{name}': {known}",
                self.spec.name
            )));
        }
        match value.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => {
                self.options = self.options.with(name, value);
            }
            _ => {
                return Err(Error::Unfit(format!(
                    "'{value}' for {name} of {} is no number of 0 or more",
                    self.spec.name
                )));
            }
        }
        Ok(())
    }
}

/// A comma starts a new policy unless a `NAME=VALUE` follows, or a bracket is open.
fn split(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in text.split(',') {
        let open = words
            .last()
            .is_some_and(|last| last.contains('(') && !last.contains(')'));
        let option = part.contains('=') && !part.contains(':');
        match words.last_mut() {
            Some(last) if open || option => {
                last.push(',');
                last.push_str(part);
            }
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_policies_and_options() {
        assert_eq!(
            split("lru,2q:kin=0.3,kout=0.6,opt"),
            ["lru", "2q:kin=0.3,kout=0.6", "opt"]
        );
        assert_eq!(
            split("lirs(unbounded,dedup),arc"),
            ["lirs(unbounded,dedup)", "arc"]
        );
        assert_eq!(Choice::list(&["all"]).unwrap().len(), POLICIES.len());
    }

    #[test]
    fn policies_are_found_by_any_of_their_names() {
        assert_eq!(Choice::parse("ARC-real-p").unwrap().spec.name, "arc");
        assert_eq!(
            Choice::parse("s3fifo(thr1)").unwrap().label(),
            "s3fifo:threshold=1"
        );
        assert_eq!(
            Choice::parse("lirs(unbounded,dedup)").unwrap().label(),
            "lirs"
        );
        assert_eq!(Choice::parse("2q:kin=0.3").unwrap().options.get("kin"), 0.3);
        for (text, word) in [
            ("mru", "there are fifo"),
            ("lru:k=2", "it has none"),
            ("2q:kin=-1", "'-1'"),
            ("2q:x", "NAME=VALUE"),
        ] {
            assert!(
                Choice::parse(text).unwrap_err().to_string().contains(word),
                "{text}"
            );
        }
    }

    #[test]
    fn names_are_not_given_twice() {
        for (at, spec) in POLICIES.iter().enumerate() {
            assert!(POLICIES[..at].iter().all(|other| other.name != spec.name));
            assert!(!spec.cite.is_empty() && !spec.about.is_empty());
            assert!(ALIASES.iter().all(|alias| alias.0 != spec.name));
            assert_eq!(spec.variable, spec.fitted.is_some(), "{}", spec.name);
        }
    }
}
