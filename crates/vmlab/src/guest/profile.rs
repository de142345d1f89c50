//! Where the kernel is at the ticks of its clock: `/proc/profile`, which its option `profile=` makes, with the names of
//! `/proc/kallsyms`.
//!
//! Modules have no counts. A tick with interrupts off counts where they are on again.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use warmset_vmlab::plan::Profile;

/// The counts. Writing anything clears them.
const COUNTS: &str = "/proc/profile";
const NAMES: &str = "/proc/kallsyms";
/// The address that the first count belongs to.
const FIRST: &str = "_stext";
/// Functions of a CPU that has nothing to do.
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

/// The counts so far, in the kernel's format. Names are found after the load, so that this takes no CPU from it.
pub(crate) fn counts() -> Result<Vec<u8>> {
    fs::read(COUNTS).with_context(|| format!("cannot read {COUNTS}"))
}

/// These counts by function.
pub(crate) fn named(counts: &[u8]) -> Result<Profile> {
    let names = fs::read_to_string(NAMES).with_context(|| format!("cannot read {NAMES}"))?;
    profile(counts, &names).with_context(|| format!("{COUNTS} does not fit to {NAMES}"))
}

/// A function of the kernel.
struct Symbol<'n> {
    address: u64,
    name: &'n str,
}

/// Adds each count to the function around the middle of its addresses; `None` if [`FIRST`] is not among the names.
fn profile(counts: &[u8], names: &str) -> Option<Profile> {
    let words: Vec<u32> = counts
        .chunks_exact(4)
        .map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let (step, counts) = words.split_first()?;
    let step = u64::from(*step);
    // Older kernels add to the last count whatever is outside of their code.
    let (_, counts) = counts.split_last()?;
    let mut symbols: Vec<Symbol<'_>> = names.lines().filter_map(symbol).collect();
    symbols.sort_by_key(|symbol| symbol.address);
    let first = symbols.iter().find(|symbol| symbol.name == FIRST)?.address;
    let mut functions = BTreeMap::new();
    for (place, count) in (0_u64..).zip(counts) {
        if *count == 0 {
            continue;
        }
        let address = first + place * step + step / 2;
        let after = symbols.partition_point(|symbol| symbol.address <= address);
        let function = symbols.get(after.checked_sub(1)?)?;
        let sum = functions.entry(function.name.to_owned()).or_insert(0);
        *sum += u64::from(*count);
    }
    for name in IDLE {
        functions.remove(*name);
    }
    Some(Profile {
        ticks: functions.values().sum(),
        functions,
    })
}

/// `ffffffff81000000 T name`; `None` for data, and for a module's code, which has a tab and the module's name.
fn symbol(line: &str) -> Option<Symbol<'_>> {
    let (address, rest) = line.split_once(' ')?;
    let (kind, name) = rest.split_once(' ')?;
    let is_code = matches!(kind, "t" | "T" | "w" | "W");
    if !is_code || name.contains('\t') {
        return None;
    }
    let address = u64::from_str_radix(address, 16).ok()?;
    Some(Symbol { address, name })
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
            "neither an idle CPU nor the last count is of a function"
        );
        assert_eq!(told.functions["shrink"], 7);
        assert_eq!(told.functions.values().sum::<u64>(), 8);
    }

    #[test]
    fn counts_and_names_that_do_not_fit_are_refused() {
        assert!(profile(&[], KERNEL).is_none());
        assert!(profile(&counts(&[32, 1]), "1000 T start\n").is_none());
    }
}
