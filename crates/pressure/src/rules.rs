//! Rules that name processes: what `guard.spare`, `guard.avoid` and `guard.prefer` are made of.
//!
//! ```text
//! NAME or unit:NAME      a unit of the system: service, scope, slice or container
//! app:NAME               a unit that a user started
//! program:NAME           base name of the file that runs, or of an interpreter's script: both root's
//! exe:/PATH              the file that runs, whoever owns it
//! command:TEXT           the command line, arguments joined by blanks
//! user:NAME|UID          the user
//! cgroup:/PATH           the cgroup, and what is below it
//! name:NAME              what the process calls itself, in 15 letters; never in `guard.spare`
//! pid:NUMBER[@START]     one process, and with its start no later one of the same number
//! ```
//!
//! `*` stands for any text; within a path, and not at its end, for text without a slash.
//!
//! A rule is parsed once, when the configuration is read. To compare it allocates nothing.

mod fault;
mod list;
mod pattern;
mod unit;

pub use list::{Key, Numbered, Texts};
pub use pattern::matches_text;

pub(crate) use list::MOST_COMMANDS;

use crate::scan::{Candidate, Name};
use pattern::{matches_cut, matches_group, matches_path};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use unit::UnitRule;

/// Letters of a name that the kernel keeps: `TASK_COMM_LEN` less the byte at its end.
const NAME_LETTERS: usize = 15;
/// The kernel's mark of a file that is gone from its path.
const REPLACED: &str = " (deleted)";

/// A rule that names processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// As it was written.
    text: Box<str>,
    subject: Subject,
}

/// What a rule goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    /// A unit that root named.
    Unit(UnitRule),
    /// A unit that a user named.
    App(UnitRule),
    /// A file of root's by its base name.
    Program(Box<str>),
    /// A file by its path.
    Exe(Box<str>),
    /// The command line.
    Command(Box<str>),
    /// A user.
    User(User),
    /// A cgroup by its path.
    Cgroup(Box<str>),
    /// What the process calls itself, cut as the kernel cuts it.
    Name(Box<str>),
    /// A process by its number, and by its start if that is given.
    Pid(u32, Option<u64>),
}

/// A user as a rule names one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum User {
    Number(u32),
    /// By a name that nobody has looked up: no process matches.
    Name(Box<str>),
}

/// What is wrong with the text of a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule {rule:?}: {what}")]
pub struct RuleError {
    rule: String,
    what: String,
}

impl Rule {
    /// The rule as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The user's name that still has to be looked up, of a rule `user:NAME`.
    pub fn unknown_user(&self) -> Option<&str> {
        match &self.subject {
            Subject::User(User::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// Takes the number of the user that the rule names.
    pub fn know_user(&mut self, number: u32) {
        if let Subject::User(user) = &mut self.subject {
            *user = User::Number(number);
        }
    }

    /// The user's number, of a rule that names a user.
    pub fn user(&self) -> Option<u32> {
        match self.subject {
            Subject::User(User::Number(number)) => Some(number),
            _ => None,
        }
    }

    /// The number of the process, of a rule that names one.
    pub fn pid(&self) -> Option<u32> {
        match self.subject {
            Subject::Pid(pid, _) => Some(pid),
            _ => None,
        }
    }

    /// The pattern of a `command:` rule.
    pub fn command(&self) -> Option<&str> {
        match &self.subject {
            Subject::Command(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// The path of a rule that names the file that runs.
    pub fn exe(&self) -> Option<&str> {
        match &self.subject {
            Subject::Exe(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// The path of a rule that names a cgroup.
    pub fn cgroup(&self) -> Option<&str> {
        match &self.subject {
            Subject::Cgroup(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// The name of a rule that names a program of root's.
    pub fn program(&self) -> Option<&str> {
        match &self.subject {
            Subject::Program(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// The name of a unit: of the system, without a prefix.
    pub fn system_unit(&self) -> Option<&str> {
        match &self.subject {
            Subject::Unit(unit) => Some(unit.pattern()),
            _ => None,
        }
    }

    /// The name of a unit that a user started, without its prefix.
    pub fn app(&self) -> Option<&str> {
        match &self.subject {
            Subject::App(unit) => Some(unit.pattern()),
            _ => None,
        }
    }

    /// Whether it goes by what the process calls itself, which any process may choose.
    pub fn is_by_name(&self) -> bool {
        matches!(self.subject, Subject::Name(_))
    }

    /// The part of a name that is compared, if the rule's name is longer than any process's.
    pub fn cut_name(&self) -> Option<&str> {
        let Subject::Name(kept) = &self.subject else {
            return None;
        };
        let written = self.text.strip_prefix("name:")?.trim();
        (kept.len() < written.len()).then_some(&**kept)
    }

    /// Whether two rules say the same, however they are written.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        self.subject == other.subject
    }

    /// Whether the rule names this process.
    ///
    /// `command:` rules and paths that were cut go by what the host found: see [`Numbered::names`].
    pub fn applies(&self, candidate: &Candidate) -> bool {
        self.applies_or(candidate, false)
    }

    /// The same; `found` is what the host found by the whole text, where the scan has less.
    fn applies_or(&self, candidate: &Candidate, found: bool) -> bool {
        match &self.subject {
            Subject::Unit(rule) => rule.names_the_systems(candidate),
            Subject::App(rule) => rule.names_a_users(candidate),
            Subject::Program(pattern) => {
                let is = |name: &Option<Name>| {
                    name.as_ref()
                        .is_some_and(|name| matches_cut(pattern, name, name.capacity()))
                };
                is(&candidate.program) || is(&candidate.script)
            }
            Subject::Exe(pattern) => {
                let path = candidate.exe.as_str();
                if is_whole(path) {
                    matches_exe(pattern, path)
                } else {
                    found
                }
            }
            Subject::Cgroup(pattern) => {
                let path = candidate.cgroup.as_str();
                if is_whole(path) {
                    matches_group(pattern, path)
                } else {
                    found
                }
            }
            Subject::Command(_) => found,
            Subject::User(User::Number(number)) => candidate.user == *number,
            Subject::User(User::Name(_)) => false,
            Subject::Name(pattern) => matches_text(pattern, candidate.name.as_str()),
            Subject::Pid(pid, start) => {
                let identity = candidate.identity;
                identity.pid == *pid && start.is_none_or(|start| identity.start == start)
            }
        }
    }

    /// Whether the rule goes by what a scan does not keep whole.
    fn goes_by_texts(&self) -> bool {
        matches!(
            self.subject,
            Subject::Command(_) | Subject::Exe(_) | Subject::Cgroup(_)
        )
    }

    /// Whether the whole texts of a process are what the rule says.
    fn matches(&self, texts: &Texts<'_>) -> bool {
        match &self.subject {
            Subject::Command(pattern) => matches_text(pattern, texts.command),
            Subject::Exe(pattern) => matches_exe(pattern, texts.exe),
            Subject::Cgroup(pattern) => matches_group(pattern, texts.cgroup),
            _ => false,
        }
    }
}

/// A path of which the scan kept the end alone does not begin with a slash.
fn is_whole(path: &str) -> bool {
    path.starts_with('/')
}

/// A program that was replaced while it runs, as an upgrade does, still is what it was.
fn matches_exe(pattern: &str, path: impl AsRef<[u8]>) -> bool {
    let path = path.as_ref();
    let path = path.strip_suffix(REPLACED.as_bytes()).unwrap_or(path);
    matches_path(pattern, path)
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let written = text.trim();
        let subject = Subject::parse(written).map_err(|what| RuleError {
            rule: text.to_owned(),
            what,
        })?;
        Ok(Self {
            text: written.into(),
            subject,
        })
    }
}

impl Subject {
    fn parse(text: &str) -> Result<Self, String> {
        let (keyword, value) = match text.split_once(':') {
            Some((keyword, value)) if KEYWORDS.contains(&keyword) => (keyword, value.trim()),
            _ => ("unit", text),
        };
        if value.is_empty() {
            return Err("it names nothing".to_owned());
        }
        if value.contains(char::is_control) {
            return Err("it has a control character".to_owned());
        }
        let parsed = match keyword {
            "app" => Self::App(UnitRule::new(value)),
            "program" => Self::Program(value.into()),
            "exe" => Self::Exe(absolute(value, "the file that runs")?),
            "command" => Self::Command(value.into()),
            "user" => Self::User(user(value)?),
            "cgroup" => Self::Cgroup(group(value)?),
            "name" => Self::Name(cut(value).into()),
            "pid" => process(value)?,
            _ => Self::Unit(UnitRule::new(value)),
        };
        Ok(parsed)
    }
}

/// What may stand before the colon. Names of units may have colons, too.
pub const KEYWORDS: [&str; 9] = [
    "unit", "app", "program", "exe", "command", "user", "cgroup", "name", "pid",
];

fn absolute(path: &str, what: &str) -> Result<Box<str>, String> {
    if path.starts_with('/') {
        return Ok(path.into());
    }
    Err(format!(
        "{what} is named by its whole path, which begins with a slash"
    ))
}

/// A path of a cgroup; a slash at its end says nothing.
fn group(path: &str) -> Result<Box<str>, String> {
    let path = absolute(path, "a cgroup")?;
    match path.trim_end_matches('/') {
        "" => Ok("/".into()),
        shorter => Ok(shorter.into()),
    }
}

fn user(text: &str) -> Result<User, String> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return Ok(User::Name(text.into()));
    }
    match text.parse() {
        // The largest number stands for "no user".
        Ok(number) if number < u32::MAX => Ok(User::Number(number)),
        _ => Err(format!("{text} is no number of a user")),
    }
}

fn process(text: &str) -> Result<Subject, String> {
    let (pid, start) = match text.split_once('@') {
        Some((pid, start)) => (pid, Some(start)),
        None => (text, None),
    };
    let wrong = || format!("{text:?} is no process: write pid:NUMBER, or pid:NUMBER@START");
    let pid = pid.parse().map_err(|_| wrong())?;
    let start = match start {
        None | Some("") => None,
        Some(start) => Some(start.parse().map_err(|_| wrong())?),
    };
    Ok(Subject::Pid(pid, start))
}

/// A name as the kernel cuts it. Before a star it is cut only if no process could have so long a
/// beginning, and then the star says nothing.
fn cut(name: &str) -> &str {
    let literal = name.find('*').unwrap_or(name.len());
    if literal <= NAME_LETTERS {
        return name;
    }
    let mut end = NAME_LETTERS;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A user goes into recordings by number, so that they mean the same on every machine.
impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.user() {
            Some(number) => serializer.collect_str(&format_args!("user:{number}")),
            None => serializer.serialize_str(&self.text),
        }
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Parser(|_| Ok(())))
    }
}

/// A rule that exempts. Any process may take any name, so a name exempts none.
#[derive(Debug)]
struct Exempting(Rule);

impl<'de> Deserialize<'de> for Exempting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rule = deserializer.deserialize_str(Parser(Rule::exempts))?;
        Ok(Self(rule))
    }
}

/// Parses and checks a rule while its place in the file is still known.
struct Parser(fn(&Rule) -> Result<(), RuleError>);

impl de::Visitor<'_> for Parser {
    type Value = Rule;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a rule as a text, such as \"postgresql.service\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Rule, E> {
        let rule: Rule = text.parse().map_err(E::custom)?;
        (self.0)(&rule).map_err(E::custom)?;
        Ok(rule)
    }
}

impl Rule {
    /// Whether the rule may stand in `guard.spare`.
    pub fn exempts(&self) -> Result<(), RuleError> {
        if !self.is_by_name() {
            return Ok(());
        }
        Err(RuleError {
            rule: self.text.clone().into(),
            what: "any process can take any name: use program:, exe:, unit: or command:".to_owned(),
        })
    }
}

/// The list `guard.spare`, for serde.
pub(crate) fn exempting<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    let rules = Vec::<Exempting>::deserialize(deserializer)?;
    Ok(rules.into_iter().map(|rule| rule.0).collect())
}

#[cfg(test)]
mod tests;
