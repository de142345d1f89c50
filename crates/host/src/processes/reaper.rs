//! Frees a killed process's memory where it cannot do so itself: stuck, frozen, throttled, or of low priority.

use crate::system_calls::process_mrelease;
use rustix::fd::OwnedFd;
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};

const STACK: usize = 64 * 1024;
/// Killed processes waiting for it, at most; one more is left to free its memory itself.
const QUEUE: usize = 4;

/// A thread that walks through a dead process's memory, since that takes as long as freeing it.
#[derive(Debug)]
pub(super) struct Reaper {
    queue: SyncSender<OwnedFd>,
}

impl Reaper {
    pub(super) fn start() -> io::Result<Self> {
        let (queue, dead) = sync_channel::<OwnedFd>(QUEUE);
        // It ends with the process, or with the queue.
        std::thread::Builder::new()
            .name("warmset-reaper".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                for process in dead {
                    process_mrelease(&process);
                }
            })?;
        Ok(Self { queue })
    }

    /// Hands over a process that SIGKILL was sent to. Never waits.
    pub(super) fn take(&self, process: OwnedFd) {
        let _ = self.queue.try_send(process);
    }
}
