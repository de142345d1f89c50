//! `warmsetd`: one loop that samples, decides, acts and waits, and the threads that speak for it.

pub mod options;
