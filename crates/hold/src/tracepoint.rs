//! The kernel's tracepoints of the page cache: where their fields are, and what a record says.
//!
//! `order` came with large pieces of memory. The kernel's number of a device is not that of `stat`: it has
//! 12 bits of major and 20 of minor number in one piece.
//!
//! Reads from memory are told since 6.12 (`filemap_get_pages` in mm/filemap.c): by batches of pages, each with the last one
//! that its read asked for.

use crate::layout::{self, Field, Layout};
use pressure::protect::{Event, EventKind, FileId, STRIDE};
use std::io;
use std::path::Path;

/// A read from memory takes so many pages at a time (`PAGEVEC_SIZE`), and only the batch that begins at a page of the
/// [`STRIDE`] is told: each stands for so many at most.
const BATCHES: u64 = 31 * STRIDE;

/// One of the tracepoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tracepoint {
    /// The kernel's number for it, in this boot.
    pub(crate) id: u16,
    kind: EventKind,
    inode: Field,
    index: Field,
    device: Field,
    /// The power of two of pages; absent where a record is one page.
    order: Option<Field>,
    /// The last page that was asked for, where a record is a read.
    last: Option<Field>,
}

/// The kernel's tracepoints of the page cache, from trace files in one of the usual directories: pages that come in, pages
/// that leave, and, where the kernel has it, pages that are read from memory.
pub(crate) fn of_the_page_cache(root: &Path) -> io::Result<Vec<Tracepoint>> {
    let Some(events) = layout::group(root, "filemap") else {
        return Err(io::Error::other(
            "no tracepoints of the page cache: is tracefs mounted?",
        ));
    };
    let added = Tracepoint::read(
        &events.join("mm_filemap_add_to_page_cache/format"),
        EventKind::Added,
    )?;
    let evicted = Tracepoint::read(
        &events.join("mm_filemap_delete_from_page_cache/format"),
        EventKind::Evicted,
    )?;
    let used = Tracepoint::read(&events.join("mm_filemap_get_pages/format"), EventKind::Used).ok();
    Ok([added, evicted].into_iter().chain(used).collect())
}

/// The kernel's filter that passes one page in [`STRIDE`] by its place in the file, so that the rings carry an eighth. Where
/// it is refused, all come, and the learner takes its share of them.
pub(crate) fn one_page_in_stride() -> String {
    format!("!(index & {})", STRIDE - 1)
}

impl Tracepoint {
    /// Returns true if it tells of reads from memory.
    pub(crate) fn tells_uses(&self) -> bool {
        self.kind == EventKind::Used
    }

    fn read(path: &Path, kind: EventKind) -> io::Result<Self> {
        layout::read_with(path, |text| Self::parse(text, kind))
    }

    fn parse(text: &str, kind: EventKind) -> Option<Self> {
        let layout = Layout::parse(text)?;
        let field = |name: &str| layout.field(name);
        let last = field("last_index");
        if last.is_some() != (kind == EventKind::Used) {
            return None;
        }
        Some(Self {
            id: layout.id,
            kind,
            inode: field("i_ino")?,
            index: field("index")?,
            device: field("s_dev")?,
            order: field("order"),
            last,
        })
    }

    /// What a record of this tracepoint says; `None` for one of another, or one that is too short.
    pub(crate) fn event(&self, record: &[u8]) -> Option<Event> {
        if layout::id_of(record)? != u64::from(self.id) {
            return None;
        }
        let order = self.order.map_or(Some(0), |order| order.of(record))?;
        let file = FileId {
            device: as_stat_has_it(self.device.of(record)?),
            inode: self.inode.of(record)?,
        };
        let index = self.index.of(record)?;
        let pages = match self.last {
            Some(last) => last
                .of(record)?
                .checked_sub(index)?
                .saturating_add(1)
                .min(BATCHES),
            None => 1_u64.checked_shl(order as u32).filter(|_| order < 32)?,
        };
        Some(Event {
            file,
            index,
            pages,
            kind: self.kind,
        })
    }
}

/// Returns true if this is the layout of a tracepoint of the page cache, and the record is one of its events.
pub fn tells_an_event(layout: &str, record: &[u8]) -> bool {
    let kinds = [EventKind::Added, EventKind::Evicted, EventKind::Used];
    let points = kinds
        .into_iter()
        .filter_map(|kind| Tracepoint::parse(layout, kind));
    // All kinds are asked, also after one that answered.
    points.filter(|point| point.event(record).is_some()).count() > 0
}

/// `MKDEV(major, minor)` of the kernel as the C library packs it.
fn as_stat_has_it(device: u64) -> u64 {
    rustix::fs::makedev((device >> 20) as u32, (device & 0xf_ffff) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORMAT: &str = "name: mm_filemap_add_to_page_cache
ID: 591
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long pfn;\toffset:8;\tsize:8;\tsigned:0;
\tfield:unsigned long i_ino;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned long index;\toffset:24;\tsize:8;\tsigned:0;
\tfield:dev_t s_dev;\toffset:32;\tsize:4;\tsigned:0;
\tfield:unsigned char order;\toffset:36;\tsize:1;\tsigned:0;

print fmt: \"dev %d:%d ino %lx\"
";

    fn record(order: u8) -> Vec<u8> {
        let mut record = vec![0; 40];
        record[..2].copy_from_slice(&591_u16.to_ne_bytes());
        record[16..24].copy_from_slice(&12_u64.to_ne_bytes());
        record[24..32].copy_from_slice(&4096_u64.to_ne_bytes());
        record[32..36].copy_from_slice(&(254_u32 << 20 | 16).to_ne_bytes());
        record[36] = order;
        record
    }

    #[test]
    fn a_record_is_read_by_the_kernels_own_layout() {
        let point = Tracepoint::parse(FORMAT, EventKind::Added).unwrap();
        let file = FileId {
            device: rustix::fs::makedev(254, 16),
            inode: 12,
        };
        assert_eq!(
            point.event(&record(2)),
            Some(Event {
                file,
                index: 4096,
                pages: 4,
                kind: EventKind::Added
            })
        );
        let older = FORMAT.replace(
            "\tfield:unsigned char order;\toffset:36;\tsize:1;\tsigned:0;\n",
            "",
        );
        let older = Tracepoint::parse(&older, EventKind::Evicted).unwrap();
        assert_eq!(older.event(&record(2)).unwrap().pages, 1);
        assert_eq!(point.event(&[0; 40]), None, "another tracepoint");
        assert_eq!(point.event(&record(0)[..30]), None, "cut short");
        assert_eq!(point.event(&record(200)), None, "no such order");
    }

    #[test]
    fn a_read_from_memory_stands_for_what_it_asked_for_at_most() {
        let format = FORMAT.replace(
            "dev_t s_dev;\toffset:32;",
            "unsigned long last_index;\toffset:32;\tsize:8;\tsigned:0;\n\tfield:dev_t s_dev;\toffset:40;",
        );
        let point =
            Tracepoint::parse(&format.replace("offset:36", "offset:44"), EventKind::Used).unwrap();
        let read = |last: u64| {
            let mut record = record(0);
            record[32..40].copy_from_slice(&last.to_ne_bytes());
            record.extend((254_u32 << 20 | 16).to_ne_bytes());
            record.push(0);
            point.event(&record).map(|event| event.pages)
        };
        assert_eq!(
            [4096, 4111, 1 << 40].map(read),
            [Some(1), Some(16), Some(248)]
        );
        assert_eq!(read(4095), None, "it would end before it begins");
        assert_eq!(
            Tracepoint::parse(FORMAT, EventKind::Used),
            None,
            "nothing tells where a read ends"
        );
    }

    #[test]
    fn a_layout_without_a_needed_field_is_refused() {
        for field in ["i_ino", "index", "s_dev", "ID: "] {
            assert_eq!(
                Tracepoint::parse(&FORMAT.replace(field, "x"), EventKind::Added),
                None,
                "{field}"
            );
        }
        assert_eq!(
            Tracepoint::parse(&FORMAT.replace("size:8", "size:3"), EventKind::Added),
            None
        );
    }

    #[test]
    fn a_machine_without_trace_files_says_so() {
        let root = tempfile::tempdir().unwrap();
        assert!(
            of_the_page_cache(root.path())
                .unwrap_err()
                .to_string()
                .contains("tracefs")
        );
        let events = root.path().join("sys/kernel/tracing/events/filemap");
        for name in [
            "mm_filemap_add_to_page_cache",
            "mm_filemap_delete_from_page_cache",
        ] {
            std::fs::create_dir_all(events.join(name)).unwrap();
            std::fs::write(events.join(name).join("format"), FORMAT).unwrap();
        }
        assert_eq!(
            of_the_page_cache(root.path()).unwrap().len(),
            2,
            "reads from memory are not told everywhere"
        );
    }

    proptest! {
        #[test]
        fn no_layout_and_no_record_does_harm(text in "\\PC{0,200}", record in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Tracepoint::parse(&text, EventKind::Added);
            let _ = Tracepoint::parse(FORMAT, EventKind::Added).unwrap().event(&record);
        }
    }
}
