//! The folder in which the lab keeps what is dear to fetch or make: kernels, packages, disk images.
//!
//! Everything in it is named by a hash of what it was made from and appears in one step (made beside, then renamed),
//! so that a run cut short leaves nothing half done, and two runs at once make a thing at most twice.

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use units::Bytes;

/// The folder; `WARMSET_LAB`, else `warmset-lab` in the user's cache.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Opens the store at `root`, else at its usual place; sweeps what dead runs left.
    pub fn open(root: Option<PathBuf>) -> Result<Self> {
        let root = root
            .or_else(usual)
            .context("no folder for the lab's files: set HOME, or name one with --store DIR")?;
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

    /// What is kept under this name, made by `make` in the folder it is given if it is not there yet.
    pub fn kept(
        &self,
        kind: &str,
        key: &str,
        make: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let place = self.root.join(kind).join(key);
        if place.exists() {
            // Used now: what another run has open is not what `prune` takes. Who may not say so may still use it.
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
        const KEPT: usize = 6;
        let used = self.root.join(kind).join(key);
        let aged = |path: PathBuf| {
            Some((
                fs::metadata(&path)
                    .and_then(|facts| facts.modified())
                    .ok()?,
                path,
            ))
        };
        let entries = fs::read_dir(self.root.join(kind))?
            .flatten()
            .map(|entry| entry.path());
        let mut all: Vec<_> = entries
            .filter(|path| *path != used)
            .filter_map(aged)
            .collect();
        all.sort();
        all.truncate(all.len().saturating_sub(KEPT));
        for (_, path) in all {
            match fs::remove_dir_all(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                other => other.with_context(|| format!("cannot remove {}", path.display()))?,
            }
        }
        Ok(())
    }

    /// A folder that goes when it is dropped; named after this process, so that a later run can sweep it.
    pub fn scratch(&self) -> Result<tempfile::TempDir> {
        let directory = self.root.join("run");
        tempfile::Builder::new()
            .prefix(&format!("{}-", std::process::id()))
            .tempdir_in(&directory)
            .with_context(|| format!("cannot make a folder in {}", directory.display()))
    }

    /// What is free where the store is.
    pub fn free(&self) -> Result<Bytes> {
        let facts = rustix::fs::statvfs(&self.root)
            .with_context(|| format!("cannot look at {}", self.root.display()))?;
        Ok(Bytes::new(facts.f_bavail * facts.f_frsize))
    }

    /// An error, with what to do, unless `needed` is free.
    pub fn demand(&self, needed: Bytes) -> Result<()> {
        let free = self.free()?;
        anyhow::ensure!(
            free >= needed,
            "{} has {free} free, and {needed} are needed: make room, or name another folder with --store DIR",
            self.root.display()
        );
        Ok(())
    }

    /// Removes the folders of processes that are gone.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(self.root.join("run")) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let owner = name
                .to_str()
                .and_then(|name| name.split('-').next())
                .unwrap_or_default();
            if !Path::new("/proc").join(owner).exists() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn usual() -> Option<PathBuf> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("WARMSET_LAB")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("warmset-lab")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/warmset-lab")))
}

/// A short name for what was made from these parts.
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

/// The first 16 hexadecimal digits.
pub fn short(sum: &[u8]) -> String {
    sum.iter()
        .take(8)
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_made_once_and_never_half() {
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
    fn the_dead_are_swept_and_the_living_left() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("run/4194305-dead")).unwrap();
        fs::create_dir_all(
            directory
                .path()
                .join(format!("run/{}-living", std::process::id())),
        )
        .unwrap();
        Store::open(Some(directory.path().to_owned())).unwrap();
        assert!(!directory.path().join("run/4194305-dead").exists());
        assert!(
            directory
                .path()
                .join(format!("run/{}-living", std::process::id()))
                .exists()
        );
    }

    #[test]
    fn a_full_disk_is_said_with_what_to_do() {
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
