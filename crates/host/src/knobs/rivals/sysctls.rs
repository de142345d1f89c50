//! Lines of sysctl files: which are in force, and which have no effect.
//!
//! Law: sysctl.d(5). Of two files with one name only the one in the first directory is read, whatever it holds; so an empty
//! file or a link to `/dev/null` hides the other. The files are read in the order of their names, and the last line of a
//! name wins.

use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Where such files are, the first directory wins.
const DIRECTORIES: [&str; 5] = [
    "etc/sysctl.d",
    "run/sysctl.d",
    "usr/local/lib/sysctl.d",
    "usr/lib/sysctl.d",
    "lib/sysctl.d",
];
/// Read last, by `sysctl --system`.
const LAST: &str = "etc/sysctl.conf";

/// One line of a sysctl file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SysctlLine {
    /// The name, with dots.
    pub key: String,
    /// The value.
    pub value: String,
    /// The file, from the root directory without the leading slash.
    pub file: String,
    /// The number of the line.
    pub line: usize,
    /// Why it has no effect; `None` if it is in force.
    pub without_effect: Option<WithoutEffect>,
}

/// Why a line has no effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WithoutEffect {
    /// A file of the same name in another directory hides the file.
    Hidden {
        /// That file.
        by: String,
    },
    /// A later line sets the same name.
    Overridden {
        /// `FILE:LINE`.
        by: String,
        /// What it sets.
        value: String,
    },
}

impl SysctlLine {
    /// `FILE:LINE`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// Every line of the machine's sysctl files, in the order in which they count.
pub fn sysctl_lines(root: &Path) -> Vec<SysctlLine> {
    let mut files = files(root);
    files.sort_by(|a, b| a.name.cmp(&b.name).then(a.rank.cmp(&b.rank)));
    let mut found: Vec<SysctlLine> = Vec::new();
    let mut first: Option<&File> = None;
    for file in &files {
        let hiding = first.filter(|first| first.name == file.name);
        // `/lib` may be a link to `/usr/lib`: one file is not hidden by itself.
        if hiding.is_some_and(|hiding| is_same(&root.join(&hiding.path), &root.join(&file.path))) {
            continue;
        }
        read(root, file, hiding, &mut found);
        if hiding.is_none() {
            first = Some(file);
        }
    }
    mark_overridden(&mut found);
    found
}

/// A sysctl file.
#[derive(Debug)]
struct File {
    name: String,
    rank: usize,
    path: String,
}

fn files(root: &Path) -> Vec<File> {
    let mut found = Vec::new();
    for (rank, directory) in DIRECTORIES.into_iter().enumerate() {
        let entries = fs::read_dir(root.join(directory)).into_iter().flatten();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "conf") {
                found.push(File {
                    path: format!("{directory}/{name}"),
                    name,
                    rank,
                });
            }
        }
    }
    // A distribution may link it into the directory: then it is read there.
    let is_linked = found
        .iter()
        .any(|file| is_same(&root.join(&file.path), &root.join(LAST)));
    if root.join(LAST).is_file() && !is_linked {
        found.push(File {
            // After every other name.
            name: "\u{10ffff}".to_owned(),
            rank: 0,
            path: LAST.to_owned(),
        });
    }
    found
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| -> Option<PathBuf> { fs::canonicalize(path).ok() };
    let Some(one) = real(one) else {
        return false;
    };
    real(other).is_some_and(|other| one == other)
}

fn read(root: &Path, file: &File, hiding: Option<&File>, found: &mut Vec<SysctlLine>) {
    let Ok(text) = fs::read_to_string(root.join(&file.path)) else {
        return;
    };
    for (index, text) in text.lines().enumerate() {
        let Some((key, value)) = setting(text) else {
            continue;
        };
        found.push(SysctlLine {
            key,
            value,
            file: file.path.clone(),
            line: index + 1,
            without_effect: hiding.map(|hiding| WithoutEffect::Hidden {
                by: hiding.path.clone(),
            }),
        });
    }
}

/// Of lines with one name, the last that is in force stays so.
fn mark_overridden(lines: &mut [SysctlLine]) {
    for index in 0..lines.len() {
        let (before, after) = lines.split_at_mut(index + 1);
        let Some(line) = before.last_mut() else {
            continue;
        };
        if line.without_effect.is_some() {
            continue;
        }
        let later = after
            .iter()
            .rfind(|later| later.key == line.key && later.without_effect.is_none());
        if let Some(later) = later {
            line.without_effect = Some(WithoutEffect::Overridden {
                by: later.place(),
                value: later.value.clone(),
            });
        }
    }
}

/// `vm.x` and `1` of `vm/x = 1` or `-vm.x=1`; nothing of a comment.
fn setting(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    if line.starts_with(['#', ';']) {
        return None;
    }
    let (key, value) = line.split_once('=')?;
    let key = key.trim().trim_start_matches('-').replace('/', ".");
    Some((key, value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::rivals::tests::machine;
    use std::os::unix::fs::symlink;

    fn shown(root: &Path) -> Vec<String> {
        let mut shown = Vec::new();
        for line in sysctl_lines(root) {
            let effect = match &line.without_effect {
                None => "in force".to_owned(),
                Some(WithoutEffect::Hidden { by }) => format!("hidden by {by}"),
                Some(WithoutEffect::Overridden { by, value }) => format!("{by} sets {value}"),
            };
            shown.push(format!(
                "{} {}={}: {effect}",
                line.place(),
                line.key,
                line.value
            ));
        }
        shown
    }

    #[test]
    fn a_file_of_the_same_name_hides_the_other() {
        let dir = machine(&[
            ("usr/lib/sysctl.d/50-a.conf", "vm.swappiness=10\n"),
            ("etc/sysctl.d/50-a.conf", "# nothing\n"),
            ("usr/lib/sysctl.d/60-b.conf", "vm.page-cluster=0\n"),
        ]);
        symlink("/dev/null", dir.path().join("etc/sysctl.d/60-b.conf")).unwrap();
        assert_eq!(
            shown(dir.path()),
            [
                "usr/lib/sysctl.d/50-a.conf:1 vm.swappiness=10: hidden by etc/sysctl.d/50-a.conf",
                "usr/lib/sysctl.d/60-b.conf:1 vm.page-cluster=0: hidden by etc/sysctl.d/60-b.conf",
            ]
        );
    }

    #[test]
    fn the_last_line_by_the_name_of_the_file_wins() {
        let dir = machine(&[
            (
                "etc/sysctl.d/10-mine.conf",
                "-vm/swappiness = 10\n; vm.swappiness=1\n",
            ),
            ("usr/lib/sysctl.d/99-theirs.conf", "vm.swappiness=60\n"),
            ("etc/sysctl.conf", "vm.page-cluster=0\n"),
        ]);
        assert_eq!(
            shown(dir.path()),
            [
                "etc/sysctl.d/10-mine.conf:1 vm.swappiness=10: usr/lib/sysctl.d/99-theirs.conf:1 sets 60",
                "usr/lib/sysctl.d/99-theirs.conf:1 vm.swappiness=60: in force",
                "etc/sysctl.conf:1 vm.page-cluster=0: in force",
            ]
        );
    }

    #[test]
    fn a_linked_sysctl_conf_is_read_once() {
        let dir = machine(&[
            ("etc/sysctl.conf", "vm.swappiness=10\n"),
            ("etc/sysctl.d/README", ""),
        ]);
        symlink(
            "../sysctl.conf",
            dir.path().join("etc/sysctl.d/99-sysctl.conf"),
        )
        .unwrap();
        assert_eq!(
            shown(dir.path()),
            ["etc/sysctl.d/99-sysctl.conf:1 vm.swappiness=10: in force"]
        );
    }
}
