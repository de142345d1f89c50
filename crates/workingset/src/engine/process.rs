//! A program that runs in the engine.

use crate::frames::Kind;
use crate::{Op, Trace};

/// A program: its references, and what backs its pages.
#[derive(Debug, Clone)]
pub struct Process<'a> {
    /// The name in results.
    pub name: String,
    /// Its references.
    pub trace: &'a Trace,
    pub(super) kinds: Vec<Kind>,
}

impl<'a> Process<'a> {
    /// A process that makes the references of a trace.
    ///
    /// The trace's mappings say which pages are backed by files. Without mappings, pages from which
    /// instructions are fetched count as file pages and the others as anonymous. Without
    /// operations, all pages count as file pages.
    pub fn new(name: &str, trace: &'a Trace) -> Self {
        let is_file = match trace.files() {
            Some(files) => files,
            None => match trace.op() {
                Some(op) => code_pages(trace, op),
                None => vec![true; trace.pages()],
            },
        };
        let mut kinds = Vec::with_capacity(is_file.len());
        for is_file in is_file {
            kinds.push(if is_file { Kind::File } else { Kind::Anon });
        }
        Self {
            name: name.to_owned(),
            trace,
            kinds,
        }
    }

    /// The same process, with every page of this kind.
    #[must_use]
    pub fn all(mut self, kind: Kind) -> Self {
        self.kinds.fill(kind);
        self
    }
}

/// For each page, whether instructions are fetched from it; true for all if none are fetched at
/// all.
fn code_pages(trace: &Trace, op: &[Op]) -> Vec<bool> {
    let mut is_code = vec![false; trace.pages()];
    for (page, op) in trace.refs().iter().zip(op) {
        is_code[*page as usize] |= op.0 & Op::FETCH.0 != 0;
    }
    if !is_code.contains(&true) {
        is_code.fill(true);
    }
    is_code
}
