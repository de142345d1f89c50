//! The options of `warmset trace`.

use super::engine::{ENGINES, Engine};
use crate::ui::atomic_file::Replacing;
use crate::ui::hinted::Hinted;
use anyhow::Result;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use units::Span;

/// Record which pages a program uses, and when
///
/// `analyze`, `simulate`, `curve` and `together` read the trace. It has instruction fetches and data accesses of all threads,
/// and of every program that the first one starts. It also names each page: code, heap, stack, a library, a file.
#[derive(Debug, clap::Args)]
#[command(after_long_help = ENGINES)]
pub(crate) struct Args {
    /// The program and its arguments, after `--`. With an engine that observes, the number of a process; with --watch
    /// that, or the directory of a control group
    #[arg(required_unless_present_any = ["pid", "engine"], trailing_var_arg = true, value_name = "PROGRAM")]
    pub(super) what: Vec<OsString>,
    /// How references are observed [default: valgrind, or qemu if Valgrind cannot run the
    /// program; sample with --pid]
    #[arg(long, value_enum, conflicts_with = "watch")]
    engine: Option<Engine>,
    /// A process that is running
    #[arg(long, value_name = "NUMBER", conflicts_with = "what")]
    pub(super) pid: Option<u32>,
    /// The trace to write [default: the program's name and .parquet]; a name that ends in .arrow makes an Arrow stream
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) replacing: Replacing,
    /// Bytes of a page
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    pub(super) page_size: u64,
    /// Record the program itself, not what it starts: more than twice as fast
    #[arg(long)]
    pub(super) alone: bool,
    /// Leave out this many references at the start. The program still takes its time to make them
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) skip: u64,
    /// Stop after this many references, and end the program if warmset started it
    #[arg(long, value_name = "NUMBER")]
    references: Option<u64>,
    /// Stop after this long, such as "30 s", and end the program if warmset started it
    #[arg(long = "for", value_name = "SPAN")]
    pub(super) duration: Option<Span>,
    /// Count time in bytes of instructions, as the founding report did, instead of instructions
    #[arg(long)]
    pub(super) as_published: bool,
    /// Print the working set of a running process at intervals until it ends, and record nothing
    #[arg(long, conflicts_with_all = ["output", "force", "alone", "references", "skip", "as_published"])]
    pub(super) watch: bool,
    /// Interval at which a running process is observed [default: 1 s; damon 100 ms]. --watch and sample take a longer one
    /// if observing would take more than 1 % of one CPU
    #[arg(long, value_name = "SPAN")]
    pub(super) every: Option<Span>,
}

/// When to stop before the program does.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    /// Stop after this many references.
    pub(super) references: Option<u64>,
    /// Stop after this long.
    pub(super) duration: Option<Duration>,
}

impl Args {
    pub(super) fn limits(&self) -> Limits {
        Limits {
            references: self.references,
            duration: self.duration.map(Span::get),
        }
    }

    /// The engine to use.
    ///
    /// Errors: an option that this engine does not have.
    pub(super) fn engine(&self) -> Result<Engine> {
        let usual = if self.pid.is_some() {
            Engine::Sample
        } else {
            Engine::Valgrind
        };
        let engine = self.engine.unwrap_or(usual);
        match self.contradiction(engine) {
            Some((what, hint)) => Err(Hinted::new(what, hint).into()),
            None => Ok(engine),
        }
    }

    /// An option that the engine does not have, and what to write instead.
    fn contradiction(&self, engine: Engine) -> Option<(&'static str, &'static str)> {
        let is_of_started = self.alone || self.as_published || self.skip > 0;
        match engine {
            engine if engine.starts_program() && self.pid.is_some() => Some((
                "Valgrind and QEMU see only programs that they start",
                "for a running process: --engine sample --pid NUMBER",
            )),
            engine if engine.starts_program() && self.every.is_some() => Some((
                "--every: Valgrind and QEMU see every reference",
                "for a running process: --engine sample --pid NUMBER",
            )),
            engine if engine.starts_program() => None,
            Engine::DamonPhysical if self.pid.is_some() || !self.what.is_empty() => Some((
                "damon-physical observes all memory, not a process",
                "--engine damon --pid NUMBER",
            )),
            Engine::Perf if self.every.is_some() => Some((
                "--every: with perf the CPU samples at its own pace",
                "leave it out, or use --engine sample",
            )),
            _ if is_of_started => Some((
                "--alone, --as-published and --skip are for programs that Valgrind or QEMU starts",
                "leave them out",
            )),
            _ => None,
        }
    }

    /// The process to observe: `--pid`, or the only word.
    pub(super) fn process(&self, engine: Engine) -> Result<u32> {
        if let Some(pid) = self.pid {
            return Ok(pid);
        }
        let word = self
            .what
            .first()
            .map(|word| word.to_string_lossy().into_owned())
            .unwrap_or_default();
        if self.what.len() == 1 {
            if let Ok(pid) = word.parse() {
                return Ok(pid);
            }
        }
        let name = engine.name();
        let what = format!(
            "--engine {name} observes a running process: '{word}' is not the number of one"
        );
        let hint = format!("such as: warmset trace --engine {name} --pid $(pidof firefox-esr)");
        Err(Hinted::new(what, hint).into())
    }
}
