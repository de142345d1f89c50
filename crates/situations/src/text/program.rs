//! The programs of a situation, and what they do over time.

use super::{Often, Size, Speed, Time};
pub use pressure::scan::Mark;
use serde::Deserialize;

/// A program, or several alike.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Program {
    /// What its processes call themselves.
    pub name: String,
    /// What this text calls it, where its name does not tell it from others.
    #[serde(default)]
    pub called: Option<String>,
    /// The file that they run. `/usr/bin` and the name if it is left out.
    #[serde(default)]
    pub file: Option<String>,
    /// Whether root owns that file. Files below `/usr`, `/opt` and `/nix` are root's if it is left out.
    #[serde(default)]
    pub roots: Option<bool>,
    /// The script of root's that the file, an interpreter, runs.
    #[serde(default)]
    pub script: Option<String>,
    /// The command line, for rules that look at it.
    #[serde(default)]
    pub command: Option<String>,
    /// Whether it runs code of a file that is not root's, as by `LD_PRELOAD`.
    #[serde(default)]
    pub foreign_code: bool,
    /// The cgroup.
    #[serde(default = "session")]
    pub unit: String,
    /// The user; by the cgroup if it is left out.
    #[serde(default)]
    pub user: Option<u32>,
    /// `oom_score_adj`.
    #[serde(default)]
    pub oom_score_adj: i16,
    /// How many there are. Several alike are a family.
    #[serde(default = "one")]
    pub count: u32,
    /// Time between two starts of several alike.
    #[serde(default)]
    pub apart: Time,
    /// When it starts; before the situation begins if it is left out.
    #[serde(default)]
    pub starts: Option<Time>,
    /// The name of the program that starts it: no more are started when that has ended.
    #[serde(default)]
    pub parent: Option<String>,
    /// What it belongs to, if another program of the text belongs to the same family.
    #[serde(default)]
    pub family: Option<String>,
    /// Whether it has a terminal.
    #[serde(default)]
    pub terminal: bool,
    /// Anonymous memory at its start.
    #[serde(default)]
    pub has: Size,
    /// What grows: anonymous memory if it is left out.
    #[serde(default)]
    pub memory: Kind,
    /// The mount that a `tmpfs` program writes to.
    #[serde(default)]
    pub mount: Option<String>,
    /// How fast it grows.
    #[serde(default)]
    pub grows: Speed,
    /// To which size, `has` not counted in if `memory` is another kind. Without it growth never ends.
    #[serde(default)]
    pub to: Option<Size>,
    /// What it does then.
    #[serde(default)]
    pub then: Then,
    /// What it does after that, or instead: `"wait 5 s"`, `"grow 1 GiB/s to 12 GiB"`, `"shrink to 1
    /// GiB"`, `"exit"`, `"repeat"`.
    #[serde(default)]
    pub later: Vec<Phase>,
    /// How much of its memory it touches a second.
    #[serde(default)]
    pub touches: Speed,
    /// How much of its memory that is, the same again and again; all if it is left out and it touches
    /// any.
    #[serde(default)]
    pub uses: Option<Size>,
    /// It forks copies of itself.
    #[serde(default)]
    pub forks: Option<Forks>,
    /// How fast it reads a file that is larger than memory.
    #[serde(default)]
    pub streams: Speed,
    /// How fast it writes to a file on disk.
    #[serde(default)]
    pub writes: Speed,
    /// What it does at SIGTERM.
    #[serde(default)]
    pub on_term: OnTerm,
    /// Time from the signal that ends it until its memory begins to be freed.
    #[serde(default)]
    pub lingers: Time,
    /// Whether it is in a sleep that no signal ends.
    #[serde(default)]
    pub stuck: bool,
    /// It is started again so long after its end.
    #[serde(default)]
    pub respawns: Option<Time>,
}

/// Copies of itself.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Forks {
    /// How often.
    pub rate: Often,
    /// No more than so many at once.
    pub most: u32,
    /// Whether the copies fork, too.
    #[serde(default)]
    pub all: bool,
}

/// A kind of memory.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Anonymous memory.
    #[default]
    Anon,
    /// Shared memory without a name that it maps.
    Shared,
    /// A memfd that it writes to.
    Memfd,
    /// Files on a tmpfs. They stay when it ends.
    Tmpfs,
    /// Pages of the pool of huge pages. The pool grows with them.
    Hugetlb,
    /// Page tables.
    PageTables,
    /// Memory of the kernel that no process owns. It stays when the program ends.
    Slab,
    /// A file that it maps.
    File,
}

/// What comes after growth.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// It keeps what it has.
    #[default]
    Stay,
    /// It exits.
    Exit,
    /// It frees what it took.
    Free,
}

/// One thing that a program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Phase {
    /// Grows at a rate to a size; without a size it never ends.
    Grow(Speed, Option<Size>),
    /// Waits.
    Wait(Time),
    /// Frees all but this.
    Shrink(Size),
    /// Exits.
    Exit,
    /// Begins anew.
    Repeat,
}

impl TryFrom<String> for Phase {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
        let rest = rest.to_owned();
        match word {
            "wait" => Time::try_from(rest)
                .map(Self::Wait)
                .map_err(|error| error.to_string()),
            "grow" => match rest.split_once(" to ") {
                Some((speed, size)) => {
                    let size =
                        Size::try_from(size.to_owned()).map_err(|error| error.to_string())?;
                    Speed::try_from(speed.to_owned()).map(|speed| Self::Grow(speed, Some(size)))
                }
                None => Speed::try_from(rest).map(|speed| Self::Grow(speed, None)),
            },
            "shrink" => {
                let size = rest.strip_prefix("to ").unwrap_or_default().to_owned();
                Size::try_from(size)
                    .map(Self::Shrink)
                    .map_err(|error| error.to_string())
            }
            "exit" => Ok(Self::Exit),
            "repeat" => Ok(Self::Repeat),
            _ => Err(format!(
                "{text:?} is not \"wait 5 s\", \"grow 1 GiB/s to 12 GiB\", \"shrink to 1 GiB\", \"exit\" or \"repeat\""
            )),
        }
    }
}

/// What a program does at SIGTERM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum OnTerm {
    /// It exits after this time.
    Exits(Time),
    /// It goes on.
    Ignores,
}

impl Default for OnTerm {
    fn default() -> Self {
        Self::Exits(Time::default())
    }
}

impl TryFrom<String> for OnTerm {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text == "ignores" {
            return Ok(Self::Ignores);
        }
        let time = text
            .strip_prefix("exits after ")
            .and_then(|time| Time::try_from(time.to_owned()).ok());
        time.map(Self::Exits)
            .ok_or_else(|| format!("{text:?} is not \"ignores\" or \"exits after 100 ms\""))
    }
}

/// Properties of a cgroup.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Unit {
    /// Its path.
    pub path: String,
    /// Its `memory.max`.
    #[serde(default)]
    pub max: Option<Size>,
    /// Its `memory.high`, as its administrator set it.
    #[serde(default)]
    pub high: Option<Size>,
    /// Whether the kernel kills it whole (`OOMPolicy=kill`).
    #[serde(default)]
    pub oom_group: bool,
    /// What `ManagedOOMPreference=` asks for.
    #[serde(default)]
    pub mark: Mark,
    /// File cache that it has at the start, idle.
    #[serde(default)]
    pub cache: Size,
}

fn one() -> u32 {
    1
}

fn session() -> String {
    "/user.slice/user-1000.slice/session-2.scope".to_owned()
}

impl Program {
    /// The file that it runs.
    pub fn exe(&self) -> String {
        let default = || format!("/usr/bin/{}", self.name);
        self.file.clone().unwrap_or_else(default)
    }

    /// Whether root owns that file.
    pub fn is_roots(&self) -> bool {
        let exe = self.exe();
        let by_path = ["/usr/", "/opt/", "/nix/"]
            .iter()
            .any(|directory| exe.starts_with(directory));
        self.roots.unwrap_or(by_path)
    }

    /// Its user: of the slice that the cgroup is in, else root.
    pub fn uid(&self) -> u32 {
        let by_slice = || {
            let rest = self.unit.split_once("user-")?.1;
            rest.split_once(".slice")?.0.parse().ok()
        };
        self.user.or_else(by_slice).unwrap_or(0)
    }

    /// All that it does, in order.
    pub fn phases(&self) -> Vec<Phase> {
        let mut phases = Vec::new();
        if self.grows != Speed::default() {
            phases.push(Phase::Grow(self.grows, self.to));
            match self.then {
                Then::Stay => {}
                Then::Exit => phases.push(Phase::Exit),
                Then::Free => phases.push(Phase::Shrink(self.has)),
            }
        }
        phases.extend(self.later.iter().copied());
        phases
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let name = &self.name;
        if !self.unit.starts_with('/') {
            return Err(format!(
                "unit of {name:?}: {:?} is no path of a cgroup: begin with \"/\"",
                self.unit
            ));
        }
        if self.memory == Kind::Tmpfs && self.mount.is_none() {
            return Err(format!("{name:?} fills a tmpfs: say its `mount`"));
        }
        let loops = self.later.contains(&Phase::Repeat);
        let moves = |phase: &Phase| matches!(phase, Phase::Wait(_) | Phase::Grow(..));
        if loops && !self.phases().iter().any(moves) {
            return Err(format!(
                "{name:?} repeats what takes no time: add a \"wait\""
            ));
        }
        Ok(())
    }
}
