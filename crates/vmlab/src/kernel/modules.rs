//! The modules that a guest needs before it has a root disk, in the order in which they load.
//!
//! Debian's packages have no `modules.dep`, which their installation makes. Each module names the modules it depends on
//! in its section `.modinfo`, as `depends=a,b` between zero bytes.

use anyhow::{Context, Result};
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The modules of a kernel, by name.
#[derive(Debug)]
pub struct Modules {
    paths: HashMap<String, PathBuf>,
}

/// A module that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// `virtio_blk`.
    pub name: String,
    /// The object file, not compressed.
    pub bytes: Vec<u8>,
}

impl Modules {
    /// All modules below a directory.
    pub fn below(directory: &Path) -> Result<Self> {
        let mut paths = HashMap::new();
        let mut directories = vec![directory.to_owned()];
        while let Some(directory) = directories.pop() {
            let entries = fs::read_dir(&directory)
                .with_context(|| format!("cannot list {}", directory.display()))?;
            for entry in entries.flatten() {
                let path = entry.path();
                if path.is_dir() {
                    directories.push(path);
                } else if let Some(name) = name_of(&path) {
                    paths.insert(name, path);
                }
            }
        }
        Ok(Self { paths })
    }

    /// These modules and all they depend on, each after those it needs. A name without a file is built into the kernel.
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
    let value = rest.split(|byte| *byte == 0).next().unwrap_or_default();
    let list = String::from_utf8_lossy(value).replace('-', "_");
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
        let drivers = directory.path().join("drivers");
        fs::create_dir_all(&drivers).unwrap();
        let write = |name: &str, needs: &str| {
            let text = format!("ELF\0license=GPL\0depends={needs}\0");
            fs::write(drivers.join(name), text).unwrap();
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
