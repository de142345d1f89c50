//! Decodes a source in one thread, while another uses the references that were decoded before.

use crate::{Error, Source};
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;
use workingset::{About, Batch};

/// Batches that may wait between the two threads. Fewer make one wait for the other at every uneven
/// batch; more only cost memory, about 300 KiB each.
const WAITING: usize = 4;

/// Passes every batch of a source to `each`, and decodes the next ones meanwhile.
///
/// Errors: the source's, and those of `each`, which end the reading.
pub fn ahead<E: From<Error>>(
    source: &mut dyn Source,
    mut each: impl FnMut(&Batch) -> Result<(), E>,
) -> Result<About, E> {
    let (full_sender, full) = mpsc::sync_channel(WAITING);
    let (used_sender, used) = mpsc::sync_channel::<Batch>(WAITING);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            loop {
                let mut batch = used.try_recv().unwrap_or_default();
                if !source.fill(&mut batch)? {
                    break;
                }
                // The receiver is dropped only when `each` has failed, and that error is returned
                // below.
                if full_sender.send(batch).is_err() {
                    break;
                }
            }
            Ok::<_, Error>(source.about())
        });
        for batch in full {
            each(&batch)?;
            // A batch comes back so that its memory is used again. A reader that has ended needs
            // none.
            let _ = used_sender.try_send(batch);
        }
        let ended = reader.join();
        let about = ended.unwrap_or_else(|panic| resume_unwind(panic))?;
        Ok(about)
    })
}
