//! Tables that people have: where their columns are, as those who published them say.

use crate::roles::{Column, Roles, SECTOR, Tick, Unit};

/// A published kind of table without a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// UMass SPC: unit, block, bytes, r or w, seconds.
    Spc,
    /// MSR Cambridge: ticks, host, disk, Read or Write, offset, bytes, response.
    Msr,
    /// Twitter's caches: seconds, key, bytes of the key and of the value, client, operation, time to live.
    Twitter,
    /// Alibaba's disks: device, R or W, offset, bytes, microseconds.
    Alibaba,
    /// Tencent's disks: seconds, block, blocks, 0 or 1, volume.
    Tencent,
    /// IBM's object store: milliseconds, request, object, bytes, and where in it.
    Ibm,
    /// LRB, webcachesim, AdaptSize, Wikimedia 2018: time, object, bytes, and features.
    Lrb,
}

impl Preset {
    /// The name of its format.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spc => "spc",
            Self::Msr => "msr",
            Self::Twitter => "twitter",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::Ibm => "ibm",
            Self::Lrb => "lrb",
        }
    }

    /// Whether its requests are of disks: these are recorded when they complete, and begin at any time.
    pub(crate) fn is_of_disks(self) -> bool {
        matches!(self, Self::Spc | Self::Msr | Self::Alibaba | Self::Tencent)
    }

    pub(crate) fn roles(self) -> Roles {
        let at = Column::Number;
        let comma = Some(b',');
        match self {
            Self::Spc => Roles {
                size: Some((at(3), 1)),
                time: Some((at(5), Tick::SECOND)),
                op: Some(at(4)),
                disk: Some(at(1)),
                delimiter: comma,
                ..Roles::of(at(2), Unit::Sectors)
            },
            Self::Msr => Roles {
                size: Some((at(6), 1)),
                time: Some((at(1), Tick::HUNDRED_NANOSECONDS)),
                op: Some(at(4)),
                disk: Some(at(3)),
                delimiter: comma,
                ..Roles::of(at(5), Unit::Bytes)
            },
            Self::Twitter => Roles {
                size: Some((at(4), 1)),
                time: Some((at(1), Tick::SECOND)),
                op: Some(at(6)),
                delimiter: comma,
                ..Roles::of(at(2), Unit::Keys)
            },
            Self::Alibaba => Roles {
                size: Some((at(4), 1)),
                time: Some((at(5), Tick::MICROSECOND)),
                op: Some(at(2)),
                disk: Some(at(1)),
                delimiter: comma,
                ..Roles::of(at(3), Unit::Bytes)
            },
            Self::Tencent => Roles {
                size: Some((at(3), SECTOR)),
                time: Some((at(1), Tick::SECOND)),
                op: Some(at(4)),
                disk: Some(at(5)),
                delimiter: comma,
                ..Roles::of(at(2), Unit::Sectors)
            },
            Self::Ibm => Roles {
                size: Some((at(4), 1)),
                time: Some((at(1), Tick::MILLISECOND)),
                op: Some(at(2)),
                delimiter: Some(b' '),
                ..Roles::of(at(3), Unit::Keys)
            },
            Self::Lrb => Roles {
                size: Some((at(3), 1)),
                time: Some((at(1), Tick::SECOND)),
                ..Roles::of(at(2), Unit::NumbersOrKeys)
            },
        }
    }
}
