//! What a process has mapped: `/proc/PID/maps`.

use host::error::{Error, Malformed};
use std::fs;
use std::path::Path;

/// A mapping of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The first address.
    pub from: u64,
    /// One behind the last.
    pub to: u64,
    /// May be written.
    pub writable: bool,
    /// May be executed.
    pub executable: bool,
    /// A path, the kernel's own name such as `[heap]`, or nothing.
    pub name: String,
}

impl Mapping {
    /// Pages of this size in it.
    pub fn pages(&self, page_size: u64) -> u64 {
        (self.to - self.from) / page_size.max(1)
    }
}

/// The mappings of a process, by address.
///
/// Errors: no such process, no right to look, a line that is none.
pub fn mappings(root: &Path, pid: u32) -> Result<Vec<Mapping>, Error> {
    let path = root.join(format!("proc/{pid}/maps"));
    let bytes = fs::read(&path).map_err(|error| Error::unreadable(&path, error))?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines()
        .map(|line| {
            mapping(line)
                .ok_or_else(|| Error::malformed(&path, &Malformed::new("mapping", line.as_bytes())))
        })
        .collect()
}

/// `FROM-TO rwxp OFFSET DEVICE INODE   NAME`.
pub(super) fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (from, to) = fields.next()?.split_once('-')?;
    let from = u64::from_str_radix(from, 16).ok()?;
    let to = u64::from_str_radix(to, 16).ok()?;
    let rights = fields
        .next()
        .filter(|rights| rights.len() == 4 && from < to)?;
    let name = fields.nth(3).unwrap_or_default().trim_start();
    Some(Mapping {
        from,
        to,
        writable: rights.contains('w'),
        executable: rights.contains('x'),
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_mappings_or_nothing() {
        let line =
            "55df405a8000-55df405a9000 r-xp 00001000 fe:00 18500                      /bin/a name";
        let found = mapping(line).unwrap();
        assert_eq!((found.pages(4096), found.name.as_str()), (1, "/bin/a name"));
        assert!(found.executable && !found.writable);
        assert_eq!(
            mapping("7fa0-7fb0 rw-p 00000000 00:00 0 ").unwrap().name,
            ""
        );
        for bad in ["", "7fa0-7fb0", "7fb0-7fa0 rw-p 0 0 0", "x-y rw-p 0 0 0"] {
            assert_eq!(mapping(bad), None, "{bad}");
        }
    }

    #[test]
    fn our_own_are_there_and_those_of_no_process_are_not() {
        let own = mappings(Path::new("/"), std::process::id()).unwrap();
        assert!(
            own.iter()
                .any(|mapping| mapping.executable && mapping.name.starts_with('/'))
        );
        assert!(own.windows(2).all(|pair| pair[0].to <= pair[1].from));
        assert!(
            mappings(Path::new("/"), u32::MAX)
                .unwrap_err()
                .to_string()
                .contains("4294967295")
        );
    }
}
