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

use super::touch::{Which, open, touch};
use crate::parse::process;
use crate::writes::CLEAR_REFS;
use pressure::local::{Push, Way};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io::{self, Read};
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
    if process::stat(&stat).map(|stat| stat.start) != Some(push.identity.start) {
        return Ok(());
    }
    match push.way {
        Way::Up => {
            let file = CLEAR_REFS.open_at(&directory, "clear_refs", OFlags::empty())?;
            rustix::io::write(&file, b"1")?;
            Ok(())
        }
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
        let memory = vec![1_u8; 32 << 20];
        let own = std::fs::read("/proc/self/stat").unwrap();
        let own = process::stat(&own).unwrap().start;
        let used = || {
            let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
            let line = text.lines().find(|line| line.starts_with("Referenced:"));
            let kib = line.unwrap().split_whitespace().nth(1).unwrap();
            Bytes::kib(kib.parse().unwrap())
        };
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
