//! A translation while it is made: what it sets, what is left out, and what is to be said.

use super::patterns::{self, Lost};
use pressure::config::{Config, ConfigError, Guard, Share};
use pressure::distress::SHARES_OF;
use pressure::import::{Imported, LeftOut, quoted};
use std::fmt::Write;
use units::{Bytes, Percent, Span};

/// Largest share that the configuration takes for a room or a limit.
const MOST: Percent = Percent::new(90);
/// The kernel keeps so many bytes of the name that a process gives itself (`TASK_COMM_LEN` without its zero).
const NAME_LENGTH: usize = 15;
/// The configuration takes no more rules that go by the command line.
const MOST_COMMANDS: usize = 64;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Which list of `[guard]` a rule goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Avoid,
    Prefer,
}

/// What a pattern is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// What the process calls itself.
    Name,
    /// The path of the file that it runs.
    Path,
    /// Its command line.
    Line,
    /// The path of its cgroup.
    Cgroup,
    /// Its user, as a number.
    User,
}

/// What is set, and what is said about it.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Memory of the machine that the translation is for; `None` if unknown.
    pub(super) memory: Option<Bytes>,
    pub(super) mode: Option<&'static str>,
    pub(super) log: Option<&'static str>,
    pub(super) term_room: Option<Share>,
    pub(super) kill_room: Option<Share>,
    pub(super) term_grace: Option<Span>,
    pub(super) stall_limit: Option<Percent>,
    pub(super) stall_for: Option<Span>,
    pub(super) cache_least: Option<Percent>,
    pub(super) cache_most: Option<Percent>,
    pub(super) budget: Option<Percent>,
    avoid: Vec<String>,
    prefer: Vec<String>,
    /// Rules `command:` so far.
    commands: usize,
    left_out: Vec<LeftOut>,
    notes: Vec<String>,
}

impl Draft {
    pub(super) fn new(memory: Option<Bytes>) -> Self {
        Self {
            memory,
            ..Self::default()
        }
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = harmless(note.into());
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// A setting that is not carried over, or not with its whole meaning.
    pub(super) fn leave_out(&mut self, setting: impl Into<String>, reason: impl Into<String>) {
        let left_out = LeftOut {
            setting: harmless(setting.into()),
            reason: harmless(reason.into()),
        };
        if !self.left_out.contains(&left_out) {
            self.left_out.push(left_out);
        }
    }

    /// SIGTERM below `term`, SIGKILL below `kill`, as `setting` says it.
    pub(super) fn rooms(&mut self, setting: &str, term: Share, kill: Share) {
        let term = self.within_bounds(setting, term);
        let kill = self.within_bounds(setting, kill);
        self.term_room = Some(self.of_all(term));
        self.kill_room = Some(self.of_all(kill));
    }

    /// A share of all memory. Here a share is of no more than [`SHARES_OF`], so on a larger machine it is an amount.
    fn of_all(&self, share: Share) -> Share {
        match (share, self.memory) {
            (Share::Percent(percent), Some(memory)) if memory > SHARES_OF => {
                Share::Bytes(percent.of(memory))
            }
            _ => share,
        }
    }

    pub(super) fn within_bounds(&mut self, setting: &str, share: Share) -> Share {
        let is_too_much = matches!(share, Share::Percent(percent) if percent > MOST);
        if is_too_much {
            self.leave_out(
                setting,
                format!("no more than {MOST} is possible here; it is {MOST}"),
            );
            return Share::Percent(MOST);
        }
        share
    }

    /// All tasks stalled for more than `limit` of the time, for `time`.
    pub(super) fn stall(&mut self, setting: &str, limit: Percent, time: Span) {
        const LONGEST: Span = Span::secs(3600);
        let bounded = self.within_bounds(setting, Share::Percent(limit));
        self.stall_limit = match bounded {
            Share::Percent(percent) => Some(percent),
            Share::Bytes(_) => None,
        };
        let time = if time == Span::default() {
            self.note(format!(
                "{setting}: 0 is at once there and never here; it is 1 s"
            ));
            Span::secs(1)
        } else if time > LONGEST {
            self.leave_out(
                setting,
                format!("no more than {LONGEST} is possible here; it is {LONGEST}"),
            );
            LONGEST
        } else {
            time
        };
        self.stall_for = Some(time);
    }

    /// Each way in which `pattern` can match becomes a rule of `list`. Returns them.
    pub(super) fn rules(
        &mut self,
        setting: &str,
        pattern: &str,
        subject: Subject,
        list: List,
    ) -> Vec<String> {
        let found = patterns::texts(pattern);
        for Lost { part, reason } in found.lost {
            self.leave_out(format!("{setting} {}", quoted(&part)), reason);
        }
        let mut rules = Vec::new();
        for text in subject.possible(&found.texts) {
            let shown = format!("{setting} {}", quoted(text));
            match self.rule(text, subject, &shown) {
                Ok(rule) => rules.push(rule),
                Err(reason) => self.leave_out(shown, reason),
            }
        }
        let into = match list {
            List::Avoid => &mut self.avoid,
            List::Prefer => &mut self.prefer,
        };
        for rule in &rules {
            if !into.contains(rule) {
                into.push(rule.clone());
            }
        }
        rules
    }

    /// The rule for one text, or why there is none.
    fn rule(&mut self, text: &str, subject: Subject, shown: &str) -> Result<String, String> {
        if text.is_empty() {
            return Err("it matches only what is empty".to_owned());
        }
        if text.chars().all(|letter| letter == '*') {
            return Err("it matches every process".to_owned());
        }
        if text.trim() != text {
            return Err("a blank at the beginning or the end cannot be written here".to_owned());
        }
        if text.contains(char::is_control) {
            return Err("a control character cannot be written here".to_owned());
        }
        let rule = subject.rule(text)?;
        accepted(&rule).map_err(|error| format!("it is no rule here: {error}"))?;
        match subject {
            Subject::Name if text.len() > NAME_LENGTH => self.note(format!(
                "{shown}: a name has {NAME_LENGTH} letters at most, so this matched nothing there; here its first \
                 {NAME_LENGTH} are compared"
            )),
            Subject::Path | Subject::Cgroup if text.trim_end_matches('*').contains('*') => self
                .leave_out(
                    shown,
                    "carried over, but a star within a path is one part of it here, without a slash",
                ),
            Subject::Line => {
                if self.commands >= MOST_COMMANDS {
                    return Err(format!("no more than {MOST_COMMANDS} rules command: are possible"));
                }
                self.commands += 1;
            }
            _ => {}
        }
        Ok(rule)
    }

    /// The translation of the configuration of `name`, checked.
    pub(super) fn finish(mut self, name: &str) -> Result<Imported, ConfigError> {
        self.order_rooms();
        self.drop_contradictions();
        let toml = self.toml(name);
        Imported::checked(name, toml, self.notes, self.left_out)
    }

    /// `kill-room` is never above `term-room`: then SIGTERM would never come first.
    fn order_rooms(&mut self) {
        let default = Guard::default();
        match (self.term_room, self.kill_room) {
            (Some(term), Some(kill)) if self.is_above(kill, term) => {
                self.note(format!(
                    "SIGKILL at {} comes before SIGTERM at {}: both are at {}",
                    exact(kill),
                    exact(term),
                    exact(kill)
                ));
                self.term_room = Some(kill);
            }
            (Some(term), None) if self.is_above(default.kill_room, term) => {
                self.kill_room = Some(term);
            }
            (None, Some(kill)) if self.is_above(kill, default.term_room) => {
                self.term_room = Some(kill);
            }
            _ => {}
        }
    }

    /// Whether one amount is more than another, as far as that can be told.
    fn is_above(&self, one: Share, other: Share) -> bool {
        match (one, other, self.memory) {
            (Share::Percent(one), Share::Percent(other), _) => one > other,
            (Share::Bytes(one), Share::Bytes(other), _) => one > other,
            (one, other, Some(memory)) => one.of(memory) > other.of(memory),
            (_, _, None) => false,
        }
    }

    /// What is in both lists is neither early nor late: their points cancel out there.
    fn drop_contradictions(&mut self) {
        let both: Vec<String> = self
            .avoid
            .iter()
            .filter(|rule| self.prefer.iter().any(|other| means(other) == means(rule)))
            .cloned()
            .collect();
        if both.is_empty() {
            return;
        }
        let is_in_both = |rule: &String| both.iter().any(|other| means(other) == means(rule));
        self.avoid.retain(|rule| !is_in_both(rule));
        self.prefer.retain(|rule| !is_in_both(rule));
        self.note(format!(
            "both avoided and preferred, so neither: {}",
            both.join(", ")
        ));
    }

    fn toml(&self, name: &str) -> String {
        let mut toml = format!("# Taken over from {name}.\n");
        let mut put = |line: std::fmt::Arguments<'_>| {
            let _ = writeln!(toml, "{line}");
        };
        if let Some(mode) = self.mode {
            put(format_args!("mode = \"{mode}\""));
        }
        if let Some(log) = self.log {
            put(format_args!("log = \"{log}\""));
        }
        let values = [
            ("term-room", self.term_room.map(exact)),
            ("kill-room", self.kill_room.map(exact)),
            ("term-grace", self.term_grace.map(exact_span)),
            (
                "cache-least",
                self.cache_least.map(|share| share.to_string()),
            ),
            ("cache-most", self.cache_most.map(|share| share.to_string())),
            (
                "stall-limit",
                self.stall_limit.map(|share| share.to_string()),
            ),
            ("stall-for", self.stall_for.map(exact_span)),
        ];
        let lists = [("avoid", &self.avoid), ("prefer", &self.prefer)];
        let has_values = values.iter().any(|(_, value)| value.is_some());
        let has_rules = lists.iter().any(|(_, rules)| !rules.is_empty());
        if has_values || has_rules {
            put(format_args!("\n[guard]"));
        }
        for (key, value) in values {
            if let Some(value) = value {
                put(format_args!("{key} = \"{value}\""));
            }
        }
        for (key, rules) in lists {
            if !rules.is_empty() {
                let rules: Vec<String> = rules.iter().map(|rule| toml_text(rule)).collect();
                put(format_args!("{key} = [{}]", rules.join(", ")));
            }
        }
        if let Some(budget) = self.budget {
            put(format_args!("\n[protect]\nbudget = \"{budget}\""));
        }
        toml
    }
}

impl Subject {
    /// The texts that can match anything at all.
    fn possible(self, texts: &[String]) -> Vec<&str> {
        let is_possible = |text: &&str| match self {
            // `(^|/)sshd` is from the time when patterns were compared with the command line. The kernel takes a
            // name from the last part of a path, so it begins with this.
            Self::Name => text
                .strip_prefix("*/")
                .is_none_or(|rest| !texts.iter().any(|other| other == rest)),
            // A path begins with a slash, so `(^|/)x` is `/x` behind anything.
            Self::Path | Self::Cgroup => text.starts_with(['/', '*']),
            Self::Line | Self::User => true,
        };
        texts
            .iter()
            .map(String::as_str)
            .filter(is_possible)
            .collect()
    }

    fn rule(self, text: &str) -> Result<String, String> {
        let has_star = text.contains('*');
        let is_whole = text.starts_with('/');
        match self {
            Self::Name if has_star && text.replace('*', "").len() > NAME_LENGTH => {
                Err("a name has 15 letters at most, so it can match nothing".to_owned())
            }
            Self::Name => Ok(format!("name:{text}")),
            Self::Path if is_whole => Ok(format!("exe:{text}")),
            Self::Cgroup if is_whole => Ok(format!("cgroup:{text}")),
            Self::Path | Self::Cgroup => {
                Err("a path is named from its beginning here, as by ^/".to_owned())
            }
            Self::Line => Ok(format!("command:{text}")),
            Self::User if text.parse::<u32>().is_ok() => Ok(format!("user:{text}")),
            Self::User => Err("only whole user IDs can be named".to_owned()),
        }
    }
}

/// What a rule is compared by: of a name its first letters.
fn means(rule: &str) -> &str {
    const KEYWORD: &str = "name:";
    if !rule.starts_with(KEYWORD) {
        return rule;
    }
    let mut end = rule.len().min(KEYWORD.len() + NAME_LENGTH);
    while !rule.is_char_boundary(end) {
        end -= 1;
    }
    &rule[..end]
}

/// Whether the configuration takes this rule.
fn accepted(rule: &str) -> Result<(), String> {
    let toml = format!("[guard]\navoid = [{}]\n", toml_text(rule));
    match Config::parse("rule", &toml) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.what),
    }
}

/// An amount without rounding: `Display` of bytes rounds to a tenth.
pub(super) fn exact(share: Share) -> String {
    match share {
        Share::Percent(percent) => percent.to_string(),
        Share::Bytes(bytes) => {
            let bytes = bytes.get();
            let (unit, name) = match bytes {
                _ if bytes == 0 => (1, "B"),
                _ if bytes % GIB == 0 => (GIB, "GiB"),
                _ if bytes % MIB == 0 => (MIB, "MiB"),
                _ if bytes % KIB == 0 => (KIB, "KiB"),
                _ => (1, "B"),
            };
            format!("{} {name}", bytes / unit)
        }
    }
}

/// A time without rounding, likewise.
fn exact_span(span: Span) -> String {
    let milliseconds = span.get().as_millis();
    if milliseconds % 1000 == 0 {
        format!("{} s", milliseconds / 1000)
    } else {
        format!("{milliseconds} ms")
    }
}

/// Text for a terminal: control characters of an imported file are escaped.
fn harmless(text: String) -> String {
    if !text.contains(char::is_control) {
        return text;
    }
    let mut escaped = String::new();
    for letter in text.chars() {
        if letter.is_control() {
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// A basic string of TOML.
fn toml_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            _ if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// `5`, `5.5`, `5 %`: a share of at most all.
pub(super) fn percent(text: &str) -> Option<Percent> {
    let text = text.trim();
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let share: f64 = number.parse().ok()?;
    if (0.0..=100.0).contains(&share) {
        Some(Percent::hundredths((share * 100.0).round() as u64))
    } else {
        None
    }
}

/// A time in seconds, such as `30` or `0.5`.
pub(super) fn seconds(text: &str) -> Option<Span> {
    /// A day: nothing here waits longer.
    const LONGEST: f64 = 86_400.0;
    let number: f64 = text.trim().parse().ok()?;
    if (0.0..=LONGEST).contains(&number) {
        Some(Span::millis((number * 1000.0).round() as u64))
    } else {
        None
    }
}
