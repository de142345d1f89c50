//! The rules, one a file. None calls another: what two of them need is in `View` or in `fate`.

pub(super) mod answers;
pub(super) mod at_limit;
pub(super) mod eases;
mod fate;
pub(super) mod hopeless;
pub(super) mod last_resort;
pub(super) mod names_kernel;
pub(super) mod names_shared;
pub(super) mod runaway;
pub(super) mod says_nobody;
pub(super) mod says_thrash;
pub(super) mod thaws;
pub(super) mod thrash;
pub(super) mod throttles;
pub(super) mod waits;
pub(super) mod warns;
