//! `sh`: runs one script in a machine, to look around in it.

use super::print_script;
use crate::image::{self, Programs};
use crate::kernel;
use crate::store::Store;
use crate::vm::disk::Drive;
use crate::vm::{Hardware, Vm, accel, guest_program};
use anyhow::Result;
use clap::Args;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use units::Bytes;

/// Most time to boot. Without KVM it takes half a minute, and longer on a busy host.
const BOOT: Duration = Duration::from_secs(120);

/// Boot a machine, run a shell script in it, print its output
#[derive(Debug, Args)]
pub(crate) struct Shell {
    /// The script
    script: String,
    /// 6.1, 6.12, 7, or the directory of one that was built
    #[arg(long, default_value = "6.12")]
    kernel: String,
    /// Memory of the machine in MiB
    #[arg(long, default_value_t = 512)]
    memory_mib: u64,
    /// Words for the kernel's command line
    #[arg(long, default_value = "")]
    append: String,
    /// A program of this machine to take along, as /lab/NAME
    #[arg(long = "with", value_name = "FILE")]
    others: Vec<PathBuf>,
    /// Most seconds it may take
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

impl Shell {
    pub(super) fn run(&self, store: &Store) -> Result<ExitCode> {
        let kernel = kernel::find(store, &self.kernel)?;
        let programs = Programs {
            others: self.others.clone(),
            ..Programs::alone(guest_program()?)
        };
        let root = image::root(store, &programs, &BTreeSet::new())?;
        let hardware = Hardware {
            memory: Bytes::mib(self.memory_mib),
            cpus: 1,
            nodes: Vec::new(),
            accel: accel::choose(store, &kernel, &programs.guest)?,
            drives: vec![Drive::new(root, None)],
            append: self.append.clone(),
            modules: &[],
            recording: None,
        };
        let mut vm = Vm::boot(store, &kernel, &programs.guest, &hardware)?;
        vm.wait_until_up(BOOT)?;
        let most = Duration::from_secs(self.seconds);
        let (answer, written) = print_script(&mut vm, &self.script, most);
        written?;
        match answer {
            Ok(status) => Ok(ExitCode::from(status)),
            Err(silence) => anyhow::bail!("{silence}\n{}", vm.console()),
        }
    }
}
