//! tuned: which knobs its active profile sets.
//!
//! A profile is `NAME/tuned.conf` in one of four directories. It may include others, and adds to what they set:
//!
//! ```text
//! /etc/tuned/active_profile ─► NAME/tuned.conf ─► [main] include=OTHER ─► …
//!                                   │
//!                                   └─► [sysctl] vm.x=…   [sysfs] /sys/…=…   [vm] dirty_ratio=…   [script] script=…
//! ```
//!
//! Law: tuned-main.conf(5) and the `tuned.profiles` loader. A script of a profile is searched for names of knobs, as it
//! may write them. Limit: a value that a function computes (`${f:…}`) in `include=` leaves the profile unknown.

use super::ini::{Line, lines};
use pressure::knob::{KNOBS, Knob, KnobSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Where profiles are, the first that has one wins: an administrator's before the distribution's.
const PROFILES: [&str; 4] = [
    "etc/tuned/profiles",
    "etc/tuned",
    "usr/lib/tuned/profiles",
    "usr/lib/tuned",
];
/// Profiles that include each other are at most so deep. tuned itself refuses a loop.
const DEEPEST: usize = 16;

/// The profile that is in force.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Profile {
    /// Its name, or several names.
    pub(super) name: String,
    /// What it sets; `None` if it cannot be read.
    pub(super) knobs: Option<KnobSet>,
}

/// The active profile of the machine at `root`; `None` if nothing says which that is.
pub(super) fn active(root: &Path) -> Option<Profile> {
    let mut name = fs::read_to_string(root.join("etc/tuned/active_profile"))
        .ok()?
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    // It is loaded after the profile, and stays when another profile is chosen.
    if let Ok(after) = fs::read_to_string(root.join("etc/tuned/post_loaded_profile")) {
        for word in after.split_whitespace() {
            name.push(' ');
            name.push_str(word);
        }
    }
    let mut sections = Sections::default();
    let mut is_known = true;
    for profile in name.split_whitespace() {
        is_known &= sections.load(root, profile, 0).is_some();
    }
    let knobs = is_known.then(|| sections.knobs());
    Some(Profile { name, knobs })
}

/// What the profiles together set.
#[derive(Debug, Default)]
struct Sections {
    sections: Vec<Section>,
}

/// One section: what one plugin of tuned is to do.
#[derive(Debug)]
struct Section {
    name: String,
    /// The plugin, if it is another than the section's name.
    plugin: Option<String>,
    is_enabled: bool,
    settings: Vec<(String, String)>,
    /// Where its profile is: a script is named from there.
    directory: PathBuf,
}

impl Sections {
    /// Adds what the profile `name` sets, after what it includes; `None` if a part cannot be read.
    fn load(&mut self, root: &Path, name: &str, depth: usize) -> Option<()> {
        // A name with a variable or a function is not a name, and one with a slash leads elsewhere.
        let is_plain = !name.contains(['/', '$']) && name != "..";
        if depth > DEEPEST || !is_plain {
            return None;
        }
        let file = PROFILES
            .iter()
            .map(|directory| root.join(directory).join(name).join("tuned.conf"))
            .find(|file| file.is_file())?;
        let text = fs::read_to_string(&file).ok()?;
        let variables = variables(&text);
        for include in includes(&text) {
            let include = expanded(&include, &variables);
            self.load(root, &include, depth + 1)?;
        }
        self.add(&text, file.parent()?);
        Some(())
    }

    fn add(&mut self, text: &str, directory: &Path) {
        // The section that the lines belong to; `None` in `[main]` and `[variables]`.
        let mut place = None;
        for line in lines(text) {
            match line {
                Line::Section("main" | "variables") => place = None,
                Line::Section(name) => place = Some(self.place(name, directory)),
                Line::Setting(key, value) => {
                    if let Some(section) = place.and_then(|place| self.sections.get_mut(place)) {
                        section.set(key, value);
                    }
                }
            }
        }
    }

    /// Where the section `name` is; it is made if there is none.
    fn place(&mut self, name: &str, directory: &Path) -> usize {
        let known = self
            .sections
            .iter()
            .position(|section| section.name == name);
        let place = known.unwrap_or_else(|| {
            self.sections.push(Section {
                name: name.to_owned(),
                plugin: None,
                is_enabled: true,
                settings: Vec::new(),
                directory: directory.to_owned(),
            });
            self.sections.len() - 1
        });
        if let Some(section) = self.sections.get_mut(place) {
            directory.clone_into(&mut section.directory);
        }
        place
    }

    fn knobs(&self) -> KnobSet {
        let mut knobs = KnobSet::NONE;
        for section in self.sections.iter().filter(|section| section.is_enabled) {
            knobs = knobs.with(section.knobs());
        }
        knobs
    }
}

impl Section {
    fn set(&mut self, key: &str, value: &str) {
        match key {
            "type" => self.plugin = Some(value.to_owned()),
            "enabled" => self.is_enabled = !is_no(value),
            // What the included profiles set in this section no longer counts.
            "replace" if !is_no(value) => self.settings.clear(),
            "drop" => {
                let dropped: Vec<&str> = words(value).collect();
                self.settings
                    .retain(|(key, _)| !dropped.contains(&key.as_str()));
            }
            _ => self.settings.push((key.to_owned(), value.to_owned())),
        }
    }

    fn knobs(&self) -> KnobSet {
        let plugin = self.plugin.as_deref().unwrap_or(&self.name);
        let mut knobs = KnobSet::NONE;
        for (key, value) in &self.settings {
            let more = match plugin {
                "sysctl" => of_sysctl(&key.replace('/', ".")),
                "vm" => of_sysctl(&format!("vm.{key}")),
                "sysfs" => of_path(key),
                "script" if key == "script" => self.of_scripts(value),
                _ => KnobSet::NONE,
            };
            knobs = knobs.with(more);
        }
        knobs
    }

    /// The knobs that the scripts of a profile name.
    fn of_scripts(&self, names: &str) -> KnobSet {
        let mut knobs = KnobSet::NONE;
        for name in words(names) {
            let name = name.rsplit('/').next().unwrap_or(name);
            let Ok(text) = fs::read(self.directory.join(name)) else {
                continue;
            };
            let text = String::from_utf8_lossy(&text);
            for spec in KNOBS {
                let file = spec.path.rsplit('/').next().unwrap_or(spec.path);
                if text.contains(file) {
                    knobs.insert(spec.knob);
                }
            }
        }
        knobs
    }
}

/// The knob that a sysctl sets. Setting a limit in bytes sets the ratio to 0.
fn of_sysctl(name: &str) -> KnobSet {
    let knob = match name {
        "vm.dirty_bytes" => Some(Knob::DirtyRatio),
        "vm.dirty_background_bytes" => Some(Knob::DirtyBackgroundRatio),
        _ => Knob::from_name(name),
    };
    let mut knobs = KnobSet::NONE;
    if let Some(knob) = knob {
        knobs.insert(knob);
    }
    knobs
}

/// The knobs that a path with `*` in its parts names.
fn of_path(path: &str) -> KnobSet {
    let path = path.trim_start_matches('/');
    let mut knobs = KnobSet::NONE;
    for spec in KNOBS {
        if is_match(path, spec.path) {
            knobs.insert(spec.knob);
        }
    }
    knobs
}

/// Whether `path` has the parts of `pattern`, in each of which one `*` stands for anything.
fn is_match(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    for wanted in pattern.split('/') {
        let Some(part) = parts.next() else {
            return false;
        };
        let is_part = match wanted.split_once('*') {
            Some((begin, end)) => part.starts_with(begin) && part.ends_with(end),
            None => part == wanted,
        };
        if !is_part {
            return false;
        }
    }
    parts.next().is_none()
}

/// The profiles that `[main]` includes, in their order.
fn includes(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut section = "";
    for line in lines(text) {
        match line {
            Line::Section(name) => section = name,
            Line::Setting("include", value) if section == "main" => {
                names = words(value).map(str::to_owned).collect();
            }
            Line::Setting(..) => {}
        }
    }
    names
}

fn variables(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut section = "";
    for line in lines(text) {
        match line {
            Line::Section(name) => section = name,
            Line::Setting(key, value) if section == "variables" => {
                found.push((key.to_owned(), value.to_owned()));
            }
            Line::Setting(..) => {}
        }
    }
    found
}

/// `text` with each `${NAME}` replaced by its value.
fn expanded(text: &str, variables: &[(String, String)]) -> String {
    let mut text = text.to_owned();
    for (name, value) in variables {
        text = text.replace(&format!("${{{name}}}"), value);
    }
    text
}

/// Names, separated by commas, semicolons or blanks.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ';', ' ', '\t'])
        .map(str::trim)
        .filter(|word| !word.is_empty())
}

fn is_no(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "0" | "n" | "no" | "false" | "off"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::rivals::tests::machine;

    fn knobs(files: &[(&str, &str)]) -> String {
        let profile = active(machine(files).path()).unwrap();
        match profile.knobs {
            Some(knobs) => format!("{}: {knobs}", profile.name),
            None => format!("{}: unknown", profile.name),
        }
    }

    #[test]
    fn a_profile_sets_what_its_sections_and_its_includes_say() {
        let files = [
            ("etc/tuned/active_profile", "hpc-compute\n"),
            (
                "usr/lib/tuned/profiles/hpc-compute/tuned.conf",
                "[main]\nsummary=HPC\ninclude=latency-performance\n[sysctl]\n# vm.page-cluster=0\n\
                 vm.min_free_kbytes=135168\nvm.zone_reclaim_mode=1\n",
            ),
            (
                "usr/lib/tuned/latency-performance/tuned.conf",
                "[cpu]\ngovernor=performance\n[sysctl]\nvm.swappiness=10\n",
            ),
        ];
        assert_eq!(
            knobs(&files),
            "hpc-compute: vm.min_free_kbytes and vm.swappiness"
        );
    }

    #[test]
    fn an_administrators_profile_hides_the_distributions() {
        let files = [
            ("etc/tuned/active_profile", "balanced"),
            (
                "usr/lib/tuned/balanced/tuned.conf",
                "[sysctl]\nvm.swappiness=1\n",
            ),
            ("etc/tuned/balanced/tuned.conf", "[disk]\nelevator=none\n"),
        ];
        assert_eq!(knobs(&files), "balanced: ");
    }

    #[test]
    fn every_way_to_set_a_knob_is_seen() {
        let files = [
            ("etc/tuned/active_profile", "a b"),
            (
                "etc/tuned/profiles/a/tuned.conf",
                "[vm]\ntransparent_hugepages=always\ndirty_ratio=40\n[sysfs]\n\
                 /sys/kernel/mm/lru_*/min_ttl_ms=1000\n[mine]\ntype=sysctl\nvm/swappiness = 10\n",
            ),
            (
                "etc/tuned/profiles/b/tuned.conf",
                "[script]\nscript=${i:PROFILE_DIR}/script.sh\n[sysctl]\nvm.dirty_background_bytes=1\n",
            ),
            (
                "etc/tuned/profiles/b/script.sh",
                "echo 0 > /proc/sys/vm/page-cluster\n",
            ),
        ];
        assert_eq!(
            knobs(&files),
            "a b: vm.swappiness, vm.page-cluster, vm.dirty_background_ratio, vm.dirty_ratio and mm.lru_gen.min_ttl_ms"
        );
    }

    #[test]
    fn what_is_switched_off_replaced_or_dropped_is_not_set() {
        let files = [
            ("etc/tuned/active_profile", "child"),
            (
                "usr/lib/tuned/parent/tuned.conf",
                "[sysctl]\nvm.swappiness=10\nvm.page-cluster=0\n[other]\ntype=sysctl\nvm.dirty_ratio=1\n\
                 [vm]\ndirty_background_ratio=5\n",
            ),
            (
                "usr/lib/tuned/child/tuned.conf",
                "[main]\ninclude = ${base}\n[variables]\nbase=parent\n[sysctl]\ndrop=vm.swappiness\n\
                 [other]\nreplace=1\nvm.min_free_kbytes=1\n[vm]\nenabled=false\n",
            ),
        ];
        assert_eq!(
            knobs(&files),
            "child: vm.min_free_kbytes and vm.page-cluster"
        );
    }

    #[test]
    fn a_profile_that_cannot_be_read_is_unknown() {
        let absent = [("etc/tuned/active_profile", "gone")];
        assert_eq!(knobs(&absent), "gone: unknown");
        let looping = [
            ("etc/tuned/active_profile", "a"),
            ("etc/tuned/a/tuned.conf", "[main]\ninclude=a\n"),
        ];
        assert_eq!(knobs(&looping), "a: unknown");
        let computed = [
            ("etc/tuned/active_profile", "a"),
            (
                "etc/tuned/a/tuned.conf",
                "[main]\ninclude=x-${f:virt_check:a:b}\n",
            ),
        ];
        assert_eq!(knobs(&computed), "a: unknown");
        let elsewhere = [("etc/tuned/active_profile", "../../home/u")];
        assert_eq!(knobs(&elsewhere), "../../home/u: unknown");
        assert_eq!(active(machine(&[]).path()), None);
    }

    #[test]
    fn no_profile_sets_nothing() {
        assert_eq!(knobs(&[("etc/tuned/active_profile", "\n")]), ": ");
    }
}
