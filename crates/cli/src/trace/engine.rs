//! What can look at a program, what each costs and cannot see.

use super::Args;
use crate::hinted::Hinted;
use anyhow::Result;

pub(super) const ENGINES: &str = "\
Engines, by what they see (resolution), cost, and cannot see:
  lackey          a program that is started, by Valgrind: every reference in order; 50 to 200 times slower
  sample          a process that runs, by the accessed bits of its page tables: which mappings, and how many of their pages,
                  once a second; single pages where the kernel has CONFIG_IDLE_PAGE_TRACKING. At most 1 % of a processor.
                  Not seen: order and number of uses between two looks, read() and write()
  damon           a process that runs, by the kernel's DAMON: 10 to 1000 regions, ten times a second. The kdamond's time
                  is told. Not seen: small places within a region, order and number of uses
  damon-physical  the same of all memory, by physical address; needs no process
  perf            a process that runs, by the processor's samples of loads and stores (perf mem): one in thousands, in
                  order. Not seen: the others. Needs PEBS, IBS or SPE; few virtual machines have them
  --watch         the size of the working set only, in numbers; no trace
What DAMON recorded elsewhere (perf record -e damon:damon_aggregated, damo record) is read by analyze and convert as it is.

Of lackey the program's input, output and errors are its own. Ctrl-C goes to the program; a second one ends the recording. A
recording that does not show the whole run is marked as cut, and the file appears when it is whole. With the other engines
Ctrl-C ends the recording, the process goes on, and what was set up for it is taken away.";

/// What looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Engine {
    /// Valgrind, which sees every reference of a program that it starts
    Lackey,
    /// Accessed bits of a process that runs
    Sample,
    /// DAMON, of a process that runs
    Damon,
    /// DAMON, of all memory
    DamonPhysical,
    /// Loads and stores that the processor samples, of a process that runs
    Perf,
}

impl Engine {
    /// The one that is meant.
    pub(super) fn of(args: &Args) -> Result<Self> {
        let engine = args.engine.unwrap_or(if args.pid.is_some() {
            Self::Sample
        } else {
            Self::Lackey
        });
        let wrong = |what: &str, hint: &str| Err(Hinted::new(what, hint).into());
        match engine {
            Self::Lackey if args.pid.is_some() => wrong(
                "lackey sees programs that it starts",
                "a process that runs: --engine sample --pid NUMBER",
            ),
            Self::Lackey if args.every.is_some() => wrong(
                "--every: lackey sees every reference",
                "a process that runs: --engine sample --pid NUMBER",
            ),
            Self::DamonPhysical if args.pid.is_some() || !args.what.is_empty() => wrong(
                "damon-physical looks at all memory, not at a process",
                "--engine damon --pid NUMBER",
            ),
            Self::Perf if args.every.is_some() => wrong(
                "--every: with perf the processor samples at its own pace",
                "leave it out, or --engine sample",
            ),
            Self::Lackey => Ok(engine),
            _ if args.alone || args.as_published || args.skip > 0 => wrong(
                "--alone, --as-published and --skip are for programs that lackey starts",
                "leave them out",
            ),
            _ => Ok(engine),
        }
    }

    /// As `--engine` takes it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Lackey => "lackey",
            Self::Sample => "sample",
            Self::Damon => "damon",
            Self::DamonPhysical => "damon-physical",
            Self::Perf => "perf",
        }
    }

    /// What no trace of it shows.
    pub(super) const fn cannot_see(self) -> &'static str {
        match self {
            Self::Lackey => "nothing",
            Self::Sample => {
                "order and number of uses between two looks, and use by read() and write()"
            }
            Self::Damon | Self::DamonPhysical => {
                "small places within a region, order and number of uses in an interval"
            }
            Self::Perf => "all but one in thousands of the references",
        }
    }
}
