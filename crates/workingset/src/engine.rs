//! Several programs under one memory: which one runs, which ones wait, what is written back, and
//! how long all of it takes.
//!
//! ```text
//!   processes (a trace each) ──► least virtual time runs ──► hit: time passes
//!                                        ▲                  └► fault: a frame (reclaim), a device, a wait
//!                                        └── runnable again when the page is in memory
//! ```
//!
//! There is one CPU and one device. A reference costs `reference_ns`. A fault takes a free frame.
//! Below `min` free frames the process reclaims one itself; below `low` kswapd reclaims beside it
//! until `high` frames are free. A changed page is written when it is evicted, and the device reads
//! nothing meanwhile; its frame is free at once. The first use of anonymous memory costs no read.
//!
//! - Cost: O(1) for a hit, O(log n) for a fault, beside the policy's own; 16 B for each page of all
//!   processes.
//! - Source: kswapd and watermarks as in mm/vmscan.c; least virtual time first as in CFS; pressure
//!   stalls as in Documentation/accounting/psi.rst; the founding report's clock pressure; the swap
//!   token as in mm/thrash.c of Linux 2.6.20.
//! - Limits: no readahead, no shared pages, one outstanding request for each process.

mod local;
mod machine;
mod managers;
mod memory;
mod process;
mod run;

pub use local::{Local, Rule};
pub use machine::Machine;
pub use managers::run_managed;
pub use memory::{Global, Memory, Pressure, Target, Token};
pub use process::Process;
pub use run::{Outcome, ProcessOutcome, run};
