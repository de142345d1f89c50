//! A steady tick allocates nothing and opens nothing, on the machine that runs the test.
#![allow(clippy::unwrap_used, reason = "a test may")]

use host::Eyes;
use pressure::Sample;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory of it.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// One test, because the count is of the whole process.
#[test]
fn a_steady_tick_allocates_and_opens_nothing() {
    let mut eyes = Eyes::open(Path::new("/")).unwrap();
    let mut sample = Sample::default();
    for _ in 0..10 {
        eyes.read(&mut sample);
    }
    let open = descriptors();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..1000 {
        eyes.read(&mut sample);
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0, "allocations in 1000 ticks");
    for _ in 0..9000 {
        eyes.read(&mut sample);
    }
    assert_eq!(descriptors(), open, "descriptors after 10 000 ticks");
    assert_eq!(eyes.troubles().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
}
