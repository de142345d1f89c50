//! A load for recordings and demonstrations: memory held, files copied, bursts of short-lived memory.
//!
//! `load HOLD COPY BURST TIME`, such as `load "18 GiB" "2 GiB" "512 MiB" 60s`. It holds HOLD of anonymous memory (at
//! most 85 % of what is available), copies a file of COPY in the current folder over and over, and every three
//! seconds takes BURST and gives it back. It ends after TIME and removes its files.

use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};
use units::{Bytes, Span};

const CHUNK: usize = 1 << 20;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [hold, copy, burst, time] = arguments.as_slice() else {
        anyhow::bail!("usage: load HOLD COPY BURST TIME");
    };
    let hold: Bytes = hold.parse()?;
    let copy: Bytes = copy.parse()?;
    let burst: Bytes = burst.parse()?;
    let end = Instant::now() + time.parse::<Span>()?.get();
    let held = take(hold.min(available()?.scaled(85, 100)));
    let copier = thread::spawn(move || copies(copy, end));
    let mut worst = Duration::ZERO;
    while Instant::now() < end {
        let begun = Instant::now();
        drop(take(burst));
        worst = worst.max(begun.elapsed());
        thread::sleep(Duration::from_secs(3).min(end.saturating_duration_since(Instant::now())));
    }
    let copied = copier.join().expect("the copier does not panic")?;
    let report = format!(
        "held {}, copied {copied}, slowest burst {}\n",
        Bytes::new(held.len() as u64),
        Span::new(worst)
    );
    io::stdout().write_all(report.as_bytes())?;
    Ok(())
}

fn available() -> Result<Bytes> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .context("no MemAvailable")?;
    Ok(Bytes::kib(line.trim().trim_end_matches(" kB").parse()?))
}

/// Memory with something in every page.
fn take(amount: Bytes) -> Vec<u8> {
    let mut memory = vec![0; amount.get() as usize];
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    memory
}

/// Writes a file, then copies it until `end`; gives what was copied.
fn copies(size: Bytes, end: Instant) -> Result<Bytes> {
    let source = format!("load-{}.a", std::process::id());
    let target = format!("load-{}.b", std::process::id());
    let mut file = File::create(&source)?;
    let chunk = vec![7; CHUNK];
    let mut copied = Bytes::ZERO;
    for _ in 0..size.get() / CHUNK as u64 {
        if Instant::now() < end {
            file.write_all(&chunk)?;
        }
    }
    while Instant::now() < end {
        copied += Bytes::new(io::copy(
            &mut File::open(&source)?,
            &mut File::create(&target)?,
        )?);
    }
    for path in [source, target] {
        let _ = fs::remove_file(path);
    }
    Ok(copied)
}
