//! `warmset trace`: records a reference trace of a program.

mod arguments;
mod attach;
mod damon;
mod elf;
mod emulator;
mod engine;
mod feed;
mod lines;
mod live;
mod output;
mod perf;
mod program;
mod recorder;
mod recording;
mod regions;
mod sample;
mod started;
mod tool;
mod uses;
mod watch;

pub(crate) use arguments::Args;

use crate::ui::Context;
use anyhow::Result;
use std::io::Write;
use std::process::ExitCode;

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if args.watch {
        return watch::run(args, context, out);
    }
    match args.engine()? {
        engine if engine.starts_program() => started::run(args, engine, context, out),
        engine => attach::run(args, engine, context, out),
    }
}
