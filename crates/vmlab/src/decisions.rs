//! Decisions: situations in virtual machines, beside the kernel alone, other guards and Warmset.
//!
//! ```text
//!  situations/NAME.toml ─► staging ─► Play ─► guest: cgroups, programs, the guard ─► Seen
//!                             │                                                       │
//!                             └─► [right] ────────────► judge ◄───────────────────────┘
//!                                                        └─► right, late, wrong ─► table
//! ```
//!
//! The guest tells what it saw, and only that is kept: the verdict is made again each time a table is printed.

pub mod arms;
pub mod judge;
pub mod lines;
pub mod play;
pub mod runs;
pub mod staging;
pub mod table;
