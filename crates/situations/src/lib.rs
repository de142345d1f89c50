//! Situations: machines short of memory, each a small text, and a model that runs them with the
//! decision core in a closed loop.
//!
//! ```text
//! situations/NAME.toml ─► Situation ─► Model ─► Sample ─► pressure::decide ─┐
//!                             │          ▲                                  │
//!                             │          └── a kill frees, a limit slows ◄──┤
//!                             └─────► Right ─► Verdict ◄──────── Outcome ◄──┘
//! ```
//!
//! A text says a machine, what its programs do over time, and what is right: nobody is signalled,
//! or a unit is throttled, or a process gets SIGTERM or SIGKILL, by when, with what notice. The texts
//! come from public reports of guards and say what their users ask for.
//!
//! The model is pure and deterministic: no file, no clock, no random number. Limits: memory is counted
//! in amounts, not in pages; idle memory is evicted before memory in use; programs are what the text
//! says, and their threads do not differ.

pub mod model;
pub mod outcome;
pub mod run;
pub mod text;
pub mod verdict;

pub use outcome::{Act, Did, Outcome};
pub use run::{Watch, run, watch};
pub use text::{Situation, TextError};
pub use verdict::{Verdict, judge};
