//! How much memory a process uses between two looks: the accessed bits of its page tables.
//!
//! - How: `/proc/PID/clear_refs` takes the bits back, `smaps_rollup` counts those set since. Nothing is stopped but for
//!   the process's own map lock while its page tables are walked.
//! - Resolution: the time between two looks, whole pages; a huge page is all or nothing.
//! - Cannot see: how often a page was used, in what order, and use by `read` and `write` that no mapping shows; pages with a
//!   translation that a CPU still holds (at most its TLB's, 1500 to 4000 small pages), as the bits are taken back without a
//!   flush. A page that others have mapped too counts as used if they marked it so.
//! - Disturbs: reclaim sees fewer pages as used than there are, for as long as it is watched.
//! - Cost: two walks of the page tables, about 5 ms for each GiB resident; what each look took is told.
//! - Source: Documentation/filesystems/proc.rst of Linux, `clear_refs` and `smaps_rollup`, since 4.14.

use super::rollup::{self, Rollup};
use host::error::Error;
use host::parse::lines::{number, stat};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::Bytes;

/// Processes that are watched as one.
#[derive(Debug)]
pub struct Watch {
    root: PathBuf,
    watched: Watched,
}

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// A process.
    Process(u32),
    /// All in the control group of this directory, those included that come later.
    Group(PathBuf),
}

/// What was used since the look before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Processes.
    pub processes: usize,
    /// Pages with their accessed bit set; what several processes map is counted for each.
    pub referenced: Bytes,
    /// Resident.
    pub resident: Bytes,
    /// Swapped out.
    pub swapped: Bytes,
    /// Faults so far that needed no disk, and that did.
    pub faults: (u64, u64),
    /// CPU time that looking took.
    pub cost: Duration,
}

impl Watch {
    /// Watches a process by its number, or a control group by its directory.
    ///
    /// Errors: there is none of the kind.
    pub fn of(root: &Path, watched: Watched) -> Result<Self, Error> {
        let watch = Self {
            root: root.to_owned(),
            watched,
        };
        watch.pids()?;
        Ok(watch)
    }

    /// Forgets what was used so far. The CPU time that it took; `None` if no process is left.
    pub fn begin(&self) -> Result<Option<Duration>, Error> {
        let began = cpu_time();
        let mut any = false;
        for pid in self.pids()? {
            any |= rollup::forget(&self.root, pid)?;
        }
        Ok(any.then(|| cpu_time().saturating_sub(began)))
    }

    /// What was used since the beginning. `None` if no process is left.
    pub fn end(&self) -> Result<Option<Used>, Error> {
        let began = cpu_time();
        let mut sum = Used::default();
        for pid in self.pids()? {
            let path = self.root.join(format!("proc/{pid}/smaps_rollup"));
            let Some(text) = alive(fs::read(&path), &path)? else {
                continue;
            };
            let rollup = Rollup::of(&text).map_err(|error| Error::malformed(&path, &error))?;
            sum.processes += 1;
            sum.referenced += rollup.referenced;
            sum.resident += rollup.resident;
            sum.swapped += rollup.swapped;
            let path = self.root.join(format!("proc/{pid}/stat"));
            if let Some((minor, major)) = alive(fs::read(&path), &path)?.as_deref().and_then(faults)
            {
                sum.faults.0 += minor;
                sum.faults.1 += major;
            }
        }
        sum.cost = cpu_time().saturating_sub(began);
        Ok((sum.processes > 0).then_some(sum))
    }

    fn pids(&self) -> Result<Vec<u32>, Error> {
        let group = match &self.watched {
            Watched::Process(pid) => return Ok(vec![*pid]),
            Watched::Group(directory) => directory.join("cgroup.procs"),
        };
        let text = fs::read_to_string(&group).map_err(|error| Error::unreadable(&group, error))?;
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }
}

/// What this thread has had of a CPU.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// `Rss:   123 kB`.
pub(crate) fn kilobytes(text: &[u8], name: &str) -> Option<Bytes> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let rest = lines.find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b":"))?;
    let kilobytes = number(rest.trim_ascii_start().strip_suffix(b" kB")?)?;
    kilobytes.checked_mul(1024).map(Bytes::new)
}

/// What a file of a process gave; `None` if the process has ended.
pub(crate) fn alive<T>(done: std::io::Result<T>, path: &Path) -> Result<Option<T>, Error> {
    const NO_SUCH_PROCESS: i32 = 3;
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(NO_SUCH_PROCESS) => Ok(None),
        Err(error) => Err(Error::unreadable(path, error)),
    }
}

/// Minor and major faults of `/proc/PID/stat`: the tenth and twelfth field.
fn faults(text: &[u8]) -> Option<(u64, u64)> {
    let (_, mut fields) = stat(text)?;
    Some((number(fields.nth(7)?)?, number(fields.nth(1)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_stand_behind_any_command() {
        let stat = b"7 (a ) b) S 1 7 7 0 -1 4194304 111 5 22 6 0 0";
        assert_eq!(faults(stat), Some((111, 22)));
        assert_eq!(faults(b"7 (a"), None);
    }

    #[test]
    fn what_is_touched_is_seen_and_what_is_not_is_not() {
        let _ours = crate::tracee::ACCESSED_BITS.lock();
        let mut memory = vec![1_u8; 64 << 20];
        let watch = Watch::of(Path::new("/"), Watched::Process(std::process::id())).unwrap();
        assert!(watch.begin().unwrap().is_some());
        let idle = watch.end().unwrap().unwrap();
        memory.iter_mut().step_by(4096).for_each(|byte| *byte += 1);
        let busy = watch.end().unwrap().unwrap();
        assert!(
            busy.referenced >= idle.referenced + Bytes::mib(44),
            "{idle:?} {busy:?}"
        );
        assert!(
            idle.resident >= Bytes::mib(64) && idle.referenced < Bytes::mib(20),
            "{idle:?}"
        );
        assert!(memory.contains(&2));
    }

    #[test]
    fn a_process_or_group_that_is_not_there_is_told() {
        let watch = Watch::of(Path::new("/"), Watched::Process(u32::MAX)).unwrap();
        assert_eq!((watch.begin().unwrap(), watch.end().unwrap()), (None, None));
        assert!(Watch::of(Path::new("/"), Watched::Group("/no/such".into())).is_err());
    }
}
