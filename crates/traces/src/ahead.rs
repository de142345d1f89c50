//! Decoding in one thread, and what is made of the references in another.

use crate::{Error, Source};
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;
use workingset::{About, Batch};

/// Batches that may wait.
const WAITING: usize = 4;

/// Gives every batch of a source to `each`, and has the next ones decoded meanwhile.
///
/// Errors: the source's, and those of `each`, which end the reading.
pub fn ahead<E: From<Error>>(
    source: &mut dyn Source,
    mut each: impl FnMut(&Batch) -> Result<(), E>,
) -> Result<About, E> {
    let (give, take) = mpsc::sync_channel(WAITING);
    let (give_back, take_back) = mpsc::sync_channel::<Batch>(WAITING);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            loop {
                let mut batch = take_back.try_recv().unwrap_or_default();
                // Where nobody takes it any more, `each` has failed, and says why.
                if !source.fill(&mut batch)? || give.send(batch).is_err() {
                    return Ok::<_, Error>(source.about());
                }
            }
        });
        for batch in take {
            each(&batch)?;
            // A reader that has ended needs no room.
            let _ = give_back.try_send(batch);
        }
        Ok(reader.join().unwrap_or_else(|panic| resume_unwind(panic))?)
    })
}
