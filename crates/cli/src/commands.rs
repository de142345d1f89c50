//! The subcommands: a file for each, with its options, their help and `run`.
//!
//! None imports another. What two of them share is in [`crate::ui`] or in a module beside it.

mod check;
mod doctor;
mod features;
mod files;
mod fleet;
mod hold;
mod import;
mod mode;
mod notice;
mod protect;
mod prove;
mod record;
mod release;
mod replay;
mod restore;
mod spare;
mod status;
mod take_over;
mod top;
mod why;

use crate::ui::Context;
use anyhow::Result;
use clap::Subcommand;
use std::io::Write;
use std::process::ExitCode;

/// A subcommand with its options, in the order of the help.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Status(status::Args),
    Mode(mode::Args),
    Why(why::Args),
    Top(top::Args),
    Files(files::Args),
    Features(features::Args),
    Doctor(doctor::Args),
    Check(check::Args),
    Record(record::Args),
    Replay(replay::Args),
    Restore(restore::Args),
    Import(import::Args),
    TakeOver(take_over::Args),
    Protect(protect::Args),
    Hold(hold::Args),
    Spare(spare::Args),
    Release(release::Args),
    Notice(notice::Args),
    Prove(prove::Args),
    Report(fleet::Args),
}

impl Command {
    /// Runs the subcommand; its output goes to `out`.
    pub(crate) fn run(&self, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
        match self {
            Self::Status(args) => status::run(args, context, out),
            Self::Mode(args) => mode::run(args, context, out),
            Self::Why(args) => why::run(args, context, out),
            Self::Top(args) => top::run(args, context, out),
            Self::Files(args) => files::run(args, context, out),
            Self::Features(args) => features::run(args, context, out),
            Self::Doctor(args) => doctor::run(args, context, out),
            Self::Check(args) => check::run(args, context, out),
            Self::Record(args) => record::run(args, context, out),
            Self::Replay(args) => replay::run(args, context, out),
            Self::Restore(args) => restore::run(args, context, out),
            Self::Import(args) => import::run(args, context, out),
            // One subcommand imports no other, so it is given what it needs of that one.
            Self::TakeOver(args) => take_over::run(args, context, import::translate, out),
            Self::Protect(args) => protect::run(args, context, out),
            Self::Hold(args) => hold::run(args, context, out),
            Self::Spare(args) => spare::run(args, context, out),
            Self::Release(args) => release::run(args, context, out),
            Self::Notice(args) => notice::run(args, context, out),
            Self::Prove(args) => prove::run(args, context, out),
            Self::Report(args) => fleet::run(args, context, out),
        }
    }
}
