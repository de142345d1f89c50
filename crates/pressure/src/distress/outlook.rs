//! How much headroom is left, and for how long: the numbers that distress is judged by.

use serde::{Deserialize, Serialize};
use units::{Bytes, Percent, Rate, Span};

/// How much headroom is left, and for how long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlook {
    /// Headroom for memory that cannot be reclaimed.
    #[serde(rename = "room")]
    pub headroom: Bytes,
    /// Part of the headroom that is in swap.
    pub swap: Bytes,
    /// Part of the headroom that is locked, and released before a process is killed for it.
    #[serde(default)]
    pub lent: Bytes,
    /// Part of the headroom that others give back when the kernel asks: the ZFS cache, a balloon.
    #[serde(default)]
    pub returnable: Bytes,
    /// Memory that the kernel manages, without the pools of huge pages.
    pub managed: Bytes,
    /// File cache that is counted as in use.
    pub floor: Bytes,
    /// Memory of processes that were signalled and have not freed it yet.
    pub in_flight: Bytes,
    /// How fast memory that cannot be reclaimed grows.
    pub growth: Rate,
    /// How fast headroom falls, where that is slower than `growth`: something gives memory back that is
    /// counted nowhere.
    #[serde(default)]
    pub fall: Option<Rate>,
    /// How fast tmpfs and shared memory grow: a part of `growth`.
    #[serde(default)]
    pub shared_growth: Rate,
    /// How fast memory of processes grows that is not shared: a part of `growth`.
    #[serde(default)]
    pub anon_growth: Rate,
    /// How fast the kernel's own memory grows: a part of `growth`.
    #[serde(default)]
    pub kernel_growth: Rate,
    /// How fast the pools of huge pages grow: a part of `growth`.
    #[serde(default)]
    pub huge_growth: Rate,
    /// Time until headroom and memory in flight are used up, at this growth.
    pub left: Option<Span>,
    /// Share of the last seconds in which all tasks stalled for memory.
    pub stalled: Option<Percent>,
}

impl Outlook {
    /// Time until headroom and memory in flight are used up.
    pub(crate) fn time_left(&self) -> Option<Span> {
        self.pace()
            .time_for(self.expected_headroom())
            .map(Span::new)
    }

    /// How fast memory runs out: no faster than it grows, and no faster than headroom falls.
    pub(crate) fn pace(&self) -> Rate {
        self.fall.map_or(self.growth, |fall| fall.min(self.growth))
    }

    /// Headroom with the memory in flight.
    pub(crate) fn expected_headroom(&self) -> Bytes {
        self.headroom + self.in_flight
    }

    /// The expected headroom without swap.
    pub(crate) fn headroom_in_ram(&self) -> Bytes {
        self.expected_headroom().less(self.swap)
    }

    /// The headroom without swap, and without what signalled processes are to give back.
    pub(crate) fn headroom_in_ram_now(&self) -> Bytes {
        self.headroom.less(self.swap)
    }

    /// The same outlook if lent memory were not available.
    pub(crate) fn without_lent(&self) -> Self {
        Self {
            lent: Bytes::ZERO,
            ..self.less(self.lent)
        }
    }

    /// The same outlook if nothing could be swapped out.
    pub(crate) fn without_swap(&self) -> Self {
        Self {
            swap: Bytes::ZERO,
            ..self.less(self.swap)
        }
    }

    /// The same outlook if `victim` bytes in flight were not on their way back.
    pub(crate) fn without_in_flight(&self, victim: Bytes) -> Self {
        let mut poorer = *self;
        poorer.in_flight = self.in_flight.less(victim);
        poorer.left = poorer.time_left();
        poorer
    }

    pub(super) fn less(&self, amount: Bytes) -> Self {
        let mut poorer = *self;
        poorer.headroom = self.headroom.less(amount);
        poorer.left = poorer.time_left();
        poorer
    }

    /// Whether headroom is used up within `ahead` and is no more than `reserve`.
    pub(crate) fn ends_within(&self, ahead: Span, reserve: Bytes) -> bool {
        self.left.is_some_and(|left| left <= ahead) && self.expected_headroom() <= reserve
    }
}
