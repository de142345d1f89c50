//! What a recording asks of the tool that runs under Valgrind, whichever it is.

use traces::Error;

/// The processes to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The program, and all that it starts.
    Family,
    /// The program itself.
    Alone,
}

/// What came of looking once for references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Something was decoded.
    Some,
    /// Nothing has been written yet.
    Nothing,
    /// Every writer has ended.
    End,
}

/// How far a recording is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    pub(super) references: u64,
    /// References at the start that are still to be left out.
    pub(super) to_skip: u64,
    /// Different pages.
    pub(super) pages: usize,
    /// Instructions, or their bytes.
    pub(super) time: u64,
}

/// The references of a running program, and what is known of it.
pub(super) trait Feed {
    /// What references are appended to.
    type Out;

    /// Decodes what has come, without waiting.
    fn step(&mut self, out: &mut Self::Out) -> Result<Step, Error>;

    /// Appends what was held back until the end.
    fn finish(&mut self, out: &mut Self::Out) -> Result<(), Error>;

    /// Reads what has come and forgets it. Returns false if nothing had.
    fn discard(&mut self) -> anyhow::Result<bool>;

    fn progress(&self) -> Progress;

    /// The tasks: number and name.
    fn tasks(&self) -> Vec<(u16, String)>;

    /// The mappings in which pages were used.
    fn regions(&self) -> Vec<(u64, u64, String)>;

    /// Pages in no known mapping.
    fn unknown(&self) -> u64;

    /// Valgrind's last messages.
    fn messages(&self) -> Vec<String>;

    /// What is missing of the recording, to follow "cut".
    fn lost(&self) -> Option<String>;
}
