//! `warmset-lab test protect` with all faults but those that need a large machine.

#![allow(clippy::unwrap_used)]

use std::process::Command;
use units::Bytes;
use warmset_vmlab::faults::FAULTS;

#[test]
#[ignore = "boots machines: make vm"]
fn a_guard_withstands_every_fault() {
    let small = FAULTS
        .iter()
        .filter(|fault| fault.memory <= Bytes::mib(512))
        .map(|fault| fault.name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_warmset-lab"));
    let done = command
        .args(["test", "protect"])
        .args(small)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    println!("{said}");
    assert!(
        done.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(said.matches("\nok ").count() >= 10, "{said}");
}

#[test]
fn an_unknown_fault_is_refused_with_the_list_of_faults() {
    let done = Command::new(env!("CARGO_BIN_EXE_warmset-lab"))
        .args(["test", "protect", "meteor"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        !done.status.success() && said.contains("no fault 'meteor': bare, throttles"),
        "{said}"
    );
}
