//! Settings that are in no sample, because no decision needs them.

use crate::observation::is_of_lxcfs;
use host::{SysctlLine, sysctl_lines};
use std::fs;
use std::path::Path;

/// `None` where there is no such file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    /// The word in brackets of `transparent_hugepage/enabled`.
    pub(super) huge_pages: Option<String>,
    /// The word in brackets of `transparent_hugepage/defrag`.
    pub(super) defrag: Option<String>,
    /// `vm.overcommit_memory`: 0 refuses obvious overcommits, 1 has no limit, 2 a strict one.
    pub(super) overcommit: Option<u64>,
    /// Bits of `vm.zone_reclaim_mode`.
    pub(super) zone_reclaim: Option<u64>,
    /// `vm.dirty_bytes`; 0 if the ratio applies.
    pub(super) dirty_bytes: Option<u64>,
    /// `vm.dirty_background_bytes`; 0 if the ratio applies.
    pub(super) dirty_background_bytes: Option<u64>,
    /// The numbers of memory and swap are a container's, made by lxcfs.
    pub(super) lxcfs: bool,
    /// The kernel was told to leave out the memory controller.
    pub(super) memory_controller_disabled: bool,
    /// The names in the root group's `cgroup.controllers`.
    pub(super) controllers: Option<String>,
    /// Every line of the sysctl files.
    pub(super) sysctl_lines: Vec<SysctlLine>,
    /// Why a guard would not start with its configuration.
    pub(super) refused: Option<String>,
}

impl Settings {
    /// Reads the settings. A file that cannot be read or parsed counts as absent: no advice can be given on it.
    pub(super) fn read(root: &Path) -> Self {
        let text = |path: &str| fs::read_to_string(root.join(path)).ok();
        let number = |path: &str| text(path)?.trim().parse().ok();
        let chosen = |path: &str| chosen(&text(path)?);
        Self {
            huge_pages: chosen("sys/kernel/mm/transparent_hugepage/enabled"),
            defrag: chosen("sys/kernel/mm/transparent_hugepage/defrag"),
            overcommit: number("proc/sys/vm/overcommit_memory"),
            zone_reclaim: number("proc/sys/vm/zone_reclaim_mode"),
            dirty_bytes: number("proc/sys/vm/dirty_bytes"),
            dirty_background_bytes: number("proc/sys/vm/dirty_background_bytes"),
            lxcfs: is_of_lxcfs(root),
            memory_controller_disabled: text("proc/cmdline")
                .is_some_and(|line| disables_memory(&line)),
            controllers: text("sys/fs/cgroup/cgroup.controllers"),
            sysctl_lines: sysctl_lines(root),
            refused: refused(root),
        }
    }
}

fn refused(root: &Path) -> Option<String> {
    let settings = host::settings::of_machine(root);
    settings
        .and_then(|settings| host::hook::check(root, &settings.config.hooks))
        .err()
        .map(|error| error.to_string())
}

/// Whether the kernel command line leaves the memory controller out. The last parameter counts: firmware may add one before.
fn disables_memory(line: &str) -> bool {
    let mut is_disabled = false;
    for word in line.split_whitespace() {
        if let Some(names) = word.strip_prefix("cgroup_disable=") {
            is_disabled |= names.split(',').any(|name| name == "memory");
        } else if let Some(names) = word.strip_prefix("cgroup_enable=") {
            is_disabled &= names.split(',').all(|name| name != "memory");
        }
    }
    is_disabled
}

/// The word in brackets: `madvise` of `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_stands_in_brackets() {
        assert_eq!(
            chosen("always [madvise] never\n").as_deref(),
            Some("madvise")
        );
        assert_eq!(chosen("always [never"), None);
        assert_eq!(chosen(""), None);
    }

    #[test]
    fn lxcfs_is_known_by_its_mounts() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!Settings::read(dir.path()).lxcfs);
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        let mounts = "22 27 0:21 / /proc rw - proc proc rw\n\
            80 22 0:60 /proc/meminfo /proc/meminfo rw,nosuid - fuse.lxcfs lxcfs rw\n";
        fs::write(dir.path().join("proc/self/mountinfo"), mounts).unwrap();
        assert!(Settings::read(dir.path()).lxcfs);
    }

    #[test]
    fn the_last_word_on_the_memory_controller_counts() {
        assert!(disables_memory(
            "quiet cgroup_disable=cpu,memory root=/dev/sda"
        ));
        assert!(!disables_memory(
            "cgroup_disable=memory quiet cgroup_enable=memory"
        ));
        assert!(!disables_memory("quiet"));
    }

    #[test]
    fn files_that_are_absent_or_not_numbers_are_unknown() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Settings::read(dir.path()), Settings::default());
        fs::create_dir_all(dir.path().join("proc/sys/vm")).unwrap();
        fs::write(dir.path().join("proc/sys/vm/overcommit_memory"), "2\n").unwrap();
        fs::write(dir.path().join("proc/sys/vm/zone_reclaim_mode"), [0xff, 0]).unwrap();
        let settings = Settings::read(dir.path());
        assert_eq!(
            (settings.overcommit, settings.zone_reclaim),
            (Some(2), None)
        );
    }
}
