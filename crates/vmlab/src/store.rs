//! The directory in which the lab keeps what takes long to fetch or make: kernels, packages, disk images.
//!
//! Everything in it is named by a hash of what it was made from. It is made beside its place and then renamed, so an
//! interrupted run leaves nothing incomplete, and two runs at once make a thing at most twice.

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use units::Bytes;

/// The directory; `WARMSET_LAB`, else `warmset-lab` in the user's cache.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Opens the store at `root`, else at its usual place, and removes what interrupted runs left.
    pub fn open(root: Option<PathBuf>) -> Result<Self> {
        let root = root
            .or_else(usual)
            .context("no directory for the lab's files: set HOME, or name one with --store DIR")?;
        fs::create_dir_all(root.join("run"))
            .with_context(|| format!("cannot make {}", root.display()))?;
        let root =
            fs::canonicalize(&root).with_context(|| format!("cannot open {}", root.display()))?;
        let store = Self { root };
        store.sweep();
        Ok(store)
    }

    /// Where the store is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of this kind and key. If it is not there yet, `make` fills it first.
    pub fn kept(
        &self,
        kind: &str,
        key: &str,
        make: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let place = self.root.join(kind).join(key);
        if place.exists() {
            // `prune` removes what was used longest ago. A store that may only be read can still be used.
            let _ =
                File::open(&place).and_then(|directory| directory.set_modified(SystemTime::now()));
            return Ok(place);
        }
        let scratch = self.scratch()?;
        make(scratch.path()).with_context(|| format!("cannot make {kind} {key}"))?;
        fs::create_dir_all(self.root.join(kind))?;
        let made = scratch.keep();
        match fs::rename(&made, &place) {
            Err(_) if place.exists() => fs::remove_dir_all(made)?,
            other => other.with_context(|| format!("cannot keep {}", place.display()))?,
        }
        Ok(place)
    }

    /// Removes all but the few of a kind that were used last, and never the one of this key.
    pub fn prune(&self, kind: &str, key: &str) -> Result<()> {
        // A root disk takes about 80 MiB. With fewer, switching between builds and arms would make images again.
        const KEPT: usize = 6;
        let used = self.root.join(kind).join(key);
        let mut by_age = Vec::new();
        for entry in fs::read_dir(self.root.join(kind))?.flatten() {
            let path = entry.path();
            let modified = fs::metadata(&path).and_then(|facts| facts.modified());
            if let Ok(modified) = modified {
                if path != used {
                    by_age.push((modified, path));
                }
            }
        }
        by_age.sort();
        by_age.truncate(by_age.len().saturating_sub(KEPT));
        for (_, path) in by_age {
            match fs::remove_dir_all(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                other => other.with_context(|| format!("cannot remove {}", path.display()))?,
            }
        }
        Ok(())
    }

    /// A directory that is removed when it is dropped. Its name begins with this process's number, so that a later run
    /// can remove it if this one was killed.
    pub fn scratch(&self) -> Result<tempfile::TempDir> {
        let directory = self.root.join("run");
        tempfile::Builder::new()
            .prefix(&format!("{}-", std::process::id()))
            .tempdir_in(&directory)
            .with_context(|| format!("cannot make a directory in {}", directory.display()))
    }

    /// Free space on the store's file system.
    pub fn free(&self) -> Result<Bytes> {
        let facts = rustix::fs::statvfs(&self.root)
            .with_context(|| format!("cannot read the free space of {}", self.root.display()))?;
        Ok(Bytes::new(facts.f_bavail * facts.f_frsize))
    }

    /// An error, with what to do, unless `needed` is free.
    pub fn demand(&self, needed: Bytes) -> Result<()> {
        let free = self.free()?;
        anyhow::ensure!(
            free >= needed,
            "{} has {free} free, and {needed} are needed: free some, or name another directory with --store DIR",
            self.root.display()
        );
        Ok(())
    }

    /// Removes the directories of processes that have ended.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(self.root.join("run")) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let owner = name.split('-').next().unwrap_or_default();
            if !Path::new("/proc").join(owner).exists() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn usual() -> Option<PathBuf> {
    if let Some(store) = from_environment("WARMSET_LAB") {
        return Some(store);
    }
    if let Some(cache) = from_environment("XDG_CACHE_HOME") {
        return Some(cache.join("warmset-lab"));
    }
    from_environment("HOME").map(|home| home.join(".cache/warmset-lab"))
}

fn from_environment(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name)?;
    if value.is_empty() {
        return None;
    }
    Some(PathBuf::from(value))
}

/// A short name for what was made from these parts. Their lengths are hashed too, so that two lists with the same bytes in
/// other pieces have other names.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    short(&hash.finalize())
}

/// The SHA-256 of a file.
pub fn sum(path: &Path) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    std::io::copy(&mut file, &mut hash)?;
    Ok(hash.finalize().into())
}

/// The first 16 hexadecimal digits: two of some thousand things have the same with a chance of one in 10^12.
pub fn short(sum: &[u8]) -> String {
    let mut text = String::new();
    for byte in sum.iter().take(8) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_made_once_and_never_in_part() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(Some(directory.path().to_owned())).unwrap();
        let failed = store.kept("kind", "key", |place| {
            fs::write(place.join("half"), "x")?;
            anyhow::bail!("the disk is full")
        });
        assert!(format!("{:#}", failed.unwrap_err()).contains("the disk is full"));
        let made = store
            .kept("kind", "key", |place| {
                Ok(fs::write(place.join("whole"), "x")?)
            })
            .unwrap();
        let again = store.kept("kind", "key", |_| panic!("made twice")).unwrap();
        assert_eq!(made, again);
        assert!(made.join("whole").exists() && !made.join("half").exists());
        assert_eq!(
            fs::read_dir(directory.path().join("run")).unwrap().count(),
            0
        );
    }

    #[test]
    fn what_was_used_last_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(Some(directory.path().to_owned())).unwrap();
        let keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let places = keys.map(|key| store.kept("kind", key, |_| Ok(())).unwrap());
        store.kept("kind", "a", |_| panic!("made twice")).unwrap();
        store.prune("kind", "h").unwrap();
        let left = places.map(|place| place.exists());
        assert_eq!(left, [true, false, true, true, true, true, true, true]);
    }

    #[test]
    fn directories_of_dead_processes_are_removed_and_others_are_left() {
        let directory = tempfile::tempdir().unwrap();
        let dead = directory.path().join("run/4194305-dead");
        let name = format!("run/{}-living", std::process::id());
        let living = directory.path().join(name);
        fs::create_dir_all(&dead).unwrap();
        fs::create_dir_all(&living).unwrap();
        Store::open(Some(directory.path().to_owned())).unwrap();
        assert!(!dead.exists());
        assert!(living.exists());
    }

    #[test]
    fn the_error_of_a_full_disk_says_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(Some(directory.path().to_owned())).unwrap();
        let error = store.demand(Bytes::new(u64::MAX)).unwrap_err().to_string();
        assert!(error.contains("--store DIR"), "{error}");
    }

    #[test]
    fn parts_do_not_run_into_one_another() {
        assert_ne!(key([b"ab".as_slice(), b"c"]), key([b"a".as_slice(), b"bc"]));
    }
}
