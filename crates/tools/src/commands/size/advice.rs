//! What follows from a working set: limits for systemd and for a container, and hints for what sizes its own memory.

use super::finding::WorkingSet;
use inspect::size::Sample;
use serde::Serialize;
use units::Bytes;

/// `MemoryHigh` is so much of the largest size: a quarter above it. Tasks are slowed down beyond, so there must be space for what
/// an observation of minutes has not seen.
const HIGH: (u64, u64) = (5, 4);
/// `MemoryMax` is so much of `MemoryHigh`: half above it. The kernel kills beyond, so only what `MemoryHigh` does not slow down
/// enough may get there.
const MAX: (u64, u64) = (3, 2);
/// Shared memory from this part of it on is taken for a pool of its own, such as a database's.
const POOL: u64 = 4;

/// Limits. Each is rounded up to a MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Suggestions {
    /// `None` if it is not known what it needs at least.
    pub(super) memory_low: Option<Bytes>,
    pub(super) memory_high: Bytes,
    pub(super) memory_max: Bytes,
    /// `resources.requests.memory` of a container.
    pub(super) request: Bytes,
    /// `resources.limits.memory`.
    pub(super) limit: Bytes,
}

/// A hint, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Hint {
    pub(super) setting: &'static str,
    pub(super) value: Bytes,
    pub(super) reason: String,
}

/// `None` if no size is known that is enough.
pub(super) fn suggestions(found: &WorkingSet) -> Option<Suggestions> {
    let enough = found.upper?;
    let largest = found.most.map_or(enough, |most| most.max(enough));
    let low = found.p95.or(found.lower).map(whole_mib);
    let high = whole_mib(largest.scaled(HIGH.0, HIGH.1));
    let max = whole_mib(high.scaled(MAX.0, MAX.1));
    Some(Suggestions {
        memory_low: low,
        memory_high: high,
        memory_max: max,
        request: low.unwrap_or_else(|| whole_mib(enough)),
        limit: max,
    })
}

/// For what sizes its own memory, by the kinds of memory at the end.
pub(super) fn hints(last: &Sample, found: &WorkingSet) -> Vec<Hint> {
    let mut hints = Vec::new();
    let files = last.file.less(last.shared);
    if last.shared > Bytes::ZERO && last.shared.get() * POOL >= last.used.get() {
        hints.push(Hint {
            setting: "shared_buffers",
            value: whole_mib(last.shared),
            reason: format!(
                "if its shared memory is a database's pool, this much of the pool is in memory now; {files} of files is cached beside it"
            ),
        });
        hints.push(Hint {
            setting: "effective_cache_size",
            value: whole_mib(last.shared + files),
            reason: "what PostgreSQL's planner may expect to be cached: the pool, and page cache that stayed while memory was taken"
                .to_owned(),
        });
    }
    if last.anon.get() * 2 > last.used.get() {
        if let Some(advised) = suggestions(found) {
            let rest = last.used.less(last.anon);
            hints.push(Hint {
                setting: "heap limit (-Xmx, GOMEMLIMIT)",
                value: whole_mib(advised.memory_high.less(rest)),
                reason: format!(
                    "most of it is anonymous memory: MemoryHigh without the {rest} that it has of files and of the kernel's memory"
                ),
            });
        }
    }
    hints
}

fn whole_mib(size: Bytes) -> Bytes {
    Bytes::mib(size.get().div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> WorkingSet {
        WorkingSet {
            lower: Some(Bytes::mib(60)),
            upper: Some(Bytes::mib(64)),
            p50: Some(Bytes::mib(61)),
            p95: Some(Bytes::kib(63 * 1024 + 1)),
            p99: Some(Bytes::mib(64)),
            most: Some(Bytes::mib(80)),
            sizes: 300,
        }
    }

    #[test]
    fn limits_stand_above_the_largest_and_low_at_what_is_in_use() {
        let advised = suggestions(&found()).unwrap();
        assert_eq!(advised.memory_low, Some(Bytes::mib(64)));
        assert_eq!(advised.memory_high, Bytes::mib(100));
        assert_eq!(advised.memory_max, Bytes::mib(150));
        assert_eq!(
            (advised.request, advised.limit),
            (Bytes::mib(64), Bytes::mib(150))
        );
    }

    #[test]
    fn without_an_answer_nothing_is_kept_for_it() {
        let at_most = WorkingSet {
            upper: Some(Bytes::mib(64)),
            ..WorkingSet::default()
        };
        let advised = suggestions(&at_most).unwrap();
        assert_eq!(
            (advised.memory_low, advised.request),
            (None, Bytes::mib(64))
        );
        let at_least = WorkingSet {
            lower: Some(Bytes::mib(64)),
            ..WorkingSet::default()
        };
        assert_eq!(suggestions(&at_least), None);
    }

    #[test]
    fn a_pool_and_a_heap_are_told_by_their_memory() {
        let settings = |sample: &Sample| {
            let hints = hints(sample, &found());
            hints
                .iter()
                .map(|hint| (hint.setting, hint.value))
                .collect::<Vec<_>>()
        };
        let database = Sample {
            used: Bytes::mib(64),
            anon: Bytes::mib(4),
            file: Bytes::mib(58),
            shared: Bytes::mib(32),
            ..Sample::default()
        };
        let pool = ("shared_buffers", Bytes::mib(32));
        let planner = ("effective_cache_size", Bytes::mib(58));
        assert_eq!(settings(&database), [pool, planner]);
        let program = Sample {
            used: Bytes::mib(64),
            anon: Bytes::mib(50),
            file: Bytes::mib(10),
            ..Sample::default()
        };
        let heap = ("heap limit (-Xmx, GOMEMLIMIT)", Bytes::mib(86));
        assert_eq!(settings(&program), [heap]);
        assert_eq!(settings(&Sample::default()), []);
    }
}
