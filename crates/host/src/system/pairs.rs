//! A file of names and numbers, kept open.

use super::source::{ReadOutcome, Source};
use crate::parse::keyed::{Dialect, Keyed};
use pressure::section::Section;

/// The file and the plan of its lines.
#[derive(Debug)]
pub(super) struct Pairs {
    source: Source,
    parser: Keyed,
}

impl Pairs {
    pub(super) fn new(source: Source, dialect: Dialect) -> Self {
        Self {
            source,
            parser: Keyed::new(dialect),
        }
    }

    /// Sets the fields of `section` that the file names; the others are left as they are.
    pub(super) fn read(&mut self, section: &mut dyn Section) -> ReadOutcome {
        let parser = &mut self.parser;
        self.source.read(|text| parser.parse(text, section))
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn source_mut(&mut self) -> &mut Source {
        &mut self.source
    }
}
