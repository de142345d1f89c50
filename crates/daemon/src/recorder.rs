//! Keeps the recording: the loop hands samples over a locked ring, a thread writes them.
//!
//! The ring's slots exist from the start and are copied into, so handing over allocates nothing. If the
//! thread holds the lock, or the ring is full, the sample is lost and counted; the loop does not wait. After
//! a loss the recorder's own decision core no longer fits, so the loop is asked for its state once.

use anyhow::Result;
use host::recordings::RecordingWriter;
use pressure::{Config, Decision, Facts, History, Sample};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const STACK: usize = 1024 * 1024;
/// Samples on their way.
const SLOTS: usize = 32;
/// The thread looks at least this often, and sooner when half of the slots are taken.
const LOOK: Duration = Duration::from_secs(30);

/// The loop's end of the ring.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
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
    taken: usize,
    /// Samples lost since the last slot that was taken.
    gap: u64,
    /// The configuration has changed: the next slot's state begins anew with it.
    config: Option<Config>,
    error: Option<String>,
    state: Flow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// Nothing was taken yet: the first sample goes out at once, so that a recording has its header.
    Beginning,
    Open,
    Closing,
}

#[derive(Debug)]
struct Slot {
    sample: Sample,
    decision: Decision,
    /// Samples lost before this one, and the core before it.
    after_gap: Option<(u64, Box<History>)>,
    config: Option<Config>,
}

impl Ring {
    /// Whether the thread should take what is there.
    fn is_due(&self) -> bool {
        match self.state {
            Flow::Beginning => self.taken > 0,
            Flow::Open => self.taken * 2 >= self.slots.len(),
            Flow::Closing => true,
        }
    }
}

impl Recorder {
    /// Records into `folder`, from `state` on.
    pub fn start(
        directory: &Path,
        facts: &Facts,
        config: &Config,
        state: &History,
    ) -> Result<Self> {
        let recorder = RecordingWriter::create(directory, facts, config, state)?;
        let blank = pressure::decide(config, &History::new(facts, config));
        let slot = || Slot {
            sample: Sample::default(),
            decision: blank.clone(),
            after_gap: None,
            config: None,
        };
        let slots = std::iter::repeat_with(slot).take(SLOTS).collect();
        let ring = Ring {
            slots,
            taken: 0,
            gap: 0,
            config: None,
            error: None,
            state: Flow::Beginning,
        };
        let shared = Arc::new(Shared {
            ring: Mutex::new(ring),
            ready: Condvar::new(),
            lost: AtomicU64::new(0),
        });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("warmset-scribe".to_owned())
            .stack_size(STACK)
            .spawn(move || write(&theirs, recorder))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Whether the next sample must come with the state of the core before it.
    pub fn wants_state(&self, _sample: &Sample) -> bool {
        self.shared
            .ring
            .try_lock()
            .is_ok_and(|ring| ring.gap > 0 || ring.config.is_some())
    }

    /// Hands a sample and its decision over; never waits.
    pub fn push(&mut self, sample: &Sample, decision: &Decision, state: Option<Box<History>>) {
        let Ok(mut ring) = self.shared.ring.try_lock() else {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let ring = &mut *ring;
        let lost = self.shared.lost.load(Ordering::Relaxed);
        let full = ring.taken == ring.slots.len();
        let unstated = (ring.gap > 0 || ring.config.is_some()) && state.is_none();
        if full || unstated {
            ring.gap += 1;
            self.shared.lost.store(lost + 1, Ordering::Relaxed);
            return;
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

    /// The next sample is decided by another configuration.
    pub fn reconfigure(&self, config: &Config) {
        self.shared
            .ring
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .config = Some(config.clone());
    }

    /// Samples lost so far.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Why nothing is recorded any more, if so.
    pub fn error(&self) -> Option<String> {
        self.shared.ring.try_lock().ok()?.error.clone()
    }
}

/// Writes out what is on its way, then ends.
impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared
            .ring
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .state = Flow::Closing;
        self.shared.ready.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write(shared: &Shared, mut recorder: RecordingWriter) {
    let mut config = None;
    let mut batch: Vec<Slot> = Vec::new();
    loop {
        let (state, taken) = take(shared, &mut batch);
        for slot in &mut batch[..taken] {
            if let Some(new) = slot.config.take() {
                config = Some(new);
            }
            if let Some((lost, state)) = slot.after_gap.take() {
                if lost > 0 {
                    recorder.lost(lost);
                }
                let config = config.clone().unwrap_or_else(|| recorder.config().clone());
                recorder.restate(&config, &state);
            }
            if let Err(error) = recorder.push(&slot.sample, Some(&slot.decision)) {
                complain(shared, &error);
            }
        }
        if state == Flow::Closing {
            if let Err(error) = recorder.flush() {
                complain(shared, &error);
            }
            return;
        }
    }
}

/// Waits for samples and swaps them out, so that the lock is held only for a moment; says how many.
///
/// Slots are exchanged and kept, so that both sides keep their storage.
fn take(shared: &Shared, batch: &mut Vec<Slot>) -> (Flow, usize) {
    let ring = shared.ring.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut ring, _) = shared
        .ready
        .wait_timeout_while(ring, LOOK, |ring| !ring.is_due())
        .unwrap_or_else(PoisonError::into_inner);
    let ring = &mut *ring;
    while batch.len() < ring.taken {
        let Slot {
            sample, decision, ..
        } = &ring.slots[0];
        batch.push(Slot {
            sample: sample.clone(),
            decision: decision.clone(),
            after_gap: None,
            config: None,
        });
    }
    batch
        .iter_mut()
        .zip(&mut ring.slots[..ring.taken])
        .for_each(|(ours, theirs)| std::mem::swap(ours, theirs));
    if ring.taken > 0 && ring.state == Flow::Beginning {
        ring.state = Flow::Open;
    }
    (ring.state, std::mem::take(&mut ring.taken))
}

fn complain(shared: &Shared, error: &dyn std::error::Error) {
    let mut ring = shared.ring.lock().unwrap_or_else(PoisonError::into_inner);
    ring.error = Some(format!("nothing is recorded any more: {error}"));
}
