//! Our packages of a kernel with the patch series, on a Debian with systemd: installed, booted, its floors turned on by
//! sysctl.d, a module that was compiled against its headers, and Warmset beside it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::{Machine, hardware, package, packages, store};
use std::path::{Path, PathBuf};
use std::process::Command;
use warmset_vmlab::image;
use warmset_vmlab::kernel;
use warmset_vmlab::vm::guest_program;

const MODULE: &str = "wsp_alloc";

/// The packages of the image and of the headers.
fn kernel_packages() -> Vec<PathBuf> {
    let packages = packages("kernel-deb", "make kernel-deb");
    assert_eq!(
        packages.len(),
        2,
        "image and headers: make kernel-deb: {packages:?}"
    );
    packages
}

fn run(command: &mut Command) {
    let status = command.status();
    assert!(status.unwrap().success(), "{command:?}");
}

/// The module that allocates, compiled against the headers below this directory.
fn module(headers: &Path, into: &Path) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/selftests/module");
    run(Command::new("cp")
        .arg("-r")
        .args([&sources, &into.join("module")]));
    let build = std::fs::read_dir(headers.join("usr/src")).unwrap().next();
    let of_module = format!("M={}", into.join("module").display());
    run(Command::new("make")
        .arg("-C")
        .arg(build.unwrap().unwrap().path())
        .args([&of_module, "modules"]));
    into.join("module").join(format!("{MODULE}.ko"))
}

/// The kernel that the packages install, as a boot loader would find it, with the module beside it.
fn unpacked(packages: &[PathBuf], scratch: &Path) -> kernel::Kernel {
    for package in packages {
        run(Command::new("dpkg-deb")
            .arg("--extract")
            .args([package.as_path(), scratch]));
    }
    let release = kernel::in_directory(scratch, "packaged").unwrap().release;
    let modules = scratch.join("lib/modules").join(release).join("kernel");
    std::fs::create_dir_all(&modules).unwrap();
    let built = module(scratch, scratch);
    std::fs::copy(built, modules.join(format!("{MODULE}.ko"))).unwrap();
    kernel::in_directory(scratch, "packaged").unwrap()
}

/// Fills memory with what cannot be evicted, but for 130 MiB. Defines `ask KIND`: with 110 MiB of the disk in memory, the module
/// allocates all but 50 MiB of that, which is less than the floor of 15 %. It prints how many pages it asked for and got, in how
/// many milliseconds, and how often the floor was in the way.
const SCARCE: &str = "
    field() { sed -n \"s/^$1: *\\([0-9]*\\) kB/\\1/p\" /proc/meminfo; }
    spare() { echo $(($(field MemFree) + $(field 'Active(file)') + $(field 'Inactive(file)'))); }
    withheld() { sed -n 's/^wsp_file_withheld //p' /proc/vmstat; }
    ask() {
        head -c 110M /dev/vda >/dev/null
        wanted=$((($(spare) - 50 * 1024) / 4))
        before=$(withheld)
        echo $1 $wanted >/proc/wsp_alloc
        echo $wanted $(cat /proc/wsp_alloc) $(($(withheld) - before))
    }
    [ -e /mnt/fill ] || {
        mount -t tmpfs -o size=95% fill /mnt
        head -c $(($(spare) - 130 * 1024))K /dev/zero >/mnt/fill
    }
";

/// What came of a request.
#[derive(Debug)]
struct Asked {
    wanted: u64,
    got: u64,
    withheld: u64,
}

fn ask(machine: &mut Machine, kind: &str) -> Asked {
    let said = machine.sh(&format!("{SCARCE} ask {kind}"));
    let numbers: Vec<u64> = said
        .split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect();
    let &[wanted, got, milliseconds, withheld] = numbers.as_slice() else {
        panic!("{said}")
    };
    println!(
        "{kind}: {got} of {wanted} pages in {milliseconds} ms, the floor was in the way {withheld} times"
    );
    Asked {
        wanted,
        got,
        withheld,
    }
}

#[test]
#[ignore = "boots a machine: make kernel-deb-test"]
fn the_packaged_kernel_is_installed_boots_and_keeps_its_floors() {
    let packages = kernel_packages();
    let scratch = tempfile::tempdir().unwrap();
    let kernel = unpacked(&packages, scratch.path());
    let store = store();
    let guest = guest_program().unwrap();
    let root = image::debian_with_kernel(&store, &guest, &package(), &packages).unwrap();
    let mut hardware = hardware(&store, &kernel, root);
    hardware.append.push_str("warmset.init=/sbin/init");
    hardware.modules = &[MODULE];
    let mut machine = Machine::boot(&store, &kernel, &hardware);

    // What runs is what dpkg installed.
    let release = machine.sh("uname -r");
    assert!(release.ends_with("-warmset"), "{release}");
    assert_eq!(kernel.release, release);
    let owner = machine.sh("dpkg --search /boot/vmlinuz-$(uname -r)");
    assert!(
        owner.starts_with(&format!("linux-image-{release}:")),
        "{owner}"
    );
    let booted = Command::new("sha256sum")
        .arg(&kernel.image)
        .output()
        .unwrap();
    let installed = machine.sh("sha256sum /boot/vmlinuz-$(uname -r)");
    let first_word = |text: &str| text.split_whitespace().next().unwrap().to_owned();
    assert_eq!(
        first_word(&installed),
        first_word(&String::from_utf8(booted.stdout).unwrap())
    );
    machine.sh("test -f /lib/modules/$(uname -r)/build/Module.symvers");

    // systemd-sysctl turned the floors on.
    assert_eq!(
        machine.sh("cd /proc/sys/vm && cat workingset_protection clean_min_ratio anon_min_ratio"),
        "1\n15\n15"
    );

    // Warmset knows the kernel, and protects beside it.
    let features = machine.sh("warmset features");
    let line = "yes  working-set protection";
    assert!(features.lines().any(|each| each == line), "{features}");
    let mode = machine.sh(
        "for i in $(seq 50); do warmset status >/dev/null 2>&1 && break; sleep 0.2; done; warmset mode",
    );
    assert!(mode.contains("protect"), "{mode}");

    // A program meets the floor, and is killed. It has a unit of its own: systemd stops a whole unit in which one is killed.
    machine.sh("systemctl stop warmsetd");
    let hog = format!(
        "{SCARCE} before=$(withheld); systemd-run --quiet --wait tail /dev/zero; echo $(($(withheld) - before))"
    );
    let met: u64 = machine.sh(&hog).parse().unwrap();
    assert!(met > 0, "the floor was never in the way");
    // A request that can neither swap nor have a process killed goes below it, and gets all.
    for kind in ["nofs", "noio"] {
        let asked = ask(&mut machine, kind);
        assert_eq!(asked.got, asked.wanted, "{kind}: {asked:?}");
    }
    // One that may fail after it has tried gets what is above the floor. kernel/selftests/README.md has why no more.
    let may_fail = ask(&mut machine, "retry");
    assert!(may_fail.got > may_fail.wanted / 2, "{may_fail:?}");
    // Without the floors nothing is in the way of either.
    machine.sh("echo 0 >/proc/sys/vm/workingset_protection");
    for kind in ["nofs", "retry"] {
        let off = ask(&mut machine, kind);
        assert_eq!((off.got, off.withheld), (off.wanted, 0), "{kind}: {off:?}");
    }
}
