//! The initramfs: one static program as `/init`, and the modules that it loads before it switches to the disk.
//!
//! Format: cpio "newc" (kernel: Documentation/driver-api/early-userspace/buffer-format.rst).

use crate::kernel::Kernel;
use crate::kernel::modules::Modules;
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Modules for disks and for swap in memory. A kernel may have them built in.
const NEEDED: &[&str] = &["virtio_pci", "virtio_blk", "ext4", "lz4", "zram"];
/// Type and mode of a directory, as in `st_mode`.
const DIRECTORY: u32 = 0o040_755;
/// Type and mode of a program.
const PROGRAM: u32 = 0o100_755;

/// The archive for this kernel and this program, with these modules besides those that every machine needs.
pub fn archive(kernel: &Kernel, init: &Path, more: &[&str]) -> Result<Vec<u8>> {
    let program = fs::read(init).with_context(|| format!("cannot read {}", init.display()))?;
    let mut modules = Vec::new();
    if let Some(directory) = &kernel.modules {
        let names = [NEEDED, more].concat();
        modules = Modules::below(directory)?.in_order(&names)?;
    }
    let mut archive = Vec::new();
    for directory in ["dev", "proc", "sys", "root", "modules"] {
        entry(&mut archive, directory, DIRECTORY, &[]);
    }
    entry(&mut archive, "init", PROGRAM, &program);
    for (number, module) in modules.iter().enumerate() {
        let name = format!("modules/{number:02}-{}", module.name);
        entry(&mut archive, &name, PROGRAM, &module.bytes);
    }
    entry(&mut archive, "TRAILER!!!", 0, &[]);
    Ok(archive)
}

/// Adds a file: its head, its name with a zero byte, its contents, each padded to four bytes.
fn entry(archive: &mut Vec<u8>, name: &str, mode: u32, bytes: &[u8]) {
    let inode = archive.len() + 1;
    let size = bytes.len();
    let name_size = name.len() + 1;
    let mut head = "070701".to_owned();
    for field in [
        inode,
        mode as usize,
        // Owner and group: root.
        0,
        0,
        // Links.
        1,
        // Time of the last change.
        0,
        size,
        // Device of the file, and device that it stands for.
        0,
        0,
        0,
        0,
        name_size,
        // Checksum: this format has none.
        0,
    ] {
        let _ = write!(head, "{field:08x}");
    }
    archive.extend_from_slice(head.as_bytes());
    archive.extend_from_slice(name.as_bytes());
    archive.push(0);
    pad(archive);
    archive.extend_from_slice(bytes);
    pad(archive);
}

fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_archive_is_read_by_cpio() {
        if Command::new("cpio")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_err()
        {
            return;
        }
        let mut archive = Vec::new();
        entry(&mut archive, "dev", DIRECTORY, &[]);
        entry(&mut archive, "init", PROGRAM, b"abcde");
        entry(&mut archive, "TRAILER!!!", 0, &[]);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.cpio");
        fs::write(&path, archive).unwrap();
        let input = fs::File::open(path).unwrap();
        let status = Command::new("cpio")
            .args(["-id", "--quiet"])
            .stdin(input)
            .current_dir(directory.path())
            .status()
            .unwrap();
        assert!(status.success());
        assert_eq!(fs::read(directory.path().join("init")).unwrap(), b"abcde");
    }
}
