//! The rules of a configuration, in order.

use super::Rule;
use crate::config::Guard;
use crate::scan::Candidate;

/// Rules that the host can answer for, at most: the bits of [`Candidate::commands`].
pub(crate) const MOST_COMMANDS: usize = u64::BITS as usize;

/// A list of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// `guard.spare`: never killed.
    Spare,
    /// `guard.avoid`: killed late.
    Avoid,
    /// `guard.prefer`: killed early.
    Prefer,
}

impl Key {
    /// The key in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spare => "guard.spare",
            Self::Avoid => "guard.avoid",
            Self::Prefer => "guard.prefer",
        }
    }
}

/// A rule, the list that it is in, and its bit of [`Candidate::commands`].
#[derive(Debug, Clone, Copy)]
pub struct Numbered<'r> {
    /// Its list.
    pub key: Key,
    /// The rule.
    pub rule: &'r Rule,
    bit: Option<u32>,
}

impl Numbered<'_> {
    /// Whether the rule counts for this process.
    ///
    /// A process with code of others is not what its program is called; only to be preferred that is
    /// no excuse.
    pub fn names(&self, candidate: &Candidate) -> bool {
        let is_foreign = candidate.foreign_code && self.key != Key::Prefer;
        let is_by_program = self.rule.program().is_some();
        !(is_foreign && is_by_program) && self.applies(candidate)
    }

    /// Whether the rule says what the process is.
    fn applies(&self, candidate: &Candidate) -> bool {
        let found = self
            .bit
            .is_some_and(|bit| candidate.commands >> bit & 1 == 1);
        self.rule.applies_or(candidate, found)
    }
}

/// What the host reads of a process for rules that go by more than a scan keeps.
#[derive(Debug, Default, Clone, Copy)]
pub struct Texts<'t> {
    /// The command line, arguments joined by blanks.
    pub command: &'t [u8],
    /// The path of the file that runs.
    pub exe: &'t [u8],
    /// The path of the cgroup.
    pub cgroup: &'t [u8],
}

impl Guard {
    /// Every rule with its list and its bit.
    ///
    /// The `command:` rules have the first bits, in the order spare, avoid, prefer. Behind them are
    /// `exe:` and `cgroup:` rules, for paths that the scan cuts.
    pub fn rules(&self) -> impl Iterator<Item = Numbered<'_>> {
        let mut commands = 0;
        let mut paths = self.commands().count();
        let spare = self.spare.iter().map(|rule| (Key::Spare, rule));
        let avoid = self.avoid.iter().map(|rule| (Key::Avoid, rule));
        let prefer = self.prefer.iter().map(|rule| (Key::Prefer, rule));
        spare.chain(avoid).chain(prefer).map(move |(key, rule)| {
            let bit = if rule.command().is_some() {
                next(&mut commands)
            } else if rule.goes_by_texts() {
                next(&mut paths)
            } else {
                None
            };
            Numbered { key, rule, bit }
        })
    }

    /// The patterns of the `command:` rules: the i-th is the bit i of [`Candidate::commands`].
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        let rules = self.spare.iter().chain(&self.avoid).chain(&self.prefer);
        rules.filter_map(Rule::command)
    }

    /// Whether any rule goes by more than a scan keeps.
    pub fn wants_texts(&self) -> bool {
        let mut rules = self.spare.iter().chain(&self.avoid).chain(&self.prefer);
        rules.any(Rule::goes_by_texts)
    }

    /// [`Candidate::commands`] of a process.
    pub fn bits(&self, texts: &Texts<'_>) -> u64 {
        let mut bits = 0;
        for numbered in self.rules() {
            let bit = numbered.bit.filter(|_| numbered.rule.matches(texts));
            if let Some(bit) = bit {
                bits |= 1 << bit;
            }
        }
        bits
    }

    /// Bits that were found by the rules of `recorded`, as those of this configuration. A rule that
    /// was not asked then names no process.
    pub fn bits_by(&self, recorded: &Self, bits: u64) -> u64 {
        let mut translated = 0;
        for own in self.rules() {
            let mut then = recorded.rules();
            let same = then.find(|other| other.rule.says_the_same_as(own.rule));
            let found = same
                .and_then(|other| other.bit)
                .is_some_and(|bit| bits >> bit & 1 == 1);
            if let Some(bit) = own.bit.filter(|_| found) {
                translated |= 1 << bit;
            }
        }
        translated
    }

    /// The rule that exempts this process.
    pub fn spares(&self, candidate: &Candidate) -> Option<&Rule> {
        self.first(Key::Spare, candidate)
    }

    /// The rule by which this process is killed late.
    pub fn avoids(&self, candidate: &Candidate) -> Option<&Rule> {
        self.first(Key::Avoid, candidate)
    }

    /// The rule by which this process is killed early.
    pub fn prefers(&self, candidate: &Candidate) -> Option<&Rule> {
        self.first(Key::Prefer, candidate)
    }

    fn first(&self, key: Key, candidate: &Candidate) -> Option<&Rule> {
        let list = match key {
            Key::Spare => &self.spare,
            Key::Avoid => &self.avoid,
            Key::Prefer => &self.prefer,
        };
        if list.is_empty() {
            return None;
        }
        self.rules()
            .filter(|numbered| numbered.key == key)
            .find(|numbered| numbered.names(candidate))
            .map(|numbered| numbered.rule)
    }
}

fn next(count: &mut usize) -> Option<u32> {
    let bit = *count;
    *count += 1;
    (bit < MOST_COMMANDS).then_some(bit as u32)
}
