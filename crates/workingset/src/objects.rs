//! Caches of objects that have sizes: a second family of policies, with a memory in bytes.
//!
//! ```text
//!   Trace with sizes ──► Objects ──► ObjectSpec::run ──► misses, missed bytes
//! ```
//!
//! A policy says what is let in and what leaves. It counts nothing and keeps no account of bytes
//! that is not a part of its rule: [`ObjectSpec::run`] does, in the same way for all.
//!
//! What is done where a trace is not plain:
//!
//! - An object without a size, or of size 0, is no reference. How many there are is told; a trace
//!   without any size is refused.
//! - An object larger than the cache is missed each time, and never let in.
//! - An object of another size than before is another version of itself: [`Resized`].

mod adapt_size;
mod contract;
mod gdsf;
mod lecar;
mod lehmer;
mod lhd;

mod object_cache;
mod object_choice;
mod object_spec;
mod queues;
mod s3fifo_bytes;
mod sized;

pub use contract::{ObjectPolicy, ObjectSetup};
pub use object_cache::{ObjectScore, ObjectStep, run};
pub use object_choice::ObjectChoice;
pub use object_spec::{OBJECT_POLICIES, ObjectSpec};
pub use sized::{Objects, Resized};
