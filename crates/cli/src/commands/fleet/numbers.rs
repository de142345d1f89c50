//! Numbers as the report writes them.

use units::Bytes;

/// A share of 1 in per cent: `0.12 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// The mean over time of a sum of bytes × seconds; 0 if no time has passed.
pub(super) fn mean(byte_seconds: f64, seconds: f64) -> Bytes {
    if seconds > 0.0 {
        Bytes::new((byte_seconds / seconds) as u64)
    } else {
        Bytes::ZERO
    }
}
