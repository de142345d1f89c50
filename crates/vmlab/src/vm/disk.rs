//! Disks: images that are made once and never written to, and drives by which a machine sees them.

use crate::dice::Dice;
use crate::store::{Store, key};
use crate::tool;
use anyhow::{Context, Result};
use std::fmt::Write as _;
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
    /// A drive of this image. What the machine writes goes into a temporary file of QEMU's.
    pub fn new(image: PathBuf, throttle: Option<Throttle>) -> Self {
        Self { image, throttle }
    }

    /// QEMU's arguments.
    pub(super) fn arguments(&self, number: usize) -> Result<Vec<String>> {
        let mut drive = format!(
            "if=none,id=d{number},format=raw,cache=unsafe,discard=unmap,snapshot=on,file={}",
            tool::text(&self.image)?
        );
        if let Some(throttle) = self.throttle {
            let bytes = throttle.bytes.get();
            let operations = throttle.operations;
            let _ = write!(
                drive,
                ",throttling.bps-total={bytes},throttling.iops-total={operations}"
            );
        }
        Ok(vec![
            "-drive".to_owned(),
            drive,
            "-device".to_owned(),
            format!("virtio-blk-pci,drive=d{number}"),
        ])
    }
}

/// A file of a data disk. Its bytes look random and depend only on its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// Its path on the disk.
    pub name: String,
    /// Its length.
    pub size: Bytes,
}

/// A disk with these files and with free space.
pub fn with_files(store: &Store, files: &[Filled], free: Bytes) -> Result<PathBuf> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut total = Bytes::ZERO;
    for file in files {
        let description = format!("{} {}", file.name, file.size.get());
        parts.push(description.into_bytes());
        total += file.size;
    }
    parts.push(free.get().to_le_bytes().to_vec());
    let key = key(parts.iter().map(Vec::as_slice));
    made_of(store, "data", &key, free, |tree| {
        // The files and the image of them are there at the same time.
        store.demand(total + total + free)?;
        for file in files {
            fill(&tree.join(&file.name), file.size)?;
        }
        Ok(())
    })
}

/// The image of this kind and key, with free space. If it is not in the store, it is made of the directory that `plant`
/// fills.
pub fn made_of(
    store: &Store,
    kind: &str,
    key: &str,
    free: Bytes,
    plant: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let kept = store.kept(kind, key, |place| {
        let tree = place.join("tree");
        fs::create_dir(&tree)?;
        plant(&tree)?;
        ext4(&tree, &place.join("image"), free)?;
        fs::remove_dir_all(tree)?;
        Ok(())
    })?;
    Ok(kept.join("image"))
}

/// A disk with nothing on it, as a sparse file.
pub fn empty(store: &Store, size: Bytes) -> Result<PathBuf> {
    let kept = store.kept("empty", &size.get().to_string(), |place| {
        let image = File::create(place.join("image"))?;
        image.set_len(size.get())?;
        Ok(())
    })?;
    Ok(kept.join("image"))
}

/// Makes an ext4 image of a directory, with free space.
fn ext4(tree: &Path, image: &Path, free: Bytes) -> Result<()> {
    // A fifth for ext4's own tables, and 32 MiB for those of a small disk.
    let files = used(tree)?;
    let size = files + files.scaled(1, 5) + free + Bytes::mib(32);
    let whole_mib = size.get().next_multiple_of(1 << 20);
    File::create(image)?.set_len(whole_mib)?;
    let mut make = Command::new("/usr/sbin/mke2fs");
    make.args(["-q", "-F", "-t", "ext4"])
        .args(["-b", "4096", "-i", "8192", "-m", "0"])
        .args(["-O", "^has_journal"])
        .args(["-E", "root_owner=0:0,lazy_itable_init=1"])
        .arg("-d")
        .arg(tree)
        .arg(image);
    tool::run(&mut make, "e2fsprogs")
        .with_context(|| format!("cannot make the disk {}", image.display()))?;
    Ok(())
}

/// Bytes that the files of a directory take on a disk: whole blocks, and one for each file's own.
fn used(tree: &Path) -> Result<Bytes> {
    let mut sum = Bytes::ZERO;
    for entry in fs::read_dir(tree).with_context(|| format!("cannot list {}", tree.display()))? {
        let entry = entry?;
        let facts = entry.metadata()?;
        let blocks = facts.len().next_multiple_of(4096) + 4096;
        sum += Bytes::new(blocks);
        if facts.is_dir() {
            sum += used(&entry.path())?;
        }
    }
    Ok(sum)
}

/// Writes whole words of eight bytes that do not compress and depend on the name.
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
    fn the_bytes_of_a_file_do_not_compress_and_are_the_same_each_time() {
        let directory = tempfile::tempdir().unwrap();
        let a = directory.path().join("a");
        let b = directory.path().join("b");
        fill(&a, Bytes::kib(64)).unwrap();
        fill(&b, Bytes::kib(64)).unwrap();
        let first = fs::read(&a).unwrap();
        assert_eq!(first.len(), 65536);
        assert_ne!(first, fs::read(&b).unwrap(), "files differ");
        fill(&a, Bytes::kib(64)).unwrap();
        assert_eq!(first, fs::read(&a).unwrap(), "the same again");
        let mut seen = [0_u32; 256];
        for byte in &first {
            seen[usize::from(*byte)] += 1;
        }
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
