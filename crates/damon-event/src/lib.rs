//! The event `damon_aggregated` of DAMON, a line for each region of each snapshot, as the kernel's `trace_pipe` and
//! `perf script` print it.
//!
//! `warmset top` reads it live, and `warmset-tools` as a trace. Only that one links the formats of traces.

mod snapshot;

pub use snapshot::Snapshot;

/// The event's name as perf prints it, and as the kernel does.
pub const NAMES: [&[u8]; 2] = [b"damon:damon_aggregated:", b"damon_aggregated:"];

/// One region of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The snapshot's time in ns, by the clock of the kernel's trace.
    pub at: u64,
    /// The target's number, from 0 in the order in which the targets were named.
    pub target: u64,
    /// The region's first byte, and the one behind its last.
    pub span: (u64, u64),
    /// How often the region was found used since the snapshot before.
    pub accesses: u64,
}

impl Region {
    /// Reads `… 82877.315633: damon:damon_aggregated: target_id=1 nr_regions=17 4096-8192: 3 0`.
    /// Returns `None` for a line of another event.
    ///
    /// Errors: what is missing in the line.
    pub fn of(line: &[u8]) -> Result<Option<Self>, &'static str> {
        let all: Vec<&[u8]> = words(line).collect();
        let Some(event) = all.iter().position(|word| NAMES.contains(word)) else {
            return Ok(None);
        };
        // The time stands before the event's name.
        let Some(time) = all.get(event.wrapping_sub(1)) else {
            return Ok(None);
        };
        let fields = &all[event + 1..];
        let at = seconds(time).ok_or("no time")?;
        let target = fields
            .iter()
            .find_map(|word| word.strip_prefix(b"target_id="))
            .and_then(number);
        let place = fields
            .iter()
            .position(|word| word.ends_with(b":") && word.contains(&b'-'))
            .ok_or("no region")?;
        let span = span(fields[place]);
        let accesses = fields.get(place + 1).and_then(|word| number(word));
        let (span, accesses) = span.zip(accesses).ok_or("no region with its accesses")?;
        Ok(Some(Self {
            at,
            target: target.unwrap_or(0),
            span,
            accesses,
        }))
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

fn number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Reads `4096-8192:`.
fn span(word: &[u8]) -> Option<(u64, u64)> {
    let word = word.strip_suffix(b":")?;
    let dash = word.iter().position(|byte| *byte == b'-')?;
    let start = number(&word[..dash])?;
    let end = number(&word[dash + 1..])?;
    Some((start, end))
}

/// Reads `82877.315633:` as nanoseconds.
fn seconds(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word.strip_suffix(b":")?).ok()?;
    let (whole, part) = text.split_once('.')?;
    let seconds: u64 = whole.parse().ok()?;
    let nanoseconds: u64 = format!("{part:0<9}").get(..9)?.parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_read_as_the_kernel_and_perf_print_it() {
        let expected = Region {
            at: 82_877_315_633_000,
            target: 1,
            span: (4096, 8192),
            accesses: 3,
        };
        for name in ["damon_aggregated:", "damon:damon_aggregated:"] {
            let line = format!(
                " kdamond.0-77 [000] ..... 82877.315633: {name} target_id=1 nr_regions=17 4096-8192: 3 0\n"
            );
            assert_eq!(Region::of(line.as_bytes()), Ok(Some(expected)), "{name}");
        }
    }

    #[test]
    fn another_line_is_none_and_a_damaged_one_an_error() {
        for line in [
            "",
            "CPU:0 [LOST 12 EVENTS]",
            "damon_aggregated: at the start",
        ] {
            assert_eq!(Region::of(line.as_bytes()), Ok(None), "{line}");
        }
        for (line, error) in [
            ("now: damon_aggregated: 1-2: 3", "no time"),
            ("1.5: damon_aggregated: target_id=1", "no region"),
            (
                "1.5: damon_aggregated: 1-x: 3",
                "no region with its accesses",
            ),
            ("1.5: damon_aggregated: 1-2:", "no region with its accesses"),
        ] {
            assert_eq!(Region::of(line.as_bytes()), Err(error), "{line}");
        }
    }
}
