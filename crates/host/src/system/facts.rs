//! What does not change while the machine runs.

use crate::parse::lines::{number, words};
use crate::parse::mounts::{Mount, mounts};
use pressure::sample::{Cgroups, Facts};
use std::fs;
use std::path::Path;
use units::Bytes;

/// Looks at the machine under `root`. What cannot be read is empty, zero or `None`; nothing depends
/// on it but the page size, which is the machine's own for `/` and the file `page_size` of a recording.
pub(crate) fn facts(root: &Path) -> Facts {
    let text = |path: &str| {
        fs::read_to_string(root.join(path))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let page_size = page_size(root);
    let mounts = mounts(&fs::read(root.join("proc/self/mountinfo")).unwrap_or_default());
    Facts {
        page_size,
        kernel: text("proc/sys/kernel/osrelease"),
        boot_id: text("proc/sys/kernel/random/boot_id"),
        cpus: count(&text("sys/devices/system/cpu/online")),
        pmd_order: pmd_order(
            &text("sys/kernel/mm/transparent_hugepage/hpage_pmd_size"),
            page_size,
        ),
        cgroups: cgroups(&mounts),
        container: container(root),
        hidepid: mounts
            .iter()
            .any(|mount| mount.point == Path::new("/proc") && hides(mount)),
    }
}

/// A recording without its page size has the size that nearly all machines have.
fn page_size(root: &Path) -> Bytes {
    if root == Path::new("/") {
        return Bytes::new(rustix::param::page_size() as u64);
    }
    let recorded = fs::read(root.join("page_size")).unwrap_or_default();
    let recorded = number(recorded.trim_ascii()).filter(|size| size.is_power_of_two());
    Bytes::new(recorded.unwrap_or(4096))
}

/// How many numbers are in a list such as `0-3,8`.
fn count(list: &str) -> u64 {
    list.split(',')
        .filter_map(length_of)
        .fold(0, u64::saturating_add)
}

/// How many numbers are in a range such as `0-3`, or in `8`.
fn length_of(range: &str) -> Option<u64> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let first = number(first.as_bytes())?;
    let last = number(last.as_bytes())?;
    last.checked_sub(first)?.checked_add(1)
}

/// The order of a huge page of `size` bytes.
fn pmd_order(size: &str, page_size: Bytes) -> Option<u32> {
    let pages = number(size.as_bytes())?.checked_div(page_size.get())?;
    if pages.is_power_of_two() {
        Some(pages.trailing_zeros())
    } else {
        None
    }
}

/// The mode is decided by where the memory controller is; the mount tells, without trying anything.
fn cgroups(mounts: &[Mount]) -> Cgroups {
    let first = mounts.iter().any(|mount| mount.kind == "cgroup");
    let first_has_memory = mounts
        .iter()
        .any(|mount| mount.kind == "cgroup" && mount.has("memory"));
    let second = mounts.iter().any(|mount| mount.kind == "cgroup2");
    match (first, second) {
        (_, true) if first_has_memory => Cgroups::Hybrid,
        (_, true) => Cgroups::V2,
        (true, false) => Cgroups::V1,
        (false, false) => Cgroups::Absent,
    }
}

/// Returns true if this `/proc` hides processes of other users; `hidepid=0` and `off` do not.
fn hides(mount: &Mount) -> bool {
    let hiding = ["1", "2", "4", "noaccess", "invisible", "ptraceable"];
    let value = mount
        .options
        .split(',')
        .find_map(|option| option.strip_prefix("hidepid="));
    mount.kind == "proc" && value.is_some_and(|value| hiding.contains(&value))
}

/// The container's name as its maker left it: the places that systemd documents, then those of
/// Docker and Podman.
fn container(root: &Path) -> Option<String> {
    let named = |name: &[u8]| {
        let name = words(name).next()?;
        Some(String::from_utf8_lossy(name).into_owned())
    };
    if let Ok(name) = fs::read(root.join("run/systemd/container")) {
        return named(&name);
    }
    let environment = fs::read(root.join("proc/1/environ")).unwrap_or_default();
    let told = environment
        .split(|&byte| byte == 0)
        .find_map(|entry| entry.strip_prefix(b"container="));
    if let Some(name) = told.and_then(named) {
        return Some(name);
    }
    let marks = [(".dockerenv", "docker"), ("run/.containerenv", "podman")];
    marks
        .into_iter()
        .find(|(path, _)| root.join(path).exists())
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "35 31 0:32 / /c/memory rw - cgroup cgroup rw,memory\n";
    const V1_WITHOUT_MEMORY: &str = "40 31 0:37 / /c/systemd rw - cgroup cgroup rw,name=systemd\n";
    const V2: &str = "41 31 0:38 / /c/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_memory_controller_decides_the_mode() {
        let mode = |lines: &[&str]| cgroups(&mounts(lines.concat().as_bytes()));
        assert_eq!(mode(&[]), Cgroups::Absent);
        assert_eq!(mode(&[V1]), Cgroups::V1);
        assert_eq!(mode(&[V1, V2]), Cgroups::Hybrid);
        assert_eq!(mode(&[V1_WITHOUT_MEMORY, V2]), Cgroups::V2);
        assert_eq!(mode(&[V2]), Cgroups::V2);
    }

    #[test]
    fn a_list_of_processors_is_counted() {
        assert_eq!(count("0-3,8,10-11"), 7);
        assert_eq!(count("0"), 1);
        assert_eq!(count("3-1,x,"), 0);
    }

    #[test]
    fn the_order_of_a_huge_page_needs_a_whole_power_of_two() {
        assert_eq!(pmd_order("2097152", Bytes::kib(4)), Some(9));
        assert_eq!(pmd_order("536870912", Bytes::kib(64)), Some(13));
        assert_eq!(pmd_order("", Bytes::kib(4)), None);
        assert_eq!(pmd_order("0", Bytes::kib(4)), None);
    }

    #[test]
    fn hidden_processes_are_recognised_by_number_and_by_word() {
        let hidden = |options: &str| {
            mounts(format!("22 27 0:21 / /proc rw - proc proc {options}\n").as_bytes())
        };
        for (options, expected) in [
            ("rw", false),
            ("rw,hidepid=0", false),
            ("rw,hidepid=2", true),
            ("rw,hidepid=invisible", true),
        ] {
            assert_eq!(hides(&hidden(options)[0]), expected, "{options}");
        }
    }

    #[test]
    fn a_container_is_known_by_the_marks_its_maker_leaves() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        assert_eq!(container(at), None);
        fs::create_dir_all(at.join("run/systemd")).unwrap();
        fs::create_dir_all(at.join("proc/1")).unwrap();
        fs::write(at.join("run/.containerenv"), "").unwrap();
        assert_eq!(container(at).as_deref(), Some("podman"));
        fs::write(at.join("proc/1/environ"), b"HOME=/\0container=lxc\0").unwrap();
        assert_eq!(container(at).as_deref(), Some("lxc"));
        fs::write(at.join("run/systemd/container"), "systemd-nspawn\n").unwrap();
        assert_eq!(container(at).as_deref(), Some("systemd-nspawn"));
    }
}
