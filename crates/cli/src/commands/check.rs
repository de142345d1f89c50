//! `warmset check`: checks a configuration.

mod hints;
mod matching;

use crate::ui::{Context, Form, json};
use anyhow::Result;
use host::settings::{self, Settings};
use matching::Report;
use pressure::Config;
use pressure::config::ConfigError;
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Check a configuration; errors are shown with line and column
///
/// Prints the settings that differ from their defaults, and which processes each rule of guard.spare, guard.avoid and
/// guard.prefer matches now. A rule that can match nothing is an error. Run it as root, to see what others run. Without a file, checks the machine's own configuration:
/// /etc/warmset/warmset.toml and its conf.d.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to check
    file: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let settings = match &args.file {
        Some(path) => settings::of_file_for(&context.root, path),
        None => settings::of_machine(&context.root),
    };
    let settings = settings.and_then(|settings| {
        host::hook::check(&context.root, &settings.config.hooks).map(|()| settings)
    });
    let mut settings = match settings {
        Ok(settings) => settings,
        Err(error) => return refuse(&error, context, out),
    };
    // Rules that can match nothing are errors here.
    let faults: Vec<String> = settings
        .config
        .guard
        .rules()
        .filter_map(settings::fault_note)
        .collect();
    settings.notes.retain(|note| !faults.contains(note));
    let report = Report::of(&context.root, &settings.config.guard);
    settings.notes.extend(report.notes.iter().cloned());
    let errors = errors(&settings, &report);
    match context.form {
        Form::Json => print_json(&settings, &report, &errors, out)?,
        Form::Text => print_text(&settings, &report, &errors, out)?,
    }
    Ok(if errors.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Says what is wrong with a configuration that cannot be read.
fn refuse(error: &ConfigError, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if context.form == Form::Json {
        let ConfigError { file, at, what } = error;
        json(
            out,
            &serde_json::json!({ "ok": false, "file": file, "at": at, "what": what }),
        )?;
    } else {
        print_error(error, out)?;
    }
    Ok(ExitCode::FAILURE)
}

fn print_error(error: &ConfigError, out: &mut impl Write) -> Result<()> {
    out.flush()?;
    writeln!(commandline::stderr(), "error: {error}")?;
    if let Some(excerpt) = excerpt(error) {
        write!(commandline::stderr(), "{excerpt}")?;
    }
    if let Some(near) = meant(&error.what) {
        writeln!(commandline::stderr(), "hint: did you mean {near}?")?;
    }
    Ok(())
}

/// The name that was meant, of those that an error lists: "unknown field `gard`, expected one of `mode`, `guard`".
fn meant(what: &str) -> Option<&str> {
    /// How alike two names are that one of them stands for, from 0 to 1. It is also what clap suggests by.
    const ALIKE: f64 = 0.7;
    let mut names = what.split('`').skip(1).step_by(2);
    let wrong = names.next().filter(|_| what.starts_with("unknown "))?;
    let alike = |name: &str| strsim::jaro(wrong, name);
    let near = names.max_by(|one, other| alike(one).total_cmp(&alike(other)))?;
    (alike(near) > ALIKE).then_some(near)
}

/// An error for each rule that can match nothing.
fn errors(settings: &Settings, report: &Report<'_>) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    for rule in &report.rules {
        let Some(what) = &rule.error else {
            continue;
        };
        let (file, at) = place_of(rule.numbered.rule.as_str(), &settings.files);
        errors.push(ConfigError {
            file,
            at,
            what: format!("{} can match nothing: {what}", rule.title()),
        });
    }
    errors
}

/// Where a rule stands in the files, by its text in quotes.
fn place_of(rule: &str, files: &[PathBuf]) -> (String, Option<(usize, usize)>) {
    let basic = toml_quoted(rule);
    let literal = format!("'{rule}'");
    for path in files {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        for (index, line) in text.lines().enumerate() {
            let code = line.trim_start();
            if code.starts_with('#') {
                continue;
            }
            if let Some(start) = line.find(&basic).or_else(|| line.find(&literal)) {
                let column = line[..start].chars().count() + 1;
                return (path.display().to_string(), Some((index + 1, column)));
            }
        }
    }
    (file_names(files), None)
}

fn toml_quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn print_json(
    settings: &Settings,
    report: &Report<'_>,
    errors: &[ConfigError],
    out: &mut impl Write,
) -> Result<()> {
    let mut value = serde_json::json!({
        "ok": errors.is_empty(),
        "config": settings.config,
        "notes": settings.notes,
        "rules": report.json(),
    });
    // The first error stands where the one of a configuration that cannot be read stands.
    if let Some(ConfigError { file, at, what }) = errors.first() {
        value["file"] = file.clone().into();
        value["at"] = serde_json::json!(at);
        value["what"] = what.clone().into();
    }
    json(out, &value)
}

fn print_text(
    settings: &Settings,
    report: &Report<'_>,
    errors: &[ConfigError],
    out: &mut impl Write,
) -> Result<()> {
    for error in errors {
        print_error(error, out)?;
    }
    if errors.is_empty() {
        writeln!(out, "ok: {}", file_names(&settings.files))?;
    }
    for note in &settings.notes {
        writeln!(out, "note: {note}")?;
    }
    for note in settings.files.iter().filter_map(|path| owner_note(path)) {
        writeln!(out, "note: {note}")?;
    }
    for rule in report.rules.iter().filter(|rule| rule.error.is_none()) {
        for line in rule.lines() {
            writeln!(out, "  {line}")?;
        }
    }
    let usual = serde_json::to_value(Config::default())?;
    let own = serde_json::to_value(&settings.config)?;
    for line in differences("", &usual, &own) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn file_names(files: &[PathBuf]) -> String {
    if files.is_empty() {
        return "the defaults".to_owned();
    }
    let names: Vec<String> = files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names.join(" + ")
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
        (old, new) if old != new => vec![format!("{key}: {} → {}", shown(old), shown(new))],
        _ => Vec::new(),
    }
}

/// A value as a file has it. What is not set has no value there.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_right_is_suggested() {
        let what = "unknown field `gard`, expected one of `mode`, `guard`, `hooks`";
        assert_eq!(meant(what), Some("guard"));
        assert_eq!(
            meant("unknown field `xyz`, expected `mode` or `guard`"),
            None
        );
        assert_eq!(meant("unknown field `gard`, there are no fields"), None);
        assert_eq!(meant("`gard` is wrong, as `guard` is"), None);
    }

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
                "gap.max: not set → \"2 %\"",
                "tunable: [] → [{\"knob\":\"vm.swappiness\",\"on\":\"start\",\"value\":10}]",
            ]
        );
        assert!(differences("", &old, &old).is_empty());
    }
}
