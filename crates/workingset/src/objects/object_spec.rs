//! The policies of objects by name.

use super::contract::ObjectPolicy;
use super::object_cache::{self, ObjectScore, ObjectStep};
use super::sized::Objects;
use super::{adapt_size, gdsf, lecar, lhd, queues, s3fifo_bytes};
use crate::Error;
use crate::policy::{OptionSpec, Options};
use std::fmt;

/// All policies of objects. A new one needs a file, a `mod` in `objects.rs`, and a line here.
pub const OBJECT_POLICIES: &[ObjectSpec] = &[
    queues::FIFO,
    queues::LRU,
    queues::CLOCK,
    queues::SIEVE,
    s3fifo_bytes::SPEC,
    gdsf::SPEC,
    lhd::SPEC,
    lecar::SPEC,
    adapt_size::SPEC,
];

type Run = fn(&Objects<'_>, u64, &Options) -> Result<ObjectScore, Error>;
type Steps = fn(&Objects<'_>, u64, &Options) -> Result<Vec<ObjectStep>, Error>;

/// A policy of objects by name.
pub struct ObjectSpec {
    /// The name, as `--policy` takes it with `--objects`.
    pub name: &'static str,
    /// What the policy is, in one line.
    pub about: &'static str,
    /// The paper or program that it is from.
    pub cite: &'static str,
    /// The policy's options.
    pub options: &'static [OptionSpec],
    run: Run,
    steps: Steps,
}

impl ObjectSpec {
    pub(super) const fn of<P: ObjectPolicy>(
        name: &'static str,
        about: &'static str,
        cite: &'static str,
    ) -> Self {
        Self {
            name,
            about,
            cite,
            options: &[],
            run: object_cache::run::<P>,
            steps: object_cache::steps::<P>,
        }
    }

    pub(super) const fn with(self, options: &'static [OptionSpec]) -> Self {
        Self { options, ..self }
    }

    /// The options with the values that they have if none is given.
    pub fn defaults(&self) -> Options {
        Options::defaults(self.options)
    }

    /// Runs the policy over the whole trace with a cache of `capacity` bytes, which is empty at first.
    ///
    /// Errors: a capacity of zero, an option out of its range.
    pub fn run(
        &self,
        objects: &Objects<'_>,
        capacity: u64,
        options: &Options,
    ) -> Result<ObjectScore, Error> {
        (self.run)(objects, capacity, options)
    }

    /// What became of each reference with a size. This is slower than [`ObjectSpec::run`].
    ///
    /// Errors: as [`ObjectSpec::run`].
    pub fn steps(
        &self,
        objects: &Objects<'_>,
        capacity: u64,
        options: &Options,
    ) -> Result<Vec<ObjectStep>, Error> {
        (self.steps)(objects, capacity, options)
    }
}

impl fmt::Debug for ObjectSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectSpec")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
