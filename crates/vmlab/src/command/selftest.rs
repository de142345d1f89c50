//! `selftest`: the tests of a kernel series, in machines that run it.

use super::{print_script, say};
use crate::image::{self, Programs};
use crate::kernel::{self, Kernel, TREE, series};
use crate::scenario::Data;
use crate::store::Store;
use crate::vm::disk::{Drive, Filled};
use crate::vm::{Hardware, Silence, Vm, accel, guest_program};
use anyhow::{Result, bail, ensure};
use clap::Args;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use units::Bytes;

/// Most time to boot. Without KVM it takes half a minute, and longer on a busy host.
const BOOT: Duration = Duration::from_secs(240);
/// The tests' memory: small, because they fill it again and again.
const MEMORY: Bytes = Bytes::mib(512);
/// Size of the streamed file in percent of memory: so large that no LRU still has its beginning when it starts again.
const HUGE: u64 = 150;
/// kselftest's exit code of a test that has nothing to test.
const SKIPPED: u8 = 4;

/// Run the tests of a kernel series in a machine; TAP, and 0, 1 or 4 (nothing to test) as kselftest has it
#[derive(Debug, Args)]
pub(crate) struct Selftest {
    /// The series, built if it is not there: 6.12, 7.3
    #[arg(long, value_name = "SERIES", default_value = "6.12")]
    series: String,
    /// Another kernel to run them on: 6.1, 6.12, 7, one with its series (6.12+series), or the directory of one that was built
    #[arg(long, value_name = "KERNEL", conflicts_with = "series")]
    kernel: Option<String>,
    /// A configuration fragment laid over the lab's own; may be given again
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// The directory of the series, with BASES in it
    #[arg(long, value_name = "DIR", default_value = TREE)]
    tree: PathBuf,
    /// NUMA nodes of the machine, as shares of its memory: 1,1 are two alike, 3,1 are not, in 1,0 one has none
    #[arg(long, value_name = "SHARES", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=64))]
    nodes: Vec<u32>,
    /// Words for the kernel's command line
    #[arg(long, value_name = "WORDS", default_value = "")]
    append: String,
    /// Most seconds all of it may take
    #[arg(long, default_value_t = 1800)]
    seconds: u64,
    /// Copy the kernel's console, warnings and worse, to this file
    #[arg(long, value_name = "FILE")]
    console: Option<PathBuf>,
    /// Only these tests
    #[arg(value_name = "TEST")]
    tests: Vec<String>,
}

impl Selftest {
    pub(super) fn run(&self, store: &Store) -> Result<ExitCode> {
        let kernel = match &self.kernel {
            Some(name) => kernel::find(store, name)?,
            None => series::patched(store, &self.tree, &self.series, &self.config)?,
        };
        let scratch = store.scratch()?;
        let tests = series::tests(&self.tree, scratch.path())?;
        let programs = Programs {
            others: vec![tests],
            ..Programs::alone(guest_program()?)
        };
        let hardware = self.hardware(store, &kernel, &programs)?;
        let mut vm = Vm::boot(store, &kernel, &programs.guest, &hardware)?;
        vm.wait_until_up(BOOT)?;
        let script = format!("/lab/wsp_test /data {}", self.tests.join(" "));
        let most = Duration::from_secs(self.seconds);
        let (answer, written) = print_script(&mut vm, &script, most);
        if let Some(file) = &self.console {
            vm.keep_console(file)?;
        }
        written?;
        match answer {
            Ok(status) => judged(status, &vm.reports()),
            Err(Silence::Wedged) => bail!(
                "not done after {} s, as --seconds says\n{}",
                self.seconds,
                vm.console()
            ),
            Err(silence) => bail!("{silence}\n{}", vm.console()),
        }
    }

    fn hardware(&self, store: &Store, kernel: &Kernel, programs: &Programs) -> Result<Hardware> {
        let has_memory = self.nodes.is_empty() || self.nodes.iter().any(|share| *share > 0);
        ensure!(has_memory, "--nodes: no node has memory");
        let files = vec![
            Filled {
                name: "hot".to_owned(),
                size: MEMORY.scaled(10, 100),
            },
            Filled {
                name: "huge".to_owned(),
                size: MEMORY.scaled(HUGE, 100),
            },
        ];
        let data = image::data(store, programs, &Data::Files(files, Bytes::mib(16)))?;
        let root = image::root(store, programs, &BTreeSet::new())?;
        Ok(Hardware {
            memory: MEMORY,
            cpus: 2,
            nodes: self.nodes.clone(),
            accel: accel::choose(store, kernel, &programs.guest)?,
            drives: vec![Drive::new(root, None), Drive::new(data, None)],
            // Warnings too: lockdep's reports are no errors.
            append: format!("loglevel=5 {}", self.append),
            modules: &[],
            recording: None,
        })
    }
}

/// The exit code of the tests, or a failure if the kernel reported a fault of its own.
fn judged(status: u8, reports: &[String]) -> Result<ExitCode> {
    for report in reports {
        say(&format!("# kernel: {report}\n"))?;
    }
    if !reports.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    Ok(match status {
        0 => ExitCode::SUCCESS,
        SKIPPED => ExitCode::from(SKIPPED),
        _ => ExitCode::FAILURE,
    })
}
