//! Many short processes at once, and a grab of huge pages.

use super::burst::touch_all;
use super::memory::{PAGE, take};
use super::{Out, Words};
use crate::clock::{now, sleep_until};
use anyhow::Result;
use memmap2::Advice;
use std::fs;
use std::process::{Child, Command, Stdio};

/// Waves of processes; each touches its memory and ends.
pub(super) fn forks(words: &Words<'_>) -> Result<()> {
    let children: u32 = words.number(0)?;
    let mib: usize = words.number(1)?;
    if children == 0 {
        let mut memory = take(mib, Advice::NoHugePage)?;
        touch_all(&mut memory, PAGE);
        return Ok(());
    }
    let out = Out::new();
    let own = std::env::current_exe()?;
    while out.goes_on() {
        let began = now();
        let mut wave: Vec<Child> = Vec::new();
        for _ in 0..children {
            let mut child = Command::new(&own);
            child
                .args(["work", "forks", "0", &mib.to_string(), "0"])
                .stdout(Stdio::null());
            wave.push(child.spawn()?);
        }
        for mut child in wave {
            child.wait()?;
        }
        out.op("wave", began);
        out.sum("forks", f64::from(children));
        sleep_until(began + 1000.0, out.window.until);
    }
    Ok(())
}

/// A virtual machine or a database that starts: asks for huge pages by the kernel's file.
pub(super) fn grab(words: &Words<'_>) -> Result<()> {
    const FILE: &str = "/proc/sys/vm/nr_hugepages";
    let out = Out::new();
    let wanted: u64 = words.number(0)?;
    let began = now();
    fs::write(FILE, wanted.to_string())?;
    let got: u64 = fs::read_to_string(FILE)?.trim().parse()?;
    out.op("grab", began);
    out.sum("huge_pages_wanted", wanted as f64);
    out.sum("huge_pages_got", got as f64);
    fs::write(FILE, "0")?;
    Ok(())
}
