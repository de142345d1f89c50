//! `warmset restore`: undo what a guard that was killed has left.

use crate::{Context, Form, json};
use anyhow::Result;
use host::{OnlyOne, Places, restore};
use std::io::Write;
use std::process::ExitCode;

/// Put back what a guard that was killed has left
///
/// Only values that are still the guard's are put back; what someone else has set since is left alone
/// and said. Does nothing if there is nothing to do. Refuses while a guard is running.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let places = Places { root: context.root.clone(), run: context.run.clone() };
    let _only_one = places.run.exists().then(|| OnlyOne::take(&places.run)).transpose()?;
    let restored = restore(&places)?;
    // The lock says that no guard is running, so nobody answers at a socket that is still there.
    let _ = std::fs::remove_file(crate::socket::path(&places.run));
    match context.form {
        Form::Json => json(out, &restored)?,
        Form::Text => write!(out, "{restored}")?,
    }
    Ok(ExitCode::SUCCESS)
}
