//! The configuration: typed, with units, checked once.
//!
//! Text becomes a [`Config`] by [`Config::parse`]: an unknown key, a wrong unit or a value out of
//! range is an error with its line and column. Drop-ins are laid over the main file key by key
//! before that ([`Layers`]), so that what is checked is what runs.

mod balance;
mod caches;
mod consistent;
mod gap;
mod guard;
mod hooks;
mod layers;
mod loopback;
mod position;
mod protect_keys;
mod renamed;
mod squeeze;
mod text;

pub use balance::Balance;
pub use caches::{Caches, NegativeDentries, Prefer};
pub use gap::{Gap, Share};
pub use guard::{Guard, Leaf};
pub use hooks::{Hooks, Occasion};
pub use layers::{ConfigError, Layers};
pub use loopback::Loopback;
pub use protect_keys::{MOST_NAMED, Protect, is_protected, named_fault};
pub use squeeze::Squeeze;

use crate::event::Event;
use crate::knob::Knob;
use serde::{Deserialize, Serialize};
use units::{Bytes, Span};

/// Every limit and switch. [`Config::default`] is what runs without a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// What we may do.
    pub mode: Mode,
    /// How the gap is found.
    pub predictor: Predictor,
    /// 1 gentle, 2 normal, 3 eager; sets the quantile and the budget of the gap, and the
    /// founding design's period, highest factor and order.
    pub aggressiveness: Aggressiveness,
    /// 0 nothing but errors · 1 actions · 2 reasons · 3 rates · 4 every tick · 5 everything.
    pub verbosity: Verbosity,
    /// Where messages go.
    pub log: Log,
    /// Memory held free ahead of demand.
    pub gap: Gap,
    /// Free blocks ahead of requests for them.
    pub compaction: Compaction,
    /// Caches of names and inodes.
    pub caches: Caches,
    /// What reclaim takes first.
    pub balance: Balance,
    /// Memory that nothing accounts for.
    pub leak: Leak,
    /// Which process is killed when memory runs out, and when.
    pub guard: Guard,
    /// What is held in memory.
    pub protect: Protect,
    /// What is taken of units that do not use it.
    pub squeeze: Squeeze,
    /// Programs that are run when something happens.
    pub hooks: Hooks,
    /// When to look.
    pub wake: Wake,
    /// What is kept for `why` and `replay`.
    pub recording: Recording,
    /// What is exported.
    pub metrics: Metrics,
    /// Knobs set once, or after an event.
    #[serde(rename = "tunable")]
    pub tunables: Vec<Tunable>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Protect,
            predictor: Predictor::BaseStock,
            aggressiveness: Aggressiveness(2),
            verbosity: Verbosity(1),
            log: Log::Auto,
            gap: Gap::default(),
            compaction: Compaction::default(),
            caches: Caches::default(),
            balance: Balance::default(),
            leak: Leak::default(),
            guard: Guard::default(),
            protect: Protect::default(),
            squeeze: Squeeze::default(),
            hooks: Hooks::default(),
            wake: Wake::default(),
            recording: Recording::default(),
            metrics: Metrics::default(),
            tunables: Vec::new(),
        }
    }
}

/// What we may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Look, forecast, explain; write nothing.
    Observe,
    /// Also drive watermarks, compaction and per-node reclaim.
    Tune,
    /// Also kill a runaway before memory runs out.
    Guard,
    /// Also hold files in use in memory, and floors for units, as far as `[protect]` says.
    Protect,
}

impl Mode {
    /// Whether processes may be throttled and ended.
    pub const fn ends_processes(self) -> bool {
        matches!(self, Self::Guard | Self::Protect)
    }

    /// Whether the process to kill is chosen. The mode `observe` only says which it would have been.
    pub const fn guards(self) -> bool {
        !matches!(self, Self::Tune)
    }
}

/// How the gap is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Predictor {
    /// A quantile of demand over kswapd's response time.
    BaseStock,
    /// The founding design: least squares over eight samples of free pages.
    Classic,
}

/// Where messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Log {
    /// The journal under systemd, standard error elsewhere.
    Auto,
    /// Standard error.
    Stderr,
    /// The journal's own socket, with fields.
    Journal,
    /// The system log's socket.
    Syslog,
}

/// 1 gentle, 2 normal, 3 eager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Aggressiveness(u8);

/// 0 to 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Verbosity(u8);

macro_rules! level {
    ($type:ident, $range:pat, $says:literal) => {
        impl TryFrom<u8> for $type {
            type Error = String;
            fn try_from(level: u8) -> Result<Self, String> {
                if matches!(level, $range) {
                    Ok(Self(level))
                } else {
                    Err(format!("{level} is not {}", $says))
                }
            }
        }
        impl From<$type> for u8 {
            fn from(level: $type) -> u8 {
                level.0
            }
        }
        impl $type {
            /// The plain number.
            pub const fn get(self) -> u8 {
                self.0
            }
        }
    };
}

level!(Aggressiveness, 1..=3, "an aggressiveness of 1, 2 or 3");
level!(Verbosity, 0..=5, "a verbosity of 0 to 5");

/// Free blocks ahead of requests for them: a gentle ladder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Compaction {
    /// Drive compaction at all.
    pub enabled: bool,
    /// Highest `vm.compaction_proactiveness` to set.
    pub max_proactiveness: Proactiveness,
    /// Requests are expected over this time.
    #[serde(with = "text")]
    pub horizon: Span,
    /// Least time between two compactions of one node; each blocks a whole node's free lists.
    #[serde(with = "text")]
    pub node_interval: Span,
}

impl Default for Compaction {
    fn default() -> Self {
        Self {
            enabled: true,
            max_proactiveness: Proactiveness(60),
            horizon: Span::secs(5),
            node_interval: Span::secs(60),
        }
    }
}

/// 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Proactiveness(u8);

level!(Proactiveness, 0..=100, "a proactiveness of 0 to 100");

/// Memory that nothing accounts for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Leak {
    /// Watch for it.
    pub enabled: bool,
    /// Growth below this is not worth a word.
    #[serde(with = "text")]
    pub least: Bytes,
    /// Time between two points of the alarm's history of 16.
    #[serde(with = "text")]
    pub every: Span,
}

impl Default for Leak {
    fn default() -> Self {
        Self {
            enabled: true,
            least: Bytes::mib(64),
            every: Span::secs(60),
        }
    }
}

/// When to look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Wake {
    /// Shortest wait, under load.
    #[serde(with = "text")]
    pub fastest: Span,
    /// Longest wait, on a calm machine.
    #[serde(with = "text")]
    pub calmest: Span,
    /// Stall within `pressure_window` at which the kernel wakes us.
    #[serde(with = "text")]
    pub pressure_stall: Span,
    /// Window of the pressure trigger: 500 ms to 10 s.
    #[serde(with = "text")]
    pub pressure_window: Span,
}

impl Default for Wake {
    fn default() -> Self {
        Self {
            fastest: Span::millis(100),
            calmest: Span::secs(6),
            pressure_stall: Span::millis(20),
            pressure_window: Span::millis(500),
        }
    }
}

/// What is kept for `why` and `replay`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recording {
    /// Keep one at all.
    pub enabled: bool,
    /// Size at which a file is closed and the next begun.
    #[serde(with = "text")]
    pub file_size: Bytes,
    /// Size of all files together: beyond it the oldest are deleted.
    #[serde(with = "text")]
    pub size: Bytes,
    /// Files that were last written longer ago are deleted.
    #[serde(with = "text")]
    pub age: Span,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            enabled: true,
            file_size: Bytes::mib(8),
            size: Bytes::mib(64),
            age: Span::secs(30 * 86_400),
        }
    }
}

/// What is exported.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Metrics {
    /// Directory in which `warmset.prom` is renewed, as node_exporter's textfile collector reads it.
    pub textfile: Option<String>,
    /// Loopback address and port to answer `GET /metrics` on, such as `127.0.0.1:9750`. The unix socket
    /// answers in any case.
    #[serde(with = "text::optional")]
    pub listen: Option<Loopback>,
}

/// A knob set once, or after an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tunable {
    /// Its name, such as `vm.swappiness`.
    #[serde(with = "text::knob")]
    pub knob: Knob,
    /// What it shall be.
    pub value: u64,
    /// When.
    #[serde(default = "at_start")]
    pub on: Event,
}

fn at_start() -> Event {
    Event::Start
}

#[cfg(test)]
mod tests;
