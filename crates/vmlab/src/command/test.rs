//! `test`: faults that a guard must stand, in machines of their own.

use super::say;
use crate::faults::{FAULTS, Fault};
use crate::image::{self, Part, Programs};
use crate::kernels::{self, Kernel};
use crate::store::Store;
use crate::vm::disk::Drive;
use crate::vm::{Hardware, Vm, accel, guest_program};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use units::Bytes;

const BOOT: Duration = Duration::from_secs(240);

/// What there is to test.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Suite {
    /// Protection: containment, floors, and that everything is put back.
    Protect,
}

/// Do to a guard what can happen to one, in a machine; TAP
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// What to test
    #[arg(value_enum)]
    suite: Suite,
    /// 6.1, 6.12, 7, or the folder of one that was built
    #[arg(long, default_value = "6.12")]
    kernel: String,
    /// The guard, with warmset-hold beside it [default: beside this program]
    #[arg(long, value_name = "FILE")]
    warmsetd: Option<PathBuf>,
    /// Only these faults
    #[arg(value_name = "FAULT")]
    faults: Vec<String>,
}

impl Test {
    pub(super) fn run(&self, store: &Store) -> Result<ExitCode> {
        let Suite::Protect = self.suite;
        let known = |name: &&String| FAULTS.iter().all(|fault| fault.name != **name);
        if let Some(name) = self.faults.iter().find(known) {
            let names: Vec<&str> = FAULTS.iter().map(|fault| fault.name).collect();
            anyhow::bail!("no fault '{name}': {}", names.join(", "));
        }
        let chosen = |fault: &&Fault| {
            self.faults.is_empty() || self.faults.iter().any(|name| name == fault.name)
        };
        let faults: Vec<&Fault> = FAULTS.iter().filter(chosen).collect();
        let bench = self.bench(store)?;
        say(&format!("1..{}\n", faults.len()))?;
        let (mut machine, mut failed) = (None, 0);
        for (index, fault) in faults.iter().enumerate() {
            let (stood, told) = bench.inflict(fault, &mut machine)?;
            failed += usize::from(!stood);
            let verdict = if stood { "ok" } else { "not ok" };
            say(&format!(
                "{verdict} {} - {}: {}\n",
                index + 1,
                fault.name,
                fault.what
            ))?;
            told.lines()
                .try_for_each(|line| say(&format!("# {line}\n")))?;
        }
        Ok(if failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    fn bench<'s>(&self, store: &'s Store) -> Result<Bench<'s>> {
        let programs = Programs::with_daemon(
            guest_program()?,
            super::run::daemon(self.warmsetd.as_deref())?,
        )?;
        let kernel = kernels::kernel(store, &self.kernel)?;
        Ok(Bench {
            store,
            kernel,
            programs,
        })
    }
}

/// Of a machine: its memory, and the modules that it has besides.
type Kind = (Bytes, &'static [&'static str]);

/// What machines are made of.
struct Bench<'s> {
    store: &'s Store,
    kernel: Kernel,
    programs: Programs,
}

impl Bench<'_> {
    /// Runs one fault, in the machine that is there if it is of the right kind; whether the guard stood it, and what the
    /// script said. A machine that does not answer is a failure, and the next fault has another.
    fn inflict(&self, fault: &Fault, machine: &mut Option<(Kind, Vm)>) -> Result<(bool, String)> {
        let kind = (fault.memory, fault.modules);
        if machine.as_ref().is_none_or(|(is, _)| *is != kind) {
            *machine = Some((kind, self.boot(kind)?));
        }
        let (_, vm) = machine.as_mut().context("a machine was booted")?;
        let mut said = String::new();
        match vm.script(
            &fault.script(),
            Duration::from_secs(fault.seconds),
            |line| said.push_str(line),
        ) {
            Ok(status) => Ok((status == 0, said)),
            Err(silence) => {
                let _ = write!(said, "{silence}\n{}", vm.console());
                *machine = None;
                Ok((false, said))
            }
        }
    }

    fn boot(&self, (memory, modules): Kind) -> Result<Vm> {
        let root = image::root(self.store, &self.programs, &BTreeSet::from([Part::Btrfs]))?;
        let hardware = Hardware {
            memory,
            cpus: 1,
            nodes: Vec::new(),
            accel: accel::choose(self.store, &self.kernel, &self.programs.guest)?,
            drives: vec![Drive::new(root, None)],
            append: String::new(),
            modules,
        };
        let mut vm = Vm::boot(self.store, &self.kernel, &self.programs.guest, &hardware)?;
        vm.wait_until_up(BOOT)?;
        Ok(vm)
    }
}
