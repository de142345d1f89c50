//! Warmset's decision core: samples in, decisions with their reasons out.
//!
//! ```text
//! Sample ─► Rates ─► Forecast ─► Decision
//! ```
//!
//! Everything in here is a function of its arguments: there is no file, no clock and no environment.
//! Arithmetic that differs between machines (`f64::exp` and its like) is forbidden by
//! `clippy.toml`. So a recording of samples can be decided again, with this configuration or
//! another.
//!
//! The same build makes the same decisions from the same recording, on any machine. Another version
//! reads an older recording too, with defaults for what the recording lacks, and may decide
//! differently: `warmset replay --verify` tells where.

pub mod classic;
pub mod config;
mod decide;
pub mod decision;
pub mod demand;
pub mod display;
pub mod distress;
pub mod event;
pub mod groups;
pub mod history;
pub mod import;
pub mod knob;
pub mod means;
mod orders;
pub mod place;
pub mod protect;
pub mod rates;
pub mod recording;
mod refaults;
pub mod replay;
pub mod rules;
pub mod sample;
pub mod scan;
pub mod section;
pub mod sketch;
mod squeeze;
pub mod status;
mod sums;
pub mod trend;
mod trial;
pub mod users;
pub mod watermark;

pub use config::Config;
pub use decide::{decide, most_held};
pub use decision::Decision;
pub use history::History;
pub use sample::{Facts, Sample};
