//! `warmset-lab`: every claim proved in a virtual machine, beside its peers.
//!
//! ```text
//!  debian ──► kernels ─┐                            ┌─ guest ──────────────────────┐
//!     │                ├─► vm (QEMU) ═ serial line ═╡ setup, arm, load, counters   │
//!     └─────► image ───┘        ▲                   └──────────────┬───────────────┘
//!                               │ Plan                             │ Report
//!  scenario × arm × repetition ─┴─► run, interleaved ◄─────────────┘
//!                                        └─► one JSON line each ──► compare ──► table, verdicts
//! ```
//!
//! The lab talks to the guard and to its peers as programs; of this workspace it links the units alone.

pub mod arm;
pub mod command;
pub mod comparison;
pub mod debian;
pub mod dice;
pub mod faults;
pub mod frame;
pub mod image;
pub mod kernel;
pub mod line;
pub mod plan;
pub mod proof;
pub mod runner;
pub mod scenario;
pub mod screen;
pub mod store;
pub mod tool;
pub mod vm;
