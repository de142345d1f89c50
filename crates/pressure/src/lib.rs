//! Warmset's decision core: samples in, decisions with their reasons out.
//!
//! ```text
//! Sample ─► Rates ─► Forecast ─► Decision
//! ```
//!
//! Everything in here is a function of its arguments. There is no file, no clock, no environment
//! and no arithmetic that differs between machines, so a recording of samples can be decided again,
//! with this configuration or another, on any machine and build, with the same result.

pub mod classic;
pub mod config;
mod decide;
pub mod decision;
pub mod demand;
pub mod distress;
pub mod groups;
pub mod history;
pub mod import;
pub mod knob;
pub mod protect;
pub mod rates;
pub mod recording;
pub mod replay;
mod returns;
pub mod sample;
pub mod scan;
pub mod section;
pub mod sketch;
pub mod status;
mod sums;
pub mod trend;
mod trial;
pub mod users;
pub mod watermark;
mod words;

pub use config::Config;
pub use decide::decide;
pub use decision::Decision;
pub use history::History;
pub use sample::{Facts, Sample};
