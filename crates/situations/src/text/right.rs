//! What is right in a situation.

use super::{Size, Time};
use serde::Deserialize;

/// What is right. What is neither asked for here nor allowed is wrong: a signal to any other process,
/// and an OOM kill by the kernel.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Right {
    /// No process is signalled or frozen. A unit may still be throttled, unless `quiet`.
    #[serde(default)]
    pub nobody: Option<bool>,
    /// No process and no unit is touched, and nothing is said of memory that runs out.
    #[serde(default)]
    pub quiet: bool,
    /// What must be done.
    #[serde(default)]
    pub acts: Vec<RightAct>,
    /// Processes and units that may be signalled besides.
    #[serde(default)]
    pub may: Vec<String>,
    /// Programs of which no process may be signalled or frozen, or be killed by the kernel.
    #[serde(default)]
    pub lives: Vec<String>,
    /// Processes and units that may not even be throttled.
    #[serde(default)]
    pub never: Vec<String>,
    /// A word that a notice or a reason must have; several are separated by `|`.
    #[serde(default)]
    pub notice: Option<String>,
    /// By when.
    #[serde(default)]
    pub notice_by: Option<Time>,
    /// Whether an OOM kill by the kernel is wrong. One for a unit's own limit never is.
    #[serde(default = "yes")]
    pub no_kernel_kill: bool,
    /// Whether the kernel may end a process that the guard may signal, too: for what is faster than any
    /// guard can look.
    #[serde(default)]
    pub kernel_may_end: bool,
    /// Programs that get what they want, and when.
    #[serde(default)]
    pub reaches: Vec<Reaches>,
    /// All tasks may stall for memory no longer than this.
    #[serde(default)]
    pub stalled_at_most: Option<Time>,
    /// No more processes than this may be signalled.
    #[serde(default)]
    pub signalled_at_most: Option<u32>,
}

/// A program that must get what it wants: a limit that holds it up for ever is wrong.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reaches {
    /// Which.
    pub whom: String,
    /// Memory of one of its processes.
    pub size: Size,
    /// By when.
    pub by: Time,
}

/// One act that must be done.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RightAct {
    /// What.
    #[serde(rename = "do")]
    pub what: Do,
    /// To a process of this name, or in this unit.
    pub whom: String,
    /// By when. Later is late.
    pub by: Time,
    /// Sooner than this is wrong.
    #[serde(default)]
    pub not_before: Time,
}

/// What may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Do {
    /// `memory.high` of its unit.
    Throttle,
    /// Its unit is frozen, and its user asked.
    Ask,
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
    /// SIGTERM or SIGKILL.
    End,
}

impl RightAct {
    /// Whether it signals or freezes.
    pub fn signals(&self) -> bool {
        self.what != Do::Throttle
    }
}

impl Right {
    /// Every name in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let acts = self.acts.iter().map(|act| act.whom.as_str());
        let lists = self.may.iter().chain(&self.lives).chain(&self.never);
        let reaching = self.reaches.iter().map(|one| one.whom.as_str());
        acts.chain(lists.map(String::as_str)).chain(reaching)
    }

    /// Whether a process of these names may be signalled or frozen.
    pub(crate) fn allows(&self, names: &[String]) -> bool {
        let acts = self.acts.iter().filter(|act| act.signals());
        let mut allowed = acts.map(|act| &act.whom).chain(&self.may);
        allowed.any(|name| names.contains(name))
    }
}

fn yes() -> bool {
    true
}
