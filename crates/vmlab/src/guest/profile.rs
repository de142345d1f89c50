//! Where the kernel is at the ticks of its clock: its own `profile=`, `/proc/profile` by the names of `/proc/kallsyms`.
//!
//! Of the kernel proper: modules have no counts. What runs with interrupts off is counted where they are on again.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use warmset_vmlab::plan::Profile;

/// The counts; writing anything clears them.
const COUNTS: &str = "/proc/profile";
const NAMES: &str = "/proc/kallsyms";
/// Where the first count is of.
const FIRST: &str = "_stext";
/// A processor that has nothing to do.
const IDLE: &[&str] = &[
    "pv_native_safe_halt",
    "native_safe_halt",
    "default_idle",
    "acpi_safe_halt",
    "mwait_idle",
];

/// Counts from now on.
pub(crate) fn begin() -> Result<()> {
    fs::write(COUNTS, "0").with_context(|| format!("cannot clear {COUNTS}"))
}

/// What was counted so far, as the kernel has it: nothing is worked out while the load runs.
pub(crate) fn counts() -> Result<Vec<u8>> {
    fs::read(COUNTS).with_context(|| format!("cannot read {COUNTS}"))
}

/// These counts by function.
pub(crate) fn named(counts: &[u8]) -> Result<Profile> {
    let names = fs::read_to_string(NAMES).with_context(|| format!("cannot read {NAMES}"))?;
    profile(counts, &names).with_context(|| format!("{COUNTS} and {NAMES} do not fit"))
}

/// By the function that each count's middle lies in; `None` if there is none that the first count is of.
///
/// The last count says nothing: older kernels add to it whatever is outside of their code.
fn profile(counts: &[u8], names: &str) -> Option<Profile> {
    let words = counts
        .chunks_exact(4)
        .map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    let words: Vec<u32> = words.collect();
    let (step, counts) = words.split_first()?;
    let (step, (_, counts)) = (u64::from(*step), counts.split_last()?);
    let mut symbols: Vec<(u64, &str)> = names.lines().filter_map(symbol).collect();
    symbols.sort_by_key(|(address, _)| *address);
    let first = symbols.iter().find(|(_, name)| *name == FIRST)?.0;
    let mut functions = BTreeMap::new();
    for (place, count) in (0_u64..).zip(counts).filter(|(_, count)| **count > 0) {
        let address = first + place * step + step / 2;
        let known = symbols
            .partition_point(|(begins, _)| *begins <= address)
            .checked_sub(1)?;
        *functions
            .entry(symbols.get(known)?.1.to_owned())
            .or_insert(0) += u64::from(*count);
    }
    functions.retain(|name, _| !IDLE.contains(&name.as_str()));
    Some(Profile {
        ticks: functions.values().sum(),
        functions,
    })
}

/// `ffffffff81000000 T name`, of the kernel's own code.
fn symbol(line: &str) -> Option<(u64, &str)> {
    let (address, rest) = line.split_once(' ')?;
    let (kind, name) = rest.split_once(' ')?;
    let is_code = matches!(kind, "t" | "T" | "w" | "W") && !name.contains('\t');
    Some((
        u64::from_str_radix(address, 16).ok().filter(|_| is_code)?,
        name,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "1000 T _stext\n1000 T start\n1040 t shrink\n1080 D data\n10c0 T default_idle\n1060 t out\t[module]\n";

    fn counts(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn counts_are_of_the_function_around_them() {
        let told = profile(&counts(&[32, 1, 0, 5, 2, 0, 0, 70, 900]), KERNEL).unwrap();
        assert_eq!(
            told.ticks, 8,
            "an idle processor does nothing, and the last count is of no function"
        );
        assert_eq!(told.functions["shrink"], 7);
        assert_eq!(told.functions.values().sum::<u64>(), 8);
    }

    #[test]
    fn what_does_not_fit_says_nothing() {
        assert!(profile(&[], KERNEL).is_none());
        assert!(profile(&counts(&[32, 1]), "1000 T start\n").is_none());
    }
}
