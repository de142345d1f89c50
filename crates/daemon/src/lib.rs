//! `warmsetd`: one loop that samples, decides, acts and waits, and the threads that report what it does.

pub mod events;
pub mod guard;
pub mod hooks;
mod listener;
pub mod live;
pub mod logger;
pub mod metrics;
pub mod notice_server;
pub mod notify;
pub mod options;
pub mod recorder;
pub mod shared_status;
pub mod status_server;
#[cfg(test)]
mod testing;
