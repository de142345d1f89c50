//! Keeps the recording: the loop puts samples into a locked ring, and a thread writes them.
//!
//! The ring's slots exist from the start and are copied into, so that handing over allocates nothing. If the thread holds the
//! lock, or the ring is full, the sample is lost and counted: the loop does not wait. After a loss the decision core of the
//! thread has missed a sample, so the next sample comes with the state of the loop's core.

use anyhow::Result;
use host::recordings::RecordingWriter;
use pressure::{Config, Decision, Facts, History, Sample};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The thread compresses and serialises, and a sample on the stack is large.
const STACK: usize = 1024 * 1024;
/// Samples on their way. At the fastest, ten a second, a full ring covers a disk that is busy for 1.6 s. Each takes 18 KiB that
/// are held all the time; fewer lose samples sooner, which is counted and made up for by a state.
const SLOTS: usize = 16;
/// A sample waits at most this long, and less when half of the slots are taken. More loses more in a crash.
///
/// It is looked at when a sample comes: the thread has no timer of its own, and wakes the CPU only when the loop does.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The loop's end of the ring.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Samples lost while the thread held the lock, so that the ring does not know of them yet.
    untold: u64,
}

#[derive(Debug)]
struct Shared {
    ring: Mutex<Ring>,
    ready: Condvar,
    lost: AtomicU64,
}

#[derive(Debug)]
struct Ring {
    slots: Vec<Slot>,
    /// The slot of the oldest sample.
    first: usize,
    /// Slots in use: the first, and those after it. After the last slot comes slot 0.
    taken: usize,
    /// Samples lost since the last slot was filled.
    gap: u64,
    /// A new configuration: the next slot carries it, and the state that it starts from.
    config: Option<Box<Config>>,
    error: Option<String>,
    flow: Flow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// No sample was written yet. The first is written at once, so that the file has its header.
    Beginning,
    Open,
    Closing,
}

#[derive(Debug)]
struct Slot {
    sample: Sample,
    decision: Decision,
    /// Samples lost before this one, and the state of the decision core before it.
    after_gap: Option<(u64, Box<History>)>,
    config: Option<Box<Config>>,
}

impl Slot {
    fn new(sample: Sample, decision: Decision) -> Self {
        Self {
            sample,
            decision,
            after_gap: None,
            config: None,
        }
    }
}

impl Ring {
    /// Returns true if the next sample must come with the state before it.
    fn wants_state(&self) -> bool {
        self.gap > 0 || self.config.is_some()
    }

    /// Gives every slot the size of the machine, so that no later tick allocates the first time that it uses a slot.
    fn size_slots(&mut self, sample: &Sample, decision: &Decision) {
        for slot in &mut self.slots {
            slot.sample.clone_from(sample);
            slot.decision.clone_from(decision);
        }
    }

    /// The slot that is so many after the first.
    fn place(&self, after: usize) -> usize {
        (self.first + after) % self.slots.len()
    }

    /// Returns true if the thread should take the samples now.
    fn is_due(&self) -> bool {
        match self.flow {
            Flow::Beginning => self.taken > 0,
            Flow::Open => self.taken * 2 >= self.slots.len() || self.has_waited(),
            Flow::Closing => true,
        }
    }

    /// Returns true if the oldest sample waits for long, by the time of the newest.
    fn has_waited(&self) -> bool {
        if self.taken == 0 {
            return false;
        }
        let oldest = &self.slots[self.first].sample;
        let newest = &self.slots[self.place(self.taken - 1)].sample;
        newest.at.get().saturating_sub(oldest.at.get()) >= LONGEST_WAIT
    }
}

impl Recorder {
    /// Records into `directory`, from the state `state` on.
    pub fn start(
        directory: &Path,
        facts: &Facts,
        config: &Config,
        state: &History,
    ) -> Result<Self> {
        // It has a decision core of its own, 31 KiB, and a thread's stack keeps each page that it ever used.
        let writer = Box::new(RecordingWriter::create(directory, facts, config, state)?);
        let blank = pressure::decide(config, &History::new(facts, config));
        let mut slots = Vec::with_capacity(SLOTS);
        for _ in 0..SLOTS {
            slots.push(Slot::new(Sample::default(), blank.clone()));
        }
        let ring = Ring {
            slots,
            first: 0,
            taken: 0,
            gap: 0,
            config: None,
            error: None,
            flow: Flow::Beginning,
        };
        let shared = Arc::new(Shared {
            ring: Mutex::new(ring),
            ready: Condvar::new(),
            lost: AtomicU64::new(0),
        });
        let theirs = Arc::clone(&shared);
        let own = Slot::new(Sample::default(), blank);
        let thread = std::thread::Builder::new()
            .name("warmset-record".to_owned())
            .stack_size(STACK)
            .spawn(move || write_all(&theirs, own, writer))?;
        Ok(Self {
            shared,
            thread: Some(thread),
            untold: 0,
        })
    }

    /// Returns true if the next sample must come with the state of the decision core before it.
    pub fn wants_state(&self, _sample: &Sample) -> bool {
        match self.shared.ring.try_lock() {
            Ok(ring) => self.untold > 0 || ring.wants_state(),
            Err(_) => false,
        }
    }

    /// Hands a sample and its decision over; never waits.
    pub fn push(&mut self, sample: &Sample, decision: &Decision, state: Option<Box<History>>) {
        let Ok(mut ring) = self.shared.ring.try_lock() else {
            self.untold += 1;
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let ring = &mut *ring;
        ring.gap += std::mem::take(&mut self.untold);
        let is_full = ring.taken == ring.slots.len();
        let lacks_state = ring.wants_state() && state.is_none();
        if is_full || lacks_state {
            ring.gap += 1;
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if ring.flow == Flow::Beginning && ring.taken == 0 {
            ring.size_slots(sample, decision);
        }
        let place = ring.place(ring.taken);
        let slot = &mut ring.slots[place];
        slot.sample.clone_from(sample);
        slot.decision.clone_from(decision);
        slot.after_gap = state.map(|state| (std::mem::take(&mut ring.gap), state));
        slot.config = ring.config.take();
        ring.taken += 1;
        if ring.is_due() {
            self.shared.ready.notify_one();
        }
    }

    /// Decisions follow another configuration from the next sample on.
    pub fn reconfigure(&self, config: &Config) {
        self.shared
            .ring
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .config = Some(Box::new(config.clone()));
    }

    /// Samples lost so far.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// The last failure to write, if there was one.
    pub fn error(&self) -> Option<String> {
        self.shared.ring.try_lock().ok()?.error.clone()
    }
}

/// Writes the samples that are on their way, then ends the thread.
impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared
            .ring
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .flow = Flow::Closing;
        self.shared.ready.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread: writes samples until the ring is closing. `slot` is the one sample that it has in hand.
fn write_all(shared: &Shared, mut slot: Slot, mut writer: Box<RecordingWriter>) {
    let mut config = None;
    loop {
        wait_until_due(shared);
        while take(shared, &mut slot) {
            write(shared, &mut slot, &mut config, &mut writer);
        }
        if is_closing(shared) {
            if let Err(error) = writer.flush() {
                keep_error(shared, &error);
            }
            return;
        }
    }
}

/// Writes one sample. `config` is the configuration in force, if it is another than that of the beginning.
fn write(
    shared: &Shared,
    slot: &mut Slot,
    config: &mut Option<Config>,
    writer: &mut RecordingWriter,
) {
    if let Some(new) = slot.config.take() {
        *config = Some(*new);
    }
    if let Some((lost, state)) = slot.after_gap.take() {
        if lost > 0 {
            writer.lost(lost);
        }
        let config = config.clone().unwrap_or_else(|| writer.config().clone());
        writer.restate(&config, &state);
    }
    let was_stopped = writer.is_stopped();
    if let Err(error) = writer.push(&slot.sample, Some(&slot.decision)) {
        keep_error(shared, &error);
    }
    if was_stopped && !writer.is_stopped() {
        forget_error(shared);
    }
}

fn wait_until_due(shared: &Shared) {
    let ring = shared.ring.lock().unwrap_or_else(PoisonError::into_inner);
    drop(
        shared
            .ready
            .wait_while(ring, |ring| !ring.is_due())
            .unwrap_or_else(PoisonError::into_inner),
    );
}

/// Swaps the oldest sample into `slot`, so that the lock is held only for a moment. Returns false if there is none.
///
/// Slots are swapped, not moved, so that both sides keep their allocated memory. One at a time: a batch would hold as much as
/// the ring once more.
fn take(shared: &Shared, slot: &mut Slot) -> bool {
    let mut ring = shared.ring.lock().unwrap_or_else(PoisonError::into_inner);
    let ring = &mut *ring;
    if ring.taken == 0 {
        return false;
    }
    let oldest = &mut ring.slots[ring.first];
    if ring.flow == Flow::Beginning {
        // It goes into the ring, and must have the size of the machine as the others have.
        slot.sample.clone_from(&oldest.sample);
        slot.decision.clone_from(&oldest.decision);
        ring.flow = Flow::Open;
    }
    std::mem::swap(slot, oldest);
    ring.first = ring.place(1);
    ring.taken -= 1;
    true
}

fn is_closing(shared: &Shared) -> bool {
    let ring = shared.ring.lock().unwrap_or_else(PoisonError::into_inner);
    ring.flow == Flow::Closing
}

fn keep_error(shared: &Shared, error: &dyn std::error::Error) {
    let mut ring = shared.ring.lock().unwrap_or_else(PoisonError::into_inner);
    ring.error = Some(format!("nothing is recorded for now: {error}"));
}

/// It records again.
fn forget_error(shared: &Shared) {
    let mut ring = shared.ring.lock().unwrap_or_else(PoisonError::into_inner);
    ring.error = None;
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    /// A ring that is open, with samples of these seconds from slot `first` on.
    fn ring(first: usize, seconds: &[u64]) -> Ring {
        let config = Config::default();
        let facts = testsupport::status().facts;
        let blank = pressure::decide(&config, &History::new(&facts, &config));
        let mut slots = Vec::new();
        for _ in 0..SLOTS {
            slots.push(Slot::new(Sample::default(), blank.clone()));
        }
        let mut ring = Ring {
            slots,
            first,
            taken: seconds.len(),
            gap: 0,
            config: None,
            error: None,
            flow: Flow::Open,
        };
        for (after, at) in seconds.iter().enumerate() {
            let place = ring.place(after);
            ring.slots[place].sample.at = Span::secs(*at);
        }
        ring
    }

    #[test]
    fn samples_are_written_when_the_first_is_old_or_half_of_the_slots_are_taken() {
        for first in [0, SLOTS - 1] {
            assert!(!ring(first, &[]).is_due());
            assert!(!ring(first, &[100]).is_due());
            assert!(!ring(first, &[100, 106, 129]).is_due());
            assert!(ring(first, &[100, 106, 130]).is_due());
            assert!(!ring(first, &[100; 7]).is_due());
            assert!(ring(first, &[100; 8]).is_due());
        }
    }

    #[test]
    fn samples_are_taken_in_order_past_the_last_slot() {
        let shared = Shared {
            ring: Mutex::new(ring(SLOTS - 2, &[1, 2, 3, 4])),
            ready: Condvar::new(),
            lost: AtomicU64::new(0),
        };
        let mut slot = ring(0, &[]).slots.remove(0);
        let mut seconds = Vec::new();
        while take(&shared, &mut slot) {
            seconds.push(slot.sample.at);
        }
        assert_eq!(seconds, [1, 2, 3, 4].map(Span::secs));
    }
}
