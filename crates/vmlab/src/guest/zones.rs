//! The kernel's memory zones, from `/proc/zoneinfo`, summed over all of them.

use std::fs;

/// Bytes of a page on x86-64.
const PAGE: f64 = 4096.0;

/// The gap between the watermarks min and low, in bytes.
pub(crate) fn gap() -> f64 {
    let zones = read();
    (sum(&zones, "low") - sum(&zones, "min")) * PAGE
}

/// Memory that the kernel manages, in bytes.
pub(crate) fn managed() -> f64 {
    sum(&read(), "managed") * PAGE
}

fn read() -> String {
    fs::read_to_string("/proc/zoneinfo").unwrap_or_default()
}

/// Adds up one value of every zone, in pages.
fn sum(zones: &str, name: &str) -> f64 {
    zones.lines().filter_map(|line| value(line, name)).sum()
}

fn value(line: &str, name: &str) -> Option<f64> {
    let rest = line.trim_start().strip_prefix(name)?;
    rest.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_every_zone_is_added_up() {
        let zones = "Node 0, zone DMA\n  min   10\n  low   15\nNode 0, zone Normal\n  min   20\n";
        assert_eq!(sum(zones, "min"), 30.0);
        assert_eq!(sum(zones, "low"), 15.0);
    }
}
