//! Pressure on the clock of one process, for local replacement.
//!
//! Up: `1` into `clear_refs` takes all accessed bits back, and nothing else: the clock's next round finds its pages unused.
//! `MADV_COLD` would also move them to the end of the kernel's lists, which is more than the clock does. The kernel holds the
//! process's map lock for the walk, about 5 ms for each GiB resident, and its page faults wait so long.
//! Down: a byte of each resident page is read through `/proc/PID/mem`, which the kernel counts as a use of the page as it
//! counts the process's own. `MADV_WILLNEED` would bring in what is away and mark nothing that is there. At most [`MOST`]
//! pages, by address, about a microsecond each.
//!
//! Nothing is to be undone: the next use of a page sets its bit again.

use crate::procs::start_of;
use crate::touch::{Which, open, touch};
use pressure::local::{Push, Way};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io::{self, Read, Write};
use std::path::Path;

/// Pages used by one act, at most: 64 MiB of 4 KiB.
const MOST: usize = 16_384;

/// Presses on the process whose folder this is. One that has ended, or whose number has passed to another, is left alone.
pub(crate) fn press(directory: &Path, push: &Push) -> io::Result<()> {
    match pressed(directory, push) {
        Err(error) if is_gone(&error) => Ok(()),
        done => done,
    }
}

fn pressed(directory: &Path, push: &Push) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // An open folder stays of its process for ever.
    let directory = rustix::fs::open(directory, flags, Mode::empty())?;
    let mut stat = Vec::new();
    open(&directory, "stat", OFlags::RDONLY)?.read_to_end(&mut stat)?;
    if start_of(&stat) != Some(push.identity.start) {
        return Ok(());
    }
    match push.way {
        Way::Up => open(&directory, "clear_refs", OFlags::WRONLY)?.write_all(b"1"),
        Way::Down => touch(&directory, Which::Resident, MOST).map(drop),
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOENT | Errno::SRCH)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracee::{Watch, Whom};
    use pressure::scan::{Identity, Name};
    use units::Bytes;

    fn push(way: Way, start: u64) -> Push {
        let identity = Identity {
            pid: std::process::id(),
            start,
        };
        Push {
            way,
            identity,
            name: Name::default(),
            size: Bytes::ZERO,
        }
    }

    /// `up` and `down` are seen by the same accessed bits that reclaim looks at.
    #[test]
    fn pages_look_unused_and_used_again() {
        let _ours = crate::tracee::ACCESSED_BITS.lock();
        let memory = vec![1_u8; 32 << 20];
        let own = start_of(&std::fs::read("/proc/self/stat").unwrap()).unwrap();
        let watch = Watch::of(Path::new("/"), Whom::Process(std::process::id())).unwrap();
        let used = || watch.end().unwrap().unwrap().referenced;
        let directory = format!("/proc/{}", std::process::id());
        assert!(used() >= Bytes::mib(32));
        press(Path::new(&directory), &push(Way::Up, own + 1)).unwrap();
        assert!(
            used() >= Bytes::mib(32),
            "another process with the same number is left alone"
        );
        press(Path::new(&directory), &push(Way::Up, own)).unwrap();
        assert!(used() < Bytes::mib(16), "{}", used());
        press(Path::new(&directory), &push(Way::Down, own)).unwrap();
        assert!(used() >= Bytes::mib(28), "{}", used());
        assert!(memory.contains(&1));
    }

    #[test]
    fn who_is_gone_is_no_trouble() {
        press(Path::new("/proc/4294967295"), &push(Way::Up, 1)).unwrap();
    }
}
