//! A policy of objects as a user names it: `lru`, `gdsf:cost=1`.

use super::object_spec::{OBJECT_POLICIES, ObjectSpec};
use crate::Error;
use crate::policy::{Options, set_option, split, unknown};

/// A policy of objects with its options.
#[derive(Debug, Clone)]
pub struct ObjectChoice {
    /// The policy.
    pub spec: &'static ObjectSpec,
    /// The values of its options.
    pub options: Options,
}

impl ObjectChoice {
    /// The policies that these texts name, in each separated by commas; `all` is every policy with its defaults.
    ///
    /// Errors: no such policy or option.
    pub fn list(texts: &[impl AsRef<str>]) -> Result<Vec<Self>, Error> {
        let mut choices: Vec<Self> = Vec::new();
        for word in texts.iter().flat_map(|text| split(text.as_ref())) {
            if word == "all" {
                choices.extend(OBJECT_POLICIES.iter().map(Self::with_defaults));
            } else {
                choices.push(Self::parse(&word)?);
            }
        }
        Ok(choices)
    }

    /// `NAME` or `NAME:OPTION=VALUE,…`.
    ///
    /// Errors: no such policy or option.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut choice = Self::with_defaults(named(&name.trim().to_ascii_lowercase())?);
        for word in rest.split(',') {
            let word = word.trim();
            if !word.is_empty() {
                let spec = choice.spec;
                choice.options = set_option(spec.name, spec.options, &choice.options, word)?;
            }
        }
        Ok(choice)
    }

    /// The policy and the options that were given, as [`ObjectChoice::parse`] reads them.
    pub fn label(&self) -> String {
        match self.options.told() {
            told if told.is_empty() => self.spec.name.to_owned(),
            told => format!("{}:{told}", self.spec.name),
        }
    }

    fn with_defaults(spec: &'static ObjectSpec) -> Self {
        Self {
            spec,
            options: spec.defaults(),
        }
    }
}

fn named(name: &str) -> Result<&'static ObjectSpec, Error> {
    let own = if name == "s3-fifo" { "s3fifo" } else { name };
    let found = OBJECT_POLICIES.iter().find(|spec| spec.name == own);
    found.ok_or_else(|| {
        let known: Vec<&str> = OBJECT_POLICIES.iter().map(|spec| spec.name).collect();
        unknown("policy of objects", name, &known)
    })
}
