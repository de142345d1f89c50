//! `warmset check`: is this configuration right?

use crate::{Context, Form, json};
use anyhow::Result;
use host::settings;
use pressure::Config;
use pressure::config::ConfigError;
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
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
    match (settings, context.form) {
        (Ok(settings), Form::Json) => json(out, &serde_json::json!({ "ok": true, "config": settings.config }))?,
        (Ok(settings), Form::Text) => {
            let files: Vec<_> = settings.files.iter().map(|path| path.display().to_string()).collect();
            writeln!(out, "ok: {}", if files.is_empty() { "the defaults".to_owned() } else { files.join(" + ") })?;
            settings.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))?;
            let (old, new) = (serde_json::to_value(Config::default())?, serde_json::to_value(&settings.config)?);
            differences("", &old, &new).iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        }
        (Err(error), Form::Json) => {
            let ConfigError { file, at, what } = &error;
            json(out, &serde_json::json!({ "ok": false, "file": file, "at": at, "what": what }))?;
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
    let number = line.to_string();
    Some(format!("  {number} | {quoted}\n  {:1$} | {2:3$}^\n", "", number.len(), "", column - 1))
}

/// `key: old → new` for each leaf that differs.
fn differences(key: &str, old: &Value, new: &Value) -> Vec<String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => new
            .iter()
            .flat_map(|(name, value)| {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                differences(&key, old.get(name).unwrap_or(&Value::Null), value)
            })
            .collect(),
        (old, new) if old != new => vec![format!("{key}: {old} → {new}")],
        _ => Vec::new(),
    }
}
