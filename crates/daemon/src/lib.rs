//! `warmsetd`: one loop that samples, decides, acts and waits, and the threads that speak for it.

pub mod board;
pub mod desk;
pub mod guard;
pub mod hooks;
pub mod live;
pub mod metrics;
pub mod news;
pub mod notify;
pub mod options;
pub mod people;
#[cfg(test)]
#[path = "../../host/src/testing.rs"]
mod programs;
pub mod scribe;
#[cfg(test)]
mod testing;
pub mod voice;
