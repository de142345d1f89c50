//! The knobs: files of the kernel that keep a number, with the bounds within which it is set.
//!
//! [`KNOBS`] is the whole list of them. No other knob can be set, put back, or named in a
//! configuration, and an undo log that names another path is refused. Other writes are no knobs:
//! limits of control groups, one-shot requests such as a compaction, and signals. To add a knob: a
//! line in [`KNOBS`] and a name in [`Knob`].

use crate::section::{Field, Section};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;

/// A file that takes a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "KNOBS says what each is")]
pub enum Knob {
    WatermarkScaleFactor,
    WatermarkBoostFactor,
    CompactionProactiveness,
    MinFreeKbytes,
    VfsCachePressure,
    VfsCachePressureDenom,
    DentryNegative,
    NegativeDentryLimit,
    Swappiness,
    PageCluster,
    ExtfragThreshold,
    DirtyBackgroundRatio,
    DirtyRatio,
    MinTtlMs,
    WorkingsetProtection,
    CleanLowRatio,
    CleanMinRatio,
    AnonMinRatio,
}

/// What may drive a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drive {
    /// The daemon, by default.
    Default,
    /// The daemon, if the configuration asks for it.
    OptIn,
    /// Only a `[[tunable]]` of the configuration.
    Tunable,
    /// Nothing: it is read, because other knobs depend on it.
    Respect,
}

/// What is known of a knob.
#[derive(Debug, Clone)]
pub struct KnobSpec {
    /// Which.
    pub knob: Knob,
    /// Its name, as `sysctl` has it, or the path under `/sys` with dots.
    pub name: &'static str,
    /// Its path from the root, without the leading slash.
    pub path: &'static str,
    /// What the kernel accepts.
    pub range: RangeInclusive<u64>,
    /// What may drive it.
    pub drive: Drive,
    /// What setting it back does not undo, if anything.
    pub sticky: Option<&'static str>,
}

macro_rules! knobs {
    ($($knob:ident $name:literal $path:literal $range:expr, $drive:ident, $sticky:expr;)*) => {
        /// Every knob, in the order of [`Knob`].
        pub const KNOBS: &[KnobSpec] = &[$(KnobSpec {
            knob: Knob::$knob, name: $name, path: $path, range: $range, drive: Drive::$drive, sticky: $sticky,
        }),*];

        const COLUMNS: &[Field] = &[$(Field { name: $name, unit: "count" }),*];
    };
}

knobs! {
    WatermarkScaleFactor "vm.watermark_scale_factor" "proc/sys/vm/watermark_scale_factor" 1..=3000, Default, None;
    WatermarkBoostFactor "vm.watermark_boost_factor" "proc/sys/vm/watermark_boost_factor" 0..=1_000_000, Default, None;
    CompactionProactiveness "vm.compaction_proactiveness" "proc/sys/vm/compaction_proactiveness" 0..=100, Default,
        Some("writing any value but 0 starts one background compaction");
    MinFreeKbytes "vm.min_free_kbytes" "proc/sys/vm/min_free_kbytes" 128..=268_435_456, OptIn,
        Some("once written, the kernel no longer recalculates it on hotplug or huge-page changes until reboot");
    VfsCachePressure "vm.vfs_cache_pressure" "proc/sys/vm/vfs_cache_pressure" 1..=1_000_000, OptIn, None;
    VfsCachePressureDenom "vm.vfs_cache_pressure_denom" "proc/sys/vm/vfs_cache_pressure_denom" 100..=1_000_000, Respect, None;
    DentryNegative "fs.dentry-negative" "proc/sys/fs/dentry-negative" 0..=1, OptIn, None;
    NegativeDentryLimit "fs.negative-dentry-limit" "proc/sys/fs/negative-dentry-limit" 0..=100, OptIn, None;
    Swappiness "vm.swappiness" "proc/sys/vm/swappiness" 0..=200, OptIn, None;
    PageCluster "vm.page-cluster" "proc/sys/vm/page-cluster" 0..=10, OptIn, None;
    ExtfragThreshold "vm.extfrag_threshold" "proc/sys/vm/extfrag_threshold" 0..=1000, Tunable, None;
    DirtyBackgroundRatio "vm.dirty_background_ratio" "proc/sys/vm/dirty_background_ratio" 0..=100, Tunable,
        Some("sets vm.dirty_background_bytes to 0");
    DirtyRatio "vm.dirty_ratio" "proc/sys/vm/dirty_ratio" 0..=100, Tunable, Some("sets vm.dirty_bytes to 0");
    MinTtlMs "mm.lru_gen.min_ttl_ms" "sys/kernel/mm/lru_gen/min_ttl_ms" 0..=600_000, OptIn, None;
    WorkingsetProtection "vm.workingset_protection" "proc/sys/vm/workingset_protection" 0..=1, OptIn, None;
    CleanLowRatio "vm.clean_low_ratio" "proc/sys/vm/clean_low_ratio" 0..=100, OptIn, None;
    CleanMinRatio "vm.clean_min_ratio" "proc/sys/vm/clean_min_ratio" 0..=100, OptIn, None;
    AnonMinRatio "vm.anon_min_ratio" "proc/sys/vm/anon_min_ratio" 0..=100, OptIn, None;
}

/// How many there are.
pub const COUNT: usize = KNOBS.len();

impl Knob {
    /// What is known of it.
    pub fn spec(self) -> &'static KnobSpec {
        &KNOBS[self as usize]
    }

    /// The knob called `name`, such as `vm.swappiness`.
    pub fn from_name(name: &str) -> Option<Self> {
        KNOBS
            .iter()
            .find(|spec| spec.name == name)
            .map(|spec| spec.knob)
    }

    /// The knob at `path`, given from the root without the leading slash.
    pub fn from_path(path: &str) -> Option<Self> {
        KNOBS
            .iter()
            .find(|spec| spec.path == path)
            .map(|spec| spec.knob)
    }
}

/// A set of knobs, as one bit for each by its place in [`KNOBS`].
///
/// A recording keeps it as a number.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KnobSet(u64);

impl KnobSet {
    /// No knob.
    pub const NONE: Self = Self(0);
    /// Every knob.
    pub const ALL: Self = Self((1 << COUNT) - 1);

    /// The set that a recording keeps as `bits`. Bits of no knob are left out.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// As a recording keeps it.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns true if `knob` is in it.
    pub const fn contains(self, knob: Knob) -> bool {
        self.0 & (1 << knob as u64) != 0
    }

    /// Returns true if no knob is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Puts `knob` in.
    pub const fn insert(&mut self, knob: Knob) {
        self.0 |= 1 << knob as u64;
    }

    /// What is in this set, in `other`, or in both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What Warmset does about the knobs of this set, if another program sets them.
    pub fn left_alone(self) -> &'static str {
        match self.iter().count() {
            1 => "leaves that knob alone and drives the others",
            COUNT => "leaves all knobs alone",
            _ => "leaves those knobs alone and drives the others",
        }
    }

    /// The knobs in it, in the order of [`KNOBS`].
    pub fn iter(self) -> impl Iterator<Item = Knob> {
        KNOBS
            .iter()
            .map(|spec| spec.knob)
            .filter(move |knob| self.contains(*knob))
    }
}

/// `vm.swappiness, vm.page-cluster and vm.dirty_ratio`.
impl fmt::Display for KnobSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.iter().count();
        for (index, knob) in self.iter().enumerate() {
            let before = match index {
                0 => "",
                _ if index + 1 == count => " and ",
                _ => ", ",
            };
            write!(f, "{before}{}", knob.spec().name)?;
        }
        Ok(())
    }
}

/// One number for each knob, or unknown.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KnobValues([Option<u64>; COUNT]);

impl KnobValues {
    /// The number for `knob`.
    pub fn of(&self, knob: Knob) -> Option<u64> {
        self.0[knob as usize]
    }

    /// Sets the number for `knob`.
    pub fn put(&mut self, knob: Knob, value: Option<u64>) {
        self.0[knob as usize] = value;
    }
}

impl Section for KnobValues {
    fn fields(&self) -> &'static [Field] {
        COLUMNS
    }

    fn get(&self, index: usize) -> Option<u64> {
        self.0.get(index).copied().flatten()
    }

    fn set(&mut self, index: usize, value: Option<u64>) {
        if let Some(slot) = self.0.get_mut(index) {
            *slot = value;
        }
    }
}

/// The knobs at one moment.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnobStates {
    /// What the kernel says. `None`: not there, not readable, or given up after it refused a write.
    pub now: KnobValues,
    /// What was found when we started; this is put back. `None` where it was not there.
    pub found: KnobValues,
    /// What we last wrote. `None` where we wrote nothing or put it back.
    pub ours: KnobValues,
}

impl KnobStates {
    /// We wrote `to`.
    pub fn set(&mut self, knob: Knob, to: u64) {
        self.now.put(knob, Some(to));
        self.ours.put(knob, Some(to));
    }

    /// We wrote what was found.
    pub fn put_back(&mut self, knob: Knob, to: u64) {
        self.now.put(knob, Some(to));
        self.ours.put(knob, None);
    }

    /// Whether another program has set `knob` after Warmset did: then it is left alone.
    pub fn is_foreign(&self, knob: Knob) -> bool {
        matches!((self.ours.of(knob), self.now.of(knob)), (Some(ours), Some(now)) if ours != now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_names() {
        for (index, spec) in KNOBS.iter().enumerate() {
            assert_eq!(spec.knob as usize, index, "{}", spec.name);
            assert_eq!(Knob::from_name(spec.name), Some(spec.knob));
            assert_eq!(Knob::from_path(spec.path), Some(spec.knob));
            assert!(
                spec.path.starts_with("proc/sys/") || spec.path.starts_with("sys/"),
                "{}",
                spec.path
            );
        }
    }

    #[test]
    fn a_set_of_knobs_is_kept_as_bits_and_named() {
        let mut set = KnobSet::NONE;
        assert!(set.is_empty());
        set.insert(Knob::Swappiness);
        assert_eq!(set.to_string(), "vm.swappiness");
        set.insert(Knob::WatermarkScaleFactor);
        set.insert(Knob::MinTtlMs);
        assert_eq!(
            set.to_string(),
            "vm.watermark_scale_factor, vm.swappiness and mm.lru_gen.min_ttl_ms"
        );
        assert!(set.contains(Knob::MinTtlMs));
        assert!(!set.contains(Knob::MinFreeKbytes));
        assert_eq!(KnobSet::from_bits(set.bits()), set);
        assert_eq!(KnobSet::from_bits(u64::MAX), KnobSet::ALL);
        assert_eq!(KnobSet::ALL.iter().count(), COUNT);
    }

    #[test]
    fn a_value_that_is_not_ours_is_foreign() {
        let mut states = KnobStates::default();
        let knob = Knob::WatermarkScaleFactor;
        states.now.put(knob, Some(10));
        assert!(!states.is_foreign(knob), "never written");
        states.ours.put(knob, Some(10));
        assert!(!states.is_foreign(knob));
        states.now.put(knob, Some(77));
        assert!(states.is_foreign(knob));
    }
}
