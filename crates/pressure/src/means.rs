//! The means by which a guard acts, each tried by its effect and not by what the kernel's version promises.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A means, tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Means {
    /// Its name.
    pub name: String,
    /// Whether it has the effect that it should.
    #[serde(rename = "armed")]
    pub is_armed: bool,
    /// What it gives, or why it does not.
    pub says: String,
    /// What to do about it; `None` if it is armed, or nothing can be done here.
    pub remedy: Option<String>,
}

impl Means {
    /// One that has its effect.
    pub fn armed(name: &str, gives: &str) -> Self {
        Self {
            name: name.to_owned(),
            is_armed: true,
            says: gives.to_owned(),
            remedy: None,
        }
    }

    /// One that does not have its effect, and why.
    pub fn not_armed(name: &str, why: impl fmt::Display, remedy: Option<&str>) -> Self {
        Self {
            name: name.to_owned(),
            is_armed: false,
            says: why.to_string(),
            remedy: remedy.map(str::to_owned),
        }
    }
}

/// The names of those that are armed, with commas between.
pub fn armed(means: &[Means]) -> String {
    let armed = means.iter().filter(|one| one.is_armed);
    let names: Vec<&str> = armed.map(|one| one.name.as_str()).collect();
    names.join(", ")
}

/// `NAME: WHY; REMEDY`, as logs and `warmset status` show a means.
impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, says, .. } = self;
        match &self.remedy {
            Some(remedy) => write!(f, "{name}: {says}; {remedy}"),
            None => write!(f, "{name}: {says}"),
        }
    }
}
