//! Puts back what a guard that was killed has left.

use super::limit::{self, Kind, Limit, shown};
use super::{Held, MAGIC, NAME, Places, boot_id, cut, read_log, read_number, remove, write_number};
use crate::error::Error;
use pressure::knob::Knob;
use serde::Serialize;
use std::fmt;

/// What was put back, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Knobs set to what was found.
    pub back: Vec<Change>,
    /// Knobs that another program has set since: left as they are.
    pub left_alone: Vec<Change>,
    /// What could not be put back, with the reason. Its line stays in the log.
    pub failed: Vec<String>,
    /// Other messages, one line each.
    pub notes: Vec<String>,
}

/// A knob, and two values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its name, or the path of a control group's limit.
    pub knob: String,
    /// What it was (put back), or what we had written (left alone).
    pub from: u64,
    /// What it is.
    pub to: u64,
    /// What was found before our first value, where that is neither of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<u64>,
}

impl Change {
    /// Put back.
    pub(crate) fn back(knob: String, from: u64, to: u64) -> Self {
        Self {
            knob,
            from,
            to,
            found: None,
        }
    }

    /// Set by another program since, to `now`.
    pub(crate) fn by_another(knob: String, held: Held, now: u64) -> Self {
        Self {
            knob,
            from: held.ours,
            to: now,
            found: Some(held.found),
        }
    }
}

impl Restored {
    /// Adds what else was restored.
    pub(crate) fn extend(&mut self, other: Self) {
        let Self {
            back,
            left_alone,
            failed,
            notes,
        } = other;
        self.back.extend(back);
        self.left_alone.extend(left_alone);
        self.failed.extend(failed);
        self.notes.extend(notes);
    }

    fn is_empty(&self) -> bool {
        self.back.is_empty()
            && self.left_alone.is_empty()
            && self.failed.is_empty()
            && self.notes.is_empty()
    }
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Change { knob, from, to, .. } in &self.back {
            writeln!(f, "put back {knob} {} → {}", shown(*from), shown(*to))?;
        }
        for change in &self.left_alone {
            let Change { knob, from, to, .. } = change;
            let ours = shown(*from);
            let now = shown(*to);
            let found = change
                .found
                .map(|found| format!(", and found {}", shown(found)));
            writeln!(
                f,
                "left {knob} alone: it is {now}, which another program has set since; we had set {ours}{}",
                found.unwrap_or_default()
            )?;
        }
        self.failed
            .iter()
            .try_for_each(|what| writeln!(f, "could not put back {what}"))?;
        self.notes
            .iter()
            .try_for_each(|note| writeln!(f, "{note}"))?;
        if self.is_empty() {
            writeln!(f, "nothing to put back")?;
        }
        Ok(())
    }
}

/// Puts back what a guard that did not end well has left.
///
/// Writes nothing but knobs of the table and limits of control groups, and those only if the value is still one of ours. Every
/// line that is understood is put back, whatever becomes of the others. A line that is not understood, or that cannot be put
/// back, is told and stays in the log. So does that of a knob which another program has set since.
///
/// Errors: a log that is not ours is refused, and stays as it is.
pub fn restore(places: &Places) -> Result<Restored, Error> {
    let path = places.log();
    // Nothing is written before the draft has become the log.
    places.remove_draft();
    let mut restored = Restored::default();
    let Some(text) = read_log(&path)? else {
        return Ok(restored);
    };
    let boot_id = boot_id(&places.root)?;
    let (first, lines) = text.split_once('\n').unwrap_or((&text, ""));
    let Some(theirs) = first.strip_prefix(MAGIC) else {
        return Err(Error::refused(&path, why_unknown(first)));
    };
    if theirs.trim() != boot_id {
        restored.notes.push(
            "dropped an undo log of another boot: the kernel has forgotten those values".to_owned(),
        );
        remove(&path)?;
        return Ok(restored);
    }
    let lines: Vec<&str> = lines.split_inclusive('\n').collect();
    let mut kept = Vec::new();
    // What was changed last is put back first.
    for line in lines.into_iter().rev() {
        let Some(whole) = line.strip_suffix('\n') else {
            restored.notes.push(format!(
                "ignored a half-written line {:?}: it was never acted on",
                cut(line)
            ));
            continue;
        };
        match restore_line(places, whole, &mut restored) {
            Ok(Line::Done) => {}
            Ok(Line::Stays) => kept.push(line),
            Err(error) => {
                kept.push(line);
                restored.failed.push(error.to_string());
            }
        }
    }
    if kept.is_empty() {
        remove(&path)?;
    } else {
        kept.reverse();
        places.replace_log(&format!("{first}\n{}", kept.concat()))?;
    }
    Ok(restored)
}

/// Why a log that begins so cannot be read, and what to do.
fn why_unknown(first: &str) -> String {
    let begins = cut(first);
    if first.starts_with(NAME) {
        return format!(
            "it is an undo log of a newer version, {begins:?}: nothing is put back and nothing is lost; run `warmset restore` \
             of the version that wrote it, or put it back by hand and remove the file"
        );
    }
    format!("it begins with {begins:?}, which no undo log does")
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Done,
    /// Another program has set the knob since.
    Stays,
}

/// Puts back what one line holds.
fn restore_line(places: &Places, line: &str, restored: &mut Restored) -> Result<Line, Error> {
    if let Some((knob, held)) = entry(line.trim_end()) {
        return undo(places, knob, held, restored);
    }
    if let Some((limit, held)) = Limit::parse(line) {
        return undo_limit(places, &limit, held, restored).map(|()| Line::Done);
    }
    let why = format!(
        "{:?} names no knob or limit that this version knows: kept; run `warmset restore` of the version that wrote it, \
         or put it back by hand and remove the line",
        cut(line)
    );
    Err(Error::refused(&places.log(), why))
}

/// Thaws what a guard that died had frozen, and leaves all else to [`restore`]: another guard may run already.
pub fn thaw(places: &Places) -> Result<Restored, Error> {
    let mut restored = Restored::default();
    let Some(text) = read_log(&places.log())? else {
        return Ok(restored);
    };
    let (first, lines) = text.split_once('\n').unwrap_or((&text, ""));
    if first.strip_prefix(MAGIC).map(str::trim) != Some(boot_id(&places.root)?.as_str()) {
        return Ok(restored);
    }
    let mut first_error = None;
    for line in lines.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else {
            continue;
        };
        let Some((limit, held)) = Limit::parse(line) else {
            continue;
        };
        if limit.kind != Kind::Freeze {
            continue;
        }
        // One that fails leaves no other frozen.
        if let Err(error) = undo_limit(places, &limit, held, &mut restored) {
            first_error.get_or_insert(error);
        }
    }
    match first_error {
        None => Ok(restored),
        Some(error) => Err(error),
    }
}

fn undo(places: &Places, knob: Knob, held: Held, restored: &mut Restored) -> Result<Line, Error> {
    let name = knob.spec().name;
    let path = places.knob(knob);
    match read_number(&path)? {
        None => restored
            .notes
            .push(format!("{name} is gone: nothing to put back")),
        Some(now) if now == held.found => {}
        Some(now) if now == held.ours || now == held.before => {
            write_number(places, knob, held.found)?;
            let back = Change::back(name.to_owned(), now, held.found);
            restored.back.push(back);
        }
        Some(now) => {
            let theirs = Change::by_another(name.to_owned(), held, now);
            restored.left_alone.push(theirs);
            return Ok(Line::Stays);
        }
    }
    Ok(Line::Done)
}

fn undo_limit(
    places: &Places,
    limit: &Limit,
    held: Held,
    restored: &mut Restored,
) -> Result<(), Error> {
    let path = places.root.join(&limit.directory).join(limit.kind.file());
    let at = |error| Error::unreadable(&path, error);
    let directory = limit.open(&places.root).map_err(at)?;
    let now = match &directory {
        Some(directory) => limit::read(directory, limit.kind).map_err(at)?,
        None => None,
    };
    let knob = limit.name();
    match (directory, now) {
        (Some(directory), Some(now))
            if now != held.found && (now == held.ours || now == held.before) =>
        {
            limit::write(&directory, limit.kind, held.found).map_err(at)?;
            restored.back.push(Change::back(knob, now, held.found));
        }
        (_, Some(now)) if now != held.found => {
            let theirs = Change::by_another(knob, held, now);
            restored.left_alone.push(theirs);
        }
        (_, Some(_)) => {}
        (_, None) => restored
            .notes
            .push(format!("{knob} is gone: nothing to put back")),
    }
    Ok(())
}

/// `path<TAB>found<TAB>ours<TAB>before`, all within the knob's range.
fn entry(line: &str) -> Option<(Knob, Held)> {
    let mut words = line.split('\t');
    let knob = Knob::from_path(words.next()?)?;
    let mut number = || words.next()?.parse().ok();
    let held = Held {
        found: number()?,
        ours: number()?,
        before: number()?,
    };
    let range = &knob.spec().range;
    (words.next().is_none() && range.contains(&held.found)).then_some((knob, held))
}
