//! What the command looks at and the guard does not: so `warmsetd`, which runs as root for months, does not contain it.
//!
//! | module | what it reads |
//! |---|---|
//! | [`survey`] | working set by cgroup, for `warmset top` |
//! | [`files`] | what the page cache has of files and of units, for `warmset files` |
//! | [`size`] | how much memory a unit needs, for `warmset size` |
//! | [`tracee`] | mappings and accessed bits of one process, and DAMON, for `warmset trace` |
//! | [`features`] | what this kernel offers, for `warmset features` |

pub mod features;
pub mod files;
mod pids;
mod pinned;
pub mod size;
pub mod survey;
pub mod tracee;
