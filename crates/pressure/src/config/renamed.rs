//! Keys that had another name once, and sections that are gone: still read, and said.
//!
//! A guard that is upgraded must start with the file that it had before. The old spelling is put
//! right before the file is checked, in a file's text and in the configuration of a recording.

use super::position::place;
use super::{Config, Mode};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Error};

/// A key, under its old name and its new one.
struct Renamed {
    section: &'static str,
    old: &'static str,
    new: &'static str,
    /// What else has changed with the name, as the end of a sentence.
    besides: &'static str,
}

const RENAMED: [Renamed; 3] = [
    Renamed {
        section: "guard",
        old: "contain-ahead",
        new: "throttle-ahead",
        besides: "",
    },
    Renamed {
        section: "guard",
        old: "contain-for",
        new: "throttle-for",
        besides: "",
    },
    Renamed {
        section: "hooks",
        old: "contained",
        new: "throttled",
        besides: ", and WARMSET_EVENT is throttled",
    },
];

/// The section of an experiment that the daemon had until it became a program of its own.
const LOCAL: &str = "local";
/// A second switch that protection had beside the mode.
const PROTECT: &str = "protect";
const ENABLED: &str = "enabled";
const ENABLED_IS_GONE: &str = "protect.enabled is gone: mode = \"protect\" alone protects";
const DISABLED_IS_GONE: &str = "protect.enabled is gone: false still makes the mode \"protect\" a \
                                \"guard\"; write mode = \"guard\" instead";
const LOCAL_IS_GONE: &str = "[local] is passed over: the experiment is now the program \
                             warmset-local of the VM lab (warmset-lab run --arms local:WAY)";

/// Old keys of one file.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// A sentence each, with file, line and column.
    pub(super) notes: Vec<String>,
    /// A key that stands there by both names: where, and what to do.
    pub(super) twice: Option<(usize, String)>,
    /// What `protect.enabled` says, if it is there.
    pub(super) protects: Option<bool>,
}

/// Puts old keys of a file right. Errors: the text is not TOML.
pub(super) fn modernise<'t>(
    file: &str,
    text: &'t str,
) -> Result<(Spanned<DeTable<'t>>, Found), Error> {
    let mut document = DeTable::parse(text)?;
    let mut found = Found::default();
    let mut note = |offset: usize, what: &str| {
        let (line, column) = place(text, offset);
        found.notes.push(format!("{file}:{line}:{column}: {what}"));
    };
    let top = document.get_mut();
    if let Some((key, _)) = top.remove_entry(LOCAL) {
        note(key.span().start, LOCAL_IS_GONE);
    }
    if let Some(DeValue::Table(section)) = top.get_mut(PROTECT).map(Spanned::get_mut) {
        let says = section
            .get(ENABLED)
            .and_then(|value| value.get_ref().as_bool());
        // Anything but true or false stays, and is an error of an unknown key.
        if let Some(says) = says {
            let removed = section.remove_entry(ENABLED);
            let at = removed.map_or(0, |(key, _)| key.span().start);
            note(
                at,
                if says {
                    ENABLED_IS_GONE
                } else {
                    DISABLED_IS_GONE
                },
            );
            found.protects = Some(says);
        }
    }
    for renamed in &RENAMED {
        let section = top.get_mut(renamed.section).map(Spanned::get_mut);
        let Some(DeValue::Table(section)) = section else {
            continue;
        };
        let Some((key, value)) = section.remove_entry(renamed.old) else {
            continue;
        };
        let span = key.span();
        note(span.start, &renamed.sentence());
        let new = Spanned::new(span.clone(), DeString::Borrowed(renamed.new));
        if section.insert(new, value).is_some() {
            found.twice = Some((span.start, renamed.contradiction()));
        }
    }
    Ok((document, found))
}

/// Puts old keys of a recorded configuration right. Returns what it says of `protect.enabled`.
pub(super) fn modernise_recorded(config: &mut Value) -> Option<bool> {
    let top = config.as_object_mut()?;
    top.remove(LOCAL);
    let section = top.get_mut(PROTECT).and_then(Value::as_object_mut);
    let enabled = section.and_then(|section| section.remove(ENABLED));
    for renamed in &RENAMED {
        let section = top.get_mut(renamed.section).and_then(Value::as_object_mut);
        let Some(section) = section else { continue };
        if let Some(value) = section.remove(renamed.old) {
            section.insert(renamed.new.to_owned(), value);
        }
    }
    enabled.and_then(|enabled| enabled.as_bool())
}

/// Sets the mode that this was while there was `protect.enabled`: without it `protect` did what `guard` does.
pub(super) fn honour_enabled(config: &mut Config, enabled: Option<bool>) {
    if config.mode == Mode::Protect && enabled == Some(false) {
        config.mode = Mode::Guard;
    }
}

impl Renamed {
    fn sentence(&self) -> String {
        let Self {
            section,
            old,
            new,
            besides,
        } = self;
        format!("{section}.{old} is now called {section}.{new}; the old name still works{besides}")
    }

    fn contradiction(&self) -> String {
        let Self {
            section, old, new, ..
        } = self;
        format!("{section}.{old} is the old name of {section}.{new}, which is set too: keep {new}")
    }
}
