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
/// The thread wakes at least this often, and sooner when half of the slots are taken. More loses more in a crash.
const LOOK: Duration = Duration::from_secs(30);

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
    /// Slots in use, from the first.
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

    /// Returns true if the thread should take the samples now.
    fn is_due(&self) -> bool {
        match self.flow {
            Flow::Beginning => self.taken > 0,
            Flow::Open => self.taken * 2 >= self.slots.len(),
            Flow::Closing => true,
        }
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
        let thread = std::thread::Builder::new()
            .name("warmset-record".to_owned())
            .stack_size(STACK)
            .spawn(move || write_all(&theirs, writer))?;
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
        let slot = &mut ring.slots[ring.taken];
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

/// The thread: writes samples until the ring is closing.
fn write_all(shared: &Shared, mut writer: Box<RecordingWriter>) {
    let mut config = None;
    let mut batch: Vec<Slot> = Vec::new();
    loop {
        let (flow, taken) = take(shared, &mut batch);
        for slot in &mut batch[..taken] {
            if let Some(new) = slot.config.take() {
                config = Some(*new);
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
        if flow == Flow::Closing {
            if let Err(error) = writer.flush() {
                keep_error(shared, &error);
            }
            return;
        }
    }
}

/// Waits for samples and swaps them into `batch`, so that the lock is held only for a moment. Returns how many.
///
/// Slots are swapped, not moved, so that both sides keep their allocated memory.
fn take(shared: &Shared, batch: &mut Vec<Slot>) -> (Flow, usize) {
    let ring = shared.ring.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut ring, _) = shared
        .ready
        .wait_timeout_while(ring, LOOK, |ring| !ring.is_due())
        .unwrap_or_else(PoisonError::into_inner);
    let ring = &mut *ring;
    while batch.len() < ring.taken {
        let model = &ring.slots[0];
        batch.push(Slot::new(model.sample.clone(), model.decision.clone()));
    }
    for (ours, theirs) in batch.iter_mut().zip(&mut ring.slots[..ring.taken]) {
        std::mem::swap(ours, theirs);
    }
    if ring.taken > 0 && ring.flow == Flow::Beginning {
        ring.flow = Flow::Open;
    }
    let taken = std::mem::take(&mut ring.taken);
    (ring.flow, taken)
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
