//! Memory held free ahead of demand.

use super::text;
use serde::{Deserialize, Serialize};
use units::{Bytes, Percent, Span};

/// Memory held free ahead of demand: the gap between the min and low watermarks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Gap {
    /// Drive the watermarks at all.
    pub enabled: bool,
    /// Most the gap may be, in bytes or as a share of memory; `None` lets the aggressiveness say.
    /// Less withholds less and stalls more.
    #[serde(with = "text::optional")]
    pub max: Option<Share>,
    /// MemAvailable is never pushed below this, in bytes or as a share of memory, nor below a rival
    /// guard's threshold and 2 % more. More leaves the gap smaller when programs fill memory.
    #[serde(with = "text")]
    pub available_floor: Share,
    /// Time a task loses when an allocation reclaims for itself. With `refault_cost` it sets the
    /// quantile of demand to be covered: stall / (stall + refault).
    #[serde(with = "text")]
    pub stall_cost: Span,
    /// Time lost by a refault.
    #[serde(with = "text")]
    pub refault_cost: Span,
    /// Half-life of the memory of demand: longer remembers rarer bursts.
    #[serde(with = "text")]
    pub half_life: Span,
    /// Quiet needed before held memory is given back; more where this load's own pauses are longer.
    #[serde(with = "text")]
    pub give_back_after: Span,
    /// Least time between two writes of the factor: each resets the kernel's boost and its
    /// per-CPU lists.
    #[serde(with = "text")]
    pub settle: Span,
    /// Changes smaller than this share of the gap are not worth a write.
    #[serde(with = "text")]
    pub dead_band: Percent,
    /// Refaults per second that are accepted before the gap is narrowed.
    pub refault_target: u64,
    /// Keep the watermark boost at its bytes of before while the gap is raised.
    pub cap_boost: bool,
    /// Start reclaim on a node that is short, where the kernel has the file, instead of waiting
    /// for the next slow allocation.
    pub reclaim_ahead: bool,
    /// Raise `vm.min_free_kbytes` to this. Not fully undone by putting it back; see `warmset features`.
    #[serde(with = "text::optional")]
    pub min_free: Option<Bytes>,
}

impl Default for Gap {
    fn default() -> Self {
        Self {
            enabled: true,
            max: None,
            available_floor: Share::Percent(Percent::new(5)),
            stall_cost: Span::millis(10),
            refault_cost: Span::new(std::time::Duration::from_micros(100)),
            half_life: Span::secs(600),
            give_back_after: Span::secs(8),
            settle: Span::secs(2),
            dead_band: Percent::new(10),
            refault_target: 200,
            cap_boost: true,
            reclaim_ahead: true,
            min_free: None,
        }
    }
}

/// Bytes, or a share of the machine's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", rename_all = "kebab-case")]
pub enum Share {
    /// So much.
    Bytes(Bytes),
    /// This share.
    Percent(Percent),
}

/// As recordings have it. In older ones some were shares only, a number of hundredths of a per cent.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Hundredths(u64),
    Kind(Kind),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Bytes(Bytes),
    Percent(Percent),
}

impl From<Stored> for Share {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Hundredths(share) => Self::Percent(Percent::hundredths(share)),
            Stored::Kind(Kind::Bytes(bytes)) => Self::Bytes(bytes),
            Stored::Kind(Kind::Percent(share)) => Self::Percent(share),
        }
    }
}

impl Default for Share {
    fn default() -> Self {
        Self::Percent(Percent::ZERO)
    }
}

impl Share {
    /// In bytes, of a machine with `managed` memory.
    pub fn of(self, managed: Bytes) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => percent.of(managed),
        }
    }
}
