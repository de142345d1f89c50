//! systemd-oomd: `oomd.conf` with its drop-ins, what units ask of it, and its rules.
//!
//! It kills in the groups that ask for it; here the whole machine is looked at. `ManagedOOMPreference=`
//! of units is honoured as it is and needs no translation.

use super::draft::{Draft, percent};
use super::environment::{self, Setting};
use pressure::import::quoted;
use units::{Percent, Span};

/// Its limit where nothing says another (`DefaultMemoryPressureLimit=`).
const LIMIT: Percent = Percent::new(60);
/// Its time where nothing says another, or 0 (`DefaultMemoryPressureDurationSec=`).
const DURATION: Span = Span::secs(30);

/// Sections of units, which have settings for others than systemd-oomd as well.
const OF_UNITS: &[&str] = &[
    "Unit", "Install", "Service", "Slice", "Scope", "Socket", "Mount", "Swap",
];

/// A file of it.
pub(super) struct Source {
    pub(super) kind: Kind,
    /// The unit or the rule; empty if the file was named by hand.
    pub(super) name: String,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `oomd.conf`, a drop-in of it, or a file that was named by hand.
    Configuration,
    /// A unit, or a drop-in of one.
    Unit,
    /// A file below `oomd/rules.d`.
    Rule,
}

/// The translation of its files, in the order in which they are laid over each other.
pub(super) fn files(draft: &mut Draft, sources: &[Source]) {
    draft.mode = Some("guard");
    let mut limit = LIMIT;
    let mut duration = DURATION;
    let mut has_own = false;
    for source in sources {
        for setting in environment::settings(&source.text) {
            match (setting.section.as_str(), setting.key.as_str()) {
                ("OOM", "DefaultMemoryPressureLimit") => {
                    limit = permyriad(draft, &setting).unwrap_or(LIMIT);
                    has_own = true;
                }
                ("OOM", "DefaultMemoryPressureDurationSec") => {
                    duration = time(draft, &setting).unwrap_or(DURATION);
                    has_own = true;
                }
                ("OOM", _) => of_oomd(draft, &setting),
                (section, _) if source.kind == Kind::Unit || OF_UNITS.contains(&section) => {
                    of_unit(draft, source, &setting);
                }
                ("", _) => draft.leave_out(
                    shown(&setting),
                    "it stands in no section, so systemd-oomd does not read it",
                ),
                _ => rule(draft, source, &setting),
            }
        }
    }
    if !has_own {
        draft.note(format!(
            "stall-limit and stall-for are systemd-oomd's defaults, {LIMIT} and {DURATION}"
        ));
    }
    draft.stall("DefaultMemoryPressureLimit", limit, duration);
    draft.note(
        "its limit is of each group that asks for it (ManagedOOMMemoryPressure=kill), stall-limit is of the whole machine and of protected units",
    );
    draft.note("ManagedOOMPreference= of units is honoured as it is");
}

fn shown(setting: &Setting) -> String {
    format!("{}={}", setting.key, setting.value)
}

fn of_oomd(draft: &mut Draft, setting: &Setting) {
    match setting.key.as_str() {
        // An empty value is the default, which is not set either.
        _ if setting.value.is_empty() => {}
        "SwapUsedLimit" => draft.leave_out(
            shown(setting),
            "free swap counts as headroom here, with its own cost; there is no threshold for it alone",
        ),
        "PrekillHookTimeoutSec" => draft.leave_out(
            shown(setting),
            "no hook is waited for before a kill; users are asked instead (ask-for)",
        ),
        _ => draft.leave_out(shown(setting), "systemd-oomd has no such key that is known here"),
    }
}

/// What a unit asks of systemd-oomd.
fn of_unit(draft: &mut Draft, source: &Source, setting: &Setting) {
    let shown = if source.name.is_empty() {
        shown(setting)
    } else {
        format!("{} of {}", shown(setting), quoted(&source.name))
    };
    match (setting.key.as_str(), setting.value.as_str()) {
        ("ManagedOOMMemoryPressure", "kill") => {
            draft.note(format!("{shown}: here the pressure of the whole machine is looked at"));
        }
        ("ManagedOOMSwap", "kill") => draft.leave_out(
            shown,
            "free swap counts as headroom here, with its own cost; nothing is killed for swap alone",
        ),
        ("ManagedOOMMemoryPressureLimit" | "ManagedOOMMemoryPressureDurationSec", value) => {
            let is_default = value.is_empty() || value == "0" || value == "0%";
            if !is_default {
                draft.leave_out(
                    shown,
                    "the pressure of one group kills nothing in it here; stall-limit and stall-for are of the machine and of protected units",
                );
            }
        }
        ("OOMRules", value) if !value.is_empty() => {
            draft.leave_out(shown, "rules for single units have no counterpart; name the unit in guard.prefer");
        }
        // The first is honoured as it is, and `auto` asks for nothing.
        ("ManagedOOMPreference", _) | (_, "" | "auto") => {}
        (key, _) if key.starts_with("ManagedOOM") => {
            draft.leave_out(shown, "systemd has no such setting that is known here");
        }
        // The rest is none of systemd-oomd's.
        _ => {}
    }
}

/// A line of a file in `rules.d`.
fn rule(draft: &mut Draft, source: &Source, setting: &Setting) {
    let name = if source.name.is_empty() {
        shown(setting)
    } else {
        format!("{} of {}", shown(setting), quoted(&source.name))
    };
    draft.leave_out(
        name,
        "a rule is in force for the units that name it in OOMRules=; here one set of limits is in force for the machine",
    );
}

/// `60%`, `600‰`, `6000‱`.
fn permyriad(draft: &mut Draft, setting: &Setting) -> Option<Percent> {
    let value = setting.value.as_str();
    if value.is_empty() {
        return None;
    }
    let scaled = |number: &str, scale: u64| {
        let number: u64 = number.trim().parse().ok()?;
        number.checked_mul(scale).map(Percent::hundredths)
    };
    let share = if let Some(number) = value.strip_suffix('‱') {
        scaled(number, 1)
    } else if let Some(number) = value.strip_suffix('‰') {
        scaled(number, 10)
    } else if value.ends_with('%') {
        percent(value)
    } else {
        None
    };
    let share = share.filter(|share| *share <= Percent::WHOLE);
    if share.is_none() {
        draft.leave_out(
            shown(setting),
            "it is no share such as 60%, so its default is in force",
        );
    }
    share
}

/// Units of systemd.time(7) that are of use here, in milliseconds.
const UNITS: &[(&[&str], f64)] = &[
    (&["ms", "msec"], 1.0),
    (&["", "s", "sec", "second", "seconds"], 1_000.0),
    (&["m", "min", "minute", "minutes"], 60_000.0),
    (&["h", "hr", "hour", "hours"], 3_600_000.0),
];

/// `30`, `30s`, `1min 30s`; 0 is the default.
fn time(draft: &mut Draft, setting: &Setting) -> Option<Span> {
    let value = setting.value.as_str();
    if value.is_empty() {
        return None;
    }
    let Some(time) = timespan(value) else {
        draft.leave_out(
            shown(setting),
            "it is no time such as 30s, so its default is in force",
        );
        return None;
    };
    if time == Span::default() {
        return None;
    }
    if time < Span::secs(1) {
        draft.leave_out(
            shown(setting),
            "less than a second is refused there, so its default is in force",
        );
        return None;
    }
    Some(time)
}

/// A sum of numbers with units.
fn timespan(text: &str) -> Option<Span> {
    /// A year: a time beyond is none that a kill waits for.
    const MOST: f64 = 365.0 * 86_400_000.0;
    let mut milliseconds = 0.0;
    let mut rest = text.trim();
    if rest == "infinity" {
        return Some(Span::millis(MOST as u64));
    }
    while !rest.is_empty() {
        let end = rest
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .unwrap_or(rest.len());
        let number: f64 = rest[..end].parse().ok()?;
        let after = rest[end..].trim_start();
        let end = after
            .find(|letter: char| !letter.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let unit = &after[..end];
        let (_, scale) = UNITS.iter().find(|(names, _)| names.contains(&unit))?;
        milliseconds += number * scale;
        rest = after[end..].trim_start();
    }
    if milliseconds > MOST {
        return None;
    }
    Some(Span::millis(milliseconds.round() as u64))
}
