//! earlyoom: its command line, wherever that is written.
//!
//! Thresholds of free memory become `term-room` and `kill-room`. Its patterns are compared with the
//! name that a process gives itself, as `name:` is here.

use super::draft::{Draft, List, Subject, exact};
use super::environment::{self, Service};
use pressure::config::{Guard, Share};
use pressure::distress::exemption;
use pressure::import::quoted;
use pressure::scan::{Candidate, Identity, Name};
use units::{Bytes, Percent};

/// Its thresholds where nothing says others: SIGTERM and SIGKILL.
const TERM: Percent = Percent::new(10);
const KILL: Percent = Percent::new(5);

/// Variables that its packages start it with: systemd's and Debian's, OpenRC's.
const VARIABLES: [&str; 3] = ["EARLYOOM_ARGS", "EARLYOOM_OPTS", "command_args"];

/// Its long options, and whether they take a value.
const LONG: &[(&str, bool)] = &[
    ("prefer", true),
    ("avoid", true),
    ("ignore", true),
    ("dryrun", false),
    ("ignore-root-user", false),
    ("sort-by-rss", false),
    ("syslog", false),
    ("kernel-oom", false),
    ("help", false),
    ("debug", false),
];
const SHORT_WITH_VALUE: &str = "msMSNPr";
const SHORT_ALONE: &str = "kingdvph";

/// An option as its parser sees it.
#[derive(Debug, PartialEq, Eq)]
enum Argument {
    /// Its name without dashes, and its value.
    Option(String, Option<String>),
    /// What it refuses to start with, and why.
    Wrong(String, &'static str),
}

/// The translation of one file: variables, a unit, or a drop-in of one.
pub(super) fn file(draft: &mut Draft, text: &str) {
    if !environment::is_unit(text) {
        return variables(draft, &environment::variables(text));
    }
    let mut part = Service::default();
    part.add(text);
    if !part.files.is_empty() {
        draft.note(format!(
            "not read: {}, which the unit names; without a file name all are read",
            part.files.join(", ")
        ));
    }
    service(draft, &part);
}

/// The translation of what a service starts.
pub(super) fn service(draft: &mut Draft, service: &Service) {
    match service.arguments() {
        Some(found) => arguments(draft, found),
        None => variables(draft, &service.environment),
    }
}

fn variables(draft: &mut Draft, variables: &[(String, String)]) {
    let value = VARIABLES.iter().find_map(|name| assembled(variables, name));
    match value {
        Some(value) => arguments(draft, environment::words(&value)),
        None => {
            draft.note("there is no EARLYOOM_ARGS, so earlyoom runs by its defaults");
            arguments(draft, Vec::new());
        }
    }
    for (name, value) in variables {
        let is_known = VARIABLES.contains(&name.trim_end_matches('+'));
        if !is_known {
            draft.leave_out(
                format!("{name}={value}"),
                "earlyoom is not started with this variable",
            );
        }
    }
}

/// The value of a variable. A shell that reads the file allows a value to go on from the one before.
fn assembled(variables: &[(String, String)], name: &str) -> Option<String> {
    let appended = format!("{name}+");
    let in_braces = format!("${{{name}}}");
    let bare = format!("${name}");
    let mut whole: Option<String> = None;
    for (key, value) in variables {
        let before = whole.as_deref().unwrap_or_default();
        if *key == appended {
            whole = Some(format!("{before}{value}"));
        } else if key == name {
            let value = value.replace(&in_braces, before);
            whole = Some(value.replace(&bare, before));
        }
    }
    whole
}

/// Thresholds as they were given, the last of each kind.
#[derive(Default)]
struct Thresholds {
    share: Option<(String, Percent, Percent)>,
    size: Option<(String, Bytes, Bytes)>,
}

fn arguments(draft: &mut Draft, words: Vec<String>) {
    draft.mode = Some("guard");
    let mut thresholds = Thresholds::default();
    for argument in last_of_each(draft, parsed(words)) {
        match argument {
            Argument::Wrong(text, why) => draft.leave_out(quoted(&text), why),
            Argument::Option(name, value) => {
                option(draft, &mut thresholds, &name, &value.unwrap_or_default());
            }
        }
    }
    rooms(draft, &thresholds);
}

/// Of an option with a value that is given twice, the last counts.
fn last_of_each(draft: &mut Draft, arguments: Vec<Argument>) -> Vec<Argument> {
    let mut kept: Vec<Argument> = Vec::new();
    for argument in arguments.into_iter().rev() {
        let is_later = |name: &str| {
            let same =
                |later: &Argument| matches!(later, Argument::Option(other, _) if other == name);
            kept.iter().any(same)
        };
        match &argument {
            Argument::Option(name, Some(value)) if is_later(name) => {
                draft.note(format!(
                    "{name} {}: given again later, and the last counts",
                    quoted(value)
                ));
            }
            _ => kept.push(argument),
        }
    }
    kept.reverse();
    kept
}

/// The words as `getopt_long` reads them.
fn parsed(words: Vec<String>) -> Vec<Argument> {
    let mut arguments = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--" {
            let is_extra = |word| Argument::Wrong(word, "earlyoom takes options only");
            arguments.extend(words.map(is_extra));
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            arguments.push(long_option(long, &mut words));
        } else if let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) {
            short_options(short, &mut words, &mut arguments);
        } else {
            arguments.push(Argument::Wrong(word, "earlyoom takes options only"));
        }
    }
    arguments
}

/// `--name`, `--name=value`, `--name value`; a name may be cut as long as it stays unique.
fn long_option(text: &str, words: &mut impl Iterator<Item = String>) -> Argument {
    let (name, joined) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let exact: Vec<_> = LONG.iter().filter(|(long, _)| *long == name).collect();
    let begun: Vec<_> = LONG
        .iter()
        .filter(|(long, _)| long.starts_with(name))
        .collect();
    let found = if exact.is_empty() { begun } else { exact };
    let whole = format!("--{text}");
    match found.as_slice() {
        [] => Argument::Wrong(whole, "earlyoom has no such option"),
        [(long, true)] => match joined.or_else(|| words.next()) {
            Some(value) => Argument::Option((*long).to_owned(), Some(value)),
            None => Argument::Wrong(whole, "its value is missing"),
        },
        [(_, false)] if joined.is_some() => Argument::Wrong(whole, "it takes no value"),
        [(long, false)] => Argument::Option((*long).to_owned(), None),
        _ => Argument::Wrong(whole, "it stands for several options of earlyoom's"),
    }
}

/// `-gn`, `-m5`, `-m 5`.
fn short_options(
    text: &str,
    words: &mut impl Iterator<Item = String>,
    arguments: &mut Vec<Argument>,
) {
    for (at, letter) in text.char_indices() {
        if SHORT_ALONE.contains(letter) {
            arguments.push(Argument::Option(letter.to_string(), None));
        } else if SHORT_WITH_VALUE.contains(letter) {
            let joined = &text[at + letter.len_utf8()..];
            let value = if joined.is_empty() {
                words.next()
            } else {
                Some(joined.to_owned())
            };
            arguments.push(match value {
                Some(value) => Argument::Option(letter.to_string(), Some(value)),
                None => Argument::Wrong(format!("-{letter}"), "its value is missing"),
            });
            return;
        } else {
            let wrong = Argument::Wrong(format!("-{letter}"), "earlyoom has no such option");
            arguments.push(wrong);
        }
    }
}

fn option(draft: &mut Draft, thresholds: &mut Thresholds, name: &str, value: &str) {
    let shown = match (name.len(), value) {
        (1, "") => format!("-{name}"),
        (1, value) => format!("-{name} {}", plain_or_quoted(value)),
        (_, "") => format!("--{name}"),
        (_, value) => format!("--{name} {}", quoted(value)),
    };
    match name {
        "m" => match shares(value) {
            Some((term, kill)) => thresholds.share = Some((shown, term, kill)),
            None => draft.leave_out(shown, "it is no share, or two"),
        },
        "M" => match sizes(value) {
            Some((term, kill)) => thresholds.size = Some((shown, term, kill)),
            None => draft.leave_out(shown, "it is no size in KiB, or two"),
        },
        "s" | "S" => swap(draft, shown, value),
        "avoid" => {
            draft.rules("--avoid", value, Subject::Name, List::Avoid);
        }
        "prefer" => {
            draft.rules("--prefer", value, Subject::Name, List::Prefer);
        }
        "ignore" => ignored(draft, value),
        "dryrun" => draft.mode = Some("observe"),
        "syslog" => draft.log = Some("syslog"),
        "g" => draft.leave_out(
            shown,
            "it kills a whole process group; here a unit is killed whole if it is one program's, and there is no switch",
        ),
        "n" => draft.leave_out(
            shown,
            "each user starts notices: systemctl --user enable --now warmset-notice",
        ),
        "N" | "P" => {
            let event = if name == "N" { "ended" } else { "warn" };
            draft.leave_out(
                shown,
                format!(
                    "a program of root's alone may be {event} = \"…\" in [hooks], and gets other variables than \
                     EARLYOOM_PID: warmset.toml(5)"
                ),
            );
        }
        "ignore-root-user" => draft.leave_out(
            shown,
            "root's processes may be killed here, but for what the system needs; add \"user:root\" to guard.spare to \
             exempt them all",
        ),
        "sort-by-rss" => draft.leave_out(
            shown,
            "what grows is chosen, then what holds the most memory, swap included; there is no switch",
        ),
        "kernel-oom" => draft.leave_out(shown, "the kernel is not asked to choose"),
        "r" | "d" | "debug" => draft.note(format!(
            "{shown} is about its own log; see warmset status and verbosity"
        )),
        "p" => draft.note(format!("{shown} is about its own priority; warmsetd has it from its unit")),
        "k" | "i" => draft.note(format!("{shown} means nothing to earlyoom either")),
        _ => draft.leave_out(shown, "with this earlyoom prints a text and ends"),
    }
}

fn plain_or_quoted(value: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/.,_-".contains(letter);
    if value.chars().all(is_plain) {
        value.to_owned()
    } else {
        quoted(value)
    }
}

fn swap(draft: &mut Draft, shown: String, value: &str) {
    let term = value.split(',').next().and_then(number);
    let reason = if shown.starts_with("-s") && term.is_some_and(|term| term >= 100.0) {
        "it kills although swap is free; free swap always counts as headroom here"
    } else {
        "free swap counts as headroom here, with its own cost; there is no threshold for it alone"
    };
    draft.leave_out(shown, reason);
}

/// A name exempts nothing here. Names of programs that are exempt anyway lose nothing.
fn ignored(draft: &mut Draft, pattern: &str) {
    let rules = draft.rules("--ignore", pattern, Subject::Name, List::Avoid);
    let mut exempt = Vec::new();
    for rule in rules {
        let name = rule.strip_prefix("name:").unwrap_or(&rule);
        if is_exempt_anyway(name) {
            exempt.push(quoted(name));
        } else {
            draft.leave_out(
                format!("--ignore {}", quoted(name)),
                "killed late here, not never: any process can take any name; to exempt it, name its file in \
                 guard.spare, as \"exe:/PATH\"",
            );
        }
    }
    if !exempt.is_empty() {
        draft.note(format!(
            "--ignore: programs of these names are exempt here if their file is root's: {}",
            exempt.join(", ")
        ));
    }
}

/// Whether a program of this name, of root's, is exempt without any rule.
fn is_exempt_anyway(name: &str) -> bool {
    let Ok(program) = Name::from(name) else {
        return false;
    };
    let candidate = Candidate {
        identity: Identity { pid: 2, start: 0 },
        program: Some(program),
        ..Candidate::default()
    };
    exemption(&candidate, &Guard::default()).is_some()
}

/// The lower of both thresholds is in force there; without any, its defaults.
fn rooms(draft: &mut Draft, thresholds: &Thresholds) {
    let has_own = thresholds.share.is_some() || thresholds.size.is_some();
    if !has_own {
        draft.note(format!(
            "no -m or -M that earlyoom takes: term-room and kill-room are earlyoom's {TERM} and {KILL}"
        ));
        draft.rooms("-m", Share::Percent(TERM), Share::Percent(KILL));
        return;
    }
    let shares = thresholds
        .share
        .as_ref()
        .map(|(shown, term, kill)| (shown, Share::Percent(*term), Share::Percent(*kill)));
    let sizes = thresholds
        .size
        .as_ref()
        .map(|(shown, term, kill)| (shown, Share::Bytes(*term), Share::Bytes(*kill)));
    match (shares, sizes) {
        (Some((shown, term, kill)), None) | (None, Some((shown, term, kill))) => {
            draft.rooms(shown, term, kill);
        }
        (Some(share), Some(size)) => lower(draft, share, size),
        (None, None) => {}
    }
    if matches!(draft.term_room, Some(Share::Percent(_))) {
        draft.note(
            "a share is of all memory here; since 1.8 earlyoom's is of what programs can have, which is some less",
        );
    }
}

type Rooms<'a> = (&'a String, Share, Share);

/// `-m` and `-M`: which is lower depends on the machine's memory.
fn lower(draft: &mut Draft, share: Rooms<'_>, size: Rooms<'_>) {
    let (share_shown, share_term, share_kill) = share;
    let (size_shown, size_term, size_kill) = size;
    let Some(memory) = draft.memory else {
        draft.leave_out(
            share_shown,
            format!("with {size_shown} the lower is in force; which that is depends on the machine's memory, which is unknown here"),
        );
        draft.rooms(size_shown, size_term, size_kill);
        return;
    };
    let least = |one: Share, other: Share| {
        if one.of(memory) <= other.of(memory) {
            one
        } else {
            other
        }
    };
    let term = least(share_term, size_term);
    let kill = least(share_kill, size_kill);
    draft.note(format!(
        "{share_shown} and {size_shown}: the lower is in force; on this machine with {memory} that is {}, and {} for SIGKILL",
        exact(term),
        exact(kill)
    ));
    draft.rooms(size_shown, term, kill);
}

/// The number at the beginning, as `strtod` reads it there; nothing may follow.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    if number.is_finite() && number >= 0.0 {
        Some(number)
    } else {
        None
    }
}

/// `TERM[,KILL]`: the second is half of the first unless it is given; SIGTERM never waits for less.
fn pair(value: &str) -> Option<(f64, f64)> {
    let (term, kill) = match value.split_once(',') {
        Some((term, kill)) => (number(term)?, number(kill)?),
        None => {
            let term = number(value)?;
            (term, term / 2.0)
        }
    };
    if term == 0.0 && kill == 0.0 {
        return None;
    }
    Some((term.max(kill), kill))
}

fn shares(value: &str) -> Option<(Percent, Percent)> {
    /// earlyoom refuses more.
    const MOST: f64 = 99.0;
    let (term, kill) = pair(value)?;
    let hundredths = |share: f64| Percent::hundredths((share * 100.0).round() as u64);
    if term > MOST {
        return None;
    }
    Some((hundredths(term), hundredths(kill)))
}

fn sizes(value: &str) -> Option<(Bytes, Bytes)> {
    /// 1 PiB in KiB: more is no machine's memory.
    const MOST: f64 = (1_u64 << 40) as f64;
    let (term, kill) = pair(value)?;
    if term > MOST {
        return None;
    }
    Some((
        Bytes::kib(term.round() as u64),
        Bytes::kib(kill.round() as u64),
    ))
}
