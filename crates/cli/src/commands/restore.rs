//! `warmset restore`: undoes what a killed guard left behind.

use crate::ui::hinted::Hinted;
use crate::ui::{Context, Form, json, socket};
use anyhow::Result;
use host::{ErrorKind, OnlyOne, Places, restore};
use std::io::{self, Write};
use std::process::ExitCode;

/// Restore what a guard that was killed has changed
///
/// A value is put back only while it is still the guard's: what another program has set since is reported and left alone, and
/// put back by a later call if that program sets the guard's value again. What cannot be put back is reported, keeps nothing
/// else from it, and makes the exit code 1. Refuses while a guard is running.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let places = Places {
        root: context.root.clone(),
        run: context.run.clone(),
    };
    // A running guard still needs its undo log. Without a run directory no guard can be running.
    let _lock = if places.run.exists() {
        Some(OnlyOne::take(&places.run).map_err(explained)?)
    } else {
        None
    };
    let restored = restore(&places).map_err(explained)?;
    // We hold the lock, so no guard is running and no one answers at a socket that is still there.
    let _ = std::fs::remove_file(socket::path(&places.run));
    match context.form {
        Form::Json => json(out, &restored)?,
        Form::Text => write!(out, "{restored}")?,
    }
    if restored.failed.is_empty() {
        Ok(ExitCode::SUCCESS)
    } else {
        Ok(ExitCode::FAILURE)
    }
}

fn explained(error: host::Error) -> anyhow::Error {
    match &error.kind {
        ErrorKind::Unreadable(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Hinted::new(error, "only root may restore: sudo warmset restore").into()
        }
        _ => error.into(),
    }
}
