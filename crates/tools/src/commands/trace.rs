//! `warmset trace`: records a reference trace of a program.

mod arguments;
mod attach;
mod damon;
mod engine;
mod lackey;
mod lines;
mod live;
mod output;
mod perf;
mod recording;
mod regions;
mod sample;
mod watch;

pub(crate) use arguments::Args;

use crate::ui::Context;
use anyhow::Result;
use engine::Engine;
use std::io::Write;
use std::process::ExitCode;

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if args.watch {
        return watch::run(args, context, out);
    }
    match args.engine()? {
        Engine::Lackey => lackey::run(args, context, out),
        engine => attach::run(args, engine, context, out),
    }
}
