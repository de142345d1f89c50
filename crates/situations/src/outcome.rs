//! What happened in a situation.

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    /// `memory.high` was set.
    Throttle,
    /// A unit was frozen, and its user asked.
    Ask,
    /// SIGTERM was sent.
    Term,
    /// SIGKILL was sent.
    Kill,
}

impl Did {
    /// Its name in a table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throttle => "throttle",
            Self::Ask => "ask",
            Self::Term => "SIGTERM",
            Self::Kill => "SIGKILL",
        }
    }
}

/// One act of the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// Milliseconds since the situation began.
    pub at: u64,
    /// What.
    pub did: Did,
    /// For each process or unit that it met: its names, the one for people first.
    pub whom: Vec<Vec<String>>,
}

impl Act {
    /// Whether it met a process or unit of this name.
    pub fn met(&self, name: &str) -> bool {
        self.whom
            .iter()
            .any(|names| names.iter().any(|one| one == name))
    }

    /// The act in a few words.
    pub fn shown(&self) -> String {
        let first = self.whom.first();
        let name = match self.did {
            Did::Throttle | Did::Ask => first.and_then(|names| names.last()),
            Did::Term | Did::Kill => first.and_then(|names| names.first()),
        };
        let name: String = name
            .map(String::as_str)
            .unwrap_or_default()
            .escape_default()
            .collect();
        let seconds = self.at as f64 / 1000.0;
        match self.whom.len() {
            0 | 1 => format!("{seconds:.1} s {} {name}", self.did.name()),
            many => format!(
                "{seconds:.1} s {} {name} ({many} processes)",
                self.did.name()
            ),
        }
    }
}

/// All that happened.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// What the guard did, in order. A limit that is changed or undone is not in here.
    pub acts: Vec<Act>,
    /// What it said, as JSON, and when. Each kind of notice once a second at most.
    pub notices: Vec<(u64, String)>,
    /// When the kernel OOM-killed for want of memory of the machine, and the names of the victim.
    pub kernel_kills: Vec<(u64, Vec<String>)>,
    /// Processes that the other guard killed.
    pub rival_kills: u32,
    /// Signals sent less than two seconds after the other guard's last kill.
    pub crossed: u32,
    /// Milliseconds in which all tasks stalled for memory.
    pub stalled: u64,
    /// Names of `lives` of which no process is left at the end.
    pub missing: Vec<String>,
    /// When each program of `reaches` had what it wants, in milliseconds.
    pub reached: Vec<Option<u64>>,
    /// Decisions made.
    pub decisions: u32,
}
