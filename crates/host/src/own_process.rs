//! This process itself: locked in memory, last to be OOM-killed, and the only guard.

use crate::error::Error;
use crate::system_calls;
use crate::writes;
use rustix::fs::{FlockOperation, OFlags};
use rustix::mm::MlockAllFlags;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use units::{Bytes, Micros};

/// Locks what this process has in memory, and each page it touches from now on.
///
/// Only touched pages are locked, so the cost is what is used, not what is mapped.
pub fn lock_in_memory() -> io::Result<()> {
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    Ok(rustix::mm::mlockall(flags)?)
}

/// Gives back what only the start of the program needs, and brings in all that it runs from now on, so that nothing of it is
/// read from a disk while memory is short. After [`lock_in_memory`] the latter is locked.
///
/// What was given back works as before: the kernel reads it from the file again. In a program that is linked without
/// `packaging/startup.ld` nothing is known to be of the start, and this does nothing.
pub fn leave_startup() -> io::Result<()> {
    let image = system_calls::program_image();
    // In this order: the kernel brings in neighbours, too.
    for part in image.lasting {
        system_calls::bring_in(part);
    }
    for part in image.startup {
        system_calls::give_back(part)?;
    }
    Ok(())
}

/// Asks the kernel to OOM-kill this process last. -900, not -1000: a guard that leaks must still be killable.
pub fn spare_from_oom(root: &Path) -> Result<(), Error> {
    let path = root.join("proc/self/oom_score_adj");
    let told = |error| {
        io::Error::other(format!(
            "cannot be lowered, so the kernel may kill the guard first: {error}"
        ))
    };
    writes::OOM_SCORE_ADJ
        .open(&path, OFlags::empty())
        .and_then(|mut file| file.write_all(b"-900"))
        .map_err(|error| Error::unreadable(&path, told(error)))
}

/// Raises the priority of this process: a guard that has to kill a runaway cannot wait in one queue with it.
pub fn be_first() -> io::Result<()> {
    Ok(rustix::process::setpriority_process(None, -20)?)
}

/// Whether this process has a network of its own, as `PrivateNetwork=` gives it: another one than the first process.
/// `false` where that cannot be seen.
pub fn has_private_network(root: &Path) -> bool {
    let of = |process: &str| std::fs::read_link(root.join("proc").join(process).join("ns/net"));
    match (of("self"), of("1")) {
        (Ok(own), Ok(first)) => own != first,
        _ => false,
    }
}

/// Where a program of this name is: beside this one, or in `libexec` beside its directory. `None` if it is in neither.
pub fn other_program(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let beside = own.with_file_name(name);
    let inner = own.with_file_name("../libexec").join(name);
    [beside, inner].into_iter().find(|path| path.is_file())
}

/// What this process costs: CPU time since it started, and resident memory.
///
/// Reads a kept descriptor into the stack; allocates nothing.
#[derive(Debug)]
pub struct OwnCost {
    statm: Option<File>,
    page_size: Bytes,
}

impl OwnCost {
    /// Opens the process's own file.
    pub fn open() -> Self {
        let page_size = Bytes::new(rustix::param::page_size() as u64);
        Self {
            statm: File::open("/proc/self/statm").ok(),
            page_size,
        }
    }

    /// CPU time, and resident memory where the kernel tells it.
    pub fn read(&self) -> (Micros, Option<Bytes>) {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let micros = time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_nsec.unsigned_abs() / 1000;
        (Micros::new(micros), self.resident())
    }

    fn resident(&self) -> Option<Bytes> {
        let mut buffer = [0; 128];
        let length =
            std::os::unix::fs::FileExt::read_at(self.statm.as_ref()?, &mut buffer, 0).ok()?;
        let pages: u64 = std::str::from_utf8(&buffer[..length])
            .ok()?
            .split_ascii_whitespace()
            .nth(1)?
            .parse()
            .ok()?;
        Some(units::Pages::new(pages).to_bytes(self.page_size))
    }
}

/// Held while a guard runs: the kernel drops it when the process ends, however it ends.
#[derive(Debug)]
pub struct OnlyOne {
    file: File,
    path: PathBuf,
}

impl OnlyOne {
    /// Takes the lock in `run`; an error names the process that has it.
    pub fn take(run: &Path) -> Result<Self, Error> {
        let path = run.join("lock");
        let at = |error: io::Error| Error::unreadable(&path, error);
        loop {
            let mut file = writes::open_lock(&path).map_err(at)?;
            if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                let mut holder = String::new();
                let _ = (&file).take(20).read_to_string(&mut holder);
                return Err(at(io::Error::other(format!(
                    "a guard is running already: process {}",
                    holder.trim()
                ))));
            }
            // A guard that just ended may have removed the file between the two calls.
            let inode = |meta: std::fs::Metadata| meta.ino();
            if file.metadata().map(inode).ok() != std::fs::metadata(&path).map(inode).ok() {
                continue;
            }
            let write = file
                .set_len(0)
                .and_then(|()| write!(file, "{}", std::process::id()));
            write.map_err(at)?;
            return Ok(Self { file, path });
        }
    }
}

/// Removes the lock, and the run directory if nothing else is in it.
impl Drop for OnlyOne {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        if let Some(run) = self.path.parent() {
            let _ = std::fs::remove_dir(run);
        }
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_only_one_guard_and_the_other_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("undo"), "").unwrap();
        let first = OnlyOne::take(dir.path()).unwrap();
        let error = OnlyOne::take(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains(&format!("process {}", std::process::id())),
            "{error}"
        );
        drop(first);
        assert!(!dir.path().join("lock").exists());
        assert!(OnlyOne::take(dir.path()).is_ok());
    }

    #[test]
    fn another_network_than_that_of_the_first_process_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let is_private = || has_private_network(dir.path());
        assert!(!is_private(), "it cannot be seen");
        for (process, network) in [("self", "net:[2]"), ("1", "net:[1]")] {
            let namespaces = dir.path().join("proc").join(process).join("ns");
            std::fs::create_dir_all(&namespaces).unwrap();
            std::os::unix::fs::symlink(network, namespaces.join("net")).unwrap();
        }
        assert!(is_private());
        let own = dir.path().join("proc/self/ns/net");
        std::fs::remove_file(&own).unwrap();
        std::os::unix::fs::symlink("net:[1]", own).unwrap();
        assert!(!is_private());
    }

    #[test]
    fn a_process_knows_its_cost() {
        let (cpu, memory) = OwnCost::open().read();
        assert!(cpu.get() > 0);
        assert!(memory.unwrap() > Bytes::kib(100));
    }
}
