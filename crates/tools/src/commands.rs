//! The subcommands: a file for each, with its options, their help and `run`.
//!
//! None imports another. What two of them share is in [`crate::ui`] or in a module beside it.

mod analyze;
mod convert;
mod curve;
mod policies;
mod simulate;
mod size;
pub(crate) mod sweep;
mod synth;
mod together;
mod trace;

use crate::ui::Context;
use anyhow::Result;
use clap::Subcommand;
use std::io::Write;
use std::process::ExitCode;

/// A subcommand with its options, in the order of the help.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Simulate(simulate::Args),
    Curve(curve::Args),
    Together(together::Args),
    Convert(convert::Args),
    Synth(synth::Args),
    Policies(policies::Args),
    Sweep(sweep::Args),
    Trace(trace::Args),
    Analyze(analyze::Args),
    Size(size::Args),
}

impl Command {
    /// Runs the subcommand; its output goes to `out`.
    pub(crate) fn run(&self, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
        match self {
            Self::Simulate(args) => simulate::run(args, context, out),
            Self::Curve(args) => curve::run(args, context, out),
            Self::Together(args) => together::run(args, context, out),
            Self::Convert(args) => convert::run(args, context, out),
            Self::Synth(args) => synth::run(args, context, out),
            Self::Policies(args) => policies::run(args, context, out),
            Self::Sweep(args) => sweep::run(args, context, out),
            Self::Trace(args) => trace::run(args, context, out),
            Self::Analyze(args) => analyze::run(args, context, out),
            Self::Size(args) => size::run(args, context, out),
        }
    }
}
