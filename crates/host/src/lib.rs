//! The machine: samples in, decisions carried out, and everything put back.
//!
//! One room for each kind of kernel object. The loop's part of a room is a struct with `observe`, `apply` and
//! `restore`; [`Machine`] holds them and fixes the order.
//!
//! | room | what is in it |
//! |---|---|
//! | `system` | [`SystemReader`]: the machine's counters, its facts, the wake-up by pressure |
//! | `knobs` | the knobs of [`pressure::knob::KNOBS`], and [`rivals`] that drive the same ones |
//! | `processes` | the process scan, handles of candidates, signals |
//! | `cgroups` | protected, throttled and frozen control groups |
//! | `holder` | `warmset-hold`, the process that locks files in memory |
//! | `users` | logged-in users that can be asked, and the process that thaws if the guard dies |
//! | `undo` | the undo log, from which everything is put back |
//! | `parse` | kernel texts to numbers |
//!
//! [`Machine::at`] serves `/` and a recorded machine in a directory alike. [`writes`] is the table of every file that
//! may be opened for writing.

pub mod applied;
pub mod cgroups;
pub mod error;
pub mod holder;
pub mod hook;
mod knobs;
mod machine;
mod own_process;
pub mod parse;
pub mod processes;
pub mod recordings;
pub mod rules;
pub mod settings;
mod system;
pub mod system_calls;
mod undo;
mod users;
mod worker;
pub mod writes;

pub use applied::{Applied, Outcome};
pub use error::{Error, ErrorKind};
pub use knobs::rivals::{
    Acts, Monitored, Rival, RivalKind, SysctlLine, WithoutEffect, note as note_rivals, rivals,
    sysctl_lines,
};
pub use machine::{Machine, Permission};
pub use own_process::{
    OnlyOne, OwnCost, be_first, has_private_network, leave_startup, lock_in_memory, other_program,
    spare_from_oom,
};
pub use system::alarm::Woken;
pub use system::{SystemReader, filesystems};
pub use undo::{Change, Places, Restored, restore, thaw};
pub use users::{Users, owner};
