//! DAMON, the kernel's own monitor of accesses, for as long as we listen.
//!
//! - How: one kdamond is set up under `/sys/kernel/mm/damon/admin`, and what it finds is read from an instance of tracefs
//!   of our own (`damon:damon_aggregated`). Both are gone with [`Damon`], also when the program is ended by a signal that
//!   it handles. DAMON has one owner: another program's kdamond is left alone.
//! - Resolution: regions, 10 to 1000 of them, split and merged by what they find; a sample every twentieth of the interval.
//!   Small hot places within a region are not told apart.
//! - Cannot see: order and number of uses within an interval.
//! - Cost: `samples × regions` looks at one page each: the kdamond's own CPU time is told by [`Damon::cost`].
//! - Source: Documentation/admin-guide/mm/damon/usage.rst of Linux; sysfs since 5.18.

use host::parse::lines::{number, stat};
use host::writes::{DAMON, DAMON_EVENT, Entry};
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const ADMIN: &str = "sys/kernel/mm/damon/admin/kdamonds";
const TRACING: &str = "sys/kernel/tracing";
/// Samples in one interval, as in DAMON's defaults.
const SAMPLES: u128 = 20;
/// Shortest time between two samples, in microseconds: each sample looks at every region.
const LEAST_SAMPLE: u128 = 1000;
/// Clock ticks in a second, as `/proc/PID/stat` counts.
const TICK: Duration = Duration::from_millis(10);

/// What DAMON looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space<'a> {
    /// The address spaces of these processes: targets, counted from 0.
    Virtual(&'a [u32]),
    /// All memory of the machine, by physical address.
    Physical,
}

impl Space<'_> {
    /// As DAMON calls it, and the kernel's option that it needs.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Virtual(_) => ("vaddr", "CONFIG_DAMON_VADDR"),
            Self::Physical => ("paddr", "CONFIG_DAMON_PADDR"),
        }
    }
}

/// Why DAMON cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum NoDamon {
    /// No sysfs.
    #[error("this kernel has no DAMON for programs: it was built without CONFIG_DAMON_SYSFS")]
    Absent,
    /// Another program uses it.
    #[error("DAMON is in use: another program has set up a kdamond, which is left alone")]
    InUse,
    /// Not this kind of address.
    #[error("this kernel's DAMON knows no {0}: it was built without {1}")]
    Without(&'static str, &'static str),
    /// No tracefs.
    #[error("{0}: no tracefs with the event damon:damon_aggregated")]
    Untold(PathBuf),
    /// No such process.
    #[error("{0}: no such process")]
    Nobody(u32),
    /// A file that refused.
    #[error("{0}: {1}")]
    Refused(PathBuf, io::Error),
}

impl NoDamon {
    /// What to do about it; `instead` is what does without DAMON.
    pub fn remedy(&self, instead: &str) -> String {
        match self {
            Self::Absent | Self::Without(..) => {
                format!("a kernel with that option has it, such as Debian 13's; {instead}")
            }
            Self::InUse => {
                format!("list its users: ls /sys/kernel/mm/damon/admin/kdamonds; {instead}")
            }
            Self::Untold(place) => format!("mount -t tracefs nodev {}", place.display()),
            Self::Nobody(_) => "give the process's number, as ps prints it".to_owned(),
            Self::Refused(_, error) if error.kind() == ErrorKind::PermissionDenied => {
                "only root may use DAMON".to_owned()
            }
            Self::Refused(..) => format!("nothing is left of the attempt; {instead}"),
        }
    }
}

/// DAMON at work. Dropping it takes away all that was set up.
#[derive(Debug)]
pub struct Damon {
    root: PathBuf,
    pipe: Option<File>,
    /// Our instance of tracefs, once it is made.
    instance: Option<PathBuf>,
    /// Whether the kdamond is ours.
    is_ours: bool,
}

impl Damon {
    /// Starts it; what was used is told once in each interval.
    ///
    /// Errors: see [`NoDamon`]; nothing is left behind.
    pub fn start(root: &Path, space: Space<'_>, every: Duration) -> Result<Self, NoDamon> {
        clear_away(root);
        let admin = root.join(ADMIN);
        let count =
            fs::read_to_string(admin.join("nr_kdamonds")).map_err(|error| match error.kind() {
                ErrorKind::NotFound => NoDamon::Absent,
                _ => NoDamon::Refused(admin.join("nr_kdamonds"), error),
            })?;
        if count.trim() != "0" {
            return Err(NoDamon::InUse);
        }
        if let Space::Virtual(pids) = space {
            if let Some(pid) = pids
                .iter()
                .find(|pid| !root.join(format!("proc/{pid}")).exists())
            {
                return Err(NoDamon::Nobody(*pid));
            }
        }
        let tracing = root.join(TRACING);
        if !tracing.join("events/damon/damon_aggregated").exists() {
            return Err(NoDamon::Untold(tracing));
        }
        let mut damon = Self {
            root: root.to_owned(),
            pipe: None,
            instance: None,
            is_ours: false,
        };
        damon.set_up(space, every)?;
        damon.listen(&tracing)?;
        damon.set("state", "on")?;
        Ok(damon)
    }

    fn set_up(&mut self, space: Space<'_>, every: Duration) -> Result<(), NoDamon> {
        let count = self.root.join(ADMIN).join("nr_kdamonds");
        write(&DAMON, &count, "1")?;
        self.is_ours = true;
        self.set("contexts/nr_contexts", "1")?;
        let (name, option) = space.names();
        let known =
            fs::read_to_string(self.ours().join("contexts/0/avail_operations")).unwrap_or_default();
        if !known.split_whitespace().any(|known| known == name) {
            return Err(NoDamon::Without(name, option));
        }
        self.set("contexts/0/operations", name)?;
        let sample = (every.as_micros() / SAMPLES).max(LEAST_SAMPLE);
        self.set(
            "contexts/0/monitoring_attrs/intervals/sample_us",
            &sample.to_string(),
        )?;
        self.set(
            "contexts/0/monitoring_attrs/intervals/aggr_us",
            &every.as_micros().max(sample).to_string(),
        )?;
        match space {
            Space::Virtual(pids) => {
                self.set("contexts/0/targets/nr_targets", &pids.len().to_string())?;
                pids.iter().enumerate().try_for_each(|(index, pid)| {
                    self.set(
                        &format!("contexts/0/targets/{index}/pid_target"),
                        &pid.to_string(),
                    )
                })
            }
            Space::Physical => {
                self.set("contexts/0/targets/nr_targets", "1")?;
                self.name_memory()
            }
        }
    }

    /// Of physical memory DAMON must be told where it is.
    fn name_memory(&self) -> Result<(), NoDamon> {
        let path = self.root.join("proc/iomem");
        let text = fs::read_to_string(&path).map_err(|error| NoDamon::Refused(path, error))?;
        let ranges: Vec<(u64, u64)> = text.lines().filter_map(memory).collect();
        self.set(
            "contexts/0/targets/0/regions/nr_regions",
            &ranges.len().to_string(),
        )?;
        for (index, (start, end)) in ranges.iter().enumerate() {
            self.set(
                &format!("contexts/0/targets/0/regions/{index}/start"),
                &start.to_string(),
            )?;
            self.set(
                &format!("contexts/0/targets/0/regions/{index}/end"),
                &end.to_string(),
            )?;
        }
        Ok(())
    }

    fn listen(&mut self, tracing: &Path) -> Result<(), NoDamon> {
        let instance = tracing.join(format!("instances/warmset-{}", std::process::id()));
        fs::create_dir(&instance).map_err(|error| NoDamon::Refused(instance.clone(), error))?;
        self.instance = Some(instance.clone());
        let enable = instance.join("events/damon/damon_aggregated/enable");
        write(&DAMON_EVENT, &enable, "1")?;
        let path = instance.join("trace_pipe");
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let pipe = rustix::fs::open(&path, flags, Mode::empty());
        self.pipe = Some(File::from(
            pipe.map_err(|error| NoDamon::Refused(path, error.into()))?,
        ));
        Ok(())
    }

    /// What it has told, in lines as `damon_aggregated` prints them; `None` if there is nothing yet.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(pipe) = &mut self.pipe else {
            return Ok(None);
        };
        match pipe.read(buffer) {
            Ok(0) => Ok(None),
            Ok(size) => Ok(Some(size)),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Stops looking; what it has told can still be read.
    pub fn stop(&mut self) {
        // It may have stopped by itself.
        let _ = self.set("state", "off");
    }

    /// Returns true while it looks: it stops by itself when the process ends.
    pub fn is_on(&self) -> bool {
        fs::read_to_string(self.ours().join("state")).is_ok_and(|state| state.trim() == "on")
    }

    /// CPU time that the kdamond took; `None` when it has stopped. In steps of 10 ms.
    pub fn cost(&self) -> Option<Duration> {
        let pid = fs::read_to_string(self.ours().join("pid")).ok()?;
        let text = fs::read(self.root.join(format!("proc/{}/stat", pid.trim()))).ok()?;
        let (_, mut fields) = stat(&text)?;
        let ticks = number(fields.nth(11)?)? + number(fields.next()?)?;
        Some(TICK * u32::try_from(ticks).unwrap_or(u32::MAX))
    }

    fn ours(&self) -> PathBuf {
        self.root.join(ADMIN).join("0")
    }

    fn set(&self, file: &str, value: &str) -> Result<(), NoDamon> {
        write(&DAMON, &self.ours().join(file), value)
    }
}

impl Drop for Damon {
    fn drop(&mut self) {
        // Each on its own: what cannot be undone keeps nothing else from being undone.
        if self.is_ours {
            let _ = self.set("state", "off");
            let _ = write(&DAMON, &self.root.join(ADMIN).join("nr_kdamonds"), "0");
        }
        self.pipe = None;
        if let Some(instance) = &self.instance {
            let _ = fs::remove_dir(instance);
        }
    }
}

/// Takes away what a recording that was killed has left: the instance of a process that is no more, and its kdamond.
fn clear_away(root: &Path) {
    let instances = fs::read_dir(root.join(TRACING).join("instances"))
        .into_iter()
        .flatten()
        .flatten();
    for entry in instances {
        let name = entry.file_name();
        let pid = name
            .to_str()
            .and_then(|name| name.strip_prefix("warmset-"))
            .and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !root.join(format!("proc/{pid}")).exists()) {
            let admin = root.join(ADMIN);
            let _ = write(&DAMON, &admin.join("0/state"), "off");
            let _ = write(&DAMON, &admin.join("nr_kdamonds"), "0");
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Writes a kernel's file, which must be there.
fn write(entry: &Entry, path: &Path, value: &str) -> Result<(), NoDamon> {
    let file = entry.open(path, OFlags::empty());
    file.and_then(|mut file| file.write_all(value.as_bytes()))
        .map_err(|error| NoDamon::Refused(path.to_owned(), error))
}

/// `00100000-bffdffff : System RAM`, one behind the last.
fn memory(line: &str) -> Option<(u64, u64)> {
    let (range, name) = line.split_once(" : ")?;
    let (from, to) = range
        .split_once('-')
        .filter(|_| name == "System RAM" && !range.starts_with(' '))?;
    let from = u64::from_str_radix(from, 16).ok()?;
    let to = u64::from_str_radix(to, 16).ok()?;
    if from >= to {
        return None;
    }
    Some((from, to.checked_add(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(count: &str, known: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let ours = root.path().join(ADMIN).join("0");
        for directory in [
            "contexts/0/targets/0",
            "contexts/0/monitoring_attrs/intervals",
        ] {
            fs::create_dir_all(ours.join(directory)).unwrap();
        }
        for file in [
            "state",
            "contexts/nr_contexts",
            "contexts/0/operations",
            "contexts/0/targets/nr_targets",
        ] {
            fs::write(ours.join(file), "").unwrap();
        }
        fs::write(ours.join("contexts/0/avail_operations"), known).unwrap();
        fs::write(root.path().join(ADMIN).join("nr_kdamonds"), count).unwrap();
        fs::create_dir_all(
            root.path()
                .join(TRACING)
                .join("events/damon/damon_aggregated"),
        )
        .unwrap();
        fs::create_dir_all(root.path().join("proc/7")).unwrap();
        root
    }

    fn refusal(root: &Path, space: Space<'_>) -> String {
        Damon::start(root, space, Duration::from_millis(100))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn what_is_missing_is_named_and_nothing_is_left() {
        let empty = tempfile::tempdir().unwrap();
        assert!(refusal(empty.path(), Space::Physical).contains("CONFIG_DAMON_SYSFS"));
        let busy = machine("1\n", "vaddr paddr");
        assert!(refusal(busy.path(), Space::Virtual(&[7])).contains("in use"));
        assert_eq!(
            fs::read_to_string(busy.path().join(ADMIN).join("nr_kdamonds")).unwrap(),
            "1\n"
        );
        let physical = machine("0\n", "paddr\n");
        assert!(refusal(physical.path(), Space::Virtual(&[7])).contains("CONFIG_DAMON_VADDR"));
        assert!(
            fs::read_to_string(physical.path().join(ADMIN).join("nr_kdamonds"))
                .unwrap()
                .starts_with('0')
        );
        assert_eq!(
            fs::read_to_string(physical.path().join(ADMIN).join("0/state")).unwrap(),
            "off"
        );
        assert!(refusal(physical.path(), Space::Virtual(&[7, 8])).contains("8: no such process"));
        fs::remove_dir_all(physical.path().join(TRACING)).unwrap();
        assert!(refusal(physical.path(), Space::Physical).contains("tracefs"));
    }

    #[test]
    fn what_a_killed_recording_left_is_taken_away() {
        let left = machine("1\n", "paddr\n");
        let instances = left.path().join(TRACING).join("instances");
        fs::create_dir_all(instances.join("warmset-8")).unwrap();
        fs::create_dir_all(instances.join("warmset-7")).unwrap();
        assert!(!refusal(left.path(), Space::Virtual(&[7])).contains("in use"));
        assert!(
            !instances.join("warmset-8").exists() && instances.join("warmset-7").exists(),
            "7 runs"
        );
    }

    #[test]
    fn memory_is_where_the_kernel_says() {
        assert_eq!(
            memory("00100000-bffdffff : System RAM"),
            Some((0x0010_0000, 0xbffe_0000))
        );
        for other in [
            "00000000-00000fff : Reserved",
            "  01000000-01e00fff : System RAM",
            "x",
            "",
        ] {
            assert_eq!(memory(other), None, "{other}");
        }
    }
}
