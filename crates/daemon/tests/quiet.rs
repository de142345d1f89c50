//! Logging must not allocate: the loop logs at every tick, and memory is short when it matters most.

use daemon::logger::{Logger, Topic};
use pressure::config::{self, Verbosity};

fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

#[test]
fn the_count_sees_an_allocation() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn a_message_allocates_nothing_even_when_the_queue_is_full() {
    let logger = Logger::open(config::Log::Stderr, Verbosity::try_from(4).unwrap()).unwrap();
    let count = allocations(|| {
        for number in 0..100 {
            logger.say(Topic::Tick, format_args!("tick {number}\x1b"));
        }
    });
    assert_eq!(count, 0);
}
