//! Why a rule matches nothing, and what to write instead.

use host::processes::survey::Process;
use pressure::rules::{Rule, matches_text};
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Letters that the kernel keeps of a name.
const NAME_LETTERS: usize = 15;
/// Where programs of root's are. Those of a desktop are often one directory deeper.
const PROGRAMS: [&str; 8] = [
    "usr/bin",
    "usr/sbin",
    "usr/local/bin",
    "usr/local/sbin",
    "usr/libexec",
    "usr/lib",
    "bin",
    "sbin",
];
/// Links that are followed, at most: as many as the kernel follows.
const LINKS: usize = 40;

/// The machine that rules are tried on.
pub(super) struct Machine<'m> {
    pub(super) root: &'m Path,
    pub(super) processes: &'m [Process],
}

impl Machine<'_> {
    /// Why a rule that matches nothing now can match nothing ever; `None` if it may.
    pub(super) fn why_never(&self, rule: &Rule) -> Option<String> {
        if let Some(fault) = rule.fault() {
            return Some(fault);
        }
        if let Some(name) = rule.program() {
            return self.longer_program(name);
        }
        self.other_file(rule.exe()?)
    }

    /// What to know of a rule that matches nothing now.
    pub(super) fn why_not_now(&self, rule: &Rule) -> Option<String> {
        if let Some(pid) = rule.pid() {
            return Some(self.other_process(pid));
        }
        if let Some(name) = rule.program() {
            return self
                .not_roots(name)
                .or_else(|| self.linked_program(name))
                .or_else(|| looks_like_a_name(name));
        }
        if let Some(unit) = rule.system_unit() {
            return self.only_as(unit, &format!("app:{unit}"), "a unit that a user started");
        }
        if let Some(unit) = rule.app() {
            return self.only_as(unit, unit, "a unit of the system");
        }
        if let Some(path) = rule.exe() {
            let is_absent = !path.contains('*') && !self.path(path).exists();
            return is_absent.then(|| "there is no such file".to_owned());
        }
        if let Some(text) = rule.command() {
            let is_whole = !text.contains('*');
            return is_whole.then(|| {
                format!(
                    "without a star the command line must be this and no more: command:*{text}*"
                )
            });
        }
        let group = rule.cgroup().filter(|path| !path.contains('*'))?;
        let directory = self.path(&format!("/sys/fs/cgroup{group}"));
        (!directory.exists()).then(|| "there is no such cgroup now".to_owned())
    }

    /// A program with a longer name, if this one was cut and there is none that is called so.
    fn longer_program(&self, name: &str) -> Option<String> {
        if name.len() != NAME_LETTERS || name.contains('*') {
            return None;
        }
        let mut longer = None;
        let running = self.processes.iter().map(|it| base(&it.exe).to_owned());
        for other in running.chain(self.installed()) {
            if other == name {
                return None;
            }
            if other.starts_with(name) {
                longer = Some(other);
            }
        }
        let longer = longer?;
        Some(format!(
            "the kernel cuts names to 15 letters, and a program is known by its file's whole name: write \
             program:{longer}"
        ))
    }

    /// Names of files in the directories of programs.
    fn installed(&self) -> Vec<String> {
        let mut names = Vec::new();
        for directory in PROGRAMS {
            for entry in entries(&self.root.join(directory)) {
                let is_deep = directory.starts_with("usr/lib");
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_deep && is_directory {
                    let inside = entries(&entry.path());
                    names.extend(
                        inside
                            .iter()
                            .filter_map(|it| it.file_name().into_string().ok()),
                    );
                }
                names.extend(entry.file_name().into_string().ok());
            }
        }
        names
    }

    /// What to write for a file that never runs under this path: a link, or a script.
    fn other_file(&self, path: &str) -> Option<String> {
        if path.contains('*') {
            return None;
        }
        let real = self.resolved(path)?;
        if real != Path::new(path) {
            return Some(format!(
                "this is a link, and a process runs the file that it leads to: write exe:{}",
                real.display()
            ));
        }
        let file = self.path(path);
        if file.is_dir() {
            return Some(format!("this is a directory: write exe:{path}/*"));
        }
        let mut beginning = [0; 2];
        let mut file = fs::File::open(file).ok()?;
        std::io::Read::read_exact(&mut file, &mut beginning).ok()?;
        if &beginning != b"#!" {
            return None;
        }
        let name = base(path);
        Some(format!(
            "this is a script, and the file that runs is its interpreter: write program:{name} if root owns both, \
             else command:*{path}*"
        ))
    }

    /// A process of this name whose file is not root's.
    fn not_roots(&self, name: &str) -> Option<String> {
        let found = self.processes.iter().find(|process| {
            let known_as = [process.candidate.name.as_str(), base(&process.exe)];
            known_as.iter().any(|it| matches_text(name, *it))
        })?;
        let called = found.candidate.name;
        let pid = found.candidate.identity.pid;
        if found.exe.is_empty() {
            return Some(format!(
                "{called} ({pid}) is called so, and which file it runs is not known"
            ));
        }
        if found.candidate.foreign_code {
            return Some(format!(
                "{called} ({pid}) runs code of a file that is not root's, so it does not count as {name}"
            ));
        }
        Some(format!(
            "{called} ({pid}) is called so, and runs {}, which is not root's or has another name: write exe:{}",
            found.exe, found.exe
        ))
    }

    /// What a program that is a link is called when it runs.
    fn linked_program(&self, name: &str) -> Option<String> {
        if name.contains('*') {
            return None;
        }
        let found = PROGRAMS
            .iter()
            .map(|directory| format!("/{directory}/{name}"))
            .find_map(|path| self.resolved(&path))?;
        let other = found.file_name()?.to_str()?;
        (other != name).then(|| format!("{name} is a link, and runs as: program:{other}"))
    }

    /// Which process has the number, if another has it or none.
    fn other_process(&self, pid: u32) -> String {
        let found = self
            .processes
            .iter()
            .find(|process| process.candidate.identity.pid == pid);
        match found {
            Some(process) => {
                let identity = process.candidate.identity;
                format!(
                    "process {pid} is a later one: {} (pid:{pid}@{})",
                    process.candidate.name, identity.start
                )
            }
            None => format!("there is no process {pid} now"),
        }
    }

    /// The other spelling, if a unit of this name is of the other kind.
    fn only_as(&self, unit: &str, other: &str, what: &str) -> Option<String> {
        let is_other = self
            .processes
            .iter()
            .any(|process| matches_text(unit, process.candidate.unit.as_str()));
        is_other.then(|| format!("{unit} is {what} here: write {other}"))
    }

    fn path(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    /// Where a path leads on this machine, through all links; `None` if there is nothing.
    fn resolved(&self, path: &str) -> Option<PathBuf> {
        let mut rest: Vec<PathBuf> = parts(Path::new(path));
        let mut real = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = rest.pop() {
            if part == Path::new("..") {
                real.pop();
                continue;
            }
            let next = real.join(&part);
            let there = self.root.join(next.strip_prefix("/").ok()?);
            if !fs::symlink_metadata(&there).ok()?.is_symlink() {
                real = next;
                continue;
            }
            links += 1;
            if links > LINKS {
                return None;
            }
            let target = fs::read_link(&there).ok()?;
            if target.is_absolute() {
                real = PathBuf::from("/");
            }
            rest.extend(parts(&target));
        }
        Some(real)
    }
}

/// What to write if this is rather what a process calls itself than a file's name.
fn looks_like_a_name(name: &str) -> Option<String> {
    let what = if name.contains(' ') {
        "files of programs hardly have a blank in their names"
    } else if name.len() == NAME_LETTERS && !name.contains('*') {
        "the kernel cuts names to 15 letters, and this one has 15"
    } else {
        return None;
    };
    Some(format!(
        "{what}: what a process calls itself is name:{name}, in avoid and prefer"
    ))
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<PathBuf> = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| PathBuf::from(part.as_os_str()))
        .collect();
    parts.reverse();
    parts
}

fn entries(directory: &Path) -> Vec<fs::DirEntry> {
    fs::read_dir(directory)
        .map(|entries| entries.flatten().collect())
        .unwrap_or_default()
}

fn base(path: &str) -> &str {
    let name = Path::new(path).file_name().and_then(OsStr::to_str);
    name.unwrap_or_default()
}
