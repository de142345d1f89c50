//! Page cache: files read in turn, streamed, read once, timed.

use super::resident::resident_pages;
use super::{Out, Words};
use crate::clock::now;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const MIB: usize = 1 << 20;

/// A mirror or a backup: each filler reads its share of the files in turn, writes a new one, removes it.
pub(super) fn fill(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let directory = Path::new(words.text(0)?);
    let files: u64 = words.number(1)?;
    let fillers: u64 = words.number(2)?;
    let new_mib: usize = words.number(3)?;
    let new = directory.join(format!("new-{}", words.own()));
    let mut buffer = vec![1; MIB];
    let mut next = words.own();
    while out.goes_on() {
        let file = directory.join(format!("f{:02}", next % files));
        read_all(&out, &file, &mut buffer, "read_mib")?;
        write_new(&out, &new, new_mib, &buffer)?;
        next += fillers;
    }
    Ok(())
}

/// Reads a file in pieces of 1 MiB, until its end or that of the load.
fn read_all(out: &Out, path: &Path, buffer: &mut [u8], sum: &str) -> Result<()> {
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    while out.goes_on() {
        let count = file.read(buffer)?;
        if count == 0 {
            break;
        }
        out.sum(sum, count as f64 / MIB as f64);
    }
    Ok(())
}

fn write_new(out: &Out, path: &Path, mib: usize, buffer: &[u8]) -> Result<()> {
    let mut file = File::create(path)?;
    for _ in 0..mib {
        match file.write_all(buffer) {
            Err(error) if error.kind() == ErrorKind::StorageFull => break,
            other => other?,
        }
        out.sum("written_mib", 1.0);
        if !out.goes_on() {
            break;
        }
    }
    Ok(fs::remove_file(path)?)
}

/// The second worker of the founding demonstration, in a loop.
pub(super) fn stream(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let path = PathBuf::from(words.text(0)?);
    let mut buffer = vec![0; MIB];
    while out.goes_on() {
        read_all(&out, &path, &mut buffer, "stream_mib")?;
    }
    Ok(())
}

/// A use-once scan of files.
pub(super) fn once(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let files: u64 = words.number(1)?;
    let mut buffer = vec![0; MIB];
    let directory = Path::new(words.text(0)?);
    for number in 0..files {
        let file = directory.join(format!("f{number:02}"));
        read_all(&out, &file, &mut buffer, "scan_mib")?;
    }
    Ok(())
}

/// The third worker of the founding demonstration: a moderately large file, read by a new process each time.
///
/// Pages that left memory since the last read are this file's own refaults. The kernel's counters have those of all files.
pub(super) fn read(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let mut file =
        File::open(words.text(0)?).with_context(|| format!("cannot read {}", words.0.join(" ")))?;
    let pages = file.metadata()?.len().div_ceil(4096);
    let there = resident_pages(&file)?;
    let mut buffer = vec![0; MIB];
    let before = queued();
    let began = now();
    while file.read(&mut buffer)? > 0 {}
    let took = now() - began;
    let own = match (before, queued()) {
        (Some(before), Some(after)) => Some(took - (after - before)),
        _ => None,
    };
    let was_resident = there >= pages;
    out.took("read", began, took);
    if was_resident {
        // The time that a read takes under this load if nothing is missing.
        out.took("read_warm", began, took);
    }
    if let Some(own) = own {
        out.took("read_own", began, own);
        if was_resident {
            out.took("read_own_warm", began, own);
        }
    }
    out.sum("reads", 1.0);
    out.sum("hot_pages_read", pages as f64);
    out.sum("hot_pages_refaulted", (pages - there.min(pages)) as f64);
    Ok(())
}

/// Milliseconds that this process has waited for a CPU while it was ready to run; `None` if the kernel does not count
/// them. Source: `/proc/self/schedstat`, the second word, in ns.
fn queued() -> Option<f64> {
    waited(&fs::read_to_string("/proc/self/schedstat").ok()?)
}

fn waited(schedstat: &str) -> Option<f64> {
    let nanoseconds: f64 = schedstat.split(' ').nth(1)?.parse().ok()?;
    Some(nanoseconds / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Window;

    #[test]
    fn waiting_is_not_running() {
        assert_eq!(waited("8000000 4500000 17\n"), Some(4.5));
        assert_eq!(waited("8000000\n"), None);
    }

    #[test]
    fn a_new_file_does_not_stay() {
        let directory = tempfile::tempdir().unwrap();
        let out = Out {
            window: Window {
                from: 0.0,
                until: 0.0,
            },
        };
        write_new(&out, &directory.path().join("new"), 1, &[1; 100]).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
