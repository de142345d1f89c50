//! Where systemd-oomd kills: below which cgroups, by the unit files.
//!
//! ```text
//! unit files and drop-ins ─► ManagedOOMSwap=kill, ManagedOOMMemoryPressure=kill, OOMRules= ─► Monitored
//!                                                                                               │
//!                                                  path of a cgroup ─► covers(path) ◄───────────┘
//! ```
//!
//! Law: systemd-oomd.service(8). It kills cgroups below a unit that has such a setting, not that unit itself, and by swap
//! only while there is swap. A file of a unit is the first of its name in the directories below; drop-ins come after it in
//! the order of their names, and of two with one name the more specific wins (systemd.unit(5)).
//! Limit: settings in the home directory of a user, and over D-Bus without a file, are not seen.

use super::ini::{Line, lines};
use std::fmt;
use std::fs;
use std::path::Path;

/// Where the system's units are, the first directory wins.
const SYSTEM: [&str; 9] = [
    "etc/systemd/system.control",
    "run/systemd/system.control",
    "run/systemd/transient",
    "etc/systemd/system",
    "run/systemd/system",
    "run/systemd/generator",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];
/// Where units of users' managers are.
const USERS: [&str; 4] = [
    "etc/systemd/user",
    "run/systemd/user",
    "usr/local/lib/systemd/user",
    "usr/lib/systemd/user",
];

/// The cgroups below which another guard kills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Monitored {
    /// Fragments first, then drop-ins in the order in which they count.
    files: Vec<UnitFile>,
    /// Directories that are named by their path, such as `/kubepods`.
    beginnings: Vec<&'static str>,
}

/// One file of a unit, and what it says about the monitoring.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UnitFile {
    manager: Manager,
    units: Units,
    /// The base name of a drop-in, which orders it; empty for the unit's own file.
    drop_in: String,
    /// Place of its directory in the list of directories.
    directory: usize,
    says: Says,
}

/// What a file says; `None` if it says nothing about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Says {
    swap: Option<bool>,
    pressure: Option<bool>,
    rules: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Manager {
    System,
    User,
}

/// The units that a file is for; the most specific first.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Units {
    /// The unit of this name.
    Named(String),
    /// `user@.service`: what begins with `user@` and ends in `.service`. `user-.slice` likewise.
    Between(String, String),
    /// `slice`: all of this type.
    Type(String),
}

impl Units {
    /// The units that a file or directory of this name is for.
    fn of(name: &str) -> Self {
        let Some((stem, kind)) = name.rsplit_once('.') else {
            return Self::Type(format!(".{name}"));
        };
        // `-.slice` is the root slice, and not a prefix.
        let is_prefix = stem.ends_with('@') || (stem.ends_with('-') && stem != "-");
        if is_prefix {
            return Self::Between(stem.to_owned(), format!(".{kind}"));
        }
        Self::Named(name.to_owned())
    }

    fn contains(&self, unit: &str) -> bool {
        match self {
            Self::Named(name) => name == unit,
            Self::Between(begin, end) => unit.starts_with(begin) && unit.ends_with(end),
            Self::Type(end) => unit.ends_with(end),
        }
    }

    /// Less is more specific.
    fn rank(&self) -> usize {
        match self {
            Self::Named(_) => 0,
            // `user-1000-.slice` comes before `user-.slice`.
            Self::Between(begin, _) => usize::MAX - 1 - begin.len(),
            Self::Type(_) => usize::MAX,
        }
    }

    /// The name of one of the units.
    fn example(&self) -> String {
        match self {
            Self::Named(name) => name.clone(),
            Self::Between(begin, end) => format!("{begin}0{end}"),
            Self::Type(end) => format!("0{end}"),
        }
    }
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Between(begin, end) => write!(f, "{begin}{end}"),
            Self::Type(end) => write!(f, "every {}", end.trim_start_matches('.')),
        }
    }
}

impl Says {
    fn of(text: &str) -> Self {
        let mut says = Self::default();
        for line in lines(text) {
            match line {
                Line::Setting("ManagedOOMSwap", value) => says.swap = Some(value == "kill"),
                Line::Setting("ManagedOOMMemoryPressure", value) => {
                    says.pressure = Some(value == "kill");
                }
                // Rules are listed; an empty value forgets those before it.
                Line::Setting("OOMRules", value) => says.rules = Some(!value.is_empty()),
                _ => {}
            }
        }
        says
    }

    /// What holds after a later file.
    fn then(self, later: Self) -> Self {
        Self {
            swap: later.swap.or(self.swap),
            pressure: later.pressure.or(self.pressure),
            rules: later.rules.or(self.rules),
        }
    }

    fn kills(self, has_swap: bool) -> bool {
        let by_swap = has_swap && self.swap == Some(true);
        by_swap || self.pressure == Some(true) || self.rules == Some(true)
    }

    /// How it kills, in words.
    const fn ways(self) -> &'static str {
        match (self.pressure, self.swap) {
            (Some(true), Some(true)) => "by memory pressure and swap",
            (_, Some(true)) => "by swap",
            (Some(true), _) => "by memory pressure",
            _ => "by rules of its own",
        }
    }
}

impl Monitored {
    /// What the unit files of the machine at `root` let systemd-oomd monitor; `None` if there is no directory of them.
    pub fn by_systemd_oomd(root: &Path) -> Option<Self> {
        if !SYSTEM.iter().any(|directory| root.join(directory).is_dir()) {
            return None;
        }
        let mut files = Vec::new();
        for (manager, directories) in [(Manager::System, &SYSTEM[..]), (Manager::User, &USERS[..])]
        {
            for (place, directory) in directories.iter().enumerate() {
                read(&root.join(directory), manager, place, &mut files);
            }
        }
        keep_relevant(&mut files);
        files.sort_by(|a, b| {
            let order = |file: &UnitFile| (file.units.rank(), file.directory);
            a.drop_in
                .cmp(&b.drop_in)
                .then_with(|| order(a).cmp(&order(b)))
        });
        Some(Self {
            files,
            beginnings: Vec::new(),
        })
    }

    /// Pods of Kubernetes, under either driver of cgroups.
    pub fn pods() -> Self {
        Self {
            files: Vec::new(),
            beginnings: vec!["/kubepods.slice/", "/kubepods/"],
        }
    }

    /// Whether the other guard kills the cgroup at `path`, which begins at the root of all cgroups. Allocates nothing.
    pub fn covers(&self, path: &str, has_swap: bool) -> bool {
        if self.beginnings.iter().any(|begin| path.starts_with(begin)) {
            return true;
        }
        if path == "/" || self.files.is_empty() {
            return false;
        }
        let mut manager = Manager::System;
        if self.says(manager, "-.slice").kills(has_swap) {
            return true;
        }
        let Some((above, _)) = path.rsplit_once('/') else {
            return false;
        };
        for unit in above.split('/').filter(|part| !part.is_empty()) {
            if self.says(manager, unit).kills(has_swap) {
                return true;
            }
            let is_manager = unit.starts_with("user@") && unit.ends_with(".service");
            if is_manager && manager == Manager::System {
                manager = Manager::User;
                if self.says(manager, "-.slice").kills(has_swap) {
                    return true;
                }
            }
        }
        false
    }

    /// What holds for one unit after all its files.
    fn says(&self, manager: Manager, unit: &str) -> Says {
        let mut says = Says::default();
        // Drop-ins of one name follow each other, the most specific first: only that one counts.
        let mut last = None;
        for file in &self.files {
            let is_of_unit = file.manager == manager && file.units.contains(unit);
            if !is_of_unit || last == Some(file.drop_in.as_str()) {
                continue;
            }
            last = Some(file.drop_in.as_str());
            says = says.then(file.says);
        }
        says
    }

    /// Each kind of unit below which it kills, with the way.
    fn units(&self, has_swap: bool) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for file in &self.files {
            let says = self.says(file.manager, &file.units.example());
            if !says.kills(has_swap) {
                continue;
            }
            let whose = match file.manager {
                Manager::System => "",
                Manager::User => " of users",
            };
            let text = format!("{}{whose} ({})", file.units, says.ways());
            if !found.contains(&text) {
                found.push(text);
            }
        }
        found
    }

    /// Where it kills, in words; `None` if that is nowhere.
    pub fn places(&self, has_swap: bool) -> Option<String> {
        if !self.beginnings.is_empty() {
            return Some("/kubepods".to_owned());
        }
        let units = self.units(has_swap);
        (!units.is_empty()).then(|| units.join(", "))
    }
}

/// Reads the unit files and drop-ins of one directory.
fn read(path: &Path, manager: Manager, directory: usize, files: &mut Vec<UnitFile>) {
    let Ok(entries) = fs::read_dir(path) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            continue;
        };
        let mut add = |units: &str, drop_in: &str, file: &Path| {
            let text = fs::read_to_string(file).unwrap_or_default();
            files.push(UnitFile {
                manager,
                units: Units::of(units),
                drop_in: drop_in.to_owned(),
                directory,
                says: Says::of(&text),
            });
        };
        match name.strip_suffix(".d") {
            Some(units) => {
                for (drop_in, file) in drop_ins(&entry.path()) {
                    add(units, &drop_in, &file);
                }
            }
            None if is_resource_unit(name) => add(name, "", &entry.path()),
            None => {}
        }
    }
}

/// Whether a unit of this name has processes of its own: only those have resource settings.
fn is_resource_unit(name: &str) -> bool {
    [".slice", ".service", ".scope", ".socket", ".mount", ".swap"]
        .iter()
        .any(|kind| name.ends_with(kind))
}

fn drop_ins(directory: &Path) -> Vec<(String, std::path::PathBuf)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "conf") {
            found.push((name, path));
        }
    }
    found
}

/// Keeps the files that say something, and those that may hide one that does.
fn keep_relevant(files: &mut Vec<UnitFile>) {
    let speaks = |file: &UnitFile| file.says != Says::default();
    let mut drop_ins: Vec<String> = Vec::new();
    let mut fragments: Vec<Units> = Vec::new();
    for file in files.iter().filter(|file| speaks(file)) {
        if file.drop_in.is_empty() {
            fragments.push(file.units.clone());
        } else {
            drop_ins.push(file.drop_in.clone());
        }
    }
    files.retain(|file| {
        if file.drop_in.is_empty() {
            fragments.contains(&file.units)
        } else {
            drop_ins.contains(&file.drop_in)
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::rivals::tests::machine;

    const APP: &str = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope";
    const SERVICE: &str = "/system.slice/postgresql.service";

    fn monitored(files: &[(&str, &str)]) -> Monitored {
        let dir = machine(files);
        fs::create_dir_all(dir.path().join("etc/systemd/system")).unwrap();
        Monitored::by_systemd_oomd(dir.path()).unwrap()
    }

    /// As Ubuntu and older Fedora ship it.
    const BY_USER: (&str, &str) = (
        "usr/lib/systemd/system/user@.service.d/10-oomd-user-service-defaults.conf",
        "[Service]\nManagedOOMMemoryPressure=kill\nManagedOOMMemoryPressureLimit=50%\n",
    );
    const BY_SWAP: (&str, &str) = (
        "usr/lib/systemd/system/-.slice.d/10-oomd-root-slice-defaults.conf",
        "[Slice]\nManagedOOMSwap=kill\n",
    );

    #[test]
    fn only_what_is_below_a_monitored_unit_is_left() {
        let users = monitored(&[BY_USER]);
        assert!(users.covers(APP, false));
        assert!(!users.covers(SERVICE, true));
        assert!(
            !users.covers("/user.slice/user-1000.slice/user@1000.service", true),
            "the unit itself is not killed"
        );
        assert!(!users.covers("/user.slice/user-1000.slice/session-2.scope", true));
        assert_eq!(
            users.places(true).as_deref(),
            Some("user@.service (by memory pressure)")
        );
    }

    #[test]
    fn swap_counts_while_there_is_swap() {
        let all = monitored(&[BY_SWAP]);
        assert!(all.covers(APP, true));
        assert!(all.covers(SERVICE, true));
        assert!(!all.covers(APP, false));
        assert!(!all.covers("/", true));
        assert_eq!(all.places(true).as_deref(), Some("-.slice (by swap)"));
        assert_eq!(all.places(false), None);
    }

    #[test]
    fn slices_of_the_system_and_of_users_are_told_apart() {
        let system = monitored(&[(
            "usr/lib/systemd/system/slice.d/10-oomd-per-slice-defaults.conf",
            "[Slice]\nManagedOOMMemoryPressure=kill\n",
        )]);
        assert!(system.covers(SERVICE, false));
        assert!(system.covers(APP, false));
        assert!(
            system.covers("/init.scope", false),
            "-.slice is a slice, too"
        );
        let users = monitored(&[(
            "usr/lib/systemd/user/app.slice.d/10.conf",
            "[Slice]\nManagedOOMMemoryPressure=kill\n",
        )]);
        assert!(users.covers(APP, false));
        assert!(
            !users.covers("/app.slice/x.service", false),
            "of the system"
        );
        assert_eq!(
            users.places(false).as_deref(),
            Some("app.slice of users (by memory pressure)")
        );
    }

    #[test]
    fn a_later_or_more_specific_file_takes_it_back() {
        let masked = monitored(&[
            BY_USER,
            (
                "etc/systemd/system/user@.service.d/10-oomd-user-service-defaults.conf",
                "",
            ),
        ]);
        assert!(!masked.covers(APP, true));
        let later = monitored(&[
            BY_USER,
            (
                "etc/systemd/system/user@.service.d/50.conf",
                "[Service]\nManagedOOMMemoryPressure=auto\n",
            ),
        ]);
        assert!(!later.covers(APP, true));
        let one = monitored(&[
            BY_USER,
            (
                "run/systemd/system.control/user@1000.service.d/50-ManagedOOMMemoryPressure.conf",
                "[Service]\nManagedOOMMemoryPressure=auto\n",
            ),
        ]);
        assert!(!one.covers(APP, true));
        assert!(one.covers(&APP.replace("1000", "1001"), true));
    }

    #[test]
    fn a_units_own_file_is_the_first_in_the_directories() {
        let file = "system/big.slice";
        let kill = "[Slice]\nManagedOOMMemoryPressure=kill\n";
        let below = "/big.slice/x.service";
        let vendors = format!("usr/lib/systemd/{file}");
        let own = format!("etc/systemd/{file}");
        assert!(monitored(&[(vendors.as_str(), kill)]).covers(below, false));
        let hidden = [(vendors.as_str(), kill), (own.as_str(), "[Slice]\n")];
        assert!(!monitored(&hidden).covers(below, false));
    }

    #[test]
    fn rules_monitor_too() {
        let rules = monitored(&[(
            "etc/systemd/system/user-.slice.d/rules.conf",
            "[Slice]\nOOMRules=30-pressure\n",
        )]);
        assert!(rules.covers(APP, false));
        assert_eq!(
            rules.places(false).as_deref(),
            Some("user-.slice (by rules of its own)")
        );
    }

    #[test]
    fn pods_are_known_under_both_drivers() {
        let pods = Monitored::pods();
        for path in [
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podab.slice/cri-containerd-01.scope",
            "/kubepods/burstable/podab/01",
        ] {
            assert!(pods.covers(path, false), "{path}");
        }
        assert!(!pods.covers("/system.slice/kubelet.service", false));
        assert!(!pods.covers("/kubepods-fake", false));
    }

    #[test]
    fn hostile_paths_are_read_without_a_panic() {
        let all = monitored(&[BY_USER, BY_SWAP]);
        for path in ["", "/", "//", "user@.service", "/user@/.service/x"] {
            all.covers(path, false);
        }
    }
}
