//! `warmset-lab`: tries Warmset and other guards in virtual machines, and compares them.
//!
//! ```text
//!  debian ──► kernel ──┐                            ┌─ guest ──────────────────────┐
//!     │                ├─► vm (QEMU) ═ serial line ═╡ setup, arm, load, counters   │
//!     └─────► image ───┘        ▲                   └──────────────┬───────────────┘
//!                               │ Plan                             │ Report
//!  scenario × arm × repetition ─┴─► runner, interleaved ◄──────────┘
//!                                        └─► one JSON line each ──► comparison ──► table, verdicts
//! ```
//!
//! The lab runs the guards as programs. Of this workspace it links the units, and the texts and verdicts of situations.

pub mod arm;
pub mod command;
pub mod comparison;
pub mod debian;
pub mod decisions;
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
