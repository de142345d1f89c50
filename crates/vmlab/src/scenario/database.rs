//! The Linux-MM wiki's example of where LRU fails: an indexed database. Its index would fit into memory, its data not.

use super::{Circumstances, DISK, Data, Load, Scenario};
use crate::plan::{Role, Size};

/// Random lookups by key.
pub(super) const DATABASE: Scenario = Scenario {
    name: "indexed-db",
    about: "random lookups in an indexed database: memory is between the index's size and the data's",
    load,
    measures: &[
        "lookups_per_s",
        "index_resident_pages",
        "index_p50",
        "index_p99",
        "lookup_p50",
        "lookup_p99",
        "workingset_refault_file",
        "sectors_read",
        "allocstall",
        "gap_mib_s",
        "guard_ms",
    ],
    by_gap: false,
    arms: "none,lock-index,scan,scan+lock-index",
};

/// The same in the proportions of the wiki's machine of 2006: 70 MB of index and 700 MB of data on 96 MB.
pub(super) const WIKI: Scenario = Scenario {
    name: "indexed-db:wiki",
    about: "the same with an index of 73 % of memory and 7.3 times as much data",
    load: wiki,
    ..DATABASE
};

/// Of the index for each record, as SQLite has it.
const KEY_BYTES: u64 = 50;
/// Bytes of a record. The index is thirty times smaller than the data.
const RECORD_BYTES: u64 = 1500;
/// The same where the index is ten times smaller.
const WIKI_RECORD_BYTES: u64 = 10 * KEY_BYTES;
/// What a kernel of today takes for itself: of the wiki's 96 MB, that of 2006 took next to nothing.
const KERNEL_MIB: u64 = 40;

/// The data is three times as large as memory, and the index a tenth of memory.
fn load(at: &Circumstances<'_>) -> Load {
    let records = at.memory_mib * 1024 * 1024 * 3 / RECORD_BYTES;
    // Lookups fill memory before counting begins: a page or two each, some six hundred a second without KVM.
    let warm_up_s = (at.memory_mib * 2 / 5).max(60);
    lookups(at, records, RECORD_BYTES, warm_up_s)
}

fn wiki(at: &Circumstances<'_>) -> Load {
    let memory = at.memory_mib.saturating_sub(KERNEL_MIB) * 1024 * 1024;
    let records = memory * 73 / 100 / KEY_BYTES;
    // Each lookup needs another page of the index, so that it takes longer until it is known which are used most.
    lookups(at, records, WIKI_RECORD_BYTES, at.memory_mib.max(60))
}

fn lookups(at: &Circumstances<'_>, records: u64, bytes: u64, warm_up_s: u64) -> Load {
    let variant = at.variant.unwrap_or_default();
    let mut words = vec!["lookup", "/data"];
    if variant.contains("lock-index") {
        words.push("lock");
    }
    let mut roles = vec![Role::new("lookup", &words).times(2)];
    if variant.contains("scan") {
        roles.push(Role::new("scan", &["stream", "/data/data.db"]));
    }
    let data = Data::Database { records, bytes };
    let size = Size {
        memory_mib: 0,
        warm_up_s,
        load_s: 60,
        calm_s: 0,
    };
    Load {
        roles,
        data,
        throttle: DISK,
        thp: None,
        ends_with: None,
        size,
    }
}
