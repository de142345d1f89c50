//! The machine: samples in, knobs out, and everything put back.
//!
//! [`Machine::at`] serves `/` and a recorded fixture alike. Reading is in [`Eyes`], writing in
//! [`Hands`], waiting in [`Alarm`]; nothing else in the project touches `/proc`, `/sys` or `/run`.

mod alarm;
mod eyes;
mod facts;
pub mod features;
mod hands;
mod lock;
mod machine;
mod parse;
pub mod recordings;
mod rivals;
pub mod settings;
mod source;
mod trouble;
mod undo;
mod worker;

pub use eyes::Eyes;
pub use trouble::{Trouble, TroubleKind};
