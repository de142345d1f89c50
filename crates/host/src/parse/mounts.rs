//! `/proc/self/mountinfo`, and the path of our own control group. Read at start, so it may allocate.

use super::lines::{lines, words};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Which directory of the file system is mounted.
    pub root: PathBuf,
    /// Where.
    pub point: PathBuf,
    /// Its type, such as `cgroup2`.
    pub kind: String,
    /// Options of the file system, such as `rw,memory`.
    pub options: String,
}

impl Mount {
    /// Whether `option` is among the options.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.split(',').any(|each| each == option)
    }
}

/// The mounts; lines that are none are passed over, as they can only hide a mount, not make one.
pub fn mounts(text: &[u8]) -> Vec<Mount> {
    lines(text).filter_map(mount).collect()
}

/// `31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - tmpfs tmpfs rw,mode=755`
fn mount(line: &[u8]) -> Option<Mount> {
    let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    let mut words = words(line);
    let root = path(words.nth(3)?);
    let point = path(words.next()?);
    words.find(|word| *word == b"-")?;
    let kind = text(words.next()?);
    Some(Mount {
        root,
        point,
        kind,
        options: text(words.nth(1)?),
    })
}

/// A path with blanks printed as `\040`.
pub fn path(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&first, behind)) = rest.split_first() {
        let code = rest
            .get(1..4)
            .filter(|digits| first == b'\\' && digits.iter().all(|d| (b'0'..b'8').contains(d)));
        let byte = code.map(|d| {
            d.iter().fold(0u8, |sum, digit| {
                sum.wrapping_mul(8).wrapping_add(digit - b'0')
            })
        });
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &rest[4..] } else { behind };
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

/// The directory of our own control group of version 2, from the root of the machine.
///
/// `None` if version 2 is not mounted, or our group is outside of what we see.
pub(crate) fn own_cgroup(mounts: &[Mount], cgroup: &[u8]) -> Option<PathBuf> {
    let mount = mounts.iter().find(|mount| mount.kind == "cgroup2")?;
    let group = lines(cgroup).find_map(|line| line.strip_prefix(b"0::"))?;
    let group = Path::new(OsStr::from_bytes(group));
    let below = group
        .strip_prefix(&mount.root)
        .or_else(|_| group.strip_prefix("/"))
        .ok()?;
    let plain = below
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    plain.then(|| mount.point.join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &[u8] = b"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 master:1 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn optional_fields_stand_before_the_dash() {
        let mounts = mounts(V2);
        assert_eq!(mounts[0].point, Path::new("/sys/fs/cgroup"));
        assert_eq!(mounts[0].kind, "cgroup2");
        assert!(mounts[0].has("nsdelegate") && !mounts[0].has("nosuid"));
    }

    #[test]
    fn blanks_in_a_path_are_octal() {
        assert_eq!(path(br"/a\040b\134c\9"), Path::new(r"/a b\c\9"));
    }

    #[test]
    fn our_control_group_is_found_below_its_mount() {
        let mounts = mounts(V2);
        let own = |text: &[u8]| own_cgroup(&mounts, text);
        assert_eq!(
            own(b"1:cpu:/x\n0::/system.slice/w\n"),
            Some("/sys/fs/cgroup/system.slice/w".into())
        );
        assert_eq!(own(b"0::/\n"), Some("/sys/fs/cgroup".into()));
        assert_eq!(own(b"0::/../other\n"), None, "outside of our namespace");
        assert_eq!(own(b"4:memory:/x\n"), None);
        assert_eq!(own_cgroup(&[], b"0::/\n"), None);
    }
}
