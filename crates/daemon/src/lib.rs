//! `warmsetd`: one loop that samples, decides, acts and waits, and the threads that speak for it.

pub mod guard;
pub mod hooks;
pub mod live;
pub mod logger;
pub mod metrics;
pub mod news;
pub mod notify;
pub mod options;
pub mod recorder;
pub mod shared_status;
pub mod status_server;
#[cfg(test)]
mod testing;
pub mod users;
