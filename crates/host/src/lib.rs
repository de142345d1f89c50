//! The machine: samples in, knobs out, and everything put back.
//!
//! [`Machine::at`] serves `/` and a recorded fixture alike. Reading is in [`Eyes`], writing in `hands`,
//! waiting in `alarm`; nothing else in the project touches `/proc`, `/sys` or `/run`.

mod alarm;
mod eyes;
mod facts;
pub mod features;
pub mod filesystems;
mod groups;
mod hands;
pub mod holder;
pub mod hook;
mod local;
mod lock;
mod machine;
mod pagemap;
mod parse;
mod people;
pub mod procs;
pub mod recordings;
mod rivals;
pub mod rules;
pub mod settings;
mod source;
pub mod survey;
#[cfg(test)]
mod testing;
mod thawer;
mod touch;
pub mod tracee;
mod trouble;
mod undo;
mod worker;

pub use alarm::Woken;
pub use eyes::Eyes;
pub use hands::{Outcome, Permission};
pub use lock::{OnlyOne, OwnCost, be_first, lock_in_memory, spare_from_oom};
pub use machine::Machine;
pub use people::People;
pub use rivals::{Rival, RivalKind, rivals};
pub use trouble::{Trouble, TroubleKind};
pub use undo::{Change, Places, Restored, restore, thaw};
