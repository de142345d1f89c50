//! The engines that observe a program: what each sees, costs and misses.

pub(super) const ENGINES: &str = "\
Engines, with what they see, cost and miss:
  valgrind        a program that is started under Valgrind: by uses where it is built for the Valgrind that is installed, else
                  by lackey
  uses            the same, by Warmset's own tool for Valgrind. Sees every reference in order, and the threads; the program runs
                  10 to 50 times slower. valgrind/build makes the tool
  lackey          the same, by a tool that is a part of Valgrind. Takes ten times as long, and more room
  qemu            a program that is started under QEMU's user mode, by Warmset's plugin. Sees every reference in order, and the
                  threads, also of programs for another processor; takes less time than uses. Misses programs that the first one
                  becomes or starts by exec. qemu/build makes the plugin
  sample          a running process, by the accessed bits of its page tables. Sees which mappings were used and how many
                  of their pages, once a second; single pages where the kernel has CONFIG_IDLE_PAGE_TRACKING. Takes at most
                  1 % of one CPU. Misses order and number of uses within an interval, read() and write()
  damon           a running process, by the kernel's DAMON. Sees 10 to 1000 regions, ten times a second. The CPU time of the
                  kdamond is printed. Misses small places within a region, order and number of uses
  damon-physical  all memory by physical address, by DAMON; needs no process
  perf            a running process, by loads and stores that the CPU samples (perf mem): one in thousands, in order.
                  Misses the others. Needs PEBS, IBS or SPE, which few virtual machines have
  --watch         prints the size of the working set only; no trace
analyze and convert also read what DAMON recorded elsewhere (perf record -e damon:damon_aggregated, damo record).

With the first four, the program's input, output and errors are its own. Ctrl-C goes to the program; a second one ends the
recording. A recording that does not show the whole run is marked as cut. The file appears when it is whole. With the other
engines Ctrl-C ends the recording and the process goes on; what was set up for it is removed.";

/// How references are observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Engine {
    /// Every reference of a program that is started under Valgrind
    Valgrind,
    /// The same, by Warmset's own tool
    Uses,
    /// The same, by Valgrind's
    Lackey,
    /// Every reference of a program that is started under QEMU, also of one for another processor
    Qemu,
    /// Accessed bits of a running process
    Sample,
    /// DAMON on a running process
    Damon,
    /// DAMON on all memory
    DamonPhysical,
    /// Loads and stores of a running process, sampled by the CPU
    Perf,
}

impl Engine {
    /// Returns true if it starts the program that it records.
    pub(super) const fn starts_program(self) -> bool {
        matches!(
            self,
            Self::Valgrind | Self::Uses | Self::Lackey | Self::Qemu
        )
    }

    /// The name that `--engine` takes.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Valgrind => "valgrind",
            Self::Uses => "uses",
            Self::Lackey => "lackey",
            Self::Qemu => "qemu",
            Self::Sample => "sample",
            Self::Damon => "damon",
            Self::DamonPhysical => "damon-physical",
            Self::Perf => "perf",
        }
    }

    /// What a trace of this engine never shows.
    pub(super) const fn cannot_see(self) -> &'static str {
        match self {
            Self::Valgrind | Self::Uses | Self::Lackey => "nothing",
            Self::Qemu => "programs that are started by exec",
            Self::Sample => {
                "order and number of uses within an interval, and use by read() and write()"
            }
            Self::Damon | Self::DamonPhysical => {
                "small places within a region, order and number of uses in an interval"
            }
            Self::Perf => "all but one in thousands of the references",
        }
    }
}
