//! Keys that had another name once, and sections that are gone: still read, and said.
//!
//! A guard that is upgraded must start with the file that it had before. The old spelling is put
//! right before the file is checked, in a file's text and in the configuration of a recording.

use super::position::place;
use super::{Config, Mode};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Error};
use units::Bytes;

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
/// The number of files that was kept, before their size was what counts.
const RECORDING: &str = "recording";
const FILES: &str = "files";
const FILES_IS_GONE: &str = "recording.files is gone: recording.size says how much is kept; without it, so many \
                             files of recording.file-size are";
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
    /// What `recording.files` says, if it is there.
    pub(super) files: Option<u32>,
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
    if let Some(DeValue::Table(section)) = top.get_mut(RECORDING).map(Spanned::get_mut) {
        let says = section.get(FILES).and_then(|value| number(value.get_ref()));
        // Anything but a number stays, and is an error of an unknown key.
        if let Some(says) = says {
            let removed = section.remove_entry(FILES);
            note(
                removed.map_or(0, |(key, _)| key.span().start),
                FILES_IS_GONE,
            );
            found.files = Some(says);
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

fn number(value: &DeValue<'_>) -> Option<u32> {
    value.as_integer()?.as_str().parse().ok()
}

/// What a recorded configuration says by keys that are gone.
#[derive(Debug, Default)]
pub(super) struct Gone {
    /// `protect.enabled`.
    pub(super) protects: Option<bool>,
    /// `recording.files`.
    pub(super) files: Option<u32>,
}

/// Puts old keys of a recorded configuration right.
pub(super) fn modernise_recorded(config: &mut Value) -> Gone {
    let Some(top) = config.as_object_mut() else {
        return Gone::default();
    };
    top.remove(LOCAL);
    let mut gone = |section: &str, key: &str| {
        let section = top.get_mut(section).and_then(Value::as_object_mut)?;
        section.remove(key)
    };
    let protects = gone(PROTECT, ENABLED).and_then(|enabled| enabled.as_bool());
    let files = gone(RECORDING, FILES).and_then(|files| files.as_u64());
    for renamed in &RENAMED {
        let section = top.get_mut(renamed.section).and_then(Value::as_object_mut);
        let Some(section) = section else { continue };
        if let Some(value) = section.remove(renamed.old) {
            section.insert(renamed.new.to_owned(), value);
        }
    }
    Gone {
        protects,
        files: files.and_then(|files| u32::try_from(files).ok()),
    }
}

/// Sets the mode that this was while there was `protect.enabled`: without it `protect` did what `guard` does.
pub(super) fn honour_enabled(config: &mut Config, enabled: Option<bool>) {
    if config.mode == Mode::Protect && enabled == Some(false) {
        config.mode = Mode::Guard;
    }
}

/// Sets the size that so many recordings had.
pub(super) fn honour_files(config: &mut Config, files: Option<u32>) {
    let Some(files) = files else { return };
    let recording = &mut config.recording;
    let size = recording.file_size.get().saturating_mul(u64::from(files));
    recording.size = Bytes::new(size);
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
