//! adaptivemmd and its predecessor memoptimizer: which knobs their configuration lets them drive.

use super::ini::{Line, lines};
use pressure::knob::{Knob, KnobSet};
use std::fs;
use std::path::Path;

/// Where their packages have the file.
const DIRECTORIES: [&str; 2] = ["etc/sysconfig", "etc/default"];

/// What the daemon `name` drives on the machine at `root`. Without a file it does all that it can.
///
/// adaptivemmd compacts by itself where it keeps the watermarks, so the kernel's own compaction is left alone, too.
/// memoptimizer has no keys for that and does no more.
pub(super) fn knobs(root: &Path, name: &str) -> KnobSet {
    let text = DIRECTORIES
        .iter()
        .find_map(|directory| fs::read_to_string(root.join(directory).join(name)).ok())
        .unwrap_or_default();
    let is_adaptivemmd = name == "adaptivemmd";
    let mut watermarks = true;
    let mut negative_dentries = is_adaptivemmd;
    let mut objects = is_adaptivemmd;
    for line in lines(&text) {
        let Line::Setting(key, value) = line else {
            continue;
        };
        match key {
            "ENABLE_FREE_PAGE_MGMT" => watermarks = is_on(value),
            "ENABLE_NEG_DENTRY_MGMT" => negative_dentries = is_on(value),
            "PREFER_OBJECT_CACHING" => objects = is_on(value),
            _ => {}
        }
    }
    let mut knobs = KnobSet::NONE;
    if watermarks {
        knobs.insert(Knob::WatermarkScaleFactor);
        knobs.insert(Knob::CompactionProactiveness);
    }
    if negative_dentries {
        knobs.insert(Knob::NegativeDentryLimit);
        knobs.insert(Knob::DentryNegative);
    }
    if objects {
        knobs.insert(Knob::VfsCachePressure);
    }
    knobs
}

/// Any number but 0, as they read it.
fn is_on(value: &str) -> bool {
    let digits = value.split(|c: char| !c.is_ascii_digit()).next();
    digits.is_none_or(|digits| digits.is_empty() || digits.bytes().any(|digit| digit != b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::rivals::tests::machine;

    #[test]
    fn what_is_switched_off_is_not_theirs() {
        let all = machine(&[]);
        assert_eq!(
            knobs(all.path(), "adaptivemmd").to_string(),
            "vm.watermark_scale_factor, vm.compaction_proactiveness, vm.vfs_cache_pressure, fs.dentry-negative \
             and fs.negative-dentry-limit"
        );
        assert_eq!(
            knobs(all.path(), "memoptimizer").to_string(),
            "vm.watermark_scale_factor and vm.compaction_proactiveness"
        );
        let some = machine(&[(
            "etc/sysconfig/adaptivemmd",
            "# ENABLE_NEG_DENTRY_MGMT = 1\nENABLE_NEG_DENTRY_MGMT = 0\nPREFER_OBJECT_CACHING=0 \n",
        )]);
        assert_eq!(
            knobs(some.path(), "adaptivemmd").to_string(),
            "vm.watermark_scale_factor and vm.compaction_proactiveness"
        );
    }
}
