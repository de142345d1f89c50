//! The values of a policy's options.

/// An option of a policy: its name, its value if none is given, and its meaning.
pub type OptionSpec = (&'static str, f64, &'static str);

/// The values of a policy's options.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options(Vec<OptionValue>);

#[derive(Debug, Clone, PartialEq)]
struct OptionValue {
    name: &'static str,
    value: f64,
    /// Whether the value was given, or fitted, and is not the default.
    is_told: bool,
}

impl Options {
    /// The options with the values that they have if none is given.
    pub(crate) fn defaults(options: &[OptionSpec]) -> Self {
        let mut values = Vec::with_capacity(options.len());
        for (name, value, _) in options {
            values.push(OptionValue {
                name,
                value: *value,
                is_told: false,
            });
        }
        Self(values)
    }

    /// The value of an option; 0 if there is no such option.
    pub fn get(&self, name: &str) -> f64 {
        let found = self.0.iter().find(|option| option.name == name);
        found.map_or(0.0, |option| option.value)
    }

    /// Returns true if the option's value was given.
    pub fn is_told(&self, name: &str) -> bool {
        let mut options = self.0.iter();
        options.any(|option| option.name == name && option.is_told)
    }

    /// The same options, with another value of one.
    #[must_use]
    pub fn with(&self, name: &str, value: f64) -> Self {
        let mut options = self.clone();
        for option in &mut options.0 {
            if option.name == name {
                option.value = value;
                option.is_told = true;
            }
        }
        options
    }

    /// The values that were given, as `name=value`, with commas between.
    pub fn told(&self) -> String {
        let mut told = Vec::new();
        for option in &self.0 {
            if option.is_told {
                told.push(format!("{}={}", option.name, option.value));
            }
        }
        told.join(",")
    }
}
