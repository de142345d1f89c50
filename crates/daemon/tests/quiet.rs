//! What the loop says on every tick must not allocate: memory is short when it matters most.

use daemon::voice::{Topic, Voice};
use pressure::config::{self, Verbosity};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the allocations of each thread.
struct Counting;

// SAFETY: every request goes to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no counter any more, and none is needed.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn the_count_sees_an_allocation() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn a_message_allocates_nothing_even_when_the_queue_is_full() {
    let voice = Voice::open(config::Log::Stderr, Verbosity::try_from(4).unwrap()).unwrap();
    let count = allocations(|| {
        for number in 0..100 {
            voice.say(Topic::Tick, format_args!("tick {number}\x1b"));
        }
    });
    assert_eq!(count, 0);
}
