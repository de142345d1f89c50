//! `warmset restore`: undo what a guard that was killed has left.

use crate::hinted::Hinted;
use crate::{Context, Form, json};
use anyhow::Result;
use host::{ErrorKind, OnlyOne, Places, restore};
use std::io::{self, Write};
use std::process::ExitCode;

/// Put back what a guard that was killed has left
///
/// Only values that are still the guard's are put back; what someone else has set since is left alone
/// and said. Does nothing if there is nothing to do. Refuses while a guard is running.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let places = Places {
        root: context.root.clone(),
        run: context.run.clone(),
    };
    // A guard that runs still needs its undo log.
    let _only_one = places
        .run
        .exists()
        .then(|| OnlyOne::take(&places.run))
        .transpose()
        .map_err(refused)?;
    let restored = restore(&places).map_err(refused)?;
    // The lock says that no guard is running, so nobody answers at a socket that is still there.
    let _ = std::fs::remove_file(crate::socket::path(&places.run));
    match context.form {
        Form::Json => json(out, &restored)?,
        Form::Text => write!(out, "{restored}")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn refused(error: host::Error) -> anyhow::Error {
    match &error.kind {
        ErrorKind::Unreadable(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Hinted::new(error, "only root may put back: sudo warmset restore").into()
        }
        _ => error.into(),
    }
}
