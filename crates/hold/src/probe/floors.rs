//! Whether limits of cgroups can be set here, and whether `memory.min` has its effect: a cgroup of our own is reclaimed
//! from, with a floor and without.
//!
//! Two cgroups are made for that and removed. The outer one is reclaimed from; the floor is on the inner one, which holds
//! a file of [`SIZE`]. The floor is honoured if the file stays with it and goes without it.

use host::writes::{
    Entry, PROBE_CONTROL, PROBE_FREEZE, PROBE_LIMITS, PROBE_MIN, PROBE_MOVE, PROBE_RECLAIM,
    create_new,
};
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

const TOP: &str = "/sys/fs/cgroup";
/// There with control groups of version 2 only.
pub(super) const CONTROLLERS: &str = "/sys/fs/cgroup/cgroup.controllers";
const PREFIX: &str = "warmset-probe-";
const INNER: &str = "kept";
/// Bytes of the file: more than the kernel's counters per CPU hide, and little to read.
const SIZE: u64 = 4 << 20;

/// Whether the kernel was found to honour a floor. Writes and reads [`SIZE`].
pub(crate) fn hold() -> io::Result<bool> {
    let place = Place::make()?;
    let file = place.fill()?;
    let with = place.left_of("8388608")?;
    let without = place.left_of("0")?;
    drop(file);
    if without >= SIZE / 2 {
        return Err(io::Error::other(
            "reclaim took nothing from a cgroup without a floor: the effect of one cannot be told",
        ));
    }
    Ok(with >= SIZE / 2)
}

/// Sets a limit and freezes a cgroup of its own; both are as before afterwards.
pub(crate) fn limits() -> io::Result<()> {
    let place = Place::make()?;
    // The probe is in it, and must not freeze itself.
    put(&PROBE_MOVE, &place.home.join("cgroup.procs"), "0")?;
    put(&PROBE_LIMITS, &place.inner.join("memory.high"), "max")?;
    let freezer = place.inner.join("cgroup.freeze");
    put(&PROBE_FREEZE, &freezer, "1")?;
    put(&PROBE_FREEZE, &freezer, "0")
}

/// Removes the cgroups of a killed probe. Those of a probe that runs are populated, and stay.
fn sweep() {
    for entry in fs::read_dir(TOP).into_iter().flatten().flatten() {
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PREFIX.as_bytes())
        {
            let _ = fs::remove_dir(entry.path().join(INNER));
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Two cgroups, one in the other, and the one of this process before.
struct Place {
    outer: PathBuf,
    inner: PathBuf,
    home: PathBuf,
}

impl Place {
    fn make() -> io::Result<Self> {
        let none = || io::Error::other("no control groups of version 2");
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let home = own.lines().find_map(|line| line.strip_prefix("0::/"));
        let home = Path::new(TOP).join(home.ok_or_else(none)?);
        if !Path::new(CONTROLLERS).exists() {
            return Err(none());
        }
        sweep();
        let outer = Path::new(TOP).join(format!("{PREFIX}{}", std::process::id()));
        let place = Self {
            inner: outer.join(INNER),
            outer,
            home,
        };
        fs::create_dir(&place.outer).map_err(|error| at(&place.outer, &error))?;
        let control = place.outer.join("cgroup.subtree_control");
        put(&PROBE_CONTROL, &control, "+memory")?;
        fs::create_dir(&place.inner)?;
        put(&PROBE_MOVE, &place.inner.join("cgroup.procs"), "0")?;
        Ok(place)
    }

    /// A file with its pages charged to the inner cgroup.
    fn fill(&self) -> io::Result<File> {
        // Not below /tmp: what is in a tmpfs cannot be reclaimed without swap.
        let path = Path::new("/var/tmp").join(format!("{PREFIX}{}", std::process::id()));
        let mut file = create_new(&path, 0o600)?;
        fs::remove_file(&path)?;
        for _ in 0..SIZE / 4096 {
            file.write_all(&[1; 4096])?;
        }
        file.sync_all()?;
        file.rewind()?;
        io::copy(&mut Read::by_ref(&mut file), &mut io::sink())?;
        put(&PROBE_MOVE, &self.home.join("cgroup.procs"), "0")?;
        Ok(file)
    }

    /// Bytes of the file that are left after a reclaim of all of it, with this floor.
    fn left_of(&self, floor: &str) -> io::Result<u64> {
        put(&PROBE_MIN, &self.inner.join("memory.min"), floor)?;
        // With a floor the kernel reclaims less than was requested, and says so by an error.
        let reclaim = self.outer.join("memory.reclaim");
        let _ = put(&PROBE_RECLAIM, &reclaim, &SIZE.to_string());
        let stat = fs::read_to_string(self.inner.join("memory.stat"))?;
        let file = stat
            .lines()
            .find_map(|line| line.strip_prefix("file "))
            .and_then(|number| number.parse().ok());
        file.ok_or_else(|| io::Error::other("memory.stat has no file"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = put(&PROBE_MOVE, &self.home.join("cgroup.procs"), "0");
        let _ = fs::remove_dir(&self.inner);
        let _ = fs::remove_dir(&self.outer);
    }
}

/// Writes a file that is there.
fn put(entry: &Entry, path: &Path, text: &str) -> io::Result<()> {
    entry
        .open(path, OFlags::empty())
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| at(path, &error))
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}
