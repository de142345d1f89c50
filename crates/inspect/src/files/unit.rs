//! The processes of a unit, found by their own control groups: so it does not matter which version there is.

use crate::pids::pids;
use host::Error;
use host::parse::lines::lines;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A unit that has processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Its control group, from the root of the hierarchy; of several with one name, the first.
    pub path: String,
    /// Its processes, and those of the groups below it.
    pub pids: Vec<u32>,
}

/// The unit with this name, such as `postgresql.service`, or `postgresql`, or this path of a control group, such as
/// `/system.slice/postgresql.service`; `None` if no process is in it.
///
/// Errors: `/proc` cannot be read.
pub fn unit(root: &Path, name: &str) -> Result<Option<Unit>, Error> {
    let mut found: Option<Unit> = None;
    for pid in pids(root)? {
        // A process that has ended meanwhile is in no unit.
        let Ok(text) = fs::read(root.join(format!("proc/{pid}/cgroup"))) else {
            continue;
        };
        let Some(path) = lines(&text).find_map(|line| path_of(line, name)) else {
            continue;
        };
        found
            .get_or_insert_with(|| Unit {
                path,
                pids: Vec::new(),
            })
            .pids
            .push(pid);
    }
    Ok(found)
}

/// The path of the unit, if this line of `/proc/PID/cgroup` is of a group in it.
fn path_of(line: &[u8], name: &str) -> Option<String> {
    // NUMBER:CONTROLLERS:PATH
    let path = line.splitn(3, |byte| *byte == b':').nth(2)?;
    let path = Path::new(OsStr::from_bytes(path));
    let service = format!("{name}.service");
    let is_it = |above: &&Path| {
        if name.starts_with('/') {
            return *above == Path::new(name);
        }
        let last = above.file_name();
        last == Some(OsStr::new(name)) || last == Some(OsStr::new(&service))
    };
    let unit = path.ancestors().find(is_it)?;
    Some(unit.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_has_the_processes_of_all_groups_below_it() {
        let root = tempfile::tempdir().unwrap();
        let process = |pid: u32, cgroup: &str| {
            let directory = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("cgroup"), cgroup).unwrap();
        };
        process(9, "0::/system.slice/db.service/worker\n");
        process(
            7,
            "4:memory:/system.slice/db.service\n1:name=systemd:/system.slice/db.service\n0::/\n",
        );
        process(8, "0::/system.slice/xdb.service\n");
        process(11, "nonsense\n");
        let expected = Unit {
            path: "/system.slice/db.service".to_owned(),
            pids: vec![7, 9],
        };
        for name in ["db.service", "db", "/system.slice/db.service"] {
            assert_eq!(
                unit(root.path(), name).unwrap(),
                Some(expected.clone()),
                "{name}"
            );
        }
        assert_eq!(unit(root.path(), "/system.slice/db").unwrap(), None);
        assert_eq!(unit(root.path(), "b.service").unwrap(), None);
    }
}
