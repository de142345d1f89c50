//! What `warmset`, `warmset-tools` and in parts `warmset-lab` share to talk with a person, a file or another program.
//!
//! [`program`] is the frame of both: options, exit codes, errors. The other modules are called by subcommands.

pub mod atomic_file;
mod context;
pub mod examples;
mod harmless;
pub mod hinted;
mod json;
pub mod libexec;
pub mod program;
pub mod progress;

pub use context::{Context, Form, NO_GUARD, RUN_DIRECTORY};
pub use harmless::{Harmless, stderr};
pub use json::{json, json_line};
