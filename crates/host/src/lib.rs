//! The machine: samples in, knobs out, and everything put back.
//!
//! [`Machine::at`] serves `/` and a recorded fixture alike. Reading is in [`SystemReader`], writing in `hands`,
//! waiting in `alarm`; nothing else in the project touches `/proc`, `/sys` or `/run`.

mod alarm;
mod error;
mod facts;
pub mod features;
pub mod filesystems;
mod groups;
pub mod holder;
pub mod hook;
mod lock;
mod machine;
mod pagemap;
mod parse;
pub mod procs;
mod reader;
pub mod recordings;
mod rivals;
pub mod rules;
pub mod settings;
mod source;
pub mod survey;
mod thawer;
mod touch;
pub mod tracee;
mod undo;
mod users;
mod worker;
mod writer;

pub use alarm::Woken;
pub use error::{Error, ErrorKind};
pub use lock::{OnlyOne, OwnCost, be_first, lock_in_memory, spare_from_oom};
pub use machine::Machine;
pub use reader::SystemReader;
pub use rivals::{Rival, RivalKind, rivals};
pub use undo::{Change, Places, Restored, restore, thaw};
pub use users::Users;
pub use writer::{Outcome, Permission};
