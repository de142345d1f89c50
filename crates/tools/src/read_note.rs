//! Says what was read of a trace, in one line on standard error.

use commandline::stderr;
use std::io::Write;
use traces::{ReadNote, Source};
use workingset::{About, Batch};

/// Says a note on standard error. A file's name may hold anything.
pub(crate) fn say(note: &ReadNote) {
    // Nobody who reads is no fault of the trace's.
    let _ = writeln!(stderr(), "{note}");
}

/// A source that notes what is read of it, and says it at the end unless it is to be quiet.
pub(crate) struct Noting {
    pub(crate) source: Box<dyn Source>,
    pub(crate) note: ReadNote,
    pub(crate) says_it: bool,
}

impl Source for Noting {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, traces::Error> {
        let more = self.source.fill(batch)?;
        self.note.take(batch);
        if !more && std::mem::take(&mut self.says_it) {
            self.note.end(&self.source.about(), None);
            say(&self.note);
        }
        Ok(more)
    }

    fn about(&self) -> About {
        self.source.about()
    }
}
