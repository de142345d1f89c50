//! `warmset check`: is this configuration right?

use crate::{Context, Form, json};
use anyhow::Result;
use host::settings;
use pressure::Config;
use pressure::config::ConfigError;
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Check a configuration, with line and column of what is wrong
///
/// Without a file, the machine's own: /etc/warmset/warmset.toml and its conf.d. Prints what differs from the
/// default.
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
            let files: Vec<_> = settings
                .files
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            writeln!(
                out,
                "ok: {}",
                if files.is_empty() {
                    "the defaults".to_owned()
                } else {
                    files.join(" + ")
                }
            )?;
            let owners = settings.files.iter().filter_map(|path| owner(path));
            settings
                .notes
                .iter()
                .cloned()
                .chain(owners)
                .try_for_each(|note| writeln!(out, "note: {note}"))?;
            let (old, new) = (
                serde_json::to_value(Config::default())?,
                serde_json::to_value(&settings.config)?,
            );
            differences("", &old, &new)
                .iter()
                .try_for_each(|line| writeln!(out, "  {line}"))?;
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

/// The line in question, with a mark under the column.
fn excerpt(error: &ConfigError) -> Option<String> {
    let (line, column) = error.at?;
    let text = std::fs::read_to_string(&error.file).ok()?;
    let quoted = text.lines().nth(line - 1)?;
    Some(marked(line, column, quoted))
}

/// A tab stays one in front of the mark, so that it stands where the eye looks for it.
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

/// What root's guard would say of the owner, where we are not root.
fn owner(path: &Path) -> Option<String> {
    let owner = std::fs::metadata(path).ok()?.uid();
    let says = || {
        format!(
            "{}: belongs to user {owner}; a guard of root takes only root's own",
            path.display()
        )
    };
    (owner != 0).then(says)
}

/// `key: old → new` for each leaf that differs.
fn differences(key: &str, old: &Value, new: &Value) -> Vec<String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => new
            .iter()
            .flat_map(|(name, value)| {
                let key = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                differences(&key, old.get(name).unwrap_or(&Value::Null), value)
            })
            .collect(),
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
        let (old, new) = (
            value(&Config::default()),
            value(&Config::parse("x", text).unwrap()),
        );
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
