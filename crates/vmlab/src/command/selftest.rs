//! `selftest`: the tests of a kernel series, in machines that run it.

use super::{aloud, say};
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

const BOOT: Duration = Duration::from_secs(240);
/// The tests' memory: small, for they fill it again and again.
const MEMORY: Bytes = Bytes::mib(512);
/// A stream that comes round is no part of what memory could hold, whatever the LRU; in percent of memory.
const HUGE: u64 = 150;
/// kselftest's word for a test that has nothing to test.
const SKIPPED: u8 = 4;

/// Run the tests of a kernel series in a machine; TAP, and 0, 1 or 4 (nothing to test) as kselftest has it
#[derive(Debug, Args)]
pub(crate) struct Selftest {
    /// The series, built if it is not there: 6.1, 6.12, 7.3
    #[arg(long, value_name = "SERIES", default_value = "6.12")]
    series: String,
    /// Another kernel to run them on: 6.1, 6.12, 7, one with its series (6.12+series), or the folder of one that was built
    #[arg(long, value_name = "KERNEL", conflicts_with = "series")]
    kernel: Option<String>,
    /// A configuration fragment laid over the lab's own; may be given again
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// The folder of the series, with BASES in it
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
    /// Keep what the kernel said on its console, warnings and worse, in this file
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
        let (answer, written) = aloud(&mut vm, &script, Duration::from_secs(self.seconds));
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
        ensure!(
            self.nodes.is_empty() || self.nodes.iter().any(|share| *share > 0),
            "--nodes: no node has memory"
        );
        let file = |name: &str, part: u64| Filled {
            name: name.to_owned(),
            size: MEMORY.scaled(part, 100),
        };
        let data = image::data(
            store,
            programs,
            &Data::Files(vec![file("hot", 10), file("huge", HUGE)], Bytes::mib(16)),
        )?;
        Ok(Hardware {
            memory: MEMORY,
            cpus: 2,
            nodes: self.nodes.clone(),
            accel: accel::choose(store, kernel, &programs.guest)?,
            drives: vec![
                Drive::new(image::root(store, programs, &BTreeSet::new())?, None),
                Drive::new(data, None),
            ],
            // Warnings too: lockdep's reports are no errors.
            append: format!("loglevel=5 {}", self.append),
            modules: &[],
        })
    }
}

/// Passes on the status of the tests, which have said the rest; a kernel that reported a fault of its own has failed.
fn judged(status: u8, reports: &[String]) -> Result<ExitCode> {
    reports
        .iter()
        .try_for_each(|report| say(&format!("# kernel: {report}\n")))?;
    let sound = reports.is_empty();
    Ok(match status {
        0 if sound => ExitCode::SUCCESS,
        SKIPPED if sound => ExitCode::from(SKIPPED),
        _ => ExitCode::FAILURE,
    })
}
