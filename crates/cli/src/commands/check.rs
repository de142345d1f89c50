//! `warmset check`: checks a configuration.

use crate::ui::{Context, Form, json};
use anyhow::Result;
use host::settings::{self, Settings};
use pressure::Config;
use pressure::config::ConfigError;
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Check a configuration; errors are shown with line and column
///
/// Prints the settings that differ from their defaults. Without a file, checks the machine's own configuration:
/// /etc/warmset/warmset.toml and its conf.d.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to check
    file: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let settings = match &args.file {
        Some(path) => settings::of_file(path),
        None => settings::of_machine(&context.root),
    };
    let settings = settings.and_then(|settings| {
        host::hook::check(&context.root, &settings.config.hooks).map(|()| settings)
    });
    match (settings, context.form) {
        (Ok(settings), Form::Json) => json(
            out,
            &serde_json::json!({ "ok": true, "config": settings.config, "notes": settings.notes }),
        )?,
        (Ok(settings), Form::Text) => {
            print_ok(&settings, out)?;
        }
        (Err(error), Form::Json) => {
            let ConfigError { file, at, what } = &error;
            json(
                out,
                &serde_json::json!({ "ok": false, "file": file, "at": at, "what": what }),
            )?;
            return Ok(ExitCode::FAILURE);
        }
        (Err(error), Form::Text) => {
            out.flush()?;
            writeln!(std::io::stderr(), "error: {error}")?;
            if let Some(excerpt) = excerpt(&error) {
                write!(std::io::stderr(), "{excerpt}")?;
            }
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_ok(settings: &Settings, out: &mut impl Write) -> Result<()> {
    let mut files = Vec::new();
    for path in &settings.files {
        files.push(path.display().to_string());
    }
    if files.is_empty() {
        files.push("the defaults".to_owned());
    }
    writeln!(out, "ok: {}", files.join(" + "))?;
    for note in &settings.notes {
        writeln!(out, "note: {note}")?;
    }
    for note in settings.files.iter().filter_map(|path| owner_note(path)) {
        writeln!(out, "note: {note}")?;
    }
    let usual = serde_json::to_value(Config::default())?;
    let own = serde_json::to_value(&settings.config)?;
    for line in differences("", &usual, &own) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

/// The line of the error, with a mark under the column.
fn excerpt(error: &ConfigError) -> Option<String> {
    let (line, column) = error.at?;
    let text = std::fs::read_to_string(&error.file).ok()?;
    let quoted = text.lines().nth(line - 1)?;
    Some(marked(line, column, quoted))
}

/// A tab stays a tab in front of the mark, so that the mark stands under its column.
fn marked(line: usize, column: usize, quoted: &str) -> String {
    let number = line.to_string();
    let blank = |c: char| if c == '\t' { '\t' } else { ' ' };
    let before: String = quoted
        .chars()
        .chain(std::iter::repeat(' '))
        .take(column - 1)
        .map(blank)
        .collect();
    format!(
        "  {number} | {quoted}\n  {:1$} | {before}^\n",
        "",
        number.len()
    )
}

/// A note if root's guard would refuse the file because of its owner; the check itself may run as any user.
fn owner_note(path: &Path) -> Option<String> {
    let owner = std::fs::metadata(path).ok()?.uid();
    if owner == 0 {
        return None;
    }
    Some(format!(
        "{}: belongs to user {owner}; a guard that runs as root reads only files of root",
        path.display()
    ))
}

/// `key: old → new` for each leaf that differs.
fn differences(key: &str, old: &Value, new: &Value) -> Vec<String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let mut lines = Vec::new();
            for (name, value) in new {
                let key = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                let before = old.get(name).unwrap_or(&Value::Null);
                lines.extend(differences(&key, before, value));
            }
            lines
        }
        (old, new) if old != new => vec![format!("{key}: {old} → {new}")],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_under_the_column() {
        assert_eq!(
            marked(2, 11, "calmest = \"5\""),
            "  2 | calmest = \"5\"\n    |           ^\n"
        );
        assert_eq!(
            marked(12, 8, "\tmax = \"µ\""),
            "  12 | \tmax = \"µ\"\n     | \t      ^\n"
        );
        assert_eq!(marked(1, 3, ""), "  1 | \n    |   ^\n");
    }

    #[test]
    fn only_what_differs_is_listed() {
        let text = "verbosity = 1\n[gap]\nmax = \"2 %\"\n[[tunable]]\nknob = \"vm.swappiness\"\nvalue = 10";
        let value = |config: &Config| serde_json::to_value(config).unwrap();
        let old = value(&Config::default());
        let new = value(&Config::parse("x", text).unwrap());
        assert_eq!(
            differences("", &old, &new),
            [
                "gap.max: null → \"2 %\"",
                "tunable: [] → [{\"knob\":\"vm.swappiness\",\"on\":\"start\",\"value\":10}]",
            ]
        );
        assert!(differences("", &old, &old).is_empty());
    }
}
