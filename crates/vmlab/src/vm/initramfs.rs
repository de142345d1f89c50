//! The small first root: one static program as `/init`, and the modules it loads before it switches to the disk.
//!
//! Format: cpio "newc" (kernel: Documentation/driver-api/early-userspace/buffer-format.rst).

use crate::kernel::Kernel;
use crate::kernel::modules::Modules;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// What may be a module and is needed for a disk, a swap in memory, or the serial lines.
const NEEDED: &[&str] = &["virtio_pci", "virtio_blk", "ext4", "lz4", "zram"];
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

/// The archive for this kernel and this program, with these modules besides those that every machine needs.
pub fn archive(kernel: &Kernel, init: &Path, more: &[&str]) -> Result<Vec<u8>> {
    let program = fs::read(init).with_context(|| format!("cannot read {}", init.display()))?;
    let modules = kernel.modules.as_deref().map(Modules::below).transpose()?;
    let modules = modules
        .map(|modules| modules.in_order(&[NEEDED, more].concat()))
        .transpose()?
        .unwrap_or_default();
    let mut archive = Vec::new();
    for directory in ["dev", "proc", "sys", "root", "modules"] {
        entry(&mut archive, directory, DIRECTORY, &[]);
    }
    entry(&mut archive, "init", PROGRAM, &program);
    for (number, module) in modules.iter().enumerate() {
        entry(
            &mut archive,
            &format!("modules/{number:02}-{}", module.name),
            PROGRAM,
            &module.bytes,
        );
    }
    entry(&mut archive, "TRAILER!!!", 0, &[]);
    Ok(archive)
}

fn entry(archive: &mut Vec<u8>, name: &str, mode: u32, bytes: &[u8]) {
    let number = archive.len() + 1;
    let links = 1;
    let sizes = (bytes.len(), name.len() + 1);
    let head = format!(
        "070701{number:08x}{mode:08x}{:08x}{:08x}{links:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}",
        0, 0, 0, sizes.0, 0, 0, 0, 0, sizes.1, 0
    );
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
