//! Disks: images made once and never written, and the drives that show them to a machine.

use crate::dice::Dice;
use crate::store::{Store, key};
use crate::tool;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use units::Bytes;

/// A disk as the machine sees it.
#[derive(Debug, Clone)]
pub struct Drive {
    image: PathBuf,
    throttle: Option<Throttle>,
}

/// How fast a disk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throttle {
    /// Bytes a second, reads and writes together.
    pub bytes: Bytes,
    /// Operations a second.
    pub operations: u64,
}

impl Drive {
    /// An image; what the machine writes goes into a file that is gone with it.
    pub fn new(image: PathBuf, throttle: Option<Throttle>) -> Self {
        Self { image, throttle }
    }

    /// QEMU's arguments.
    pub(super) fn arguments(&self, number: usize) -> Result<Vec<String>> {
        let throttle = self.throttle.map(|throttle| {
            format!(
                ",throttling.bps-total={},throttling.iops-total={}",
                throttle.bytes.get(),
                throttle.operations
            )
        });
        let drive = format!(
            "if=none,id=d{number},format=raw,cache=unsafe,discard=unmap,snapshot=on,file={}{}",
            tool::text(&self.image)?,
            throttle.unwrap_or_default()
        );
        Ok(vec![
            "-drive".to_owned(),
            drive,
            "-device".to_owned(),
            format!("virtio-blk-pci,drive=d{number}"),
        ])
    }
}

/// A file for a data disk: its bytes look random and depend on its name only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// Its path on the disk.
    pub name: String,
    /// How long it is.
    pub size: Bytes,
}

/// A disk with these files and as much room besides as `room`.
pub fn with_files(store: &Store, files: &[Filled], room: Bytes) -> Result<PathBuf> {
    let described: Vec<String> = files
        .iter()
        .map(|file| format!("{} {}", file.name, file.size.get()))
        .collect();
    let key = key(described
        .iter()
        .map(String::as_bytes)
        .chain([room.get().to_le_bytes().as_slice()]));
    let total = files.iter().fold(Bytes::ZERO, |sum, file| sum + file.size);
    made_of(store, "data", &key, room, |tree| {
        store.demand(total + total + room)?;
        files
            .iter()
            .try_for_each(|file| fill(&tree.join(&file.name), file.size))
    })
}

/// The image kept under this name; if it is not there yet, made of the folder that `plant` fills, with room besides.
pub fn made_of(
    store: &Store,
    kind: &str,
    key: &str,
    room: Bytes,
    plant: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let kept = store.kept(kind, key, |place| {
        let tree = place.join("tree");
        fs::create_dir(&tree)?;
        plant(&tree)?;
        ext4(&tree, &place.join("image"), room)?;
        Ok(fs::remove_dir_all(tree)?)
    })?;
    Ok(kept.join("image"))
}

/// A disk with nothing on it; no byte of it is stored.
pub fn empty(store: &Store, size: Bytes) -> Result<PathBuf> {
    let kept = store.kept("empty", &size.get().to_string(), |place| {
        Ok(File::create(place.join("image"))?.set_len(size.get())?)
    })?;
    Ok(kept.join("image"))
}

/// Makes an ext4 image of a folder, with room besides.
fn ext4(tree: &Path, image: &Path, room: Bytes) -> Result<()> {
    // A fifth for what ext4 keeps of itself, and its smallest useful size.
    let files = used(tree)?;
    let size = files + files.scaled(1, 5) + room + Bytes::mib(32);
    File::create(image)?.set_len(size.get().next_multiple_of(1 << 20))?;
    let layout = [
        "-t",
        "ext4",
        "-b",
        "4096",
        "-i",
        "8192",
        "-m",
        "0",
        "-O",
        "^has_journal",
    ];
    let flags = ["-q", "-F", "-E", "root_owner=0:0,lazy_itable_init=1", "-d"];
    tool::run(
        Command::new("/usr/sbin/mke2fs")
            .args(layout)
            .args(flags)
            .arg(tree)
            .arg(image),
        "e2fsprogs",
    )
    .context("no disk could be made")?;
    Ok(())
}

/// What the files of a folder take, in blocks of a disk.
fn used(tree: &Path) -> Result<Bytes> {
    let mut sum = Bytes::ZERO;
    for entry in fs::read_dir(tree).with_context(|| format!("cannot list {}", tree.display()))? {
        let entry = entry?;
        let facts = entry.metadata()?;
        let inside = if facts.is_dir() {
            used(&entry.path())?
        } else {
            Bytes::ZERO
        };
        sum = sum + inside + Bytes::new(facts.len().next_multiple_of(4096) + 4096);
    }
    Ok(sum)
}

/// Writes whole words that do not compress and depend on the name.
fn fill(path: &Path, size: Bytes) -> Result<()> {
    let mut file = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
    let mut dice = Dice::named(path.file_name().unwrap_or_default().as_encoded_bytes());
    let mut left = size.get() / 8 * 8;
    let mut piece = vec![0; 1 << 20];
    while left > 0 {
        let part = piece
            .get_mut(..left.min(1 << 20) as usize)
            .unwrap_or_default();
        dice.fill(part);
        file.write_all(part)?;
        left -= part.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fills_a_file_does_not_compress_and_comes_again() {
        let directory = tempfile::tempdir().unwrap();
        let (a, b) = (directory.path().join("a"), directory.path().join("b"));
        fill(&a, Bytes::kib(64)).unwrap();
        fill(&b, Bytes::kib(64)).unwrap();
        let first = fs::read(&a).unwrap();
        assert_eq!(first.len(), 65536);
        assert_ne!(first, fs::read(&b).unwrap(), "files differ");
        fill(&a, Bytes::kib(64)).unwrap();
        assert_eq!(first, fs::read(&a).unwrap(), "the same again");
        let mut seen = [0_u32; 256];
        first.iter().for_each(|byte| seen[usize::from(*byte)] += 1);
        assert!(
            seen.iter().all(|count| (128..512).contains(count)),
            "evenly spread"
        );
    }

    #[test]
    fn a_throttle_reaches_the_command_line() {
        let throttle = Throttle {
            bytes: Bytes::mib(20),
            operations: 800,
        };
        let words = Drive::new("/x/image".into(), Some(throttle))
            .arguments(1)
            .unwrap()
            .join(" ");
        assert!(
            words.contains("throttling.bps-total=20971520,throttling.iops-total=800"),
            "{words}"
        );
        assert!(words.contains("snapshot=on"), "{words}");
    }
}
