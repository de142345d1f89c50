//! File memory: files read in turn, streamed, read once and timed.

use super::resident::resident_pages;
use super::{Out, Words};
use crate::clock::now;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const MIB: usize = 1 << 20;

/// A mirror or a backup: each filler reads the files of its share in turn, writes a new one, removes it.
pub(super) fn fill(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let directory = Path::new(words.text(0)?);
    let (files, fillers, new): (u64, u64, usize) =
        (words.number(1)?, words.number(2)?, words.number(3)?);
    let mut buffer = vec![1; MIB];
    let mut turn = words.own();
    while out.goes_on() {
        read_all(
            &out,
            &directory.join(format!("f{:02}", turn % files)),
            &mut buffer,
            "read_mib",
        )?;
        write_new(
            &out,
            &directory.join(format!("new-{}", words.own())),
            new,
            &buffer,
        )?;
        turn += fillers;
    }
    Ok(())
}

/// Reads in pieces of 1 MiB; whether it came to the end in time.
fn read_all(out: &Out, path: &Path, buffer: &mut [u8], sum: &str) -> Result<bool> {
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    while out.goes_on() {
        let count = file.read(buffer)?;
        if count == 0 {
            return Ok(true);
        }
        out.sum(sum, count as f64 / MIB as f64);
    }
    Ok(false)
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
    for file in 0..files {
        read_all(
            &out,
            &Path::new(words.text(0)?).join(format!("f{file:02}")),
            &mut buffer,
            "scan_mib",
        )?;
    }
    Ok(())
}

/// The third worker of the founding demonstration: a moderately large file, read by a new process each time. What
/// had left memory since the last read is this file's own refaults, whatever else refaults beside it.
pub(super) fn read(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let mut file =
        File::open(words.text(0)?).with_context(|| format!("cannot read {}", words.0.join(" ")))?;
    let pages = file.metadata()?.len().div_ceil(4096);
    let there = resident_pages(&file)?;
    let mut buffer = vec![0; MIB];
    let (before, began) = (queued(), now());
    while file.read(&mut buffer)? > 0 {}
    let took = now() - began;
    let own = before
        .zip(queued())
        .map(|(before, after)| took - (after - before));
    out.took("read", began, took);
    own.inspect(|own| out.took("read_own", began, *own));
    if there >= pages {
        // How long it takes under this load if nothing is missing.
        out.took("read_warm", began, took);
        own.inspect(|own| out.took("read_own_warm", began, *own));
    }
    out.sum("reads", 1.0);
    out.sum("hot_pages_read", pages as f64);
    out.sum("hot_pages_refaulted", (pages - there.min(pages)) as f64);
    Ok(())
}

/// For how long this process, ready to run, has waited for a processor, in ms; `None` where the kernel does not tell.
/// Source: `/proc/self/schedstat`, the second word, in ns.
fn queued() -> Option<f64> {
    waited(&fs::read_to_string("/proc/self/schedstat").ok()?)
}

fn waited(schedstat: &str) -> Option<f64> {
    schedstat
        .split(' ')
        .nth(1)?
        .parse::<f64>()
        .ok()
        .map(|ns| ns / 1e6)
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
