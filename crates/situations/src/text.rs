//! The format of a situation. `situations/README.md` has an example with every key.
//!
//! An unknown key, a wrong unit or a value out of range is an error with its line.

mod amounts;
mod machine;
mod program;
mod right;

pub use amounts::{Often, Size, Speed, Time};
pub use machine::{Arc, Balloon, Cache, Cma, HugePages, Machine, Rival, Swap, SwapKind, Unplug};
pub use program::{Forks, Kind, Mark, OnTerm, Phase, Program, Then, Unit};
pub use right::{Do, Reaches, Right, RightAct};

use pressure::Config;
use serde::Deserialize;

/// What is wrong with a text.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// It is no TOML, or has an unknown key or a wrong value.
    #[error("{file}: {error}")]
    Format {
        /// Which text.
        file: String,
        /// What, with its line.
        error: toml::de::Error,
    },
    /// The keys of `[config]` are no configuration of a guard.
    #[error("{file}: [config]: {error}")]
    Config {
        /// Which text.
        file: String,
        /// What.
        error: pressure::config::ConfigError,
    },
    /// The parts do not fit together.
    #[error("{file}: {what}")]
    Parts {
        /// Which text.
        file: String,
        /// What, and what to do.
        what: String,
    },
}

/// One situation.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Situation {
    /// What kind it is of. Each kind is looked at from two sides at least.
    pub kind: String,
    /// One sentence for the table.
    pub title: String,
    /// The public report that it comes from.
    pub source: String,
    /// For how long it runs.
    #[serde(default = "one_minute")]
    pub runs: Time,
    /// The machine.
    pub machine: Machine,
    /// Programs, in the order of their process IDs.
    #[serde(default, rename = "program")]
    pub programs: Vec<Program>,
    /// Cgroups with properties of their own.
    #[serde(default, rename = "unit")]
    pub units: Vec<Unit>,
    /// Users that can be asked.
    #[serde(default, rename = "user")]
    pub users: Vec<User>,
    /// Keys of `[guard]` that differ from the packaged ones.
    #[serde(default)]
    pub config: toml::Table,
    /// What is right.
    pub right: Right,
    /// How it runs in a virtual machine; `None` if it does not.
    #[serde(default)]
    pub vm: Option<Vm>,
}

/// A user that can be asked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct User {
    /// User ID.
    pub id: u32,
    /// The answer; without one the user says nothing.
    #[serde(default)]
    pub answers: Option<pressure::groups::Answer>,
    /// Time from the question to the answer.
    #[serde(default)]
    pub after: Time,
}

/// How a situation runs in a virtual machine beside the kernel alone and other guards.
///
/// The machine of the text is scaled: every amount and every rate is divided by `machine.memory` over
/// `memory`. Times stay as they are. So a hog that fills 16 GiB at 1 GiB/s fills 512 MiB at 32 MiB/s.
/// An emulated machine writes some 100 MiB/s, which `memory` has to allow for.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Vm {
    /// Memory of the virtual machine: 256 to 512 MiB.
    pub memory: Size,
    /// Every deadline is multiplied by this, as an emulated machine is slower.
    #[serde(default = "once")]
    pub slower: u32,
}

impl Vm {
    /// The amount of this machine that stands for `amount` of the text's machine.
    pub fn scaled(&self, amount: units::Bytes, machine: &Machine) -> units::Bytes {
        amount.scaled(self.memory.0.get(), machine.memory.0.get())
    }
}

fn once() -> u32 {
    1
}

fn one_minute() -> Time {
    Time::secs(60)
}

impl Situation {
    /// Reads a text. Errors name it `file`.
    pub fn parse(file: &str, text: &str) -> Result<Self, TextError> {
        let situation: Self = toml::from_str(text).map_err(|error| TextError::Format {
            file: file.to_owned(),
            error,
        })?;
        situation.config(file)?;
        situation.check().map_err(|what| TextError::Parts {
            file: file.to_owned(),
            what,
        })?;
        Ok(situation)
    }

    /// The configuration that its guard runs with: mode `guard`, and the keys of `[config]`.
    pub fn config(&self, file: &str) -> Result<Config, TextError> {
        Config::parse(file, &self.config_text()).map_err(|error| TextError::Config {
            file: file.to_owned(),
            error,
        })
    }

    /// The configuration as a file's text. A JSON string, number or list is one of TOML, too.
    pub fn config_text(&self) -> String {
        let mut text = "mode = \"guard\"\n[guard]\n".to_owned();
        for (key, value) in &self.config {
            text.push_str(key);
            text.push_str(" = ");
            text.push_str(&serde_json::to_string(value).unwrap_or_default());
            text.push('\n');
        }
        text
    }

    /// What does not fit together.
    fn check(&self) -> Result<(), String> {
        if self.programs.is_empty() && self.right.nobody.is_none() {
            return Err("no [[program]], and [right] names somebody".to_owned());
        }
        if self.right.nobody == Some(true) && self.right.acts.iter().any(RightAct::signals) {
            return Err("[right] says nobody and somebody: leave one out".to_owned());
        }
        if self.right.nobody.is_none() && self.right.acts.is_empty() {
            return Err("[right] says neither `nobody = true` nor `acts`".to_owned());
        }
        for name in self.right.names() {
            if !self.knows(name) {
                return Err(format!(
                    "[right] names {name:?}, which is no program, unit or mount of this text"
                ));
            }
        }
        for program in &self.programs {
            program.check()?;
            self.check_start(program)?;
            self.check_parent(program)?;
        }
        Ok(())
    }

    /// What starts a program is a program, too.
    fn check_parent(&self, program: &Program) -> Result<(), String> {
        let Some(parent) = &program.parent else {
            return Ok(());
        };
        if self.programs.iter().any(|other| other.name == *parent) {
            return Ok(());
        }
        Err(format!(
            "{:?} has the parent {parent:?}, which is no program of this text",
            program.name
        ))
    }

    /// A program that starts in the situation has to grow to what it holds: nothing takes memory in no
    /// time.
    fn check_start(&self, program: &Program) -> Result<(), String> {
        let most = self.machine.memory.0.scaled(1, 50);
        let all = program.has.0.scaled(u64::from(program.count), 1);
        let is_at_once = program.count == 1 || program.apart == Time::default();
        let sum = if is_at_once { all } else { program.has.0 };
        if program.starts.is_some() && sum > most {
            return Err(format!(
                "{:?} starts with {sum}, more than a fiftieth of memory at once: let it grow",
                program.name
            ));
        }
        Ok(())
    }

    /// Whether a program or a part of a program's cgroup has this name.
    fn knows(&self, name: &str) -> bool {
        let is_it = |program: &Program| {
            program.name == name
                || program.called.as_deref() == Some(name)
                || program.unit.split('/').any(|part| part == name)
        };
        self.programs.iter().any(is_it)
    }
}
