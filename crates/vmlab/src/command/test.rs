//! `test`: faults that a guard must withstand, in machines of their own.

use super::say;
use crate::faults::{FAULTS, Fault};
use crate::image::{self, Part, Programs};
use crate::kernel::{self, Kernel};
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

/// Without KVM a machine of 4 GiB takes a minute or two on a busy host.
const BOOT: Duration = Duration::from_secs(240);
/// Names a guard of an older version, for the fault `upgrade`.
const OLD: &str = "WARMSET_OLD";
/// Names a pattern to take off the list of writes, for the fault `writes`: it must then fail.
const LEAVE_OUT: &str = "WARMSET_LEAVE_OUT";

/// What there is to test.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Suite {
    /// Protection: throttling, floors, kills, and that everything is put back.
    Protect,
}

/// Do to a guard in a machine what can happen to one, and print whether it withstood that, as TAP
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// What to test
    #[arg(value_enum)]
    suite: Suite,
    /// 6.1, 6.12, 7, or the directory of one that was built
    #[arg(long, default_value = "6.12")]
    kernel: String,
    /// The guard, with warmset-hold beside it [default: beside this program]
    #[arg(long, value_name = "FILE")]
    warmsetd: Option<PathBuf>,
    /// An older guard to upgrade from, with warmset-hold beside it [default: $WARMSET_OLD, or only its undo log]
    #[arg(long, value_name = "FILE")]
    old: Option<PathBuf>,
    /// Only these faults
    #[arg(value_name = "FAULT")]
    faults: Vec<String>,
}

impl Test {
    pub(super) fn run(&self, store: &Store) -> Result<ExitCode> {
        let Suite::Protect = self.suite;
        let faults = self.chosen()?;
        let bench = self.bench(store)?;
        say(&format!("1..{}\n", faults.len()))?;
        let mut machine = None;
        let mut all_withstood = true;
        for (index, fault) in faults.iter().enumerate() {
            let (withstood, output) = bench.inflict(fault, &mut machine)?;
            all_withstood &= withstood;
            let verdict = if withstood { "ok" } else { "not ok" };
            let number = index + 1;
            let name = fault.name;
            let what = fault.what;
            say(&format!("{verdict} {number} - {name}: {what}\n"))?;
            for line in output.lines() {
                say(&format!("# {line}\n"))?;
            }
        }
        Ok(if all_withstood {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    /// The faults that were named, in the order of the list; all of them if none was.
    fn chosen(&self) -> Result<Vec<&'static Fault>> {
        for name in &self.faults {
            if FAULTS.iter().all(|fault| fault.name != name) {
                let names: Vec<&str> = FAULTS.iter().map(|fault| fault.name).collect();
                anyhow::bail!("no fault '{name}': {}", names.join(", "));
            }
        }
        let is_chosen = |fault: &&Fault| {
            self.faults.is_empty() || self.faults.iter().any(|name| name == fault.name)
        };
        Ok(FAULTS.iter().filter(is_chosen).collect())
    }

    fn bench<'s>(&self, store: &'s Store) -> Result<Bench<'s>> {
        let daemon = super::run::daemon(self.warmsetd.as_deref())?;
        let mut programs = Programs::with_daemon(guest_program()?, daemon)?;
        let from_environment = || std::env::var_os(OLD).map(PathBuf::from);
        if let Some(old) = self.old.clone().or_else(from_environment) {
            programs = programs.and_an_older_daemon(old)?;
        }
        let kernel = kernel::find(store, &self.kernel)?;
        let mut variables = Vec::new();
        if let Ok(pattern) = std::env::var(LEAVE_OUT) {
            variables.push(("left_out", pattern));
        }
        Ok(Bench {
            store,
            kernel,
            programs,
            variables,
        })
    }
}

/// The kind of a machine: its memory, and the modules that it loads besides those that every machine needs.
type Kind = (Bytes, &'static [&'static str]);

/// What machines are made of.
struct Bench<'s> {
    store: &'s Store,
    kernel: Kernel,
    programs: Programs,
    /// Variables that the scripts know.
    variables: Vec<(&'static str, String)>,
}

impl Bench<'_> {
    /// Runs one fault, in the machine that is there if it is of the right kind. Returns whether the guard withstood it,
    /// and the script's output. A machine that does not answer is a failure, and the next fault gets another one.
    fn inflict(&self, fault: &Fault, machine: &mut Option<(Kind, Vm)>) -> Result<(bool, String)> {
        let kind = (fault.memory, fault.modules);
        if machine.as_ref().is_none_or(|(is, _)| *is != kind) {
            *machine = Some((kind, self.boot(kind)?));
        }
        let (_, vm) = machine.as_mut().context("no machine was booted")?;
        let mut output = String::new();
        let answer = vm.script(
            &fault.script(&self.variables),
            Duration::from_secs(fault.seconds),
            |line| output.push_str(line),
        );
        match answer {
            Ok(status) => Ok((status == 0, output)),
            Err(silence) => {
                let _ = write!(output, "{silence}\n{}", vm.console());
                *machine = None;
                Ok((false, output))
            }
        }
    }

    fn boot(&self, (memory, modules): Kind) -> Result<Vm> {
        let parts = BTreeSet::from([Part::Btrfs, Part::Strace]);
        let root = image::root(self.store, &self.programs, &parts)?;
        let hardware = Hardware {
            memory,
            cpus: 1,
            nodes: Vec::new(),
            accel: accel::choose(self.store, &self.kernel, &self.programs.guest)?,
            drives: vec![Drive::new(root, None)],
            append: String::new(),
            modules,
            recording: None,
        };
        let mut vm = Vm::boot(self.store, &self.kernel, &self.programs.guest, &hardware)?;
        vm.wait_until_up(BOOT)?;
        Ok(vm)
    }
}
