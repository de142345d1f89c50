//! Functions for tests that boot machines.

#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use units::Bytes;
use warmset_vmlab::image::{self, Programs};
use warmset_vmlab::kernel::{self, Kernel};
use warmset_vmlab::store::Store;
use warmset_vmlab::vm::accel::{self, Accel};
use warmset_vmlab::vm::disk::Drive;
use warmset_vmlab::vm::{Hardware, Silence, Vm, guest_program};

/// Most time for a boot or a script. A machine whose clock counts instructions tells for itself what takes too long; this only ends
/// one that stands, on a host that is busy with many of them.
const PATIENCE: Duration = Duration::from_secs(1200);

/// A machine that answers scripts.
pub struct Machine {
    vm: Vm,
}

/// The store of all tests.
pub fn store() -> Store {
    Store::open(None).unwrap()
}

/// KVM, or a clock that counts instructions: by it no test depends on what else the host does.
fn accel(store: &Store, kernel: &Kernel) -> Accel {
    match accel::choose(store, kernel, &guest_program().unwrap()).unwrap() {
        Accel::Tcg => Accel::Counted,
        other => other,
    }
}

/// The hardware of a small machine with this root disk.
pub fn hardware(store: &Store, kernel: &Kernel, root: PathBuf) -> Hardware {
    Hardware {
        memory: Bytes::mib(512),
        cpus: 1,
        nodes: Vec::new(),
        accel: accel(store, kernel),
        drives: vec![Drive::new(root, None)],
        append: String::new(),
        modules: &[],
        recording: None,
    }
}

/// The packages that this target of make has built, in the order of their names.
pub fn packages(directory: &str, target: &str) -> Vec<PathBuf> {
    let directory = guest_program()
        .unwrap()
        .parent()
        .unwrap()
        .with_file_name(directory);
    let entries = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}: {target}", directory.display()));
    let paths = entries.flatten().map(|entry| entry.path());
    let mut packages: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "deb"))
        .collect();
    packages.sort();
    packages
}

/// The guard's package.
pub fn package() -> PathBuf {
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("warmset_")
    };
    let mut built = packages("debian", "make deb").into_iter();
    built.find(is_ours).unwrap()
}

/// A machine in which systemd starts this Debian.
pub fn debian(root: PathBuf) -> Machine {
    debian_with(root, &[])
}

/// The same with these modules of the kernel.
pub fn debian_with(root: PathBuf, modules: &'static [&'static str]) -> Machine {
    let store = store();
    let kernel = kernel::find(&store, "6.12").unwrap();
    let mut hardware = hardware(&store, &kernel, root);
    hardware.modules = modules;
    hardware.append.push_str("warmset.init=/sbin/init");
    Machine::boot(&store, &kernel, &hardware)
}

/// A machine of this branch with busybox.
pub fn small(branch: &str) -> Machine {
    let store = store();
    let kernel = kernel::find(&store, branch).unwrap();
    let programs = Programs::alone(guest_program().unwrap());
    let root = image::root(&store, &programs, &BTreeSet::new()).unwrap();
    Machine::boot(&store, &kernel, &hardware(&store, &kernel, root))
}

impl Machine {
    /// Boots and waits for the first frame.
    pub fn boot(store: &Store, kernel: &Kernel, hardware: &Hardware) -> Self {
        let mut vm = Vm::boot(store, kernel, &guest_program().unwrap(), hardware).unwrap();
        let hello = vm.next(Instant::now() + PATIENCE);
        assert!(
            hello.as_ref().is_ok_and(|frame| frame.kind == "hello"),
            "{hello:?}\n{}",
            vm.console()
        );
        Self { vm }
    }

    /// Runs a script. Returns its exit code and its output.
    pub fn try_sh(&mut self, script: &str, patience: Duration) -> Result<(u8, String), Silence> {
        let mut said = String::new();
        let status = self
            .vm
            .script(script, patience, |line| said.push_str(line))?;
        Ok((status, said.trim().to_owned()))
    }

    /// Runs a script that must succeed. Returns its output.
    pub fn sh(&mut self, script: &str) -> String {
        let (status, said) = self
            .try_sh(script, PATIENCE)
            .unwrap_or_else(|silence| panic!("{silence:?}\n{}", self.vm.console()));
        assert_eq!(status, 0, "{script}: {said}");
        said
    }

    /// The machine itself.
    pub fn vm(&mut self) -> &mut Vm {
        &mut self.vm
    }
}
