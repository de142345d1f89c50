//! The modules a guest needs before it has a root disk, in the order in which they load.
//!
//! Debian's packages come without `modules.dep` (their installation makes it); each module names what it depends on in
//! its `.modinfo` section, as `depends=a,b` between zero bytes, and that is enough.

use anyhow::{Context, Result};
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a kernel has as modules, by name.
#[derive(Debug)]
pub struct Modules {
    paths: HashMap<String, PathBuf>,
}

/// A module, ready for the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// `virtio_blk`.
    pub name: String,
    /// The object file, not compressed.
    pub bytes: Vec<u8>,
}

impl Modules {
    /// Looks through a folder of modules.
    pub fn below(directory: &Path) -> Result<Self> {
        let mut paths = HashMap::new();
        let mut directories = vec![directory.to_owned()];
        while let Some(directory) = directories.pop() {
            let entries = fs::read_dir(&directory)
                .with_context(|| format!("cannot list {}", directory.display()))?;
            for entry in entries.flatten() {
                let path = entry.path();
                match name_of(&path) {
                    _ if path.is_dir() => directories.push(path),
                    Some(name) => drop(paths.insert(name, path)),
                    None => {}
                }
            }
        }
        Ok(Self { paths })
    }

    /// These modules and all they depend on, each after what it needs; one that is not there is built in.
    pub fn in_order(&self, names: &[&str]) -> Result<Vec<Module>> {
        let mut loaded = Vec::new();
        for name in names {
            self.load(name, &mut loaded)?;
        }
        Ok(loaded)
    }

    fn load(&self, name: &str, loaded: &mut Vec<Module>) -> Result<()> {
        let Some(path) = self.paths.get(name) else {
            return Ok(());
        };
        if loaded.iter().any(|module| module.name == name) {
            return Ok(());
        }
        let bytes = read(path)?;
        for needed in depends(&bytes) {
            self.load(&needed, loaded)?;
        }
        loaded.push(Module {
            name: name.to_owned(),
            bytes,
        });
        Ok(())
    }
}

/// `virtio-rng.ko.xz` is the module `virtio_rng`.
fn name_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (name, _) = name.split_once(".ko")?;
    Some(name.replace('-', "_"))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if path.extension().is_none_or(|end| end != "xz") {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    let mut reader = lzma_rust2::XzReader::new(bytes.as_slice(), true);
    reader
        .read_to_end(&mut plain)
        .with_context(|| format!("cannot unpack {}", path.display()))?;
    Ok(plain)
}

/// The names after `depends=` in `.modinfo`.
fn depends(bytes: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = bytes.windows(KEY.len()).position(|window| window == KEY) else {
        return Vec::new();
    };
    let rest = bytes.get(at + KEY.len()..).unwrap_or_default();
    let end = rest
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(rest.len());
    let list = String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).replace('-', "_");
    list.split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_after_what_it_needs() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, needs: &str| {
            fs::create_dir_all(directory.path().join("drivers")).unwrap();
            fs::write(
                directory.path().join("drivers").join(name),
                format!("ELF\0license=GPL\0depends={needs}\0"),
            )
            .unwrap();
        };
        write("virtio_blk.ko", "virtio,virtio-ring");
        write("virtio-ring.ko", "virtio");
        write("virtio.ko", "");
        let modules = Modules::below(directory.path())
            .unwrap()
            .in_order(&["virtio_blk", "virtio_ring", "not_there"])
            .unwrap();
        let names: Vec<_> = modules.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["virtio", "virtio_ring", "virtio_blk"]);
    }
}
