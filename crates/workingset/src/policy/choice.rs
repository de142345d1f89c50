//! A policy as a user names it: `lru`, `2q:kin=0.25,kout=0.5`, or with a variant in brackets,
//! `s3fifo(thr1)`.

use super::list::POLICIES;
use super::options::{OptionSpec, Options};
use super::spec::Spec;
use crate::Error;

/// A policy with its options.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The policy.
    pub spec: &'static Spec,
    /// The values of its options.
    pub options: Options,
}

/// Names that other programs and papers use for the same policy.
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

/// A policy, the name of a variant, and the option that it stands for; `None` if the policy always
/// is so.
type Variant = (&'static str, &'static str, Option<(&'static str, f64)>);

/// Variants, as tables of results write them in brackets.
const VARIANTS: &[Variant] = &[
    ("s3fifo", "thr1", Some(("threshold", 1.0))),
    ("s3fifo", "thr2", Some(("threshold", 2.0))),
    ("s3fifo", "fill", Some(("fill", 1.0))),
    ("lirs", "unbounded", None),
    ("lirs", "dedup", None),
];

impl Choice {
    /// The policies that these texts name, in each separated by commas; `all` is every policy with
    /// its defaults.
    pub fn list(texts: &[impl AsRef<str>]) -> Result<Vec<Self>, Error> {
        let mut choices: Vec<Self> = Vec::new();
        for word in texts.iter().flat_map(|text| split(text.as_ref())) {
            if word == "all" {
                choices.extend(POLICIES.iter().map(Self::with_defaults));
            } else {
                choices.push(Self::parse(&word)?);
            }
        }
        Ok(choices)
    }

    fn with_defaults(spec: &'static Spec) -> Self {
        Self {
            spec,
            options: spec.defaults(),
        }
    }

    /// `NAME`, `NAME:OPTION=VALUE,…` or `NAME(VARIANT,…)`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (name, rest) = if let Some((name, rest)) = text.split_once(':') {
            (name, rest)
        } else if let Some((name, rest)) = text.split_once('(') {
            (name, rest.trim_end_matches(')'))
        } else {
            (text, "")
        };
        let mut choice = Self::with_defaults(named(&name.trim().to_ascii_lowercase())?);
        for word in rest.split(',') {
            let word = word.trim();
            if !word.is_empty() {
                choice.set(word)?;
            }
        }
        Ok(choice)
    }

    /// The policy and the options that were given, as [`Choice::parse`] reads them.
    pub fn label(&self) -> String {
        match self.options.told() {
            told if told.is_empty() => self.spec.name.to_owned(),
            told => format!("{}:{told}", self.spec.name),
        }
    }

    /// Sets what a word says: a variant, or an option's value.
    fn set(&mut self, word: &str) -> Result<(), Error> {
        let policy = self.spec.name;
        for (of, variant, option) in VARIANTS {
            if *of == policy && *variant == word {
                if let Some((name, value)) = option {
                    self.options = self.options.with(name, *value);
                }
                return Ok(());
            }
        }
        self.options = set_option(policy, self.spec.options, &self.options, word)?;
        Ok(())
    }
}

/// The options of a policy, with what `NAME=VALUE` sets.
pub(crate) fn set_option(
    policy: &str,
    specs: &[OptionSpec],
    options: &Options,
    word: &str,
) -> Result<Options, Error> {
    let Some((name, value)) = word.split_once('=') else {
        return Err(Error::Unknown(format!(
            "'{word}' for {policy}: an option is NAME=VALUE"
        )));
    };
    let known: Vec<&str> = specs.iter().map(|option| option.0).collect();
    if !known.contains(&name) {
        let known = if known.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has {}", known.join(", "))
        };
        return Err(Error::Unknown(format!(
            "{policy} has no option '{name}': {known}"
        )));
    }
    let number = value.parse::<f64>().ok();
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    let Some(number) = number else {
        return Err(Error::Unfit(format!(
            "'{value}' for {name} of {policy} is no number of 0 or more"
        )));
    };
    Ok(options.with(name, number))
}

/// The policy of this name, in lower case.
fn named(name: &str) -> Result<&'static Spec, Error> {
    let alias = ALIASES.iter().find(|(other, _)| *other == name);
    let own = alias.map_or(name, |(_, own)| own);
    let found = POLICIES.iter().find(|spec| spec.name == own);
    found.ok_or_else(|| {
        let known: Vec<&str> = POLICIES.iter().map(|spec| spec.name).collect();
        unknown("policy", name, &known)
    })
}

/// There is no such name: which one may be meant, and which there are.
pub(crate) fn unknown(what: &str, name: &str, known: &[&str]) -> Error {
    let suggestion = match nearest(name, known) {
        Some(near) => format!("did you mean '{near}'? "),
        None => String::new(),
    };
    Error::Unknown(format!(
        "no {what} '{name}': {suggestion}there are {}",
        known.join(", ")
    ))
}

/// The name that was meant, if one is alike enough: by the measure and the limit that clap suggests by, as `warmset check`
/// does for keys of the configuration.
fn nearest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    const ALIKE: f64 = 0.7;
    let alike = |one: &str| strsim::jaro(name, one);
    let near = known
        .iter()
        .copied()
        .max_by(|one, other| alike(one).total_cmp(&alike(other)))?;
    (alike(near) > ALIKE).then_some(near)
}

/// Splits a list at its commas. A comma before `NAME=VALUE` or within brackets belongs to the
/// policy before it.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in text.split(',') {
        let is_option = part.contains('=') && !part.contains(':');
        match words.last_mut() {
            Some(last) if is_option || (last.contains('(') && !last.contains(')')) => {
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
    fn a_policy_that_is_nearly_named_is_suggested() {
        let said = |name| Choice::parse(name).unwrap_err().to_string();
        assert!(said("lrru").contains("did you mean 'lru'?"));
        assert!(said("seive").contains("did you mean 'sieve'?"));
        assert!(!said("postgresql").contains("did you mean"));
    }

    #[test]
    fn a_fitted_size_that_is_far_from_the_capacity_is_told() {
        let missed_by = |policy: &str, mean_size: f64| {
            let choice = Choice::parse(policy).unwrap();
            let score = crate::policy::Score {
                capacity: 100,
                references: 1000,
                distinct: 200,
                misses: 10,
                writebacks: None,
                mean_size,
                options: String::new(),
            };
            choice.spec.size_missed_by(&choice.options, &score)
        };
        assert!(missed_by("pff", 80.0).is_some_and(|share| (share + 0.2).abs() < 1e-9));
        assert!(missed_by("pff", 106.0).is_some());
        assert_eq!(missed_by("pff", 96.0), None);
        assert_eq!(missed_by("pff:p=7", 80.0), None, "it was asked for");
        assert_eq!(missed_by("lru", 80.0), None, "nothing was fitted");
    }

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
