//! The kernel's events of the page cache, by `perf_event_open(2)`: one ring for each CPU.
//!
//! The sources are opened once, at the start: some kernels want a right for that which is given up afterwards. They are off
//! until a ring is there, which is mapped while memory is short and unmapped after. Off, an event costs a test of an empty
//! list. All vanish with the process.
//! What a full ring drops is counted.

#![allow(
    unsafe_code,
    reason = "a ring that the kernel writes; each access says why it is sound"
)]

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::{CString, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages of all rings together, at most 8 MiB, and of one.
const MOST_PAGES: usize = 2048;
const RING_PAGES: std::ops::RangeInclusive<usize> = 8..=128;
/// `PERF_TYPE_TRACEPOINT`, `PERF_SAMPLE_TID | PERF_SAMPLE_RAW`, and the flag `disabled`.
const TRACEPOINT: u32 = 2;
const TID_AND_RAW: u64 = 1 << 1 | 1 << 10;
const DISABLED: u64 = 1;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOEXEC: libc::c_ulong = 8;
/// `PERF_RECORD_LOST`, `PERF_RECORD_SAMPLE`.
const LOST: u32 = 2;
const SAMPLE: u32 = 9;
/// `PERF_EVENT_IOC_ENABLE`, `PERF_EVENT_IOC_DISABLE`.
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
/// `PERF_EVENT_IOC_SET_OUTPUT`, `PERF_EVENT_IOC_SET_FILTER`; the latter has the size of a pointer in it.
const SET_OUTPUT: libc::c_ulong = 0x2405;
const SET_FILTER: libc::c_ulong = 0x4000_2406 | (size_of::<usize>() as libc::c_ulong) << 16;
/// Of the page that the kernel and we share: how far it has written, and how far we have read.
const HEAD: usize = 1024;
const TAIL: usize = 1032;
/// No record of ours is longer.
const MOST_RECORD: usize = 512;

/// The first version of the kernel's `struct perf_event_attr`, which every later one takes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint: u32,
    config1: u64,
}

/// What a ring says.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Said<'r> {
    /// A task, and the record of a tracepoint.
    Record(u32, &'r [u8]),
    /// So many were dropped.
    Lost(u64),
}

/// What is wanted of events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'f> {
    /// Which pass, where the kernel takes this.
    pub(crate) filter: Option<&'f str>,
    /// Whether each wakes a poll of its source.
    pub(crate) wakes: bool,
}

/// The tracepoints of all CPUs that were on at the start, off until [`Rings::open`].
#[derive(Debug)]
pub(crate) struct Sources {
    cpus: Vec<OfCpu>,
}

/// What feeds the ring of one CPU.
#[derive(Debug)]
struct OfCpu {
    /// Has the ring.
    first: OwnedFd,
    others: Vec<OwnedFd>,
}

impl Sources {
    /// Opens the tracepoints of these numbers on each CPU that is on.
    pub(crate) fn open(ids: &[u16], wanted: Wanted<'_>) -> io::Result<Self> {
        let online = online(&std::fs::read_to_string("/sys/devices/system/cpu/online")?);
        let mut cpus = Vec::with_capacity(online.len());
        let (feeds, others) = ids
            .split_first()
            .ok_or_else(|| io::Error::other("no tracepoints"))?;
        for cpu in online {
            let first = match source(*feeds, cpu, wanted) {
                Ok(first) => first,
                // It was switched off meanwhile.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::NODEV) => continue,
                Err(error) => return Err(error),
            };
            let others = others.iter().map(|id| source(*id, cpu, wanted));
            let others = others.collect::<io::Result<Vec<_>>>()?;
            cpus.push(OfCpu { first, others });
        }
        Ok(Self { cpus })
    }

    fn all(&self) -> impl Iterator<Item = &OwnedFd> {
        self.cpus
            .iter()
            .flat_map(|cpu| std::iter::once(&cpu.first).chain(&cpu.others))
    }

    fn switch(&self, request: libc::c_ulong) {
        for source in self.all() {
            let _ = control(source, request, 0);
        }
    }
}

/// The rings of all CPUs. Dropping them switches their sources off.
#[derive(Debug)]
pub(crate) struct Rings {
    rings: Vec<Ring>,
    sources: Rc<Sources>,
}

#[derive(Debug)]
struct Ring {
    at: *mut c_void,
    /// Bytes of the ring, a power of two, after the shared page.
    size: usize,
    page: usize,
}

impl Rings {
    /// Maps a ring for each CPU, as large as many events ask for, and switches what feeds it on.
    pub(crate) fn open(sources: &Rc<Sources>) -> io::Result<Self> {
        let cpus = sources.cpus.len();
        let pages = (MOST_PAGES / cpus.max(1)).clamp(*RING_PAGES.start(), *RING_PAGES.end());
        Self::of_size(sources, 1 << pages.ilog2())
    }

    /// The same with so many pages for each CPU, a power of two.
    pub(crate) fn of_size(sources: &Rc<Sources>, pages: usize) -> io::Result<Self> {
        let cpus = sources.cpus.len();
        let mut opened = Self {
            rings: Vec::with_capacity(cpus),
            sources: Rc::clone(sources),
        };
        for cpu in &sources.cpus {
            opened.rings.push(Ring::of(&cpu.first, pages)?);
            for other in &cpu.others {
                control(other, SET_OUTPUT, cpu.first.as_raw_fd() as usize)?;
            }
        }
        opened.resume();
        Ok(opened)
    }

    /// No more events until [`Rings::resume`]; what came is still there.
    pub(crate) fn pause(&self) {
        self.sources.switch(DISABLE);
    }

    /// Events come again.
    pub(crate) fn resume(&self) {
        self.sources.switch(ENABLE);
    }

    /// What to poll for events that wake.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sources.cpus.iter().map(|cpu| cpu.first.as_fd())
    }

    /// Hands over everything that came since the last time.
    pub(crate) fn drain(&mut self, take: &mut dyn FnMut(Said<'_>)) {
        for ring in &mut self.rings {
            ring.drain(take);
        }
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        self.pause();
    }
}

impl Ring {
    fn of(source: &OwnedFd, pages: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let size = pages * page;
        let length = size + page;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the place of this new mapping, so no object of this process is in it. Its length is
        // that of the shared page and the ring.
        let at = unsafe { mmap(null_mut(), length, protection, MapFlags::SHARED, source, 0) }?;
        Ok(Self { at, size, page })
    }

    /// A counter in the shared page.
    fn counter(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the shared page is mapped as long as `self` lives; the offset is of an aligned number of 64 bits in
        // it, which the kernel and we access as a whole only.
        unsafe { &*self.at.byte_add(offset).cast::<AtomicU64>() }
    }

    fn drain(&mut self, take: &mut dyn FnMut(Said<'_>)) {
        let head = self.counter(HEAD).load(Ordering::Acquire);
        let mut tail = self.counter(TAIL).load(Ordering::Relaxed);
        let mut record = [0; MOST_RECORD];
        while tail < head {
            let mut header = [0; 8];
            self.copy(tail, &mut header);
            let (kind, length) = shape(header);
            if length < header.len() || tail + length as u64 > head {
                // Never seen; what is left cannot be understood.
                tail = head;
                break;
            }
            let taken = length.min(MOST_RECORD);
            self.copy(tail, &mut record[..taken]);
            if let Some(said) = said(kind, &record[header.len()..taken]) {
                take(said);
            }
            tail += length as u64;
        }
        self.counter(TAIL).store(tail, Ordering::Release);
    }

    /// Copies what is at `from`, around the ring's end.
    fn copy(&self, from: u64, to: &mut [u8]) {
        let start = from as usize & (self.size - 1);
        let before_end = to.len().min(self.size - start);
        let (one, other) = to.split_at_mut(before_end);
        // SAFETY: both parts are inside the ring, which is mapped as long as `self` lives; the kernel does not write
        // between the tail and the head, where `from` is.
        unsafe {
            let data = self.at.cast::<u8>().add(self.page);
            std::ptr::copy_nonoverlapping(data.add(start), one.as_mut_ptr(), one.len());
            std::ptr::copy_nonoverlapping(data, other.as_mut_ptr(), other.len());
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the whole mapping, and every reference into it borrows `self`, which ends here.
        let _ = unsafe { munmap(self.at, self.size + self.page) };
    }
}

/// Kind and length of a record.
fn shape(header: [u8; 8]) -> (u32, usize) {
    // Kind, two bytes of flags, length.
    let whole = u64::from_le_bytes(header);
    let kind = u32::from_le(whole as u32);
    let length = u16::from_le((whole >> 48) as u16);
    (kind, length.into())
}

/// What a record says after its header; `None` for kinds that do not matter.
fn said(kind: u32, body: &[u8]) -> Option<Said<'_>> {
    let word = |at: usize| {
        body.get(at..at + 4)?
            .try_into()
            .ok()
            .map(u32::from_ne_bytes)
    };
    match kind {
        SAMPLE => {
            let task = word(4)?;
            let length = word(8)? as usize;
            let record = body.get(12..12 + length)?;
            Some(Said::Record(task, record))
        }
        LOST => {
            let count = body.get(8..16)?.try_into().ok()?;
            Some(Said::Lost(u64::from_ne_bytes(count)))
        }
        _ => None,
    }
}

/// An event of one tracepoint on one CPU, off until it is switched on.
fn source(id: u16, cpu: u32, wanted: Wanted<'_>) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: TRACEPOINT,
        size: size_of::<Attributes>() as u32,
        config: id.into(),
        sample_period: 1,
        sample_type: TID_AND_RAW,
        flags: DISABLED,
        wakeup_events: wanted.wakes.into(),
        ..Attributes::default()
    };
    // SAFETY: the attributes are as long as they say and live through the call; the descriptor is new and ours.
    let opened = unsafe {
        let fd = libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            -1,
            cpu,
            -1,
            CLOEXEC,
        );
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd as i32)
    };
    if let Some(filter) = wanted.filter {
        let filter = CString::new(filter)?;
        let _ = control(&opened, SET_FILTER, filter.as_ptr() as usize);
    }
    Ok(opened)
}

fn control(source: &OwnedFd, request: libc::c_ulong, argument: usize) -> io::Result<()> {
    // SAFETY: the argument is a descriptor or a text that lives through the call, as the request asks.
    match unsafe { libc::ioctl(source.as_raw_fd(), request, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// `0-3,8` as numbers; what is malformed is left out.
fn online(text: &str) -> Vec<u32> {
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// `0-3`, or `8` alone. A last CPU that no machine has is malformed.
fn range(text: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first = first.parse().ok()?;
    let last = last.parse().ok().filter(|last| *last < 65_536)?;
    Some(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring without a kernel: anonymous memory of one shared page and one of records, between pages that end the process if
    /// one byte of them is read or written.
    fn ring() -> Ring {
        use rustix::mm::{MprotectFlags, mmap_anonymous, mprotect};
        let page = rustix::param::page_size();
        // SAFETY: new anonymous memory, which nothing may access.
        let whole =
            unsafe { mmap_anonymous(null_mut(), 4 * page, ProtFlags::empty(), MapFlags::PRIVATE) }
                .unwrap();
        // One page in, so that there is one before and one after.
        let at = whole.wrapping_byte_add(page);
        // SAFETY: the range is in that memory, and nothing points into it yet.
        unsafe { mprotect(at, 2 * page, MprotectFlags::READ | MprotectFlags::WRITE) }.unwrap();
        Ring {
            at,
            size: page,
            page,
        }
    }

    impl Ring {
        fn write(&mut self, at: u64, bytes: &[u8]) {
            for (offset, byte) in bytes.iter().enumerate() {
                let place = (at as usize + offset) & (self.size - 1);
                // SAFETY: inside the ring.
                unsafe { *self.at.cast::<u8>().add(self.page + place) = *byte };
            }
            self.counter(HEAD)
                .store(at + bytes.len() as u64, Ordering::Release);
        }
    }

    fn sample(task: u32, raw: &[u8]) -> Vec<u8> {
        let length = 8 + 12 + raw.len();
        let mut bytes = SAMPLE.to_ne_bytes().to_vec();
        bytes.extend([0, 0]);
        bytes.extend((length as u16).to_ne_bytes());
        bytes.extend(9_u32.to_ne_bytes());
        bytes.extend(task.to_ne_bytes());
        bytes.extend((raw.len() as u32).to_ne_bytes());
        bytes.extend(raw);
        bytes
    }

    fn drained(ring: &mut Ring) -> Vec<String> {
        let mut all = Vec::new();
        ring.drain(&mut |said| all.push(format!("{said:?}")));
        all
    }

    #[test]
    fn records_are_read_once_and_around_the_end() {
        let mut ring = ring();
        let record = sample(7, &[1, 2, 3, 4]);
        let start = ring.size as u64 - 10;
        ring.counter(TAIL).store(start, Ordering::Relaxed);
        ring.write(start, &record);
        assert_eq!(drained(&mut ring), ["Record(7, [1, 2, 3, 4])"]);
        assert!(drained(&mut ring).is_empty());
        let at = start + record.len() as u64;
        let mut lost = LOST.to_ne_bytes().to_vec();
        lost.extend([0, 0, 24, 0, 1, 0, 0, 0, 0, 0, 0, 0, 50, 0, 0, 0, 0, 0, 0, 0]);
        ring.write(at, &lost);
        assert_eq!(drained(&mut ring), ["Lost(50)"]);
    }

    #[test]
    fn a_record_that_makes_no_sense_ends_the_reading_and_not_the_process() {
        for bytes in [vec![0; 8], vec![255; 40], sample(7, &[0; 4])[..18].to_vec()] {
            let mut ring = ring();
            ring.write(0, &bytes);
            assert!(drained(&mut ring).is_empty(), "{bytes:?}");
            assert_eq!(
                ring.counter(TAIL).load(Ordering::Relaxed),
                bytes.len() as u64
            );
        }
    }

    proptest::proptest! {
        /// The pages around the ring would end the process.
        #[test]
        fn whatever_is_in_it_no_byte_beside_it_is_touched(
            start in proptest::prelude::any::<u16>(),
            bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..4096),
        ) {
            let mut ring = ring();
            ring.counter(TAIL).store(start.into(), Ordering::Relaxed);
            ring.write(start.into(), &bytes);
            drained(&mut ring);
            proptest::prop_assert_eq!(
                ring.counter(TAIL).load(Ordering::Relaxed),
                u64::from(start) + bytes.len() as u64
            );
        }
    }

    #[test]
    fn processors_are_listed_as_the_kernel_does() {
        assert_eq!(online("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(online("0\n"), [0]);
        assert!(online("").is_empty() && online("x-4,4294967295-4294967296").is_empty());
    }
}
