//! What the loop lets others see: one value behind a lock that the loop never waits for.

use pressure::decision::Decision;
use pressure::status::{MAX_PAST, Past, Status};
use pressure::{Sample, status::Tally};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The guard's state, for the socket, the metrics and the status line.
#[derive(Debug)]
pub struct SharedStatus {
    status: Mutex<Status>,
}

impl SharedStatus {
    /// A board that shows `status`.
    pub fn new(status: Status) -> Self {
        Self {
            status: Mutex::new(status),
        }
    }

    /// Shows a tick. If someone is reading just now the tick is not shown: the loop does not wait.
    /// Allocates nothing while shapes stay.
    pub fn publish(&self, sample: &Sample, decision: &Decision, tally: Tally) {
        if let Ok(mut status) = self.status.try_lock() {
            status.sample.clone_from(sample);
            status.decision.clone_from(decision);
            status.tally = tally;
        }
    }

    /// Adds a decision worth remembering; waits for a reader, since it must not be lost.
    pub fn remember(&self, past: Past) {
        let mut status = self.read();
        if status.past.len() == MAX_PAST {
            status.past.remove(0);
        }
        status.past.push(past);
    }

    /// The status, held while it is read.
    pub fn read(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
