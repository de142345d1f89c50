//! What several subcommands share to talk with a person, a file or a running guard.

pub(crate) mod atomic_file;
pub(crate) mod bar;
pub(crate) mod clock;
mod context;
pub(crate) mod hinted;
mod json;
pub(crate) mod plot;
pub(crate) mod progress;
pub(crate) mod socket;
pub(crate) mod text;
pub(crate) mod usage;

pub(crate) use context::{Context, Form, NO_GUARD};
pub(crate) use json::{json, json_line};
