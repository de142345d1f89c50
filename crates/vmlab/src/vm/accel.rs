//! What executes the guest: KVM if a machine boots with it, otherwise QEMU's translator (TCG).
//!
//! QEMU 7.2's translator corrupts flags on `cmpxchg16b`, and guests then panic in the slab allocator at random. A CPU
//! model without that instruction, and one thread, are stable. Programs start at fixed addresses: with random ones,
//! copies of pages stop a machine for up to half a second (`docs/results/lab.md`, "What the translator adds").

use super::{Hardware, QEMU, Vm};
use crate::kernel::Kernel;
use crate::store::{self, Store};
use crate::tool;
use anyhow::Result;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use units::Bytes;

/// Most time in which a machine with KVM says hello. One that takes longer is of no use: the translator takes 30 s.
const PATIENCE: Duration = Duration::from_secs(20);

/// What executes the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accel {
    /// The host's CPU.
    Kvm,
    /// QEMU's translator.
    Tcg,
    /// The translator with a clock that counts instructions, 8 ns each, and leaps over time in which the machine is idle. A machine
    /// that is idle for most of its time lives through hours in minutes. By its own clock it is slow, half of what the translator
    /// can do on a processor of 2020, so that what it does in a second costs the host less than one.
    Counted,
}

impl Accel {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
            Self::Counted => "tcg-icount",
        }
    }

    /// QEMU's arguments.
    pub(super) fn arguments(self) -> Vec<&'static str> {
        let translated = [
            "-accel",
            "tcg,thread=single,tb-size=256",
            "-cpu",
            "Nehalem,-cx16",
            "-machine",
            "q35,hpet=off",
        ];
        let counted = ["-icount", "shift=3,sleep=off", "-rtc", "clock=vm"];
        match self {
            Self::Kvm => vec!["-accel", "kvm", "-cpu", "host", "-machine", "q35"],
            Self::Tcg => translated.to_vec(),
            Self::Counted => [&translated[..], &counted[..]].concat(),
        }
    }

    /// Words for the guest kernel's command line.
    pub(super) fn command_line(self) -> &'static str {
        match self {
            Self::Kvm => "",
            Self::Tcg => "norandmaps",
            // A disk takes time of the host. With a tick each 4 ms the clock leaps no farther than that while it is waited for.
            Self::Counted => "norandmaps nohz=off",
        }
    }
}

/// KVM if a small machine boots with it, otherwise the translator. The result is kept for this host and QEMU.
pub fn choose(store: &Store, kernel: &Kernel, init: &Path) -> Result<Accel> {
    let version = qemu_version()?;
    if !Path::new("/dev/kvm").exists() {
        return Ok(Accel::Tcg);
    }
    let host = fs::read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let key = store::key([host.as_slice(), version.as_bytes()]);
    let found = store.kept("accel", &key, |place| {
        let works = says_hello(store, kernel, init).unwrap_or(false);
        let accel = if works { Accel::Kvm } else { Accel::Tcg };
        fs::write(place.join("accel"), accel.name())?;
        Ok(())
    })?;
    let name = fs::read_to_string(found.join("accel"))?;
    if name == Accel::Kvm.name() {
        Ok(Accel::Kvm)
    } else {
        Ok(Accel::Tcg)
    }
}

fn says_hello(store: &Store, kernel: &Kernel, init: &Path) -> Result<bool> {
    let hardware = Hardware {
        memory: Bytes::mib(256),
        cpus: 1,
        nodes: Vec::new(),
        accel: Accel::Kvm,
        drives: Vec::new(),
        append: "warmset.hello".to_owned(),
        modules: &[],
        recording: None,
    };
    let mut vm = Vm::boot(store, kernel, init, &hardware)?;
    Ok(vm
        .next(Instant::now() + PATIENCE)
        .is_ok_and(|frame| frame.kind == "hello"))
}

/// QEMU's version; an error that says what to install if there is none.
pub fn qemu_version() -> Result<String> {
    let text = tool::run(Command::new(QEMU).arg("--version"), "qemu-system-x86")?;
    let first = text.lines().next().unwrap_or_default();
    Ok(first.replace("QEMU emulator version ", ""))
}
