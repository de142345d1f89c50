//! The status that the loop publishes: one value behind a lock that the loop does not wait for.

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
    /// Shares `status`, until the first tick replaces its sample, decision and tally.
    pub fn new(status: Status) -> Self {
        Self {
            status: Mutex::new(status),
        }
    }

    /// Publishes a tick. While a reader holds the lock, the tick is not published: the loop does not wait.
    ///
    /// Allocates only when a list in the sample or the decision is longer than ever before.
    pub fn publish(&self, sample: &Sample, decision: &Decision, tally: Tally) {
        if let Ok(mut status) = self.status.try_lock() {
            status.sample.clone_from(sample);
            status.decision.clone_from(decision);
            status.tally = tally;
        }
    }

    /// Adds a past decision. Waits for a reader, because a past decision must not be lost.
    pub fn remember(&self, past: Past) {
        let mut status = self.read();
        if status.past.len() == MAX_PAST {
            status.past.remove(0);
        }
        status.past.push(past);
    }

    /// The status, locked while the result lives.
    pub fn read(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
